"""The report: every selected table and figure, the claims, and how it was made."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fansrec import __version__
from fansrec.experiments.cells import read_cell, read_object, unfinished
from fansrec.experiments.paper.catalogue import Experiment, datasets, published
from fansrec.experiments.paper.cells import required_cells
from fansrec.experiments.paper.claims.quality import better, loss, ranks
from fansrec.experiments.paper.claims.speed import below, curve, faster, optimum, share
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNDECIDED, Rule, Verdict
from fansrec.experiments.paper.report import category_tables, figures, tables
from fansrec.experiments.paper.report.blocks import Block, Heading, Paragraph, Table, write_html, write_markdown
from fansrec.experiments.paper.report.entries import Entry
from fansrec.experiments.paper.results import Results
from fansrec.experiments.paper.timings import required_timings

TITLE = "Reproduction of FANS (WWW 2023)"
NO_ONLINE_TEST = "The online A/B test of the industrial system cannot be reproduced without that system and its users."
HOW_TO_READ = (
    "In every cell, our figure comes first (mean ± standard deviation over seeds), with the paper's below it. Figures "
    "follow the paper's protocol unless stated otherwise: the model knows the length of the real continuation, input "
    "items may be repeated, and a list counts at n only if its continuation has n items. p-values are from a paired "
    "permutation test over the test lists, with each list's values averaged over seeds: they cover the choice of test "
    "lists, not the choice of seeds, which the deviation shows. Latencies are for one list at a time."
)

Section = Callable[[Experiment, Results], Iterator[Block]]


def _industry(experiment: Experiment, results: Results) -> Iterator[Block]:
    paper = published("industry")
    yield Paragraph(
        f"About {paper['items']:,} items on a Tesla P100 in the paper. {NO_ONLINE_TEST} That N = 100 loses only "
        f"{paper['quality_loss']:.1%} of quality is tested among the claims, on the available data sets."
    )
    yield from category_tables.generated(experiment, results)


SECTIONS: Mapping[str, tuple[Section, ...]] = {
    "table1": (tables.statistics,),
    "table2": (tables.comparison,),
    "table3": (tables.schedulers, figures.scheduler_lines),
    "table4": (category_tables.categories, figures.category_lines),
    "fig-category": (figures.with_categories,),
    "fig-recall": (figures.recall,),
    "fig-time": (figures.time_shares,),
    "industry": (_industry,),
}

TESTS: Mapping[str, Callable[[Rule, Experiment, Results], Iterator[Verdict]]] = {
    test.__name__: test for test in (better, ranks, faster, below, curve, optimum, loss, share)
}


def write_reports(results: Results, notes: list[str]) -> list[Path]:
    """Write report.md with its plots, and report.html; `notes` say what was left out. Return both paths."""
    blocks = list(report(results, notes))
    out = results.corpora.out
    out.mkdir(parents=True, exist_ok=True)
    paths = [out / "report.md", out / "report.html"]
    write_markdown(paths[0], blocks)
    write_html(paths[1], TITLE, blocks)
    return paths


def report(results: Results, notes: list[str]) -> Iterator[Block]:
    yield Heading(TITLE, 1)
    if results.selection.quick:
        yield Paragraph("A smoke test (--quick): its figures are meaningless.", strong=True)
    yield Paragraph(HOW_TO_READ)
    for note in [*notes, *_unfinished_cells(results), *_cells_of_other_corpora(results)]:
        yield Paragraph(note)
    for experiment in results.selection.experiments:
        yield Heading(experiment.title)
        for section in SECTIONS[experiment.name]:
            yield from section(experiment, results)
    yield from _claims(results)
    yield from _how_it_was_made(results)


def _cells_of_other_corpora(results: Results) -> Iterator[str]:
    """Yield notes on cells that were made elsewhere with a slightly different corpus."""
    folder = results.corpora.out / "cells"
    for (dataset, number), known in results.corpora.fingerprints.items():
        # Names that begin with a dot are temporary files of an interrupted write.
        contents = [read_object(path) for path in (folder / f"{dataset}-{number}").glob("[!.]*.json")]
        other = sum(content["key"]["corpus"] != known for content in contents if content and "key" in content)
        if other:
            yield f"{other} cells of {dataset} with {number} categories belong to another corpus and are not used."


def _unfinished_cells(results: Results) -> Iterator[str]:
    cells = required_cells(results.selection, results.corpora)
    left = unfinished(cells)
    if left:
        names, others = "; ".join(map(str, left[:10])), " and others" if len(left) > 10 else ""
        yield f"{len(left)} of {len(cells)} cells are not finished: {names}{others}."


def _claims(results: Results) -> Iterator[Block]:
    selected = {experiment.name: experiment for experiment in results.selection.experiments}
    found = [
        (claim["text"], verdict)
        for name, claims in published("claims").items()
        if name in selected
        for claim in claims
        for kind in TESTS.keys() & claim.keys()
        for verdict in TESTS[kind](claim[kind], selected[name], results)
    ]
    if not found:
        return
    yield Heading("The paper's claims")
    outcomes = [verdict.verdict for _, verdict in found]
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome}" for outcome in (HOLDS, FAILS, UNDECIDED))
    yield Paragraph(
        f"Tested on every data set, size and machine: {counts}. Comparisons of quality test the four metrics together; "
        f"a claim about several systems holds only if it holds for each. Every comparison is tested at the 5% level, "
        f"without correction for multiple tests. {NO_ONLINE_TEST}"
    )
    rows = [
        [Entry(text), Entry(where), Entry(evidence[0], evidence[1:]), Entry(outcome)]
        for text, (where, outcome, evidence) in found
    ]
    yield Table(["claim", "where", "figures", "verdict"], rows, is_text=True)


def _how_it_was_made(results: Results) -> Iterator[Block]:
    yield Heading("How this was made")
    selection, corpora = results.selection, results.corpora
    found = [read_cell(cell) for cell in required_cells(selection, corpora)]
    contents = [content for content in found if content is not None]
    seconds = sum(value or 0 for content in contents for value in content["seconds"].values())
    timed = [made for timing in required_timings(selection, corpora) for made in timing.results()]
    rows: dict[str, Iterable[str]] = {
        "experiments": [", ".join(experiment.name for experiment in selection.experiments)],
        "data sets": [", ".join(datasets()[one.name].title for one in selection.datasets)],
        "seeds": [", ".join(map(str, selection.seeds))],
        "training runs": [f"{len(contents)}, {seconds / 3600:.2f} hours in total"],
        "trained on": dict.fromkeys(_hardware(one["machine"]) for one in contents),
        "timings": [f"{len(timed)}, {sum(one['seconds'] for one in timed):.0f} seconds in total"],
        "timed on": dict.fromkeys(_hardware(one["machine"]) for one in timed),
        "written with": [f"fansrec {__version__}, Python {platform.python_version()}"],
    }
    entries = [[Entry(name), Entry(line)] for name, lines in rows.items() for line in lines]
    yield Table(["", ""], entries, is_text=True)


def _hardware(machine: Mapping[str, Any]) -> str:
    gpu = f"{machine['name']}, " if machine["device"] != "cpu" else ""
    return (
        f"{gpu}{machine['processor']}, {machine['cores']} cores; Python {machine['python']}, torch {machine['torch']}, "
        f"fansrec {machine['fansrec']}"
    )
