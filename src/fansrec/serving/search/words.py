"""Mistyped words: those of an index that are a few wrong, missing, added or swapped letters away."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

SHORTEST = 3  # word that a typing error is looked for in
SIZE = 16  # letters of a word that are compared
BITS = 32
Letters = NDArray[np.uint8]  # (words, SIZE): filled up with zeros
HALF = np.float32(0.5)  # an error: a word of which only the beginning fits
ERROR_COST = 3  # with one error more a word is still the likelier one if it is exp(3) = 20 times as frequent
ONE = np.int8(1)
FAR = np.int8(50)
PRUNED_AFTER = (2, 4, 7)  # rows; most columns are too far off by then


def packed(words: Sequence[str]) -> Letters:
    cut = "".join(word[:SIZE].ljust(SIZE, "\0") for word in words)
    codes = np.frombuffer(cut.encode("utf-32-le"), np.uint32)
    # Alphabets of more letters than this are folded: two letters that share a number only look alike.
    return np.where(codes > 0, codes % 255 + 1, 0).astype(np.uint8).reshape(len(words), SIZE)


def allowed_errors(word: str) -> int:
    """How much may be wrong with a word before it is another one."""
    return 0 if len(word) < SHORTEST or not word.isalpha() else 1 if len(word) < 6 else 2


class Words:
    """All words of an index, to be compared with one at a time: an exact distance to the few that can be close."""

    def __init__(self, letters: Letters, counts: NDArray[np.uint32]) -> None:
        self._letters = letters
        self._commonness = np.log1p(counts.astype(np.float32))
        self._sizes = np.count_nonzero(letters, axis=1).astype(np.int8)
        self._sets = _letter_sets(letters)
        self._first = letters[:, 0].copy()

    def close_to(self, word: str, unfinished: bool, most: int) -> list[tuple[int, float]]:
        """Places of the likeliest words, and how likely each is.

        An unfinished word is compared with the beginnings of words too.
        """
        word = word[:SIZE]
        errors = allowed_errors(word)
        if not errors:
            return []
        places = np.flatnonzero(self._may_be(word, errors, unfinished))
        near, whole, begun = distances(word, self._letters[places], self._sizes[places], errors)
        distance = np.minimum(whole, begun + HALF) if unfinished else whole.astype(np.float32)
        meant = np.flatnonzero((distance >= 1) & (distance < errors + 1))
        places, distance = places[near[meant]], distance[meant]
        likely = self._commonness[places] - ERROR_COST * distance
        best = np.argsort(-likely, kind="stable")[:most]
        return [(int(places[n]), float(likely[n])) for n in best]

    def _may_be(self, word: str, errors: int, unfinished: bool) -> NDArray[np.bool_]:
        """Words that lack no more of its letters than an error each explains, and of about its size.

        A beginning may belong to a word of any size; its first letter is taken to be right.
        """
        letters = _letter_sets(packed([word]))[0]
        fits = _at_most(letters & ~self._sets, errors)
        whole = _at_most(self._sets & ~letters, errors) & (np.abs(self._sizes - len(word)) <= errors)
        if unfinished:
            whole |= self._first == packed([word])[0, 0]
        possible: NDArray[np.bool_] = fits & whole
        return possible


def _letter_sets(letters: Letters) -> NDArray[np.uint32]:
    """The letters of each word as bits; those that share one only cost time."""
    bits = np.where(np.arange(256) > 0, 1 << (np.arange(256) % BITS), 0).astype(np.uint32)
    sets = np.zeros(len(letters), dtype=np.uint32)
    for column in letters.T:
        sets |= bits[column]
    return sets


def _at_most(bits: NDArray[np.uint32], count: int) -> NDArray[np.bool_]:
    for _ in range(count):
        bits = bits & (bits - np.uint32(1))  # the lowest one goes
    few: NDArray[np.bool_] = bits == 0
    return few


def distances(
    word: str, letters: Letters, sizes: NDArray[np.int8], errors: int
) -> tuple[NDArray[np.int64], NDArray[np.int8], NDArray[np.int8]]:
    """Words that may be near, their errors, and the errors of their best beginnings; above `errors` both are vague.

    The usual table (Damerau's, restricted) for all of them at once, one row a letter of `word`, and of each row only
    what so many errors can reach.
    """
    near = np.arange(len(letters))
    width = 2 * errors + 1
    padded = np.pad(letters.T, ((errors, errors), (0, 0)))
    first = np.array([FAR] * errors + [*range(errors + 1)], dtype=np.int8)
    above = before = np.tile(first[:, None], len(near))
    codes = packed([word])[0, : len(word)]
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
        if row in PRUNED_AFTER:
            kept = np.flatnonzero(np.minimum(before.min(axis=0), above.min(axis=0)) <= errors)
            near, padded, before, above = (np.take(some, kept, -1) for some in (near, padded, before, above))
    ends = sizes[near] - len(word) + errors
    reached = (ends >= 0) & (ends < width)
    whole = np.where(reached, above[np.where(reached, ends, 0), np.arange(len(near))], FAR)
    return near, whole, above.min(axis=0)
