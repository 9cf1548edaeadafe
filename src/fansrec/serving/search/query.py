"""One search in an index: stages that find items, the most certain first, until there are enough or time is over."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from fansrec.serving.search.spelling import Terms
from fansrec.serving.search.text import split_pieces, split_words, without_article

MAX_PIECES = 8
MAX_SPLIT = 3  # words; of longer texts, no word is split
MAX_SPLIT_LETTERS = 16  # of a word, after which it is not split
MAX_GROUPS = 5
MAX_CORRECTIONS = 8  # of a misspelled word
AS_TYPED = 0.0  # score of a word as it was typed; corrections score less, unless they are far more frequent
STEPS_PER_CHECK = 2_000  # of SQLite's virtual machine between two looks at the clock
MAX_ELAPSED_SECONDS = 20.0  # on a machine with a slow disk or much other work, where processor time stands still
CORRECTED_ITEMS = 100  # that are ranked by the scores of their words

# ?3 is the number of the only category, or null for all of them.
IN_CATEGORY = "(?3 IS NULL OR category = ?3)"
BY_ID = f"SELECT number FROM items WHERE id COLLATE NOCASE = ?1 AND {IN_CATEGORY} ORDER BY id = ?1 DESC LIMIT ?2"
BY_ID_PREFIX = f"""
SELECT number FROM items
WHERE id COLLATE NOCASE >= ?1 AND id COLLATE NOCASE < ?1 || char(1114111) AND {IN_CATEGORY}
ORDER BY id COLLATE NOCASE LIMIT ?2
"""
BY_WORDS = """
SELECT rowid FROM item_words WHERE item_words MATCH ?1
AND (?3 IS NULL OR (SELECT category FROM items WHERE number = item_words.rowid) = ?3) ORDER BY rowid LIMIT ?2
"""
OF_GROUP = f"SELECT number FROM items WHERE grp = ?1 AND {IN_CATEGORY} ORDER BY number LIMIT ?2"
CATEGORY = "SELECT number FROM categories WHERE name = ?1"
SAME_GROUP = "SELECT number FROM groups WHERE plain IN (?1, 'the ' || ?1) ORDER BY number LIMIT ?2"
GROUPS_BY_WORDS = "SELECT rowid FROM group_words WHERE group_words MATCH ?1 ORDER BY rowid LIMIT ?2"
ROWS = """
SELECT items.id, items.name, groups.name, categories.name FROM json_each(?1) AS requested
JOIN items ON items.number = requested.value JOIN categories ON categories.number = items.category
LEFT JOIN groups ON groups.number = items.grp ORDER BY requested.key
"""


class Search:
    """The text of a search, and the items found so far."""

    def __init__(
        self, connection: sqlite3.Connection, text: str, limit: int, end: float, category: int | None = None
    ) -> None:
        self._connection = connection
        self._end, self._latest = end, time.monotonic() + MAX_ELAPSED_SECONDS
        self._text = text
        self._limit = limit
        self._category = category
        self._pieces = split_pieces(text)[:MAX_PIECES]
        self._found: dict[int, None] = {}  # in order

    def run(self, terms: Callable[[], Terms]) -> None:
        self._connection.set_progress_handler(self._is_over, STEPS_PER_CHECK)
        try:
            self._find_as_typed()
            # Few items contain all of several words, so few hits do not mean that the text is misspelled.
            if len(self._found) < (self._limit if len(self._pieces) == 1 else 1):
                self._find_respaced()
                self._find_corrected(terms())
        except TimeoutError:
            pass  # the items found so far are the result
        finally:
            self._connection.set_progress_handler(None, 0)

    def _find_as_typed(self) -> None:
        """Find the item with that id; then names that begin so, in turn with items of such groups; then any words."""
        self._add(self._numbers(BY_ID, self._text))
        if self._pieces:
            named = self._by_words("name : ^ {}", _phrase(chain(*self._pieces)))
            self._add(_in_turn([named, self._of_groups()]))
            self._add(self._by_words("{}", _all_words(self._pieces)))
            if not self._found:
                self._add(self._numbers(BY_WORDS, _all_prefixes(self._pieces)))
        if len(self._found) < self._limit:
            self._add(self._numbers(BY_ID_PREFIX, self._text))

    def _by_words(self, form: str, query: str) -> list[int]:
        """Return hits of whole words and, if they are few, of prefixes, which take longer."""
        whole = self._numbers(BY_WORDS, form.format(query))
        return whole if len(whole) == self._limit else whole + self._numbers(BY_WORDS, form.format(query + " *"))

    def _of_groups(self) -> list[int]:
        same = self._numbers(SAME_GROUP, " ".join(chain(*self._pieces)), MAX_GROUPS)
        like = self._numbers(GROUPS_BY_WORDS, _all_words(self._pieces) + " *", MAX_GROUPS)
        items = {group: self._numbers(OF_GROUP, group) for group in [*same, *like]}
        return [*chain(*(items[group] for group in same)), *_in_turn([items[group] for group in like])]

    def _find_respaced(self) -> None:
        """Find items if one space is missing, or one is too many."""
        queries = [f"({_all_words(changed)} *)" for changed in _respaced(self._pieces)]
        if queries:
            self._add(self._numbers(BY_WORDS, " OR ".join(queries)))

    def _find_corrected(self, terms: Terms) -> None:
        """Correct the words that no item has, and all words if that finds nothing."""
        positions = range(len(self._pieces))
        unknown = [n for n in positions if not self._numbers(BY_WORDS, _phrase(self._pieces[n]), 1)]
        self._correct(terms, unknown or positions)
        if not self._found and 0 < len(unknown) < len(positions):
            self._correct(terms, positions)

    def _correct(self, terms: Terms, positions: Sequence[int]) -> None:
        corrections = {n: self._corrections(terms, n) for n in positions}
        for count in (1, MAX_CORRECTIONS) if any(corrections.values()) else ():
            choices = [
                {_phrase(piece): AS_TYPED} | {_phrase([word]): score for word, score in corrections.get(n, [])[:count]}
                for n, piece in enumerate(self._pieces)
            ]
            # The last word may also be the prefix of a word.
            query = " AND ".join(f"({' OR '.join(choice)})" for choice in choices)
            query = f"{query[:-1]} OR {_phrase(self._pieces[-1])} *)"
            self._add(self._rank(self._numbers(BY_WORDS, query, CORRECTED_ITEMS), choices))

    def _corrections(self, terms: Terms, position: int) -> list[tuple[str, float]]:
        """Return the words that a piece may be meant to be, and the score of each."""
        piece = self._pieces[position]
        if len(piece) > 1:
            return []
        return terms.close_to(piece[0], unfinished=position == len(self._pieces) - 1, count=MAX_CORRECTIONS)

    def _rank(self, numbers: list[int], choices: Sequence[dict[str, float]]) -> list[int]:
        """Return the items by the scores of the words that matched; among equals the shortest name first."""
        scores: dict[int, float] = {}
        rows = self._connection.execute(ROWS, (json.dumps(numbers),))
        for number, (id_, name, group, _) in zip(numbers, rows, strict=True):
            present = {_phrase([word]) for word in split_words(f"{name or id_} {group or ''}")}
            scores[number] = sum(
                max((score for word, score in choice.items() if word in present), default=AS_TYPED)
                for choice in choices
            )
        return sorted(numbers, key=lambda number: -scores[number])

    def ranked(self) -> list[int]:
        """Return the items found, those with exactly this name first (articles do not count)."""
        numbers = list(self._found)
        text = without_article(" ".join(chain(*self._pieces)))
        rows = self._connection.execute(ROWS, (json.dumps(numbers),))
        names = (without_article(" ".join(split_words(name or id_))) for id_, name, _, _ in rows)
        same = {number for number, name in zip(numbers, names, strict=True) if name == text}
        return sorted(numbers, key=lambda number: number not in same)[: self._limit]

    def _is_over(self) -> bool:
        return time.thread_time() > self._end or time.monotonic() > self._latest

    def _add(self, numbers: Iterable[int]) -> None:
        self._found |= dict.fromkeys(numbers)

    def _numbers(self, statement: str, value: str | int, limit: int | None = None) -> list[int]:
        if self._is_over():
            raise TimeoutError
        values = (value, limit or self._limit, self._category)[: 3 if "?3" in statement else 2]
        try:
            return [number for (number,) in self._connection.execute(statement, values)]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TimeoutError from error
            raise


def _phrase(tokens: Iterable[str]) -> str:
    """Return a quoted phrase; tokens are letters and digits only, so none can end the quotes."""
    return f'"{" ".join(tokens)}"'


def _all_words(pieces: Iterable[Sequence[str]]) -> str:
    """Return a query for all pieces; a star after it makes the last one a prefix."""
    return " AND ".join(map(_phrase, pieces))


def _all_prefixes(pieces: Iterable[Sequence[str]]) -> str:
    return " AND ".join(f"{_phrase(piece)} *" for piece in pieces)


def _in_turn(columns: Sequence[Iterable[int]]) -> list[int]:
    return [number for row in zip_longest(*columns) for number in row if number is not None]


def _respaced(pieces: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """Yield the pieces with one space less, and with one more."""
    for n, piece in enumerate(pieces):
        before, after = list(pieces[:n]), list(pieces[n + 1 :])
        if after and len(piece) == len(after[0]) == 1:
            yield [*before, [piece[0] + after[0][0]], *after[1:]]
        if len(piece) == 1 and len(pieces) <= MAX_SPLIT:
            for at in range(2, min(len(piece[0]) - 1, MAX_SPLIT_LETTERS)):
                yield [*before, [piece[0][:at], piece[0][at:]], *after]
