"""The category of every item: the user's own categories, or clusters of item vectors."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.item_details import ItemDetails
from fansrec.data.item_vectors import UNKNOWN, WINDOW
from fansrec.data.lists import Lists
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput, BadSetting

Report = Callable[[str], None]  # receives one line per stage of the preparation
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Categories:
    labels: Labels  # (items,)
    names: Sequence[str]
    learned_from: str  # train, all, or own
    taught_by: dict[str, int] | None  # the number of lists and interactions that CBOW read


def assign_categories(
    ids: Sequence[str],
    details: ItemDetails,
    preparation: Preparation,
    report: Report,
    learn: Callable[[int], tuple[Labels, dict[str, int]]],
    fill: Callable[[Labels], Labels],
) -> Categories:
    """Return the user's own categories if requested or given, else clusters of item vectors.

    `learn` takes the number of categories and returns labels, UNKNOWN for items without a vector, and the number of
    lists and interactions that they were learned from. `fill` replaces UNKNOWN by the category of the neighbors.
    """
    if _uses_own(details, preparation):
        labels, names = own_categories(ids, details.categories)
        missing = int(np.sum(labels == UNKNOWN))
        report(f"categories: N = {len(names)} of your own, {missing:,} items without one took their neighbors'")
        return Categories(fill(labels), names, "own", None)
    count = _category_count(preparation, len(ids), report)
    labels, taught_by = learn(count)
    known = int(np.sum(labels != UNKNOWN))
    labels = fill_empty_categories(fill(labels), count)
    report(f"categorized: {known:,} items by their vectors, {len(labels) - known:,} by their neighbors")
    return Categories(labels, [str(category) for category in range(count)], preparation.categories_from, taught_by)


def _uses_own(details: ItemDetails, preparation: Preparation) -> bool:
    if preparation.categories == "own" and not details.categories:
        raise BadInput("the items file gives no item a category; add a column category, or leave out --categories own")
    return preparation.categories == "own" or (preparation.categories is None and bool(details.categories))


def _category_count(preparation: Preparation, items: int, report: Report) -> int:
    given = preparation.categories
    count = given if isinstance(given, int) else default_category_count(items)
    if count > items:
        raise BadSetting(f"--categories {count} is more than the {items:,} items left; choose a smaller number")
    report(f"categories: N = {count} ({'as given' if given else f'chosen from {items:,} items'})")
    return count


def default_category_count(items: int) -> int:
    """Return sqrt(M) / 8, from 4 to 256: the two-stage head costs N + M/N, but small categories learn poorly."""
    return min(items, max(4, min(256, round(math.sqrt(items) / 8))))


def own_categories(ids: Sequence[str], category_of: dict[str, str]) -> tuple[Labels, list[str]]:
    """Return the user's category of every item, UNKNOWN where it has none, and the sorted category names."""
    names = sorted({category_of[id_] for id_ in ids if id_ in category_of})
    indices = {name: index for index, name in enumerate(names)}
    labels = [indices[category_of[id_]] if id_ in category_of else UNKNOWN for id_ in ids]
    return np.array(labels, dtype=np.int64), names


def fill_from_neighbors(labels: Labels, lists: Lists) -> Labels:
    """Give each UNKNOWN item the majority category of its neighbors in the lists, or else the most common category."""
    if not np.any(labels == UNKNOWN):
        return labels
    return apply_majority(labels, *neighbor_counts(labels, lists))


def neighbor_counts(labels: Labels, lists: Lists) -> tuple[Labels, Labels, Labels]:
    """Return how often each category occurs within WINDOW of each UNKNOWN item: items, categories and counts, (n,)."""
    at = np.flatnonzero((labels == UNKNOWN)[lists.items])
    own_list = np.searchsorted(lists.offsets, at, side="right") - 1
    start, end = lists.offsets[own_list], lists.offsets[own_list + 1]
    base = int(labels.max()) + 1
    pairs = []
    for distance in (*range(-WINDOW, 0), *range(1, WINDOW + 1)):
        inside = (at + distance >= start) & (at + distance < end)
        category = labels[lists.items[at[inside] + distance]]
        pairs.append((lists.items[at[inside]].astype(np.int64) * base + category)[category != UNKNOWN])
    distinct, counts = np.unique(np.concatenate(pairs), return_counts=True)
    return distinct // max(base, 1), distinct % max(base, 1), counts


def apply_majority(labels: Labels, items: Labels, categories: Labels, counts: Labels) -> Labels:
    """Replace UNKNOWN labels by the category with the highest count, the lowest such category in a tie."""
    known = labels[labels != UNKNOWN]
    most_common = int(np.bincount(known).argmax()) if len(known) else 0
    filled = np.where(labels == UNKNOWN, most_common, labels)
    # Later writes win: the highest count comes last, and among equal counts the lowest category.
    order = np.lexsort((-categories, counts))
    filled[items[order]] = categories[order]
    return filled


def fill_empty_categories(labels: Labels, categories: int) -> Labels:
    """Move an item of the largest category into each empty one: a model has a classifier for every category."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=categories) == 0):
        largest = np.bincount(labels, minlength=categories).argmax()
        labels[np.flatnonzero(labels == largest)[-1]] = empty
    return labels
