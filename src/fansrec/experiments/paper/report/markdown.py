"""A report as Markdown, with its plots as files beside it."""

from collections.abc import Sequence
from pathlib import Path

from fansrec.experiments.paper.report.blocks import BEST, SECOND, Block, Entry, Heading, Paragraph, Plot
from fansrec.files import write_bytes, write_text

PICTURES = "pictures"


def write_markdown(path: Path, blocks: Sequence[Block]) -> None:
    folder = path.parent / PICTURES
    for plot in (block for block in blocks if isinstance(block, Plot)):
        folder.mkdir(exist_ok=True)
        write_bytes(folder / f"{plot.name}.png", plot.picture.light)
    write_text(path, "\n\n".join(map(_block, blocks)) + "\n")


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return f"**{block.text}**" if block.strong else block.text
    if isinstance(block, Plot):
        return f"![{block.name}]({PICTURES}/{block.name}.png)"  # a table below shows its numbers
    rule = "|".join(["---", *["---" if block.is_text else "---:"] * (len(block.head) - 1)])
    return "\n".join([_line(block.head), f"|{rule}|", *(_line([_entry(one) for one in row]) for row in block.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_single_line(cell) for cell in cells)} |"


def _single_line(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def _entry(one: Entry) -> str:
    figure = {BEST: "**{}**", SECOND: "<u>{}</u>"}.get(one.mark, "{}").format(one.text)
    marked = f"{figure} ▲" if one.slow else figure
    return "<br>".join([_escape_star(marked + one.suffix), *map(_escape_star, one.notes)])


def _escape_star(text: str) -> str:
    """Escape the stars in the names of systems."""
    return text if "**" in text else text.replace("*", "\\*")
