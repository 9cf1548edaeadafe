"""A compact column of strings: one byte buffer instead of one object per string, and a hash table to look them up."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

MISSING = -1  # the size of a string that is None


class StringTable(Sequence[str | None]):
    """An immutable column of strings, some of which may be None."""

    def __init__(self, content: bytes, sizes: NDArray[np.int64]) -> None:
        self._content = content
        # Reading a single number from a memoryview is several times as fast as from an array.
        self._ends = np.cumsum(np.concatenate([[0], np.maximum(sizes, 0)])).data
        self._missing = (sizes == MISSING).data

    @staticmethod
    def from_strings(strings: Iterable[str | None]) -> "StringTable":
        strings = list(strings)
        joined = "".join([string for string in strings if string is not None])
        content = joined.encode()
        if len(content) > len(joined):  # some characters take several bytes
            return StringTable(content, _sizes([None if string is None else string.encode() for string in strings]))
        return StringTable(content, _sizes(strings))

    @staticmethod
    def concatenate(tables: Sequence["StringTable"]) -> "StringTable":
        sizes = [np.where(table._missing, MISSING, np.diff(table._ends)) for table in tables]
        content = b"".join(table._content for table in tables)
        return StringTable(content, np.concatenate([np.zeros(0, dtype=np.int64), *sizes]))

    def __len__(self) -> int:
        return len(self._missing)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | list[str | None] | None:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return None if self._missing[index] else self._bytes(index).decode()

    def __iter__(self) -> Iterator[str | None]:
        """Yield all strings, several times as fast as one after another by their indices."""
        contents = map(self._content.__getitem__, map(slice, self._ends[:-1], self._ends[1:]))
        return (None if missing else text.decode() for text, missing in zip(contents, self._missing, strict=True))

    @property
    def buffers(self) -> tuple[bytes, NDArray[np.int64]]:
        """All strings one after another as UTF-8, and where they start and end: string i from i to i + 1."""
        return self._content, np.asarray(self._ends)

    def _bytes(self, index: int) -> bytes:
        return self._content[self._ends[index] : self._ends[index + 1]]

    def any(self) -> bool:
        """Return whether at least one string is not None."""
        return not np.all(self._missing)

    def all_present(self) -> bool:
        """Return whether no string is None."""
        return not np.any(self._missing)

    def longest(self) -> int:
        """Return the number of bytes of the longest string."""
        return int(np.diff(np.asarray(self._ends)).max(initial=0))

    def all_distinct(self) -> bool:
        """Return whether no string occurs twice."""
        hashes = self._hashes
        if len(np.unique(hashes)) == len(hashes):
            return True
        strings = [self._bytes(i) for i in range(len(self)) if not self._missing[i]]  # the hashes may collide
        return len({*strings}) == len(strings)

    def all_integers(self, digits: int) -> bool:
        """Return whether every string is an integer as `str` formats it, of at most `digits` digits."""
        ends = np.asarray(self._ends)
        if not self.all_present() or bool((ends[1:] == ends[:-1]).any()):
            return False
        content = np.frombuffer(self._content, dtype=np.uint8)
        first, sizes = content[ends[:-1]], np.diff(ends)
        minus = first == ord("-")
        leading = content[np.minimum(ends[:-1] + minus, len(content) - 1)]
        numeric = int(((content >= ord("0")) & (content <= ord("9"))).sum()) + int(minus.sum()) == len(content)
        zero = (leading == ord("0")) & (minus | (sizes > 1))
        return numeric and not bool((zero | (sizes - minus > digits) | (sizes == minus)).any())

    def find(self, string: str) -> list[int]:
        """Return the indices of all entries equal to `string`, in ascending order."""
        key = string.encode(errors="surrogatepass")  # a lone surrogate equals no entry and must not raise
        order, starts = self._table
        row = hash(key) & (len(starts) - 2)
        return [index for index in order[starts[row] : starts[row + 1]].tolist() if self._bytes(index) == key]

    @cached_property
    def _hashes(self) -> NDArray[np.int64]:
        """The hashes of the strings that are not None."""
        strings = map(self._content.__getitem__, map(slice, self._ends[:-1], self._ends[1:]))
        hashes: NDArray[np.int64] = np.fromiter(map(hash, strings), np.int64, len(self))[~np.asarray(self._missing)]
        return hashes

    @cached_property
    def _table(self) -> tuple[memoryview, memoryview]:
        """A hash table: the indices of all strings sorted by the low bits of their hash, and where each row starts."""
        present = np.flatnonzero(~np.asarray(self._missing))
        rows = 1 << len(present).bit_length()
        hashes = self._hashes & (rows - 1)
        self.__dict__.pop("_hashes", None)  # a lookup needs only the table
        starts = np.concatenate([[0], np.cumsum(np.bincount(hashes, minlength=rows))])
        order = present[np.argsort(hashes, kind="stable")]
        return order.astype(np.int32).data, starts.astype(np.int32).data


def _sizes(strings: Sequence[str | bytes | None]) -> NDArray[np.int64]:
    return np.array([MISSING if string is None else len(string) for string in strings], dtype=np.int64)
