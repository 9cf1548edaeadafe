"""One search in an index: stages that find items, the surest first, until there are enough or time is over."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, zip_longest

from fansrec.serving.search.text import pieces, without_article, words
from fansrec.serving.search.words import SIZE, Words

MOST_PIECES = 8
MOST_SPLIT = 3  # words; of more, none is split
MOST_GROUPS = 5
MOST_GUESSES = 8  # words that a mistyped one may have been
SURE = 0.0  # how likely a word is that was typed rightly; guesses are less so, or far more frequent
STEPS_BETWEEN_LOOKS = 2_000  # of SQLite's machine, at the clock
LATEST_SECONDS = 20.0  # on a machine with a slow disk or with much other work, where processor time stands still
GUESSED_ITEMS = 100  # looked at to find the likeliest

BY_ID = "SELECT number FROM items WHERE id COLLATE NOCASE = ?1 ORDER BY id = ?1 DESC LIMIT ?2"
BY_ID_PREFIX = """
SELECT number FROM items WHERE id COLLATE NOCASE >= ?1 AND id COLLATE NOCASE < ?1 || char(1114111)
ORDER BY id COLLATE NOCASE LIMIT ?2
"""
BY_WORDS = "SELECT rowid FROM item_words WHERE item_words MATCH ?1 ORDER BY rowid LIMIT ?2"
OF_GROUP = "SELECT number FROM items WHERE grp = ?1 ORDER BY number LIMIT ?2"
SAME_GROUP = "SELECT number FROM groups WHERE plain IN (?1, 'the ' || ?1) ORDER BY number LIMIT ?2"
GROUPS_BY_WORDS = "SELECT rowid FROM group_words WHERE group_words MATCH ?1 ORDER BY rowid LIMIT ?2"
TERMS = "SELECT number, word FROM terms WHERE number IN (SELECT value FROM json_each(?1))"
ROWS = """
SELECT items.id, items.name, groups.name, categories.name FROM json_each(?1) AS wanted
JOIN items ON items.number = wanted.value JOIN categories ON categories.number = items.category
LEFT JOIN groups ON groups.number = items.grp ORDER BY wanted.key
"""


class Search:
    """What is looked for, and what was found so far."""

    def __init__(self, connection: sqlite3.Connection, text: str, limit: int, end: float) -> None:
        self._connection = connection
        self._end, self._latest = end, time.monotonic() + LATEST_SECONDS
        self._text = text
        self._limit = limit
        self._pieces = pieces(text)[:MOST_PIECES]
        self._found: dict[int, None] = {}  # in order

    def run(self, known: Callable[[], Words]) -> None:
        self._connection.set_progress_handler(self._is_over, STEPS_BETWEEN_LOOKS)
        try:
            self._plainly()
            # Few items have all of several words, so that few hits are no sign of an error.
            if len(self._found) < (self._limit if len(self._pieces) == 1 else 1):
                self._respaced()
                self._mistyped(known())
        except TimeoutError:
            pass  # what was found so far is the answer
        finally:
            self._connection.set_progress_handler(None, 0)

    def _plainly(self) -> None:
        """The item of that id; then names that begin so, in turn with items of groups called so; then any words."""
        self._add(self._numbers(BY_ID, self._text))
        if self._pieces:
            named = self._either("name : ^ {}", _phrase(chain(*self._pieces)))
            self._add(_in_turn([named, self._of_groups()]))
            self._add(self._either("{}", _last_begun(self._pieces)))
            if not self._found:
                self._add(self._numbers(BY_WORDS, _all_begun(self._pieces)))
        if len(self._found) < self._limit:
            self._add(self._numbers(BY_ID_PREFIX, self._text))

    def _either(self, form: str, query: str) -> list[int]:
        """Hits of whole words and then, if there are few, of words that begin so: all of those must be gathered."""
        whole = self._numbers(BY_WORDS, form.format(query))
        return whole if len(whole) == self._limit else whole + self._numbers(BY_WORDS, form.format(query + " *"))

    def _of_groups(self) -> list[int]:
        same = self._numbers(SAME_GROUP, " ".join(chain(*self._pieces)), MOST_GROUPS)
        like = self._numbers(GROUPS_BY_WORDS, _last_begun(self._pieces) + " *", MOST_GROUPS)
        items = {group: self._numbers(OF_GROUP, group) for group in [*same, *like]}
        return [*chain(*(items[group] for group in same)), *_in_turn([items[group] for group in like])]

    def _respaced(self) -> None:
        """One space forgotten, or one too many."""
        queries = [f"({_last_begun(changed)} *)" for changed in _respaced(self._pieces)]
        if queries:
            self._add(self._numbers(BY_WORDS, " OR ".join(queries)))

    def _mistyped(self, known: Words) -> None:
        """Words that are nowhere are taken for the wrong ones, and all of them if that does not help."""
        places = range(len(self._pieces))
        strange = [n for n in places if not self._numbers(BY_WORDS, _phrase(self._pieces[n]), 1)]
        self._guess(known, strange or places)
        if not self._found and 0 < len(strange) < len(places):
            self._guess(known, places)

    def _guess(self, known: Words, places: Sequence[int]) -> None:
        guesses = {n: self._guesses(known, n) for n in places}
        for most in (1, MOST_GUESSES) if any(guesses.values()) else ():
            choices = [
                {_phrase(piece): SURE} | {_phrase([word]): likely for word, likely in guesses.get(n, [])[:most]}
                for n, piece in enumerate(self._pieces)
            ]
            # The last word may go on as it was typed, beside all that it may mean.
            query = " AND ".join(f"({' OR '.join(choice)})" for choice in choices)
            query = f"{query[:-1]} OR {_phrase(self._pieces[-1])} *)"
            self._add(self._likeliest(self._numbers(BY_WORDS, query, GUESSED_ITEMS), choices))

    def _guesses(self, known: Words, place: int) -> list[tuple[str, float]]:
        """Words that a piece may have been meant to be, and how likely each is."""
        piece = self._pieces[place]
        if len(piece) > 1:
            return []
        close = known.close_to(piece[0], unfinished=place == len(self._pieces) - 1, most=MOST_GUESSES)
        spelled = dict(self._connection.execute(TERMS, (json.dumps([number for number, _ in close]),)))
        return [(spelled[number], likely) for number, likely in close]

    def _likeliest(self, numbers: list[int], choices: Sequence[dict[str, float]]) -> list[int]:
        """The items by how likely the words are that brought them here; the shortest first among equals."""
        likely: dict[int, float] = {}
        rows = self._connection.execute(ROWS, (json.dumps(numbers),))
        for number, (id_, name, group, _) in zip(numbers, rows, strict=True):
            there = {_phrase([word]) for word in words(f"{name or id_} {group or ''}")}
            likely[number] = sum(
                max((score for word, score in choice.items() if word in there), default=SURE) for choice in choices
            )
        return sorted(numbers, key=lambda number: -likely[number])

    def ranked(self) -> list[int]:
        """What is called exactly so comes first, with or without an article; all else stays in order."""
        numbers = list(self._found)
        wanted = without_article(" ".join(chain(*self._pieces)))
        rows = self._connection.execute(ROWS, (json.dumps(numbers),))
        names = (without_article(" ".join(words(name or id_))) for id_, name, _, _ in rows)
        same = {number for number, name in zip(numbers, names, strict=True) if name == wanted}
        return sorted(numbers, key=lambda number: number not in same)[: self._limit]

    def _is_over(self) -> bool:
        return time.thread_time() > self._end or time.monotonic() > self._latest

    def _add(self, numbers: Iterable[int]) -> None:
        self._found |= dict.fromkeys(numbers)

    def _numbers(self, statement: str, wanted: str | int, most: int | None = None) -> list[int]:
        if self._is_over():
            raise TimeoutError
        try:
            return [number for (number,) in self._connection.execute(statement, (wanted, most or self._limit))]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise TimeoutError from error
            raise


def _phrase(tokens: Iterable[str]) -> str:
    """Tokens are letters and digits only, so that no quote can end this one."""
    return f'"{" ".join(tokens)}"'


def _last_begun(pieces: Iterable[Sequence[str]]) -> str:
    """A query that a star may follow: what is typed last may go on."""
    return " AND ".join(map(_phrase, pieces))


def _all_begun(pieces: Iterable[Sequence[str]]) -> str:
    return " AND ".join(f"{_phrase(piece)} *" for piece in pieces)


def _in_turn(columns: Sequence[Iterable[int]]) -> list[int]:
    return [number for row in zip_longest(*columns) for number in row if number is not None]


def _respaced(pieces: Sequence[list[str]]) -> Iterator[list[list[str]]]:
    """All that it would be with one space less, or one more."""
    for n, piece in enumerate(pieces):
        before, after = list(pieces[:n]), list(pieces[n + 1 :])
        if after and len(piece) == len(after[0]) == 1:
            yield [*before, [piece[0] + after[0][0]], *after[1:]]
        if len(piece) == 1 and len(pieces) <= MOST_SPLIT:
            for at in range(2, min(len(piece[0]) - 1, SIZE)):
                yield [*before, [piece[0][:at], piece[0][at:]], *after]
