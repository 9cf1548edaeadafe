"""Evidence of the lists of a memory that vote: which of them contain an item, and for which input items they vote."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fansrec.explaining.evidence import Columns, Floats, Indices, Lists, columns_of

MAX_LISTS = 5  # that are named for an item


@dataclass(frozen=True)
class Voters:
    """The N lists that vote after an input, and their E entries."""

    lists: Indices  # (N,) in ascending order
    similarity: Floats  # (N,)
    slots: Indices  # (E,) of which list an entry is
    items: Indices  # (E,)
    votes: Floats  # (E,)


@dataclass(frozen=True)
class Support:
    """The votes for K items after an input of D distinct items."""

    by_input: Floats  # (K, D) each vote is divided among the input items by which the list is similar
    lists: list[Lists]  # (K)


def support(voters: Voters, items: Indices, vocabulary: int, shared: Callable[[Indices], Floats]) -> Support:
    """Return the votes for `items` (K,); `shared` returns what each of D input items adds to similarities, (n, D)."""
    columns = columns_of(items, vocabulary)[voters.items]
    found = np.flatnonzero(columns >= 0)
    columns, slots = columns[found], voters.slots[found]
    is_used = np.zeros(len(voters.lists), dtype=np.bool_)
    is_used[slots] = True
    used, index = np.flatnonzero(is_used), np.cumsum(is_used)[slots] - 1
    parts = shared(voters.lists[used])  # (n, D)
    shares = parts / np.maximum(parts.sum(1), np.finfo(float).tiny)[:, None]
    keys = columns.astype(np.int64) * len(used) + index
    votes = np.bincount(keys, voters.votes[found], minlength=len(items) * len(used)).reshape(len(items), len(used))
    return Support(votes @ shares, _most_similar(voters, columns, slots, np.count_nonzero(parts, 1)[index], len(items)))


def _most_similar(voters: Voters, columns: Columns, slots: Indices, shared: Indices, items: int) -> list[Lists]:
    """Return for each item the most similar lists that contain it; of equally similar ones the newest come first."""
    ranked = np.argsort(voters.similarity, kind="stable")[::-1]
    rank = np.empty(len(ranked), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    similarity = voters.similarity[slots] / voters.similarity.max(initial=0) if len(slots) else np.zeros(0)
    order = np.argsort(columns.astype(np.int64) * len(rank) + rank[slots])
    starts = np.searchsorted(columns[order], np.arange(items + 1))
    rows = zip(voters.lists[slots][order].tolist(), similarity[order].tolist(), shared[order].tolist(), strict=True)
    found = list(rows)
    return [found[first : min(last, first + MAX_LISTS)] for first, last in pairwise(starts.tolist())]
