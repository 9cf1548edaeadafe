"""A report as Markdown, its pictures as files beside it."""

from collections.abc import Sequence
from pathlib import Path

from fansrec.experiments.paper.report.blocks import BEST, SECOND, Block, Drawing, Entry, Heading, Paragraph
from fansrec.files import write_bytes, write_text

PICTURES = "pictures"


def write_markdown(path: Path, blocks: Sequence[Block]) -> None:
    folder = path.parent / PICTURES
    drawings = [block for block in blocks if isinstance(block, Drawing)]
    if drawings:
        folder.mkdir(exist_ok=True)
    for drawing in drawings:
        write_bytes(folder / f"{drawing.name}.png", drawing.picture.light)
    write_text(path, "\n\n".join(map(_block, blocks)) + "\n")


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return f"**{block.text}**" if block.strong else block.text
    if isinstance(block, Drawing):
        return f"![{block.name}]({PICTURES}/{block.name}.png)"  # its numbers stand in a table beside it
    rule = "|".join(["---", *["---" if block.words else "---:"] * (len(block.head) - 1)])
    return "\n".join([_line(block.head), f"|{rule}|", *(_line([entry(one) for one in row]) for row in block.rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_flat(cell) for cell in cells)} |"


def _flat(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def entry(one: Entry) -> str:
    figure = {BEST: "**{}**", SECOND: "<u>{}</u>"}.get(one.mark, "{}").format(one.text)
    marked = f"{figure} ▲" if one.slow else figure
    return "<br>".join([_plain(marked + one.tail), *map(_plain, one.notes)])


def _plain(text: str) -> str:
    """A star in a system's name is a star."""
    return text if "**" in text else text.replace("*", "\\*")
