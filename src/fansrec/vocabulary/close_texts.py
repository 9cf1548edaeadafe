"""Texts of a table that a misspelled or incomplete text may mean: "did you mean" for items that a model does not know.

The service has a search for people (`serving/search`), which corrects word by word in an index on disk. Here there is
only the vocabulary in memory, no package but numpy, and a few milliseconds for 100,000 texts.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

MIN_LENGTH, MAX_LENGTH = 3, 200  # of a text that is compared
MIN_WORDS_LENGTH = 4  # of a text that may be a part of another
MAX_CANDIDATES = 40  # that are compared letter by letter, by each of the ways to find them
MAX_SAME_START = 2000  # texts that begin alike, of which the counts of letters are compared
SIMILARITY = 0.74  # of `difflib`: one wrong letter of four
LETTERS = 32  # counts of letters; letters that share one only cost time
CHUNK = 65_536  # texts whose letters are counted at once, in 8 bytes for each count and several for each letter
SAME_START = 2  # letters of a longer text that must be right


class CloseTexts:
    """Texts without regard to case, with the counts of the letters of each."""

    def __init__(self, texts: Iterable[str]) -> None:
        folded = [text.casefold().replace("\n", " ") for text in texts]
        self._sizes = np.fromiter(map(len, folded), np.int32, len(folded))
        self._starts = np.cumsum(np.concatenate([[1], self._sizes[:-1] + 1])) if folded else np.zeros(0, np.int64)
        self._joined = "\n" + "\n".join(folded) + "\n"  # a newline before and after every text
        self._counts = _letter_counts(folded)

    def close_to(self, text: str, count: int) -> list[int]:
        """Return the indices of at most `count` texts that `text` may mean, the closest first."""
        text = text.casefold().strip()
        if not MIN_LENGTH <= len(text) <= MAX_LENGTH or "\n" in text or not len(self._sizes):
            return []
        found = dict.fromkeys(self._misspelled(text))
        if len(text) >= MIN_WORDS_LENGTH:
            found |= dict.fromkeys(self._containing(text))
        if len(found) < count:
            found |= dict.fromkeys(self._beginning_like(text))
        return [*found][:count]

    def _misspelled(self, text: str) -> list[int]:
        """Return texts that differ by a few letters, the closest first."""
        edits = _max_edits(text)
        near = np.flatnonzero(np.abs(self._sizes - len(text)) <= edits)
        difference = np.abs(self._counts[near].astype(np.int16) - _letter_counts([text]).astype(np.int16)).sum(1)
        likely = _smallest(difference, 2 * edits)
        return _closest(text, {index: self._text(index) for index in near[likely].tolist()})

    def _beginning_like(self, text: str) -> list[int]:
        """Return texts whose beginning differs by a few letters, the closest first."""
        edits = _max_edits(text)
        indices = [i for i in self._find("\n" + text[:SAME_START], MAX_SAME_START) if self._sizes[i] > len(text)]
        starts = [self._text(index)[: len(text)] for index in indices]
        if not starts:
            return []
        difference = np.abs(_letter_counts(starts).astype(np.int16) - _letter_counts([text]).astype(np.int16)).sum(1)
        likely = _smallest(difference, 2 * edits).tolist()
        return _closest(text, {indices[n]: starts[n] for n in likely})

    def _containing(self, text: str) -> list[int]:
        """Return texts that have these words, those that begin with them first, and short ones first."""
        beginning = sorted(self._find("\n" + text, MAX_CANDIDATES), key=self._sizes.__getitem__)
        inside = sorted(self._find(" " + text, MAX_CANDIDATES), key=self._sizes.__getitem__)
        return beginning + inside

    def _find(self, part: str, most: int) -> list[int]:
        """Return the indices of the first texts with this part."""
        found: list[int] = []
        position = self._joined.find(part)
        while position >= 0 and len(found) < most:
            index = int(self._starts.searchsorted(position + 1, side="right")) - 1
            if index == len(self._starts) or position + 1 >= len(self._joined):
                break
            found.append(index)
            position = self._joined.find(part, self._starts[index] + int(self._sizes[index]))
        return found

    def _text(self, index: int) -> str:
        start = int(self._starts[index])
        return self._joined[start : start + int(self._sizes[index])]


def _max_edits(text: str) -> int:
    return 1 if len(text) < 6 else 2 if len(text) < 12 else 3


def _letter_counts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Return how often each text has each letter, (T, LETTERS); letters are taken modulo LETTERS."""
    counts = np.empty((len(texts), LETTERS), np.uint8)
    for start in range(0, len(texts), CHUNK):
        counts[start : start + CHUNK] = _letter_counts_of_chunk(texts[start : start + CHUNK])
    return counts


def _letter_counts_of_chunk(texts: Sequence[str]) -> NDArray[np.int64]:
    codes = np.frombuffer("".join(texts).encode("utf-32-le", errors="surrogatepass"), np.uint32) % LETTERS
    texts_of = np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))
    counts = np.bincount(texts_of * LETTERS + codes, minlength=len(texts) * LETTERS)
    return np.minimum(counts, 255).reshape(len(texts), LETTERS)


def _smallest(difference: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return the indices of the MAX_CANDIDATES smallest differences of at most `most`."""
    near = np.flatnonzero(difference <= most)
    return near[np.argsort(difference[near], kind="stable")[:MAX_CANDIDATES]]


def _closest(text: str, candidates: dict[int, str]) -> list[int]:
    """Return the candidates that are close to a text; another digit is another number, not a misspelled one."""
    same = {index: other for index, other in candidates.items() if _digits(other) == _digits(text)}
    texts = dict.fromkeys(same.values())
    order = get_close_matches(text, texts, n=max(1, len(same)), cutoff=SIMILARITY)
    # difflib matches the longest part first, so that it finds two wrong letters of `aaaaaa` in `axaaaa`.
    order += [other for other in texts if other not in order and _has_one_wrong_letter(other, text)]
    return sorted((i for i, other in same.items() if other in order), key=lambda i: order.index(same[i]))


def _has_one_wrong_letter(text: str, other: str) -> bool:
    return len(text) == len(other) >= MIN_WORDS_LENGTH and sum(map(str.__ne__, text, other)) == 1


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
