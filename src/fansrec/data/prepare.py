"""From a source to a corpus: read, filter, split, categorize, assign item indices, write."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.categories import Categories, Report, assign_categories, fill_from_neighbors
from fansrec.data.columns import Columns
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.data.corpus_builder import Selection, build_corpus, part_sizes, summarize
from fansrec.data.filtering import filter_lists, nothing_left
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.item_vectors import cbow_vectors, cluster_items, sample_lists
from fansrec.data.lists import Lists, RawLists
from fansrec.data.settings import Preparation, check
from fansrec.data.sources import read_lists, source_name
from fansrec.data.splitting import split_lists
from fansrec.errors import BadSetting
from fansrec.files import refuse_existing


def no_report(_: str) -> None:
    """Ignore a line of the report."""


def prepare(
    source: Any,
    out: str | Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    report: Report = no_report,
) -> dict[str, Any]:
    """Write the corpus of a source (a path, a dataframe, a list of lists) to the folder `out`; return its summary.

    `items` is a file or dataframe with names, groups and categories of the items. `report` gets one line per stage.
    """
    out = Path(out)
    check_options(preparation, items, out)
    raw = read_lists(source, columns, preparation.split_by)
    report(f"read: {len(raw.lists):,} lists, {len(raw.ids):,} items, {len(raw.lists.items):,} interactions")
    selection = filter_and_split(raw, preparation, report)
    details = read_details(items, selection.ids, preparation.group_name) if items is not None else ItemDetails()
    categories = categorize(raw, selection, details, preparation, report)
    corpus = build_corpus(selection, details, categories)
    corpus.summary.update(summarize(corpus, categories, preparation, source_name(source)))
    _write(out, corpus)
    report(f"written: {out}")
    return corpus.summary


def check_options(preparation: Preparation, items: Any, out: Path) -> None:
    """Refuse invalid options before anything is read."""
    check(preparation)
    if preparation.categories == "own" and items is None:
        raise BadSetting("--categories own needs --items FILE with a column category")
    refuse_existing(out, "the corpus")


def filter_and_split(raw: RawLists, preparation: Preparation, report: Report) -> Selection:
    filtered = filter_lists(
        raw.lists, len(raw.ids), preparation.min_item_count, preparation.min_length, preparation.max_length
    )
    if not len(filtered.lists):
        raise nothing_left(len(raw.lists), filtered.rare_items, filtered.cut_lists)
    counts = np.bincount(filtered.lists.items, minlength=len(raw.ids))
    groups = None if raw.groups is None else compact_groups(raw.groups[filtered.kept])
    parts = split_and_report(len(filtered.lists), counts, groups, preparation, report)
    lists = Lists(compact_indices(counts)[filtered.lists.items], filtered.lists.offsets)
    source_indices = np.flatnonzero(counts)
    return Selection(lists, [raw.ids[index] for index in source_indices.tolist()], source_indices, parts, groups)


def split_and_report(
    lists: int, counts: NDArray[np.int64], groups: NDArray[np.int64] | None, preparation: Preparation, report: Report
) -> NDArray[np.uint8]:
    """Return the part of every filtered list; `counts` says how often each item occurs in them."""
    report(f"filtered: {lists:,} lists, {np.count_nonzero(counts):,} items, {counts.sum():,} interactions left")
    parts = split_lists(lists, groups, preparation)
    report("split: " + ", ".join(f"{name} {count:,}" for name, count in part_sizes(parts).items()))
    return parts


def compact_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups numbered from 0 in the same order, without those of which no list is left."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def compact_indices(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return new item indices without gaps, shape (items,): -1 for items that occur 0 times."""
    left = counts > 0
    return np.where(left, np.cumsum(left, dtype=np.int32) - np.int32(1), np.int32(-1))


def categorize(
    raw: RawLists, selection: Selection, details: ItemDetails, preparation: Preparation, report: Report = no_report
) -> Categories:
    """Return the category of every item, learned from the training lists or, if so requested, from all raw lists."""
    train, seed = selection.train, preparation.seed

    def learn(count: int) -> tuple[NDArray[np.int64], dict[str, int]]:
        from_all = preparation.categories_from == "all"
        sample = sample_lists(raw.lists if from_all else train, seed)
        items = len(raw.ids if from_all else selection.ids)
        vectors, known = cbow_vectors(sample, items, preparation.min_item_count, seed)
        if from_all:
            vectors, known = vectors[selection.source_indices], known[selection.source_indices]
        return cluster_items(vectors, known, count, seed), {"lists": len(sample), "interactions": len(sample.items)}

    return assign_categories(
        selection.ids, details, preparation, report, learn, lambda labels: fill_from_neighbors(labels, train)
    )


def _write(out: Path, corpus: Corpus) -> None:
    try:
        write_corpus(out, corpus)
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another path") from error
