"""The blocks of a report, written as Markdown with plots beside it, and as one self-contained HTML page."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from fansrec.evaluation.markup import Picture, picture_html, style
from fansrec.experiments.paper.report.entries import BEST, SECOND, Entry
from fansrec.files import write_bytes, write_text

PICTURES = "pictures"
# Added to the style of the evaluation report.
EXTRA_STYLE = """
td .notes, th .notes { display: block; font-weight: 400; font-size: .75rem; color: var(--soft); }
td { vertical-align: top; }
td.words, table.words th { white-space: normal; text-align: left; vertical-align: top; }
table.words th[scope=row] { min-width: 14rem; position: static; }
.slow { color: #c9362b; }
@media (prefers-color-scheme: dark) { .slow { color: #ff8f85; } }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
.strong { font-weight: 700; border-left: .3rem solid var(--accent); padding-left: .7rem; }
.drawing { padding: .5rem; margin: .5rem 0; }
.drawing img { width: auto; max-width: 100%; }
"""


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str
    strong: bool = False


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[Entry]]  # the first entry is the row's title
    is_text: bool = False  # text instead of figures


@dataclass(frozen=True)
class Plot:
    name: str  # of the image file beside a Markdown report
    picture: Picture


Block = Heading | Paragraph | Table | Plot


def write_markdown(path: Path, blocks: Sequence[Block]) -> None:
    folder = path.parent / PICTURES
    for plot in (block for block in blocks if isinstance(block, Plot)):
        folder.mkdir(exist_ok=True)
        write_bytes(folder / f"{plot.name}.png", plot.picture.light)
    write_text(path, "\n\n".join(map(_markdown, blocks)) + "\n")


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return f"**{block.text}**" if block.strong else block.text
    if isinstance(block, Plot):
        return f"![{block.name}]({PICTURES}/{block.name}.png)"  # a table below shows its numbers
    rule = "|".join(["---", *["---" if block.is_text else "---:"] * (len(block.head) - 1)])
    rows = [_markdown_line([_markdown_entry(one) for one in row]) for row in block.rows]
    return "\n".join([_markdown_line(block.head), f"|{rule}|", *rows])


def _markdown_line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"


def _markdown_entry(one: Entry) -> str:
    figure = {BEST: "**{}**", SECOND: "<u>{}</u>"}.get(one.mark, "{}").format(one.text)
    lines = [figure + " ▲" * one.slow + one.suffix, *one.notes]
    # Stars in the names of systems are escaped, those of bold figures are not.
    return "<br>".join(line if "**" in line else line.replace("*", "\\*") for line in lines)


def write_html(path: Path, title: str, blocks: Sequence[Block]) -> None:
    """Write the page; all text is escaped."""
    body = "\n".join(map(_html, blocks))
    write_text(
        path,
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        f"<style>{style()}{EXTRA_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
    )


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return f'<p class="{"strong" if block.strong else "plain"}">{escape(block.text)}</p>'
    if isinstance(block, Plot):
        return picture_html(block.picture).replace('class="card"', 'class="card drawing"', 1)
    kind = "words" if block.is_text else "figure"
    head = "".join(f'<th scope="col">{_html_lines(name)}</th>' for name in block.head)
    rows = "\n".join(f"<tr>{_html_row(row, kind)}</tr>" for row in block.rows)
    table = f'<table class="{kind}"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>'
    return f'<div class="card scroll">{table}</div>'


def _html_row(row: Sequence[Entry], kind: str) -> str:
    cells = "".join(f'<td class="{kind}">{_html_entry(one)}</td>' for one in row[1:])
    return f'<th scope="row">{_html_entry(row[0])}</th>{cells}'


def _html_lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _html_entry(one: Entry) -> str:
    figure = {BEST: "<b>{}</b>", SECOND: "<u>{}</u>"}.get(one.mark, "{}").format(_html_lines(one.text))
    if one.slow:
        figure = f'<span class="slow">{figure} ▲</span>'
    notes = "".join(f'<span class="notes">{escape(note)}</span>' for note in one.notes)
    return f"{figure}{escape(one.suffix)}{notes}"
