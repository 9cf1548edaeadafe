"""The items of a corpus in several files, read like one array without loading all of it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SINGLE_FILE = "lists.npy"
BLOCK_ITEMS = 1 << 24


def shard_name(number: int) -> str:
    return f"lists-{number:05}.npy"


class Shards:
    """A concatenation of arrays; indexing with a slice, a mask or positions (n,) gives a plain array."""

    def __init__(self, arrays: Sequence[NDArray[np.int32]]) -> None:
        self.arrays = arrays
        self.starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays], dtype=np.int64)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, key: Any) -> NDArray[np.int32]:
        if isinstance(key, slice):
            start, end, step = key.indices(len(self))
            assert step == 1
            return self._slice(start, end)
        return self._mask(key) if key.dtype == np.bool_ else self._take(key)

    def _slice(self, start: int, end: int) -> NDArray[np.int32]:
        parts = [
            array[max(0, start - first) : max(0, end - first)]
            for array, first in zip(self.arrays, self.starts[:-1].tolist(), strict=True)
            if first < end and first + len(array) > start
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int32), *parts])

    def _mask(self, mask: NDArray[np.bool_]) -> NDArray[np.int32]:
        if len(mask) != len(self):
            raise IndexError(f"a mask of length {len(mask)} for {len(self)} items")
        cuts = np.split(mask, self.starts[1:-1])
        return np.concatenate([array[cut] for array, cut in zip(self.arrays, cuts, strict=True)])

    def _take(self, positions: NDArray[np.int64]) -> NDArray[np.int32]:
        if len(positions) and not 0 <= positions.min() <= positions.max() < len(self):
            raise IndexError(f"positions beyond the {len(self)} items")
        order = np.argsort(positions, kind="stable")  # each shard is read once, from start to end
        cuts = np.searchsorted(positions[order], self.starts)
        found = np.empty(len(positions), np.int32)
        for shard in np.flatnonzero(np.diff(cuts)).tolist():
            here = order[cuts[shard] : cuts[shard + 1]]
            found[here] = self.arrays[shard][positions[here] - self.starts[shard]]
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.concatenate(self.arrays).astype(dtype or np.int32, copy=False)

    def min(self) -> int:
        return min(int(array.min()) for array in self.arrays)

    def max(self) -> int:
        return max(int(array.max()) for array in self.arrays)


Items = NDArray[np.int32] | Shards


def read_blocks(items: Items) -> Iterator[NDArray[np.int32]]:
    """Yield all items in order, in arrays of at most BLOCK_ITEMS."""
    for array in items.arrays if isinstance(items, Shards) else [items]:
        for start in range(0, len(array), BLOCK_ITEMS):
            yield np.ascontiguousarray(array[start : start + BLOCK_ITEMS])


def list_starts(items: Items, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first list of every shard, then the number of lists, shape (shards + 1,); shards hold whole lists."""
    cuts = items.starts if isinstance(items, Shards) else np.array([0, len(items)])
    return np.searchsorted(offsets, cuts)


def read_items(folder: Path) -> Items:
    """Map the items of a corpus folder into memory: a single file, or all shards."""
    shards = len(list(folder.glob("lists-*.npy")))
    if (folder / SINGLE_FILE).exists() or not shards:
        return _map_file(folder / SINGLE_FILE)
    return Shards([_map_file(folder / shard_name(shard)) for shard in range(shards)])


def _map_file(path: Path) -> NDArray[np.int32]:
    items: NDArray[np.int32] = np.load(path, mmap_mode="r", allow_pickle=False)
    return items
