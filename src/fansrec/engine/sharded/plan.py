"""Which shard has which categories: contiguous runs of them, with about as many items each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadSetting


@dataclass(frozen=True)
class Plan:
    """Shard s has categories `cuts[s]` to `cuts[s + 1]`; category c is items `starts[c]` to `starts[c + 1]`."""

    starts: tuple[int, ...]
    cuts: tuple[int, ...]

    @property
    def shards(self) -> int:
        return len(self.cuts) - 1

    @cached_property
    def items(self) -> NDArray[np.int64]:
        """(S + 1,): shard s has items `items[s]` to `items[s + 1]`."""
        return np.array([self.starts[cut] for cut in self.cuts], dtype=np.int64)

    def split(self, items: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Item numbers in rising order, those of each shard."""
        return np.split(items, np.searchsorted(items, self.items[1:-1]))


def deal(starts: Sequence[int], shards: int) -> Plan:
    """Cut at the category boundaries nearest to even shares; every shard gets a category at least."""
    categories = len(starts) - 1
    if not 1 <= shards <= categories:
        raise BadSetting(f"{shards} shards cannot share {categories} categories; ask for 1 to {categories}")
    bounds, cuts = np.array(starts), [0]
    for shard in range(1, shards):
        nearest = int(np.abs(bounds - starts[-1] * shard / shards).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), categories - (shards - shard)))
    return Plan(tuple(starts), (*cuts, categories))
