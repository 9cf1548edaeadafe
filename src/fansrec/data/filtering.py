"""The iterated filter of the paper: drop rare items and short lists until none are left."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.lists import Lists
from fansrec.errors import BadInput


@dataclass(frozen=True)
class Filtered:
    """The lists that passed the filter, and how many items and lists did not."""

    lists: Lists
    kept: NDArray[np.int64]  # (lists,): their indices in the source
    rare_items: int
    short_lists: int
    cut_lists: int


def nothing_left(lists: int, rare_items: int, cut_lists: int) -> BadInput:
    """Return the error for a source of which no list passed the filter."""
    return BadInput(
        f"no list is left of {lists:,}: {rare_items:,} items were too rare (--min-item-count), {cut_lists:,} lists "
        f"were cut (--max-length), {lists:,} lists were too short (--min-length); lower the limits"
    )


def filter_lists(lists: Lists, items: int, min_item_count: int, min_length: int, max_length: int) -> Filtered:
    """Drop rare items, cut long lists to their first items and drop short lists, repeatedly until nothing changes.

    `items` is the number of distinct items. An item that a list repeats counts each time, and the repeats stay.
    """
    lists_before = len(lists)
    kept = np.arange(lists_before)
    items_before = int(np.count_nonzero(np.bincount(lists.items, minlength=items)))
    cut_lists = 0
    while True:
        before = (len(lists), len(lists.items))
        frequent = np.bincount(lists.items, minlength=items) >= min_item_count
        lists, long_enough, cut = filter_once(lists, frequent, min_length, max_length)
        cut_lists += cut
        kept = kept[long_enough]
        if (len(lists), len(lists.items)) == before:
            break
    items_after = int(np.count_nonzero(np.bincount(lists.items, minlength=items)))
    return Filtered(lists, kept, items_before - items_after, lists_before - len(lists), cut_lists)


def filter_once(
    lists: Lists, frequent: NDArray[np.bool_], min_length: int, max_length: int
) -> tuple[Lists, NDArray[np.bool_], int]:
    """Apply one round of the filter; return the remaining lists, which lists those are, and how many were cut."""
    lists = lists.keep_items(frequent[lists.items])
    cut = int(np.count_nonzero(lists.lengths > max_length))
    lists = cut_long_lists(lists, max_length)
    long_enough = lists.lengths >= min_length
    return lists.keep_lists(long_enough), long_enough, cut


def cut_long_lists(lists: Lists, max_length: int) -> Lists:
    """Keep the first `max_length` items of every list."""
    long = np.flatnonzero(lists.lengths > max_length)
    if not len(long):
        return lists
    kept = np.ones(len(lists.items), dtype=np.bool_)
    for start, end in zip(lists.offsets[long] + max_length, lists.offsets[long + 1], strict=True):
        kept[start:end] = False
    return lists.keep_items(kept)
