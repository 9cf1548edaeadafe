"""From a source to a corpus: read, filter, split, categorize, number the items, write."""

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec import __version__
from fansrec.data import categorizer
from fansrec.data.columns import Columns
from fansrec.data.corpus import PARTS, Corpus, fingerprint, write_corpus
from fansrec.data.filtering import Filtered, filter_lists
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.lists import Lists, RawLists
from fansrec.data.settings import Preparation, check
from fansrec.data.sources import read_lists, source_name
from fansrec.data.splitting import TRAIN, split_at_random, split_by_group, split_in_file_order
from fansrec.errors import BadInput, BadSetting
from fansrec.files import refuse_existing
from fansrec.vocabulary import Vocabulary

Say = Callable[[str], None]
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")


def ignore(_: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True)
class Selected:
    """The lists that passed the filter, their items numbered anew without gaps, and their parts."""

    lists: Lists
    ids: Sequence[str]
    source_numbers: NDArray[np.int64]  # (items,): the items' numbers in the source
    parts: NDArray[np.uint8]

    @property
    def train(self) -> Lists:
        return self.lists.keep_lists(self.parts == TRAIN)


@dataclass(frozen=True)
class Categories:
    labels: NDArray[np.int64]
    names: Sequence[str]
    learned_from: str  # train, all, or own
    taught_by: Lists | None  # the lists that CBOW saw


def prepare(
    source: Any,
    out: str | Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    say: Say = ignore,
) -> dict[str, Any]:
    """Write the corpus of a source (a path, a dataframe, a list of lists) to the folder `out`; its summary comes back.

    `items` is a file or dataframe with names, groups and categories of the items. `say` hears one line a stage.
    """
    check(preparation)
    if preparation.categories == "own" and items is None:
        raise BadSetting("--categories own needs --items FILE with a column category")
    out = Path(out)
    refuse_existing(out, "the corpus")
    raw = read_lists(source, columns, preparation.split_by)
    say(f"read: {len(raw.lists):,} lists, {len(raw.ids):,} items, {len(raw.lists.items):,} interactions")
    selected = select(raw, preparation, say)
    details = read_details(items, selected.ids) if items is not None else ItemDetails()
    categories = categorize(raw, selected, details, preparation, say)
    corpus = assemble(selected, details, categories)
    corpus.summary.update(summarize(corpus, categories, preparation, source_name(source)))
    _write(out, corpus)
    say(f"written: {out}")
    return corpus.summary


def select(raw: RawLists, preparation: Preparation, say: Say) -> Selected:
    """Filter the lists and split what is left."""
    filtered = filter_lists(
        raw.lists, len(raw.ids), preparation.min_item_count, preparation.min_length, preparation.max_length
    )
    if not len(filtered.lists):
        raise BadInput(f"no list is left of {len(raw.lists):,}: {filtered.account()}; lower the limits")
    counts = np.bincount(filtered.lists.items, minlength=len(raw.ids))
    source_numbers = np.flatnonzero(counts)
    renumbered = np.cumsum(counts > 0, dtype=np.int32) - np.int32(1)
    lists = Lists(renumbered[filtered.lists.items], filtered.lists.offsets)
    say(f"filtered: {len(lists):,} lists, {len(source_numbers):,} items, {len(lists.items):,} interactions left")
    parts = _parts(raw, filtered, preparation)
    say("split: " + ", ".join(f"{name} {count:,}" for name, count in _part_sizes(parts).items()))
    return Selected(lists, [raw.ids[number] for number in source_numbers.tolist()], source_numbers, parts)


def _parts(raw: RawLists, filtered: Filtered, preparation: Preparation) -> NDArray[np.uint8]:
    if raw.groups is not None:
        return split_by_group(raw.groups[filtered.kept], preparation.seed)
    if preparation.split == "file-order":
        return split_in_file_order(len(filtered.lists))
    return split_at_random(len(filtered.lists), preparation.seed)


