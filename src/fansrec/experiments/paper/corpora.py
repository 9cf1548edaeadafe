"""The corpora of the experiments, prepared the paper's way from the sets at hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fansrec.data.prepare import prepare
from fansrec.data.public import PUBLIC, items_file, locate
from fansrec.data.sample import write_sample
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput, BadSetting
from fansrec.experiments.paper.catalogue import USUAL_CATEGORIES, Choice, Dataset
from fansrec.experiments.paper.cells import Folder
from fansrec.files import write_text

Say = Callable[[str], None]
SAMPLE = "sample"
SAMPLE_LISTS = 2_000


def at_hand(choice: Choice, folder: Folder, say: Say) -> Choice:
    """The choice without the sets that have neither a file nor a corpus; `--quick` takes the first that is there."""
    found = []
    for dataset in choice.datasets:
        prepared = any(folder.has_corpus(dataset.name, number) for number in numbers_of(choice))
        if prepared or _has_file(dataset, say):
            found.append(dataset)
    if not found:
        raise BadInput("none of the datasets is at hand; `fans data list` says how to get them")
    return replace(choice, datasets=tuple(found[:1] if choice.quick else found))


def _has_file(dataset: Dataset, say: Say) -> bool:
    try:
        lists_of(dataset, None)
    except BadInput as error:
        say(f"skipped: {dataset.title} ({error})")
        return False
    return True


def numbers_of(choice: Choice) -> list[int]:
    """With how many categories corpora are needed."""
    return sorted({n for experiment in choice.experiments for _, n in experiment.pairs()} or {USUAL_CATEGORIES})


def lists_of(dataset: Dataset, folder: Path | None) -> tuple[Path, Path | None, int, int]:
    """Lists, names of items, shortest and longest list; `folder` is where a sample world is made if need be."""
    if dataset.name == SAMPLE:
        lists, items = _small_sample(folder) if folder is not None else (Path(), Path())
        return lists, items, 10, 40
    known = PUBLIC[dataset.name]
    return locate(dataset.name), items_file(dataset.name), known.min_length, known.max_length


def _small_sample(folder: Path) -> tuple[Path, Path]:
    """The first lists of the sample world: enough for a smoke test."""
    lists, items = write_sample(folder)
    lines = lists.read_text(encoding="utf-8").splitlines(keepends=True)
    write_text(lists, "".join(lines[:SAMPLE_LISTS]))
    return lists, items


def prepare_corpora(choice: Choice, folder: Folder, say: Say) -> None:
    """Every corpus the choice needs and that is not there yet: same lists, same split, only the categories differ."""
    for dataset in choice.datasets:
        for categories in numbers_of(choice):
            if not folder.has_corpus(dataset.name, categories):
                _prepare(dataset, categories, folder, say)


def _prepare(dataset: Dataset, categories: int, folder: Folder, say: Say) -> None:
    try:
        lists, items, shortest, longest = lists_of(dataset, folder.out / "sample")
    except BadInput as missing:  # its other corpora were copied here
        say(f"skipped: {dataset.title} with {categories} categories ({missing})")
        return
    preparation = Preparation(
        min_length=shortest,
        max_length=longest,
        categories=categories,
        categories_from="all",
        split="file-order",
    )
    out = folder.corpus(dataset.name, categories)
    try:
        prepare(lists, out, preparation, items)
    except BadSetting as refused:
        say(f"skipped: {dataset.title} with {categories} categories ({refused})")
    else:
        say(f"prepared: {out}")
