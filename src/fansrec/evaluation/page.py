"""The report as one HTML page: it contains everything, loads nothing, and all text is escaped."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from fansrec import __version__
from fansrec.evaluation.formatting import (
    GIVEN_NOTE,
    METRIC_NOTES,
    PROTOCOL_NOTES,
    Cell,
    Row,
    accuracy_cells,
    curves,
    diversity_cells,
    given_cells,
    protocol_label,
)

NOT_SHOWN = {"category_starts"}  # one number per category; the corpus summary has their count


@dataclass(frozen=True)
class Picture:
    """A plot for light and for dark pages, as PNG."""

    light: bytes
    dark: bytes
    text: str  # for those who do not see it


def page(
    rows: Sequence[Row],
    configs: Sequence[Mapping[str, Any]],
    summary: Mapping[str, Any],
    pictures: Sequence[Picture],
    curve_pictures: Sequence[Picture],
) -> str:
    """Return the report of `rows`; each of `configs`, the runs' configurations, has the same number of rows."""
    usual = [row for row in rows if row["given"] is None]
    source = str(summary.get("source", "a corpus"))
    return Template(files("fansrec.evaluation").joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(f"List continuation on {source}"),
        style=style(),
        about=_about(rows[0], len(configs)),
        accuracy=_table([(row, accuracy_cells(row)) for row in usual]),
        pictures="\n".join(picture_html(picture) for picture in pictures),
        short_inputs=_short_inputs(rows, curve_pictures),
        diversity=_table([(row, diversity_cells(row)) for row in usual]),
        protocols=_terms({name: PROTOCOL_NOTES[name] for name in dict.fromkeys(row["protocol"] for row in rows)}),
        metrics=_terms(METRIC_NOTES),
        corpus=f'<div class="card scroll">{_pairs(flatten(summary))}</div>',
        settings="\n".join(
            _settings(row, config) for row, config in zip(rows[:: len(rows) // len(configs)], configs, strict=True)
        ),
    )


def style() -> str:
    """Return the style sheet of all reports."""
    return files("fansrec.evaluation").joinpath("page.css").read_text(encoding="utf-8")


def _about(row: Row, runs: int) -> str:
    scope = f"{runs} {'model' if runs == 1 else 'models'} on {row['lists']:,} {row['part']} lists"
    return escape(f"{scope}, positions filled {row['fill']}, on {row['device']}; fansrec {__version__}.")


def _short_inputs(rows: Sequence[Row], pictures: Sequence[Picture]) -> str:
    """Return the section with the curves, or nothing if no inputs were shortened."""
    found = curves(rows)
    if not found:
        return ""
    table = _table([(curve[-1], given_cells(curve)) for curve in found])
    plots = "\n".join(picture_html(picture) for picture in pictures)
    text = f"<h2>Short inputs</h2>\n<p>{escape(GIVEN_NOTE)}</p>\n<p>NDCG@5 by the number of given items:</p>"
    return f'{text}\n{table}\n<p>All metrics as curves, with 95% intervals:</p>\n<div class="pictures">{plots}</div>\n'


def _table(lines: Sequence[tuple[Row, Mapping[str, Cell]]]) -> str:
    """Return a table with one line per row, headed by its run."""
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in ["run", *lines[0][1]])
    body = "\n".join(_line(row, cells.values()) for row, cells in lines)
    return f'<div class="card scroll"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _line(row: Row, cells: Iterable[Cell]) -> str:
    about = escape(f"{row['variant']}, {row['generation']}, {protocol_label(row)}")
    values = "".join(f"<td>{escape(value)} <small>{escape(note)}</small></td>" for value, note in cells)
    return f'<tr><th scope="row">{escape(row["run"])}<small>{about}</small></th>{values}</tr>'


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
    """Return a run's settings; those of training say nothing about a model that was not trained by gradient."""
    parts = ("model", "config", "training", "validation") if config.get("validation") else ("model", "config")
    shown = flatten({name: config[name] for name in parts if name in config})
    title = escape(f"{row['run']}: {row['variant']}")
    return f'<details class="card"><summary>{title}</summary><div class="scroll">{_pairs(shown)}</div></details>'


def _pairs(values: Mapping[str, Any]) -> str:
    lines = (
        f"<tr><th>{escape(name)}</th><td>{escape(f'{v:,}' if isinstance(v, int) else str(v))}</td></tr>"
        for name, v in values.items()
    )
    return f'<table class="names"><tbody>{"".join(lines)}</tbody></table>'


def flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested settings as one level: `splits test`, `training epochs`, …"""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{prefix}{name} ")
        elif name not in NOT_SHOWN:
            flat[prefix + name] = value
    return flat
