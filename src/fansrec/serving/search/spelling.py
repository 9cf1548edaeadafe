"""Spelling correction: the words of an index that are a few edits away (restricted Damerau-Levenshtein distance)."""

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import OSA
from rapidfuzz.process import cdist

MIN_LENGTH = 3  # of a word that is corrected
PREFIX_COST = np.float32(0.5)  # of an edit: only a prefix of the word matches
EDIT_COST = 3  # a word with one edit more scores higher if it is exp(3) = 20 times as frequent
BITS = 32


def letter_set(word: str) -> int:
    """Return the letters of a word as bits; letters that share a bit only cost time."""
    bits = 0
    for letter in word:
        bits |= 1 << ord(letter) % BITS
    return bits


def max_edits(word: str) -> int:
    """Return how many edits a correction of the word may have."""
    return 0 if len(word) < MIN_LENGTH or not word.isalpha() else 1 if len(word) < 6 else 2


class Terms:
    """All words of an index in alphabetical order, with the `letter_set` and the number of occurrences of each."""

    def __init__(self, words: Sequence[str], letters: NDArray[np.uint32], counts: NDArray[np.uint32]) -> None:
        self._words, self._letters = words, letters
        self._log_counts = np.log1p(counts.astype(np.float32))
        self._sizes = np.fromiter(map(len, words), np.int32, len(words))

    def close_to(self, word: str, unfinished: bool, count: int) -> list[tuple[str, float]]:
        """Return the `count` best corrections and their scores; an unfinished word may also be a prefix."""
        edits = max_edits(word)
        if not edits:
            return []
        indices = np.flatnonzero(self._candidates(word, edits, unfinished))
        candidates = [self._words[index] for index in indices.tolist()]
        distance = _distances(word, candidates, edits)
        for size in range(len(word) - edits, len(word) + edits + 1) if unfinished else ():
            prefixes = [candidate[:size] for candidate in candidates]
            distance = np.minimum(distance, _distances(word, prefixes, edits) + PREFIX_COST)
        close = np.flatnonzero((distance >= 1) & (distance < edits + 1))
        scores = self._log_counts[indices[close]] - EDIT_COST * distance[close]
        best = np.argsort(-scores, kind="stable")[:count]
        return [(candidates[close[n]], float(scores[n])) for n in best]

    def _candidates(self, word: str, edits: int, unfinished: bool) -> NDArray[np.bool_]:
        """Return which words differ from `word` in at most `edits` letters, and in length accordingly.

        A prefix may belong to any longer word; its first letter is assumed to be right.
        """
        letters = np.uint32(letter_set(word))
        whole = _at_most(self._letters & ~letters, edits) & (np.abs(self._sizes - len(word)) <= edits)
        if unfinished:
            whole[bisect_left(self._words, word[0]) : bisect_left(self._words, chr(ord(word[0]) + 1))] = True
        possible: NDArray[np.bool_] = whole & _at_most(letters & ~self._letters, edits)
        return possible


def _at_most(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    for _ in range(count):
        bits = bits & (bits - np.uint32(1))  # clears the lowest bit
    few: NDArray[np.bool_] = bits == 0
    return few


def _distances(word: str, others: list[str], edits: int) -> NDArray[np.float32]:
    """Return the distance of each other word; `edits` + 1 for all that are further away."""
    found = cdist([word], others, scorer=OSA.distance, score_cutoff=edits, dtype=np.int8)
    return np.asarray(found[0], dtype=np.float32)