def categorize(
    raw: RawLists, selected: Selected, details: ItemDetails, preparation: Preparation, say: Say
) -> Categories:
    """The user's own categories where wanted or given, else CBOW and k-means."""
    if preparation.categories == "own" and not details.categories:
        raise BadInput("the items file gives no item a category; add a column category, or leave out --categories own")
    if preparation.categories == "own" or (preparation.categories is None and details.categories):
        labels, names = categorizer.own_categories(selected.ids, details.categories)
        without = int(np.sum(labels == categorizer.UNKNOWN))
        labels = categorizer.fill_from_neighbours(labels, selected.train)
        say(f"categories: N = {len(names)} of your own, {without:,} items without one took their neighbours'")
        return Categories(labels, names, "own", None)
    return _learned_categories(raw, selected, preparation, say)


def _learned_categories(raw: RawLists, selected: Selected, preparation: Preparation, say: Say) -> Categories:
    wanted, items = preparation.categories, len(selected.ids)
    number = wanted if isinstance(wanted, int) else categorizer.chosen_categories(items)
    if number > items:
        raise BadSetting(f"--categories {number} is more than the {items:,} items left; choose a smaller number")
    say(f"categories: N = {number} ({'as given' if wanted else f'chosen from {items:,} items'})")
    train, everything = selected.train, preparation.categories_from == "all"
    taught_by = categorizer.sample_lists(raw.lists if everything else train, preparation.seed)
    known_items = len(raw.ids) if everything else items
    vectors, known = categorizer.cbow_vectors(taught_by, known_items, preparation.min_item_count, preparation.seed)
    if everything:
        vectors, known = vectors[selected.source_numbers], known[selected.source_numbers]
    labels = categorizer.clusters(vectors, known, number, preparation.seed)
    labels = categorizer.fill_empty_categories(categorizer.fill_from_neighbours(labels, train), number)
    say(f"categorized: {int(known.sum()):,} items by their vectors, {int((~known).sum()):,} by their neighbours")
    return Categories(labels, [str(category) for category in range(number)], preparation.categories_from, taught_by)


def assemble(selected: Selected, details: ItemDetails, categories: Categories) -> Corpus:
    """Number the items by category, then falling frequency in training, then id: a category is then one slice."""
    train = selected.train
    frequency = np.bincount(train.items, minlength=len(selected.ids))
    by_id = np.argsort(np.array(sorted(range(len(selected.ids)), key=selected.ids.__getitem__)))
    order = np.lexsort((by_id, -frequency, categories.labels))
    numbers = np.argsort(order).astype(np.int32)
    ids = [selected.ids[index] for index in order.tolist()]
    sizes = np.bincount(categories.labels, minlength=len(categories.names))
    vocabulary = Vocabulary(
        ids=ids,
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        names=[details.names.get(id_) for id_ in ids] if details.names else None,
        groups=[details.groups.get(id_) for id_ in ids] if details.groups else None,
        category_names=categories.names,
        integer_ids=all(INTEGER.fullmatch(id_) for id_ in ids),
    )
    return Corpus(numbers[selected.lists.items], selected.lists.offsets, selected.parts, vocabulary, {})


def summarize(corpus: Corpus, categories: Categories, preparation: Preparation, source: str) -> dict[str, Any]:
    lists, items, interactions = len(corpus), len(corpus.vocabulary), len(corpus.items)
    seen = categories.taught_by
    return {
        "source": source,
        "lists": lists,
        "items": items,
        "interactions": interactions,
        "categories": len(categories.names),
        "shortest": int(corpus.lengths.min()),
        "longest": int(corpus.lengths.max()),
        "mean_length": round(interactions / lists, 4),
        "density": round(interactions / lists / items, 8),
        "splits": _part_sizes(corpus.parts),
        "categories_from": categories.learned_from,
        "categories_taught_by": None if seen is None else {"lists": len(seen), "interactions": len(seen.items)},
        "preparation": asdict(preparation),
        "fingerprint": fingerprint(corpus),
        "version": __version__,
    }


def _part_sizes(parts: NDArray[np.uint8]) -> dict[str, int]:
    return dict(zip(PARTS, np.bincount(parts, minlength=len(PARTS)).tolist(), strict=True))


def _write(out: Path, corpus: Corpus) -> None:
    try:
        write_corpus(out, corpus)
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another place") from error
