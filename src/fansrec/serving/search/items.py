"""Items found by what a person types: beginnings of words first, then words with typing errors in them."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np

from fansrec.errors import BadArtifact
from fansrec.serving.search.index import whole
from fansrec.serving.search.query import ROWS, Search
from fansrec.serving.search.words import SIZE, Words

LONGEST_TEXT = 200  # characters that are looked at
MOST_FOUND = 100
SECONDS = 0.25  # of processor time, so that a busy machine finds as much; then what was found is the answer
DAMAGE = (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)  # all other trouble may pass

NUMBERS = """
SELECT items.number FROM json_each(?1) AS wanted
JOIN items ON items.id COLLATE NOCASE = wanted.value AND items.id = wanted.value ORDER BY wanted.key
"""


@dataclass(frozen=True)
class Found:
    item: str | int
    name: str | None
    group: str | None
    category: str


class ItemIndex:
    """A finished index, read by any number of threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = False
        self._lock = Lock()
        self._closed = False
        self._idle: list[sqlite3.Connection] = []
        if not whole(path):
            raise BadArtifact(f"{path} is no whole search index; remove it, and it is made anew")
        with self._connection() as connection:
            self._integer_ids = _fact(connection, "integer_ids") != b""

    def search(self, text: str, limit: int = 10) -> list[Found]:
        """The items that fit best; what is asked for may be anything, and is never more than words to look for."""
        text = text[:LONGEST_TEXT].encode(errors="ignore").decode().strip()  # half a character is none
        limit = min(limit, MOST_FOUND)
        if not text or limit < 1:
            return []
        with self._connection() as connection:
            search = Search(connection, text, limit, time.thread_time() + SECONDS)
            search.run(lambda: self._words)
            return self._rows(connection, search.ranked())

    def of_ids(self, ids: Iterable[str | int]) -> list[Found]:
        """Just these items, in the order asked for; unknown ones are left out."""
        wanted = json.dumps([str(item) for item in ids])
        with self._connection() as connection:
            return self._rows(connection, [number for (number,) in connection.execute(NUMBERS, (wanted,))])

    def close(self) -> None:
        """Searches that still run end well."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _rows(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Found]:
        rows = connection.execute(ROWS, (json.dumps(numbers),))
        return [Found(int(id_) if self._integer_ids else id_, *rest) for id_, *rest in rows]

    @cached_property
    def _words(self) -> Words:
        with self._connection() as connection:
            letters, counts = (_fact(connection, name) for name in ("letters", "counts"))
        return Words(np.frombuffer(letters, np.uint8).reshape(-1, SIZE), np.frombuffer(counts, np.uint32))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """One that no other thread uses meanwhile."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        try:
            connection = connection or _opened(self.path)
            yield connection
        except sqlite3.Error as error:
            self.damaged |= _is_damage(error) or not self.path.exists()
            advice = "it is made anew" if self.damaged else "try again"
            raise BadArtifact(f"{self.path} cannot be searched ({error}); {advice}") from error
        finally:
            with self._lock:
                keep = connection is not None and not self._closed and not self.damaged
                if keep and connection:
                    self._idle.append(connection)
            if connection is not None and not keep:
                connection.close()


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
    connection.execute("PRAGMA cache_size = -8000")
    return connection


def _fact(connection: sqlite3.Connection, name: str) -> bytes:
    for (value,) in connection.execute("SELECT value FROM facts WHERE name = ?", (name,)):
        return bytes(value)
    raise sqlite3.DatabaseError(f"it lacks {name}")


def _is_damage(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in DAMAGE
