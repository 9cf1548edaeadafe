"""The report: every chosen table and figure, the claims, and on what it all was made."""

import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fansrec import __version__
from fansrec.experiments.paper.catalogue import Experiment, datasets, published
from fansrec.experiments.paper.cells import cells_of, read_cell, read_object
from fansrec.experiments.paper.claims.verdict import FAILS, HOLDS, UNTOLD
from fansrec.experiments.paper.claims.verdicts import verdicts
from fansrec.experiments.paper.jobs import timings_of
from fansrec.experiments.paper.report.blocks import Block, Entry, Heading, Paragraph, Table, text
from fansrec.experiments.paper.report.categories_table import categories, generated
from fansrec.experiments.paper.report.figures import (
    category_lines,
    recall,
    scheduler_lines,
    time_shares,
    with_categories,
)
from fansrec.experiments.paper.report.html import write_html
from fansrec.experiments.paper.report.markdown import write_markdown
from fansrec.experiments.paper.report.tables import comparison, schedulers, statistics
from fansrec.experiments.paper.results import Results
from fansrec.experiments.paper.timings import read_timings

TITLE = "FANS (WWW 2023), its tables and figures redone"
NO_ONLINE_TEST = "The online A/B test of the industrial system cannot be redone: it needs that system and its users."
HOW_TO_READ = (
    "In every cell our figure stands first, the mean ± deviation over seeds, and below it the paper's. Figures are "
    "those of the paper's protocol unless said otherwise: the model is told how long the real continuation is, items "
    "of the input may come again, and a list counts at n only if its continuation has n items. p-values are of a "
    "paired permutation test over the test lists, each list's values averaged over the seeds: they tell the luck of "
    "these lists, not that of other seeds, which the deviation shows. Latencies are those of one list at a time."
)

Section = Callable[[Experiment, Results], Iterator[Block]]


def _industry(experiment: Experiment, results: Results) -> Iterator[Block]:
    paper = published("industry")
    yield Paragraph(
        f"About {paper['items']:,} items on a Tesla P100 in the paper. {NO_ONLINE_TEST} That N = 100 loses only "
        f"{paper['quality_loss']:.1%} of quality is tried among the claims, on the sets at hand."
    )
    yield from generated(experiment, results)


SECTIONS: Mapping[str, tuple[Section, ...]] = {
    "table1": (lambda _, results: statistics(results),),
    "table2": (comparison,),
    "table3": (schedulers, scheduler_lines),
    "table4": (categories, category_lines),
    "fig-category": (with_categories,),
    "fig-recall": (recall,),
    "fig-time": (time_shares,),
    "industry": (_industry,),
}


def write_reports(results: Results, notes: list[str]) -> tuple[Path, Path]:
    """report.md with its pictures, and report.html, one file; `notes` are words on what was left out."""
    blocks = list(report(results, notes))
    out = results.corpora.folder.out
    out.mkdir(parents=True, exist_ok=True)
    paths = out / "report.md", out / "report.html"
    write_markdown(paths[0], blocks)
    write_html(paths[1], TITLE, blocks)
    return paths


def report(results: Results, notes: list[str]) -> Iterator[Block]:
    yield Heading(TITLE, 1)
    if results.choice.quick:
        yield Paragraph("A smoke test (--quick): its figures mean nothing.", strong=True)
    yield Paragraph(HOW_TO_READ)
    for note in [*notes, *_unfinished(results), *_of_other_corpora(results)]:
        yield Paragraph(note)
    for experiment in results.choice.experiments:
        yield Heading(experiment.title)
        for section in SECTIONS[experiment.name]:
            yield from section(experiment, results)
    yield from _claims(results)
    yield from _made_on(results)


def _of_other_corpora(results: Results) -> Iterator[str]:
    """Cells that were made elsewhere of a corpus that is not quite this one."""
    folder = results.corpora.folder.out / "cells"
    for (dataset, number), known in results.corpora.known.items():
        # Names that begin with a dot are of files whose writing broke off.
        contents = [read_object(path) for path in (folder / f"{dataset}-{number}").glob("[!.]*.json")]
        strange = sum(content["key"]["corpus"] != known for content in contents if content and "key" in content)
        if strange:
            yield f"{strange} cells of {dataset} with {number} categories are of another corpus and are not used."


def _unfinished(results: Results) -> Iterator[str]:
    cells = cells_of(results.choice, results.corpora)
    left = [cell for cell in cells if read_cell(cell) is None]
    if left:
        yield f"{len(left)} of {len(cells)} cells are not finished: {'; '.join(map(str, left[:10]))}" + (
            " and others." if len(left) > 10 else "."
        )


def _claims(results: Results) -> Iterator[Block]:
    found = verdicts(results)
    if not found:
        return
    yield Heading("The paper's claims")
    counts = ", ".join(f"{sum(one.verdict == word for one in found)} {word}" for word in (HOLDS, FAILS, UNTOLD))
    yield Paragraph(
        f"Tried on every set, size and machine: {counts}. Comparisons of quality test the four metrics together; a "
        f"claim against several systems holds only if it holds against each. Every comparison is tested at 5% by "
        f"itself, without correction for there being several. {NO_ONLINE_TEST}"
    )
    rows = [
        [*text(one.claim, one.where), Entry(one.evidence[0], one.evidence[1:]), Entry(one.verdict)] for one in found
    ]
    yield Table(["claim", "where", "figures", "verdict"], rows, words=True)


def _made_on(results: Results) -> Iterator[Block]:
    yield Heading("How this was made")
    found = [read_cell(cell) for cell in cells_of(results.choice, results.corpora)]
    contents = [content for content in found if content is not None]
    seconds = sum(sum(content["seconds"].values()) for content in contents)
    timed = [made for timing, _ in timings_of(results.choice, results.corpora) for made in read_timings(timing)]
    rows = [
        text("experiments", ", ".join(experiment.name for experiment in results.choice.experiments)),
        text("datasets", ", ".join(datasets()[one.name].title for one in results.choice.datasets)),
        text("seeds", ", ".join(map(str, results.choice.seeds))),
        text("trainings", f"{len(contents)}, {seconds / 3600:.2f} hours in all"),
        *(text("trained on", line) for line in dict.fromkeys(_line(one["machine"]) for one in contents)),
        text("timings", f"{len(timed)}, {sum(one['seconds'] for one in timed):.0f} seconds in all"),
        *(text("timed on", line) for line in dict.fromkeys(_line(one["machine"]) for one in timed)),
        text("written with", f"fansrec {__version__}, Python {platform.python_version()}"),
    ]
    yield Table(["", ""], rows, words=True)


def _line(machine: Mapping[str, Any]) -> str:
    gpu = f"{machine['name']}, " if machine["device"] != "cpu" else ""
    return (
        f"{gpu}{machine['processor']}, {machine['cores']} cores; Python {machine['python']}, torch {machine['torch']}, "
        f"fansrec {machine['fansrec']}"
    )
