"""The proxies of new items: trained items of nearly the same name and of the same group, or else of the category."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from fansrec.updating.memory import Indices

WORD = re.compile(r"[^\W_]+")
MAX_PROXIES = 50  # of an item, the most popular ones of its group
CLOSE_NAME = 0.5  # cosine of the words of two names from which one item is a proxy of the other
MAX_CLOSE_NAMES = 5
ROUNDING = 1e-9

Texts = Sequence[str | None]


def find_proxies(
    new: Indices, trained: Indices, counts: Indices, groups: Texts, names: Texts, categories: Texts = ()
) -> list[list[int]]:
    """Return the proxies of each item of `new` (A,) among the items `trained`, by what is known of all items.

    `counts` (M,) is the number of lists of every item. `groups`, `names` and `categories` may be empty; the category of
    a new item is None unless it was given. It says little, so it counts only for an item of no list and no other proxy.
    """
    by_group = _by_value(groups, new, trained, counts)
    same_name = _CloseNames([names[item] for item in new.tolist()], trained, names) if names else None
    close = [same_name.of(names[item]) if same_name is not None else [] for item in new.tolist()]
    found = [list(dict.fromkeys(named + grouped)) for named, grouped in zip(close, by_group, strict=True)]
    alone = [not own and not counts[item] for own, item in zip(found, new.tolist(), strict=True)]
    by_category = iter(_by_value(categories, new[np.array(alone, dtype=np.bool_)], trained, counts))
    return [next(by_category) if lonely else own for own, lonely in zip(found, alone, strict=True)]


def _by_value(values: Texts, new: Indices, trained: Indices, counts: Indices) -> list[list[int]]:
    """Return the most popular trained items with the value of each new item, none for None."""
    wanted = [values[item] if values else None for item in new.tolist()]
    members = _members(wanted, trained, counts, values)
    return [members[value] if value is not None else [] for value in wanted]


def _members(wanted: Iterable[str | None], trained: Indices, counts: Indices, groups: Texts) -> dict[str, list[int]]:
    """Return the most popular trained items of each of the groups that are wanted."""
    members: dict[str, list[int]] = {group: [] for group in wanted if group is not None}
    if members:
        for item in trained[np.argsort(-counts[trained], kind="stable")].tolist():
            group = groups[item]
            if group in members and len(members[group]) < MAX_PROXIES:
                members[group].append(item)
    return members


class _CloseNames:
    """The names of trained items by their words; only words of the names that are looked up are kept."""

    def __init__(self, wanted: Texts, trained: Indices, names: Texts) -> None:
        items_with: dict[str, list[int]] = {word: [] for name in wanted for word in _words(name)}
        document_counts: dict[str, int] = defaultdict(int)
        words_of = {item: _words(names[item]) for item in trained.tolist()} if items_with else {}
        for item, words in words_of.items():
            for word in words:
                document_counts[word] += 1
                if word in items_with:
                    items_with[word].append(item)
        self._items_with = {word: np.array(items, dtype=np.int64) for word, items in items_with.items()}
        self._rarity = {word: math.log(1 + len(words_of) / count) for word, count in document_counts.items()}
        self._most = math.log(1 + len(words_of))
        self._words_of = words_of

    def of(self, name: str | None) -> list[int]:
        """Return the items whose names have nearly the same words, the closest first."""
        words = _words(name)
        length = self._length(words)
        least = (CLOSE_NAME * length) ** 2 * (1 - ROUNDING)  # that the shared words of a close name weigh
        items = self._candidates(words, least)
        shared = np.zeros(len(items))
        for word in sorted(words):
            shared[np.isin(items, self._items_with[word], assume_unique=True)] += self._weight(word) ** 2
        likely = shared >= least
        cosines = {
            item: total / (length * self._length(self._words_of[item]))
            for item, total in zip(items[likely].tolist(), shared[likely].tolist(), strict=True)
        }
        close = [item for item, cosine in cosines.items() if cosine >= CLOSE_NAME]
        return sorted(close, key=lambda item: (-cosines[item], item))[:MAX_CLOSE_NAMES]

    def _candidates(self, words: set[str], least: float) -> Indices:
        """Return the items that may share words of this weight: those with any word but the most common ones.

        If two names are close, their shared words weigh at least CLOSE_NAME squared of either name, since the cosine is
        their weight divided by both lengths, and each length is at least its root.
        """
        common, left = set(), 0.0
        for word in sorted(words, key=lambda word: (self._weight(word), word)):
            left += self._weight(word) ** 2
            if left >= least:
                break
            common.add(word)
        found = [self._items_with[word] for word in sorted(words - common)]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _weight(self, word: str) -> float:
        return self._rarity.get(word, self._most)

    def _length(self, words: Iterable[str]) -> float:
        return math.sqrt(math.fsum(self._weight(word) ** 2 for word in words))


def _words(name: str | None) -> set[str]:
    return set(WORD.findall(name.casefold())) if name else set()
