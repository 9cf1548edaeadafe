"""Spelling correction: the words of an index that are a few edits away (Damerau-Levenshtein distance)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

MIN_LENGTH = 3  # of a word that is corrected
SIZE = 16  # letters of a word that are compared
BITS = 32
Letters = NDArray[np.uint8]  # shape (words, SIZE), padded with zeros
PREFIX_COST = np.float32(0.5)  # of an edit: a word of which only a prefix matches
EDIT_COST = 3  # a word with one edit more scores higher if it is exp(3) = 20 times as frequent
ONE = np.int8(1)
FAR = np.int8(50)
PRUNED_ROWS = (2, 4, 7)  # rows of the table after which words that are too far are dropped


def encode(words: Sequence[str]) -> Letters:
    """Return the letters of each word as numbers from 1 to 255."""
    cut = "".join(word[:SIZE].ljust(SIZE, "\0") for word in words)
    codes = np.frombuffer(cut.encode("utf-32-le"), np.uint32)
    # Larger alphabets are folded: two letters that share a number count as equal.
    return np.where(codes > 0, codes % 255 + 1, 0).astype(np.uint8).reshape(len(words), SIZE)


def max_edits(word: str) -> int:
    """Return how many edits a correction of the word may have."""
    return 0 if len(word) < MIN_LENGTH or not word.isalpha() else 1 if len(word) < 6 else 2


class Terms:
    """All words of an index, compared with one word at a time: the exact distance to the few that can be close."""

    def __init__(self, letters: Letters, counts: NDArray[np.uint32]) -> None:
        self._letters = letters
        self._log_counts = np.log1p(counts.astype(np.float32))
        self._sizes = np.count_nonzero(letters, axis=1).astype(np.int8)
        self._sets = _letter_sets(letters)
        self._first = letters[:, 0].copy()

    def close_to(self, word: str, unfinished: bool, count: int) -> list[tuple[int, float]]:
        """Return the indices and scores of the `count` best corrections; an unfinished word may also be a prefix."""
        word = word[:SIZE]
        edits = max_edits(word)
        if not edits:
            return []
        indices = np.flatnonzero(self._candidates(word, edits, unfinished))
        near, whole, prefix = distances(word, self._letters[indices], self._sizes[indices], edits)
        distance = np.minimum(whole, prefix + PREFIX_COST) if unfinished else whole.astype(np.float32)
        close = np.flatnonzero((distance >= 1) & (distance < edits + 1))
        indices, distance = indices[near[close]], distance[close]
        scores = self._log_counts[indices] - EDIT_COST * distance
        best = np.argsort(-scores, kind="stable")[:count]
        return [(int(indices[n]), float(scores[n])) for n in best]

    def _candidates(self, word: str, edits: int, unfinished: bool) -> NDArray[np.bool_]:
        """Return which words differ from `word` in at most `edits` letters, and in length accordingly.

        A prefix may belong to a word of any length; its first letter is assumed to be right.
        """
        letters = _letter_sets(encode([word]))[0]
        contained = _at_most(letters & ~self._sets, edits)
        whole = _at_most(self._sets & ~letters, edits) & (np.abs(self._sizes - len(word)) <= edits)
        if unfinished:
            whole |= self._first == encode([word])[0, 0]
        possible: NDArray[np.bool_] = contained & whole
        return possible


def _letter_sets(letters: Letters) -> NDArray[np.uint32]:
    """Return the letters of each word as bits; letters that share a bit only cost time."""
    bits = np.where(np.arange(256) > 0, 1 << (np.arange(256) % BITS), 0).astype(np.uint32)
    sets = np.zeros(len(letters), dtype=np.uint32)
    for column in letters.T:
        sets |= bits[column]
    return sets


def _at_most(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    for _ in range(count):
        bits = bits & (bits - np.uint32(1))  # clears the lowest bit
    few: NDArray[np.bool_] = bits == 0
    return few


def distances(
    word: str, letters: Letters, sizes: NDArray[np.int8], edits: int
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8]]:
    """Return the indices of words that may be near, their distances, and the distances of their best prefixes.

    Distances above `edits` are not exact. The usual table (restricted Damerau-Levenshtein) is computed for all words
    at once, one row for each letter of `word`, and of each row only the band that `edits` edits can reach.
    """
    near = np.arange(len(letters))
    width = 2 * edits + 1
    padded = np.pad(letters.T, ((edits, edits), (0, 0)))
    first = np.array([FAR] * edits + [*range(edits + 1)], dtype=np.int8)
    above = before = np.tile(first[:, None], len(near))
    codes = encode([word])[0, : len(word)]
    for row, code in enumerate(codes):
        here = padded[row : row + width]
        new = above + (here != code)
        np.minimum(new[:-1], above[1:] + ONE, out=new[:-1])
        if row:
            not_swapped = (padded[row - 1 : row - 1 + width] != code) | (here != codes[row - 1])
            np.minimum(new, before + ONE + FAR * not_swapped.view(np.int8), out=new)
        for left, cell in pairwise(new):
            np.minimum(cell, left + ONE, out=cell)
        before, above = above, new
        if row in PRUNED_ROWS:
            kept = np.flatnonzero(np.minimum(before.min(axis=0), above.min(axis=0)) <= edits)
            near, padded, before, above = (np.take(some, kept, -1) for some in (near, padded, before, above))
    ends = sizes[near] - len(word) + edits
    reached = (ends >= 0) & (ends < width)
    whole = np.where(reached, above[np.where(reached, ends, 0), np.arange(len(near))], FAR)
    return near, whole, above.min(axis=0)
