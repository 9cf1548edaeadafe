"""Pieces of HTML that reports are made of; all text is escaped."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from fansrec.evaluation.formatting import Cell, Row, protocol_label


@dataclass(frozen=True)
class Picture:
    """A plot for light and for dark pages, as PNG."""

    light: bytes
    dark: bytes
    text: str  # for those who do not see it


def style() -> str:
    """Return the style sheet of all reports."""
    return files("fansrec.evaluation").joinpath("page.css").read_text(encoding="utf-8")


def picture_html(picture: Picture) -> str:
    light, dark = (base64.b64encode(content).decode() for content in (picture.light, picture.dark))
    return (
        f'<div class="card"><picture><source media="(prefers-color-scheme: dark)" '
        f'srcset="data:image/png;base64,{dark}">'
        f'<img alt="{escape(picture.text)}" src="data:image/png;base64,{light}"></picture></div>'
    )


def pictures_html(pictures: Sequence[Picture]) -> str:
    return f'<div class="pictures">{"".join(map(picture_html, pictures))}</div>'


def heading(text: str, level: int = 2) -> str:
    return f"<h{level}>{escape(text)}</h{level}>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def rows_table(lines: Sequence[tuple[Row, Mapping[str, Cell]]]) -> str:
    """Return a table with one line per row, headed by its run."""
    body = []
    for row, cells in lines:
        about = f"{row['variant']}, {row['generation']}, {protocol_label(row)}"
        body.append((f"{escape(row['run'])}<small>{escape(about)}</small>", cells.values()))
    return table(["run", *lines[0][1]], body)


def table(head: Sequence[str], lines: Iterable[tuple[str, Iterable[Cell]]]) -> str:
    """Return a table of lines, each headed by HTML, with cells of a value and a note."""
    headings = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "\n".join(f'<tr><th scope="row">{title}</th>{"".join(map(_cell, cells))}</tr>' for title, cells in lines)
    return f'<div class="card scroll"><table><thead><tr>{headings}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _cell(cell: Cell) -> str:
    value, note = cell
    return f"<td>{escape(value)} <small>{escape(note)}</small></td>"


def terms(texts: Mapping[str, str]) -> str:
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in texts.items())
    return f'<dl class="card">{entries}</dl>'


def folded(title: str, content: str) -> str:
    return f'<details class="card"><summary>{escape(title)}</summary>{content}</details>'


def pairs(values: Mapping[str, str]) -> str:
    """Return names and values as a table of two columns."""
    lines = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in values.items())
    return f'<div class="scroll"><table class="names"><tbody>{"".join(lines)}</tbody></table></div>'
