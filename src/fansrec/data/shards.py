"""The items of a corpus in several files: read like one array, of which only what is asked for is ever in memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ONE_FILE = "lists.npy"
AT_ONCE = 1 << 24  # items gone through at a time


def shard_name(number: int) -> str:
    return f"lists-{number:05}.npy"


class Shards:
    """Arrays one after the other; slices, masks and numbers of places give plain arrays."""

    dtype = np.dtype(np.int32)
    ndim = 1

    def __init__(self, arrays: Sequence[NDArray[np.int32]]) -> None:
        self.arrays = arrays
        self.starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays], dtype=np.int64)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int]:
        return (len(self),)

    def __getitem__(self, places: Any) -> Any:
        if isinstance(places, slice):
            return self._slice(*places.indices(len(self)))
        places = np.asarray(places)
        if places.dtype == np.bool_:
            return self._masked(places)
        return self._picked(np.where(places < 0, places + len(self), places))

    def _slice(self, start: int, end: int, step: int) -> Any:
        if step != 1:
            return self._picked(np.arange(start, end, step))
        parts = [
            array[max(0, start - first) : max(0, end - first)]
            for array, first in zip(self.arrays, self.starts[:-1].tolist(), strict=True)
            if first < end and first + len(array) > start
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, self.dtype), *parts])

    def _masked(self, mask: NDArray[np.bool_]) -> NDArray[np.int32]:
        if len(mask) != len(self):
            raise IndexError(f"a mask of {len(mask)} for {len(self)} items")
        cuts = np.split(mask, self.starts[1:-1])
        return np.concatenate([array[cut] for array, cut in zip(self.arrays, cuts, strict=True)])

    def _picked(self, places: NDArray[np.int64]) -> Any:
        if places.size and not 0 <= places.min() <= places.max() < len(self):
            raise IndexError(f"places beyond the {len(self)} items")
        flat = places.ravel()
        order = np.argsort(flat, kind="stable")  # shard after shard, each read once and from its beginning to its end
        cuts = np.searchsorted(flat[order], self.starts)
        found = np.empty(len(flat), self.dtype)
        for shard in np.flatnonzero(np.diff(cuts)).tolist():
            here = order[cuts[shard] : cuts[shard + 1]]
            found[here] = self.arrays[shard][flat[here] - self.starts[shard]]
        return found.reshape(places.shape) if places.ndim else found[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the items lie in several files; an array of all of them is a copy")
        return np.concatenate(self.arrays).astype(dtype or self.dtype, copy=False)

    def min(self) -> int:
        return min(int(array.min()) for array in self.arrays)

    def max(self) -> int:
        return max(int(array.max()) for array in self.arrays)


Items = NDArray[np.int32] | Shards


def in_runs(items: Items) -> Iterator[NDArray[np.int32]]:
    """All items in their order, some at a time."""
    for array in items.arrays if isinstance(items, Shards) else [items]:
        for start in range(0, len(array), AT_ONCE):
            yield np.ascontiguousarray(array[start : start + AT_ONCE])


def list_starts(items: Items, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """(shards + 1,): the first list of every shard, then the number of lists; a shard holds whole lists."""
    cuts = items.starts if isinstance(items, Shards) else np.array([0, len(items)])
    return np.searchsorted(offsets, cuts)


def read_items(folder: Path) -> Items:
    """Mapped into memory: one file, or as many as there are."""
    if (folder / ONE_FILE).exists():
        return _mapped(folder / ONE_FILE)
    number = len(list(folder.glob("lists-*.npy")))
    return (
        Shards([_mapped(folder / shard_name(shard)) for shard in range(number)])
        if number
        else _mapped(folder / ONE_FILE)
    )


def _mapped(path: Path) -> NDArray[np.int32]:
    items: NDArray[np.int32] = np.load(path, mmap_mode="r", allow_pickle=False)
    return items
