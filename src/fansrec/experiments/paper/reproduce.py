"""`fans reproduce` as a whole: corpora, training runs, timings, report."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fansrec.cores import usable_cores
from fansrec.data.locating import items_file, locate
from fansrec.data.prepare import prepare
from fansrec.data.public import PUBLIC
from fansrec.data.sample import write_sample
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput, BadSetting
from fansrec.experiments.paper.catalogue import Dataset, Selection
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.paper.jobs import run_all
from fansrec.experiments.paper.report.document import write_reports
from fansrec.experiments.paper.results import Results
from fansrec.experiments.pool import Progress
from fansrec.files import write_text

Say = Callable[[str], None]
AS_IN_THE_PAPER = Preparation(categories_from="all", split="file-order")
SAMPLE = "sample"
SAMPLE_LISTS = 2_000


def reproduce(
    selection: Selection, out: Path, progress: Progress, workers: int | None, device: str, only_report: bool = False
) -> tuple[list[Path], int]:
    """Run everything that is not finished, then report everything that is.

    Return the files of the report, and the number of jobs that failed or were stopped.
    """
    notes: list[str] = []

    def note(text: str) -> None:
        progress.say(text)
        if text.startswith("skipped"):
            notes.append(text[0].upper() + text[1:] + ".")

    corpora = Corpora(out)
    selection = available(selection, corpora, note)
    prepare_corpora(selection, corpora, note)
    unfinished = 0
    if not only_report:
        unfinished = run_all(selection, corpora, progress, workers or usable_cores(), device)
    return write_reports(Results(selection, corpora), notes), unfinished


def available(selection: Selection, corpora: Corpora, say: Say) -> Selection:
    """Return the selection without data sets that have neither a file nor a corpus; `--quick` takes the first one."""
    found = []
    for dataset in selection.datasets:
        prepared = any(corpora.exists(dataset.name, number) for number in selection.category_counts)
        try:
            if not prepared and dataset.name != SAMPLE:
                _source(dataset, corpora.out)
        except BadInput as error:
            say(f"skipped: {dataset.title} ({error})")
        else:
            found.append(dataset)
    if not found:
        raise BadInput("none of the data sets is available here; `fans data list` shows how to get them")
    return replace(selection, datasets=tuple(found[:1] if selection.quick else found))


def _source(dataset: Dataset, out: Path) -> tuple[Path, Path | None, int, int]:
    """Return the file of lists, the items file, and the minimum and maximum length of a data set.

    The first lists of the sample world, enough for a smoke test, are generated in `out`.
    """
    if dataset.name != SAMPLE:
        known = PUBLIC[dataset.name]
        return locate(dataset.name), items_file(dataset.name), known.min_length, known.max_length
    lists, items = write_sample(out / SAMPLE)
    lines = lists.read_text(encoding="utf-8").splitlines(keepends=True)
    write_text(lists, "".join(lines[:SAMPLE_LISTS]))
    return lists, items, 10, 40


def prepare_corpora(selection: Selection, corpora: Corpora, say: Say) -> None:
    """Prepare the missing corpora of the selection: same lists and same split, only the categories differ."""
    for dataset in selection.datasets:
        for categories in selection.category_counts:
            if not corpora.exists(dataset.name, categories):
                _prepare(dataset, categories, corpora, say)


def _prepare(dataset: Dataset, categories: int, corpora: Corpora, say: Say) -> None:
    skipped = f"skipped: {dataset.title} with {categories} categories"
    try:
        lists, items, shortest, longest = _source(dataset, corpora.out)
    except BadInput as error:  # other corpora of the data set were copied here
        return say(f"{skipped} ({error})")
    preparation = replace(AS_IN_THE_PAPER, min_length=shortest, max_length=longest, categories=categories)
    out = corpora.folder(dataset.name, categories)
    try:
        prepare(lists, out, preparation, items)
    except BadSetting as error:
        return say(f"{skipped} ({error})")
    return say(f"prepared: {out}")
