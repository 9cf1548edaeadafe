"""A report as one self-contained HTML page with all text escaped."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from fansrec.evaluation.page import picture_html, style
from fansrec.experiments.paper.report.blocks import BEST, SECOND, Block, Entry, Heading, Paragraph, Plot, Table
from fansrec.files import write_text

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


def write_html(path: Path, title: str, blocks: Sequence[Block]) -> None:
    body = "\n".join(map(_block, blocks))
    write_text(
        path,
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{escape(title)}</title>\n'
        f"<style>{style()}{EXTRA_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
    )


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        return _tagged("p", "strong" if block.strong else "plain", escape(block.text))
    if isinstance(block, Plot):
        return picture_html(block.picture).replace('class="card"', 'class="card drawing"', 1)
    return _table(block)


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _tagged(tag: str, kind: str, content: str) -> str:
    return f'<{tag} class="{kind}">{content}</{tag}>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_lines(name)}</th>' for name in table.head)
    kind = "words" if table.is_text else "figure"
    rows = "\n".join(
        f'<tr><th scope="row">{_entry(row[0])}</th>{"".join(_cell(one, kind) for one in row[1:])}</tr>'
        for row in table.rows
    )
    content = f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody>"
    return _tagged("div", "card scroll", _tagged("table", kind, content))


def _cell(one: Entry, kind: str) -> str:
    return _tagged("td", kind, _entry(one))


def _entry(one: Entry) -> str:
    figure = {BEST: "<b>{}</b>", SECOND: "<u>{}</u>"}.get(one.mark, "{}").format(_lines(one.text))
    if one.slow:
        figure = f'<span class="slow">{figure} ▲</span>'
    notes = "".join(f'<span class="notes">{escape(note)}</span>' for note in one.notes)
    return f"{figure}{escape(one.suffix)}{notes}"
