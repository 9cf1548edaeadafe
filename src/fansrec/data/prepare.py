"""From a source to a corpus: read, filter, split, categorize, assign item indices, write."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.categories import Categories, Report, assign_categories, fill_from_neighbors
from fansrec.data.columns import Columns
from fansrec.data.corpus import SUMMARY, Corpus, write_corpus
from fansrec.data.corpus_builder import Selection, build_corpus, summarize
from fansrec.data.filtering import filter_lists, nothing_left
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.item_vectors import Progress, cbow_vectors, cluster_items, no_progress, sample_lists
from fansrec.data.lists import Lists, RawLists
from fansrec.data.reading import reading_of
from fansrec.data.settings import Preparation, check
from fansrec.data.sources import ignore, read_lists
from fansrec.data.sources import source_name as name_of
from fansrec.data.splitting import ListKeys, describe_split, part_sizes, split_lists
from fansrec.data.tables import is_dataframe
from fansrec.errors import BadInput, BadSetting
from fansrec.files import refuse_existing


def prepare(
    source: Any,
    out: str | Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    report: Report = ignore,
    force: bool = False,
    source_name: str | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Write the corpus of a source (a path, a dataframe, a list of lists) to the folder `out`; return its summary.

    `items` is a file or dataframe with names, groups and categories of the items. `report` gets one line per stage.
    `force` replaces a corpus that exists. `source_name` is the name of the source in the summary (default: its own).
    `progress` gets the lists that the categories were learned from so far, and how many there are in all epochs: the
    longest stage.
    """
    out = Path(out)
    check_options(preparation, items, out, force)
    reading = reading_of(preparation, columns)
    raw = read_lists(source, reading, report)
    report(f"read: {len(raw.lists):,} lists, {len(raw.ids):,} items, {len(raw.lists.items):,} interactions")
    if preparation.duplicates == "drop":
        raw = drop_repeats(raw, report)
    selection = filter_and_split(raw, preparation, report)
    name = preparation.group_name
    details = ItemDetails() if items is None else read_details(items, selection.ids, reading, report, name)
    categories = categorize(raw, selection, details, preparation, report, progress)
    corpus = build_corpus(selection, details, categories)
    named = name_of(source) if source_name is None else source_name
    corpus.summary.update(summarize(corpus, categories, preparation, named, selection.keys, raw.columns))
    _write(out, corpus, force)
    report(f"written: {out}")
    return corpus.summary


def check_options(preparation: Preparation, items: Any, out: Path, force: bool = False) -> None:
    """Refuse invalid options before anything is read."""
    check(preparation)
    if preparation.categories == "own" and items is None:
        raise BadSetting("--categories own needs --items FILE with a column category")
    if items is not None and not is_dataframe(items):
        _check_items_file(items)
    refuse_existing(out, "the corpus", force, [SUMMARY])
    _check_writable(out)


def _check_items_file(items: Any) -> None:
    if not isinstance(items, str | Path):
        raise BadInput(f"--items is {items!r:.80}; give a file or a dataframe with a row for every item")
    if not Path(items).is_file():
        raise BadInput(f"--items: there is no file {items}; check the path")


def _check_writable(out: Path) -> None:
    """Refuse a folder that cannot be created."""
    existing = next(folder for folder in out.absolute().parents if folder.exists())
    try:
        tempfile.TemporaryFile(dir=existing).close()
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another path") from error


def drop_repeats(raw: RawLists, report: Report) -> RawLists:
    """Return the lists without items that occur earlier in the same list."""
    lists = raw.lists.drop_repeats()
    dropped = len(raw.lists.items) - len(lists.items)
    report(f"duplicates: {dropped:,} items that their list had before were dropped")
    return replace(raw, lists=lists)


def filter_and_split(raw: RawLists, preparation: Preparation, report: Report) -> Selection:
    filtered = filter_lists(
        raw.lists, len(raw.ids), preparation.min_item_count, preparation.min_length, preparation.max_length
    )
    if not len(filtered.lists):
        raise nothing_left(len(raw.lists), filtered.rare_items, filtered.cut_lists)
    counts = np.bincount(filtered.lists.items, minlength=len(raw.ids))
    keys = ListKeys(
        None if raw.groups is None else compact_groups(raw.groups[filtered.kept]),
        None if raw.times is None else raw.times[filtered.kept],
    )
    parts = split_and_report(len(filtered.lists), counts, keys, preparation, report)
    lists = Lists(compact_indices(counts)[filtered.lists.items], filtered.lists.offsets)
    source_indices = np.flatnonzero(counts)
    integers = None if raw.integers is None else raw.integers[source_indices]
    ids = [raw.ids[index] for index in source_indices.tolist()]
    names = None if raw.names is None else raw.names.select(filtered.kept)
    return Selection(lists, ids, source_indices, parts, keys, integers, names)


def split_and_report(
    lists: int, counts: NDArray[np.int64], keys: ListKeys, preparation: Preparation, report: Report
) -> NDArray[np.uint8]:
    """Return the part of every filtered list; `counts` says how often each item occurs in them."""
    report(f"filtered: {lists:,} lists, {np.count_nonzero(counts):,} items, {counts.sum():,} interactions left")
    parts = split_lists(lists, keys, preparation)
    sizes = ", ".join(f"{name} {count:,}" for name, count in part_sizes(parts).items())
    report(f"split: {sizes}" + (_time_boundaries(keys, preparation) if keys.times is not None else ""))
    return parts


def _time_boundaries(keys: ListKeys, preparation: Preparation) -> str:
    how = describe_split(keys, preparation)
    return f" (by the {how['list_time']} time of a list; valid from {how['valid_from']}, test from {how['test_from']})"


def compact_groups(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups numbered from 0 in the same order, without those of which no list is left."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def compact_indices(counts: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return new item indices without gaps, shape (items,): -1 for items that occur 0 times."""
    left = counts > 0
    return np.where(left, np.cumsum(left, dtype=np.int32) - np.int32(1), np.int32(-1))


def categorize(
    raw: RawLists,
    selection: Selection,
    details: ItemDetails,
    preparation: Preparation,
    report: Report = ignore,
    progress: Progress = no_progress,
) -> Categories:
    """Return the category of every item, learned from the training lists or, if so requested, from all raw lists."""
    train, seed = selection.train, preparation.seed

    def learn(count: int) -> tuple[NDArray[np.int64], dict[str, int]]:
        from_all = preparation.categories_from == "all"
        sample = sample_lists(raw.lists if from_all else train, seed)
        items = len(raw.ids if from_all else selection.ids)
        vectors, known = cbow_vectors(sample, items, preparation.min_item_count, seed, progress)
        if from_all:
            vectors, known = vectors[selection.source_indices], known[selection.source_indices]
        return cluster_items(vectors, known, count, seed), {"lists": len(sample), "interactions": len(sample.items)}

    return assign_categories(
        selection.ids, details, preparation, report, learn, lambda labels: fill_from_neighbors(labels, train)
    )


def _write(out: Path, corpus: Corpus, force: bool) -> None:
    try:
        write_corpus(out, corpus, force)
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another path") from error
