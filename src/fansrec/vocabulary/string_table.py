"""Millions of short texts in little memory: one run of bytes instead of an object each, and a table to find them by."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import overload

import numpy as np
from numpy.typing import NDArray

ABSENT = -1  # the size of a text that is not there


class Texts(Sequence[str | None]):
    """An unchangeable column of texts, some of which may be None."""

    def __init__(self, content: bytes, sizes: NDArray[np.int64]) -> None:
        self._content = content
        # Memoryviews give single numbers several times as fast as arrays.
        self._ends = np.cumsum(np.concatenate([[0], np.maximum(sizes, 0)])).data
        self._absent = (sizes == ABSENT).data

    @staticmethod
    def of(texts: Iterable[str | None]) -> "Texts":
        texts = list(texts)
        whole = "".join([text for text in texts if text is not None])
        content = whole.encode()
        if len(content) > len(whole):  # some characters take several bytes
            return Texts(content, _sizes([None if text is None else text.encode() for text in texts]))
        return Texts(content, _sizes(texts))

    @staticmethod
    def joined(parts: Sequence["Texts"]) -> "Texts":
        sizes = [np.where(part._absent, ABSENT, np.diff(part._ends)) for part in parts]
        return Texts(b"".join(part._content for part in parts), np.concatenate([np.zeros(0, dtype=np.int64), *sizes]))

    def __len__(self) -> int:
        return len(self._absent)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> list[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | list[str | None] | None:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return None if self._absent[index] else self._bytes(index).decode()

    def _bytes(self, index: int) -> bytes:
        return self._content[self._ends[index] : self._ends[index + 1]]

    def any(self) -> bool:
        """Whether there is a text at all."""
        return not np.all(self._absent)

    def all_present(self) -> bool:
        """Return whether no text is None."""
        return not np.any(self._absent)

    def longest(self) -> int:
        """Return the number of bytes of the longest text."""
        return int(np.diff(np.asarray(self._ends)).max(initial=0))

    def all_distinct(self) -> bool:
        """Return whether no text comes twice."""
        hashes = self._hashes
        if len(np.unique(hashes)) == len(hashes):
            return True
        texts = [self._bytes(i) for i in range(len(self)) if not self._absent[i]]  # hashes may agree by chance
        return len({*texts}) == len(texts)

    def all_integers(self, digits: int) -> bool:
        """Return whether every text is an integer as `str` writes it, of at most that many digits."""
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

    def places(self, text: str) -> list[int]:
        """Where a text stands, first to last."""
        wanted = text.encode(errors="surrogatepass")  # half a character is in no text, and no reason to fail
        order, starts = self._table
        row = hash(wanted) & (len(starts) - 2)
        return [place for place in order[starts[row] : starts[row + 1]].tolist() if self._bytes(place) == wanted]

    @cached_property
    def _hashes(self) -> NDArray[np.int64]:
        """The hashes of the texts that are not None."""
        texts = map(self._content.__getitem__, map(slice, self._ends[:-1], self._ends[1:]))
        there: NDArray[np.int64] = np.fromiter(map(hash, texts), np.int64, len(self))[~np.asarray(self._absent)]
        return there

    @cached_property
    def _table(self) -> tuple[memoryview, memoryview]:
        """The places of all texts in the order of a few bits of their hash, and where each value of these begins."""
        there = np.flatnonzero(~np.asarray(self._absent))
        rows = 1 << len(there).bit_length()
        hashes = self._hashes & (rows - 1)
        self.__dict__.pop("_hashes", None)  # a lookup needs the table alone
        starts = np.concatenate([[0], np.cumsum(np.bincount(hashes, minlength=rows))])
        order = there[np.argsort(hashes, kind="stable")]
        return order.astype(np.int32).data, starts.astype(np.int32).data


def _sizes(texts: Sequence[str | bytes | None]) -> NDArray[np.int64]:
    return np.array([ABSENT if text is None else len(text) for text in texts], dtype=np.int64)
