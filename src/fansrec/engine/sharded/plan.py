"""Which shard has which categories: consecutive ones, with about the same number of items in each shard."""

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
        """Return the bounds of the shards, (S + 1,): shard s has items `items[s]` to `items[s + 1]`."""
        return np.array([self.starts[cut] for cut in self.cuts], dtype=np.int64)

    def split(self, items: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Divide item indices, in ascending order, among the shards."""
        return np.split(items, np.searchsorted(items, self.items[1:-1]))


def divide(starts: Sequence[int], shards: int) -> Plan:
    """Return the plan that cuts at the category bounds nearest to equal shares; every shard gets a category."""
    categories = len(starts) - 1
    if not 1 <= shards <= categories:
        raise BadSetting(f"{shards} shards cannot share {categories} categories; ask for 1 to {categories}")
    bounds, cuts = np.array(starts), [0]
    for shard in range(1, shards):
        nearest = int(np.abs(bounds - starts[-1] * shard / shards).argmin())
        cuts.append(min(max(nearest, cuts[-1] + 1), categories - (shards - shard)))
    return Plan(tuple(starts), (*cuts, categories))
