"""The report as one HTML page: everything inside it, nothing to load, all text escaped."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from fansrec import __version__
from fansrec.evaluation.rows import Row
from fansrec.evaluation.wording import FIGURES, PROTOCOLS, Cell, accuracy, beside, manner

NOT_SHOWN = {"category_starts"}  # a number a category: the corpus tells how many there are


@dataclass(frozen=True)
class Picture:
    light: bytes  # PNG
    dark: bytes
    text: str


def page(
    rows: Sequence[Row],
    configs: Sequence[Mapping[str, Any]],
    summary: Mapping[str, Any],
    pictures: Sequence[Picture],
) -> str:
    source = str(summary.get("source", "a corpus"))
    return Template(files("fansrec.evaluation").joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"List continuation on {source}"),
        style=style(),
        about=_about(rows[0], len(configs)),
        accuracy=_table([(row, accuracy(row)) for row in rows]),
        pictures="\n".join(picture_html(picture) for picture in pictures),
        beside=_table([(row, beside(row)) for row in rows]),
        protocols=_terms({name: PROTOCOLS[name] for name in dict.fromkeys(row["protocol"] for row in rows)}),
        figures=_terms(FIGURES),
        corpus=f'<div class="card scroll">{_pairs(flat(summary))}</div>',
        settings="\n".join(_settings(row, config) for row, config in zip(_runs(rows, configs), configs, strict=True)),
    )


def style() -> str:
    return files("fansrec.evaluation").joinpath("page.css").read_text(encoding="utf-8")


def _about(row: Row, runs: int) -> str:
    said = f"{runs} {'model' if runs == 1 else 'models'} on {row['lists']:,} {row['part']} lists"
    return escape(f"{said}, positions filled {row['fill']}, on {row['device']}; fansrec {__version__}.")


def _table(lines: Sequence[tuple[Row, Mapping[str, Cell]]]) -> str:
    """A line a row, headed by its run."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in ["run", *lines[0][1]])
    body = "\n".join(_line(row, cells.values()) for row, cells in lines)
    return f'<div class="card scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _line(row: Row, cells: Iterable[Cell]) -> str:
    about = escape(f"{row['variant']}, {row['generation']}, {manner(row)}")
    figures = "".join(f"<td>{escape(main)} <small>{escape(note)}</small></td>" for main, note in cells)
    return f'<tr><th scope="row">{escape(row["run"])}<small>{about}</small></th>{figures}</tr>'


def picture_html(picture: Picture) -> str:
    light, dark = (base64.b64encode(content).decode() for content in (picture.light, picture.dark))
    return (
        f'<div class="card"><picture><source media="(prefers-color-scheme: dark)" '
        f'srcset="data:image/png;base64,{dark}">'
        f'<img alt="{escape(picture.text)}" src="data:image/png;base64,{light}"></picture></div>'
    )


def _terms(terms: Mapping[str, str]) -> str:
    entries = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in terms.items())
    return f'<dl class="card">{entries}</dl>'


def _settings(row: Row, config: Mapping[str, Any]) -> str:
    """What a run was trained with; training settings say nothing of a model that was only counted together."""
    parts = ("model", "config", "training", "validation") if config.get("validation") else ("model", "config")
    shown = flat({name: config[name] for name in parts if name in config})
    title = escape(f"{row['run']}: {row['variant']}")
    return f'<details class="card"><summary>{title}</summary><div class="scroll">{_pairs(shown)}</div></details>'


def _runs(rows: Sequence[Row], configs: Sequence[Mapping[str, Any]]) -> Sequence[Row]:
    """The first row of every run; each run has as many."""
    return rows[:: len(rows) // len(configs)]


def _pairs(values: Mapping[str, Any]) -> str:
    lines = (
        f"<tr><th>{escape(name)}</th><td>{escape(f'{v:,}' if isinstance(v, int) else str(v))}</td></tr>"
        for name, v in values.items()
    )
    return f'<table class="names"><tbody>{"".join(lines)}</tbody></table>'


def flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested settings as one level: `splits test`, `training epochs`, …"""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{above}{name} ")
        elif name not in NOT_SHOWN:
            found[above + name] = value
    return found
