"""Lists that items borrow which are in no list: the memory holds such an item in some lists of its proxies.

Without them the memory would never vote for it, and no item without votes is among the best of the mixture. An item
borrows no more lists once a list contains it. Borrowed entries follow from the final lists and descriptions, as all
that is known of new items, and are taken out before the next update.
"""

from collections.abc import Sequence

import numpy as np

from fansrec.models.ranges import ranges
from fansrec.updating.memory import Indices, Memory, starts_of

# Times the lists of a mean proxy: with fewer, items are hardly recommended; with more, they displace others.
SHARE = 1.25
MAX_LISTS = 500  # of an item
MAX_PROXY_LISTS = 200  # of each proxy, the newest, from which lists are chosen


def borrowing(memory: Memory, new: Indices, proxies: Sequence[Sequence[int]]) -> Indices:
    """Return the items of `new` (A,) that are in no list, and have proxies that are in some."""
    found = [bool(some) and not memory.counts[item] for item, some in zip(new.tolist(), proxies, strict=True)]
    return new[np.array(found, dtype=np.bool_)]


def with_borrowed(memory: Memory, new: Indices, proxies: Sequence[Sequence[int]]) -> Memory:
    """Return the memory with those of the items `new` (A,) that are in no list in some lists of their proxies.

    An item borrows the newest of their lists, and has the position of the first proxy in each.
    """
    alone = borrowing(memory, new, proxies)
    if not len(alone):
        return memory
    of = dict(zip(new.tolist(), proxies, strict=True))
    owners = np.repeat(np.arange(len(alone)), [len(of[item]) for item in alone.tolist()])
    flat = np.array([proxy for item in alone.tolist() for proxy in of[item]], dtype=np.int64)
    counts = np.minimum(memory.counts[flat], MAX_PROXY_LISTS)
    found = ranges(memory.list_starts[flat + 1] - counts, counts)
    keys, first = np.unique(np.repeat(owners, counts) * len(memory) + memory.lists[found], return_index=True)
    rows, lists = np.divmod(keys, len(memory))
    means = np.bincount(owners, memory.counts[flat], len(alone)) / np.bincount(owners, minlength=len(alone))
    wanted = np.clip(np.rint(SHARE * means), 1, MAX_LISTS)
    ends = np.cumsum(np.bincount(rows, minlength=len(alone)))  # lists of an item are in order, the newest last
    chosen = np.flatnonzero(ends[rows] - np.arange(len(rows)) <= wanted[rows])
    return _with_entries(memory, alone[rows[chosen]], lists[chosen], memory.list_places[found[first[chosen]]])


def without_borrowed(memory: Memory, items: Indices) -> Memory:
    """Return the memory without all entries of these items, which are in no list of their own."""
    if not len(items):
        return memory
    borrowed = np.zeros(memory.vocabulary, dtype=np.bool_)
    borrowed[items] = True
    by_list, by_item = ~borrowed[memory.items], ~np.repeat(borrowed, memory.counts)
    return Memory(
        memory.items[by_list],
        memory.places[by_list],
        starts_of(by_list.astype(np.int64))[memory.starts],
        memory.lists[by_item],
        memory.list_places[by_item],
        starts_of(by_item.astype(np.int64))[memory.list_starts],
    )


def _with_entries(memory: Memory, items: Indices, lists: Indices, places: Indices) -> Memory:
    """Return the memory with `items` (E,), which have no entries yet, in these lists at these positions."""
    sizes = np.diff(memory.starts)
    more = np.bincount(lists, minlength=len(memory))
    last = memory.places[np.maximum(memory.starts[1:] - 1, 0)]
    # The position of the last item of a list tells the engines whether items are repeated; that must not change.
    kept = (last != sizes + more - 1)[lists]
    items, lists, places = items[kept], lists[kept], places[kept].astype(np.int32)
    by_list, by_item = np.lexsort((items, lists)), np.lexsort((lists, items))
    ends, slots = memory.starts[lists[by_list] + 1], memory.list_starts[items[by_item]]
    return Memory(
        np.insert(memory.items, ends, items[by_list].astype(np.int32)),
        np.insert(memory.places, ends, places[by_list]),
        memory.starts + starts_of(np.bincount(lists, minlength=len(memory))),
        np.insert(memory.lists, slots, lists[by_item].astype(np.int32)),
        np.insert(memory.list_places, slots, places[by_item]),
        memory.list_starts + starts_of(np.bincount(items, minlength=memory.vocabulary)),
    )
