"""The report as one HTML page: it contains everything, loads nothing, and all text is escaped."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from fansrec import __version__
from fansrec.engine.rules import Rules
from fansrec.evaluation.formatting import (
    GIVEN_NOTE,
    METRIC_NOTES,
    PROTOCOL_NOTES,
    Row,
    breakdown_lines,
    by_protocol,
    comparison_cells,
    curves,
    difference_cell,
    diversity_cells,
    given_cells,
    more_cells,
    shown_metrics,
)
from fansrec.evaluation.markup import (
    Picture,
    folded,
    heading,
    pairs,
    paragraph,
    pictures_html,
    rows_table,
    style,
    table,
    terms,
)
from fansrec.evaluation.settings import readable, readable_settings

GIVEN_ITEMS, ANSWERED_ITEMS = 8, 10  # of an example


def page(
    rows: Sequence[Row],
    configs: Mapping[str, Mapping[str, Any]],
    summary: Mapping[str, Any],
    pictures: Sequence[Picture],
    curve_pictures: Sequence[Picture],
) -> str:
    """Return the report of `rows`; `configs` are the runs' configurations by the name of the run."""
    content = [
        *_comparison(rows, pictures),
        *_breakdown(rows),
        *_examples(rows),
        *_short_inputs(rows, curve_pictures),
        *_other_metrics(rows),
        *_notes(rows),
        *_settings(rows, configs, summary),
    ]
    title = f"List continuation on {summary.get('source', 'a corpus')}"
    return Template(files("fansrec.evaluation").joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=escape(title), style=style(), about=_about(rows[0], len(configs)), content="\n".join(content)
    )


def _about(row: Row, runs: int) -> str:
    scope = f"{runs} {'model' if runs == 1 else 'models'} on {row['lists']:,} {row['part']} lists"
    fill = "" if row["fill"] == Rules.fill else f", positions filled {row['fill']}"
    used = "".join(f", {name} {value:g}" for name, value in row.get("controls", {}).items())
    return escape(f"{scope}{fill}{used}, on {row['device']}; fansrec {__version__}.")


def _comparison(rows: Sequence[Row], pictures: Sequence[Picture]) -> Iterator[str]:
    """Yield the metrics under each protocol, and how far each run is from the best one."""
    for label, own in by_protocol(rows).items():
        compared = own[0]["compared"] > 0
        yield heading(f"{'Comparison' if compared else 'Accuracy'}, protocol {label}")
        if compared:
            yield paragraph(f"{own[0]['verdict']}.", "verdict")
        yield rows_table([(row, comparison_cells(row)) for row in own])
        if compared:
            yield paragraph(f"Differences from {own[0]['best']}, list by list, with 95% intervals:")
            yield rows_table([(row, {m: difference_cell(row, m) for m in shown_metrics(row)}) for row in own[1:]])
    yield pictures_html(pictures)


def _breakdown(rows: Sequence[Row]) -> Iterator[str]:
    yield heading("For which lists")
    for label, own in by_protocol(rows).items():
        yield paragraph(f"{own[0]['by']} by groups of lists, protocol {label}:")
        lines = [
            (f"{escape(group)}<small>{escape(by)}</small>", [(f"{lists:,}", ""), *cells])
            for by, group, lists, cells in breakdown_lines(own)
        ]
        yield table(["lists with", "lists", *(row["run"] for row in own)], lines)


def _examples(rows: Sequence[Row]) -> Iterator[str]:
    """Yield example continuations under the first protocol, the same lists for every run."""
    label, own = next(iter(by_protocol(rows).items()))
    if not own[0]["examples"]:
        return
    yield heading("Examples")
    yield paragraph(f"Evenly spaced lists, protocol {label}; items that are in both are marked with ✓.")
    for examples in zip(*(row["examples"] for row in own), strict=True):
        first = examples[0]
        given, target = first["input"], first["target"]
        before = len(given) - GIVEN_ITEMS
        found = [any(marks) for marks in zip(*(one["found"] for one in examples), strict=True)]
        columns = [
            _items("given" if before <= 0 else f"given, after {before} others", given[-GIVEN_ITEMS:], ()),
            _items("real continuation", target[:ANSWERED_ITEMS], found, max(0, len(target) - ANSWERED_ITEMS)),
            *(
                _items(row["run"], one["answer"][:ANSWERED_ITEMS], one["hits"])
                for row, one in zip(own, examples, strict=True)
            ),
        ]
        yield f'<div class="card scroll example">{"".join(columns)}</div>'


def _items(title: str, names: Sequence[str], marks: Sequence[bool], more: int = 0) -> str:
    marked = [*marks, *[False] * len(names)]
    lines = "".join(
        f'<li class="hit">{escape(name)} ✓</li>' if hit else f"<li>{escape(name)}</li>"
        for name, hit in zip(names, marked, strict=False)
    )
    rest = f'<p class="soft">and {more} more</p>' if more else ""
    return f"<section><h3>{escape(title)}</h3><ol>{lines}</ol>{rest}</section>"


def _short_inputs(rows: Sequence[Row], pictures: Sequence[Picture]) -> Iterator[str]:
    """Yield the section with the curves, or nothing if no inputs were shortened."""
    found = curves(rows)
    if found:
        yield heading("Short inputs")
        yield paragraph(GIVEN_NOTE)
        yield paragraph("NDCG@5 by the number of given items:")
        yield rows_table([(curve[-1], given_cells(curve)) for curve in found])
        yield paragraph("All metrics as curves, with 95% intervals:")
        yield pictures_html(pictures)


def _other_metrics(rows: Sequence[Row]) -> Iterator[str]:
    usual = [row for row in rows if row["given"] is None]
    yield heading("Recall, precision, rank and novelty")
    for n in usual[0]["at"]:
        yield rows_table([(row, more_cells(row, n)) for row in usual])
    yield heading("Order and diversity")
    yield rows_table([(row, diversity_cells(row)) for row in usual])


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    yield heading("What the metrics mean")
    yield terms(METRIC_NOTES)
    yield heading("The protocols")
    yield paragraph("Values of different protocols cannot be compared: they run models and count lists differently.")
    yield terms({name: PROTOCOL_NOTES[name] for name in dict.fromkeys(row["protocol"] for row in rows)})


def _settings(
    rows: Sequence[Row], configs: Mapping[str, Mapping[str, Any]], summary: Mapping[str, Any]
) -> Iterator[str]:
    yield heading("Corpus and settings")
    yield folded("corpus", pairs(readable(summary)))
    for name in dict.fromkeys(row["run"] for row in rows):
        sections = readable_settings(configs[name]).items()
        yield folded(name, "".join(heading(section, 3) + pairs(values) for section, values in sections))
