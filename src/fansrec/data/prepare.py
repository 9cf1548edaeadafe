"""From a source to a corpus: read, filter, split, categorize, number the items, write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data import categorizer
from fansrec.data.assembling import Categories, Selected, assemble, part_sizes, summarize
from fansrec.data.columns import Columns
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.data.filtering import filter_lists
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.lists import Lists, RawLists
from fansrec.data.settings import Preparation, check
from fansrec.data.sources import read_lists, source_name
from fansrec.data.splitting import split_lists
from fansrec.errors import BadInput, BadSetting
from fansrec.files import refuse_existing

Say = Callable[[str], None]


def ignore(_: str) -> None:
    """Nobody listens."""


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
    out = Path(out)
    check_before(preparation, items, out)
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


def check_before(preparation: Preparation, items: Any, out: Path) -> None:
    """Refuse what can be refused before anything is read."""
    check(preparation)
    if preparation.categories == "own" and items is None:
        raise BadSetting("--categories own needs --items FILE with a column category")
    refuse_existing(out, "the corpus")


def select(raw: RawLists, preparation: Preparation, say: Say) -> Selected:
    """Filter the lists and split what is left."""
    filtered = filter_lists(
        raw.lists, len(raw.ids), preparation.min_item_count, preparation.min_length, preparation.max_length
    )
    if not len(filtered.lists):
        raise nothing_left(len(raw.lists), filtered.account())
    counts = np.bincount(filtered.lists.items, minlength=len(raw.ids))
    source_numbers = np.flatnonzero(counts)
    renumbered = np.cumsum(counts > 0, dtype=np.int32) - np.int32(1)
    lists = Lists(renumbered[filtered.lists.items], filtered.lists.offsets)
    say(f"filtered: {len(lists):,} lists, {len(source_numbers):,} items, {len(lists.items):,} interactions left")
    parts = split_lists(len(lists), None if raw.groups is None else raw.groups[filtered.kept], preparation)
    say_split(parts, say)
    return Selected(lists, [raw.ids[number] for number in source_numbers.tolist()], source_numbers, parts)


def nothing_left(lists: int, account: str) -> BadInput:
    return BadInput(f"no list is left of {lists:,}: {account}; lower the limits")


def say_split(parts: NDArray[np.uint8], say: Say) -> None:
    say("split: " + ", ".join(f"{name} {count:,}" for name, count in part_sizes(parts).items()))


def categorize(
    raw: RawLists, selected: Selected, details: ItemDetails, preparation: Preparation, say: Say
) -> Categories:
    """The user's own categories where wanted or given, else CBOW and k-means."""
    if own_wanted(details, preparation):
        labels, names = categorizer.own_categories(selected.ids, details.categories)
        say_own(labels, names, say)
        return Categories(categorizer.fill_from_neighbours(labels, selected.train), names, "own", None)
    return _learned_categories(raw, selected, preparation, say)


def own_wanted(details: ItemDetails, preparation: Preparation) -> bool:
    if preparation.categories == "own" and not details.categories:
        raise BadInput("the items file gives no item a category; add a column category, or leave out --categories own")
    return preparation.categories == "own" or (preparation.categories is None and bool(details.categories))


def say_own(labels: NDArray[np.int64], names: list[str], say: Say) -> None:
    without = int(np.sum(labels == categorizer.UNKNOWN))
    say(f"categories: N = {len(names)} of your own, {without:,} items without one took their neighbours'")


def _learned_categories(raw: RawLists, selected: Selected, preparation: Preparation, say: Say) -> Categories:
    items = len(selected.ids)
    number = how_many(preparation, items, say)
    train, everything = selected.train, preparation.categories_from == "all"
    taught_by = categorizer.sample_lists(raw.lists if everything else train, preparation.seed)
    known_items = len(raw.ids) if everything else items
    vectors, known = categorizer.cbow_vectors(taught_by, known_items, preparation.min_item_count, preparation.seed)
    if everything:
        vectors, known = vectors[selected.source_numbers], known[selected.source_numbers]
    labels = categorizer.clusters(vectors, known, number, preparation.seed)
    labels = categorizer.fill_empty_categories(categorizer.fill_from_neighbours(labels, train), number)
    say(f"categorized: {int(known.sum()):,} items by their vectors, {int((~known).sum()):,} by their neighbours")
    taught = {"lists": len(taught_by), "interactions": len(taught_by.items)}
    return Categories(labels, [str(category) for category in range(number)], preparation.categories_from, taught)


def how_many(preparation: Preparation, items: int, say: Say) -> int:
    """The number of categories to be learned."""
    wanted = preparation.categories
    number = wanted if isinstance(wanted, int) else categorizer.chosen_categories(items)
    if number > items:
        raise BadSetting(f"--categories {number} is more than the {items:,} items left; choose a smaller number")
    say(f"categories: N = {number} ({'as given' if wanted else f'chosen from {items:,} items'})")
    return number


def _write(out: Path, corpus: Corpus) -> None:
    try:
        write_corpus(out, corpus)
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another place") from error
