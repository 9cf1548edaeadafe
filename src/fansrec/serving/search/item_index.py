"""A finished search index: finds items by text that a person types, or by ids."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np

from fansrec.api.answers import FoundItem
from fansrec.errors import BadArtifact
from fansrec.serving.search.index import is_complete
from fansrec.serving.search.query import CATEGORY, ROWS, Search
from fansrec.serving.search.spelling import Terms

MAX_TEXT = 200  # characters of a search text that are used
MAX_FOUND = 100
MAX_SECONDS = 0.25  # of processor time, so that a busy machine finds as much; then the items found so far are returned
DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)  # other errors may be temporary

NONE = "SELECT number FROM items LIMIT 0"
NUMBERS = """
SELECT items.number FROM json_each(?1) AS requested
JOIN items ON items.id COLLATE NOCASE = requested.value AND items.id = requested.value ORDER BY requested.key
"""


class ItemIndex:
    """An index that any number of threads may read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = False
        self._lock = Lock()
        self._closed = False
        self._idle: list[sqlite3.Connection] = []
        if not is_complete(path):
            raise BadArtifact(f"{path} is not a complete search index; remove it, and it is built again")
        with self._connection() as connection:
            kind = _fact(connection, "integer_ids")
            self._integer_ids = kind == b"yes"
            self._integers = frozenset(
                number for (number,) in connection.execute("SELECT number FROM integers" if kind == b"some" else NONE)
            )

    def search(self, text: str, limit: int = 10, category: str | None = None) -> list[FoundItem]:
        """Return the items that match best; the text may be anything and is only ever treated as words.

        With a category only its items are found, none if there is no such category.
        """
        text = text[:MAX_TEXT].encode(errors="ignore").decode().strip()  # without lone surrogates
        limit = min(limit, MAX_FOUND)
        if not text or limit < 1:
            return []
        with self._connection() as connection:
            only = None if category is None else _category(connection, category)
            if category is not None and only is None:
                return []
            search = Search(connection, text, limit, time.thread_time() + MAX_SECONDS, only)
            search.run(lambda: self._terms)
            return self._rows(connection, search.ranked())

    def of_ids(self, ids: Iterable[str | int]) -> list[FoundItem]:
        """Return these items in the given order; unknown ones are left out."""
        requested = json.dumps([str(item) for item in ids])
        with self._connection() as connection:
            return self._rows(connection, [number for (number,) in connection.execute(NUMBERS, (requested,))])

    def close(self) -> None:
        """Close idle connections; searches that still run are finished."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _rows(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[FoundItem]:
        rows = connection.execute(ROWS, (json.dumps(numbers),))
        return [
            FoundItem(int(id_) if self._integer_ids or number in self._integers else id_, *rest)
            for number, (id_, *rest) in zip(numbers, rows, strict=True)
        ]

    @cached_property
    def _terms(self) -> Terms:
        with self._connection() as connection:
            words, letters, counts = (_fact(connection, name) for name in ("words", "letters", "counts"))
        return Terms(words.decode().splitlines(), np.frombuffer(letters, np.uint32), np.frombuffer(counts, np.uint32))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that no other thread uses."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or _open(self.path)
            yield connection
        except sqlite3.Error as error:
            self.damaged |= _is_damage(error) or not self.path.exists()
            advice = "it is built again" if self.damaged else "try again"
            raise BadArtifact(f"{self.path} cannot be searched ({error}); {advice}") from error
        finally:
            with self._lock:
                keep = connection is not None and not self._closed and not self.damaged
                if keep and connection:
                    self._idle.append(connection)
            if connection is not None and not keep:
                connection.close()


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    connection.execute("PRAGMA cache_size = -8000")
    return connection


def _category(connection: sqlite3.Connection, name: str) -> int | None:
    """Return the number of a category, None if there is no such one."""
    clean = name.encode(errors="ignore").decode()  # without lone surrogates
    return next((number for (number,) in connection.execute(CATEGORY, (clean,))), None)


def _fact(connection: sqlite3.Connection, name: str) -> bytes:
    for (value,) in connection.execute("SELECT value FROM facts WHERE name = ?", (name,)):
        return bytes(value)
    raise sqlite3.DatabaseError(f"{name} is missing")


def _is_damage(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in DAMAGE
