"""Building the search index: one SQLite file, made from a vocabulary by a process of its own.

    python -m fansrec.serving.search.index RUN INDEX_FOLDER

The process may be killed at any moment, and several may build the same file: complete files are renamed into place.
"""

import os
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadArtifact, FansError
from fansrec.files import format_os_error, write_atomically
from fansrec.serving.search.key import key_of
from fansrec.serving.search.spelling import letter_set, max_edits
from fansrec.serving.search.text import split_words
from fansrec.vocabulary import Vocabulary, read_vocabulary

APPLICATION = 0x46414E53  # FANS, in the file's header
VERSION = 2  # of the tables below and of the word splitting; part of the file name
MAX_INDEXES = 8  # in the folder; the least recently used ones are removed
ABANDONED_SECONDS = 3600  # age of a temporary file that no process writes any more
ROWS_PER_BATCH = 10_000
MAX_TERMS = 500_000  # the most frequent words, with which misspelled ones are compared
NICENESS = 10  # processes that answer requests have priority

# Items are numbered from the shortest name to the longest, groups from the largest to the smallest: the first hits
# in the order of numbers are then the best ones, and the 100,000 others need not be read.
TABLES = f"""
PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE categories (number INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE items (number INTEGER PRIMARY KEY, id TEXT, name TEXT, grp INTEGER, category INTEGER);
CREATE TABLE integers (number INTEGER PRIMARY KEY);
CREATE TABLE groups (number INTEGER PRIMARY KEY, name TEXT, plain TEXT);
CREATE VIRTUAL TABLE item_words USING fts5(name, grp, content='', columnsize=0, prefix='1 2 3', tokenize='ascii');
CREATE VIRTUAL TABLE group_words USING fts5(name, content='', columnsize=0, prefix='1 2 3', tokenize='ascii');
"""
INDEXES = """
CREATE INDEX by_id ON items (id COLLATE NOCASE);
CREATE INDEX by_group ON items (grp, number) WHERE grp IS NOT NULL;
CREATE INDEX by_plain ON groups (plain);
"""
FAST_WRITES = """
PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -32000;
"""

Groups = dict[str | None, tuple[int | None, str]]  # number and normalized words of each group


def index_path(folder: Path, key: str) -> Path:
    return folder / f"items-{VERSION}-{key}.sqlite"


def is_complete(path: Path) -> bool:
    """Return whether the file is an index of this version with the size that its header declares."""
    try:
        with path.open("rb") as file:
            header = file.read(100)
    except OSError:
        return False
    pages, version, application = (int.from_bytes(header[at : at + 4], "big") for at in (28, 60, 68))
    page_size = int.from_bytes(header[16:18], "big")
    return (version, application) == (VERSION, APPLICATION) and path.stat().st_size == pages * page_size


def build_index(run: Path, folder: Path) -> Path:
    """Return the index of a run's vocabulary; build it unless it exists."""
    folder.mkdir(parents=True, exist_ok=True)
    path = index_path(folder, key := key_of(run))
    if not is_complete(path):
        vocabulary = read_vocabulary(run)
        if key_of(run) != key:
            raise BadArtifact(f"{run} changed while its items were read; index it again")
        write_atomically(path, lambda temporary: write_index(temporary, vocabulary))
        remove_old(folder)
    return path


def write_index(path: Path, vocabulary: Vocabulary) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(FAST_WRITES + TABLES)
        connection.execute("BEGIN")
        # Rows are collected in memory before they are written, and merged once at the end.
        connection.execute("INSERT INTO item_words (item_words, rank) VALUES ('hashsize', 33554432)")
        connection.execute("INSERT INTO item_words (item_words, rank) VALUES ('automerge', 0)")
        counts: Counter[str] = Counter()
        groups = _write_groups(connection, vocabulary, counts)
        _write_items(connection, vocabulary, groups, counts)
        for table in ("item_words", "group_words"):
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        _write_terms(connection, counts)
        kind = b"some" if vocabulary.integer_items is not None else b"yes" if vocabulary.integer_ids else b""
        connection.execute("INSERT INTO facts VALUES ('integer_ids', ?)", (kind,))
        connection.executescript(INDEXES)  # ends the transaction
    finally:
        connection.close()


def _write_groups(connection: sqlite3.Connection, vocabulary: Vocabulary, counts: Counter[str]) -> Groups:
    """Write the groups, the largest one first; return number and words of each."""
    groups: Groups = {None: (None, "")}
    sizes = Counter(group for group in vocabulary.groups or () if group is not None)
    for number, (name, size) in enumerate(sizes.most_common()):
        words = split_words(name)
        groups[name] = number, " ".join(words)
        counts.update(dict.fromkeys(words, size))
    rows = [(number, name, plain) for name, (number, plain) in groups.items() if number is not None]
    connection.executemany("INSERT INTO groups VALUES (?, ?, ?)", rows)
    connection.executemany("INSERT INTO group_words (rowid, name) VALUES (?, ?)", (row[::2] for row in rows))
    return groups


def _write_items(connection: sqlite3.Connection, vocabulary: Vocabulary, groups: Groups, counts: Counter[str]) -> None:
    connection.executemany("INSERT INTO categories VALUES (?, ?)", enumerate(vocabulary.category_names))
    order = _by_length(vocabulary)
    for start in range(0, len(order), ROWS_PER_BATCH):
        items = order[start : start + ROWS_PER_BATCH]
        categories = vocabulary.categories[items].tolist()
        ids, names, in_groups = (
            _select(column, items) for column in (vocabulary.ids, vocabulary.names, vocabulary.groups)
        )
        numbers = range(start, start + len(items))
        group_numbers, group_words = zip(*[groups[group] for group in in_groups], strict=True)
        rows = zip(numbers, ids, names, group_numbers, categories, strict=True)
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows)
        if vocabulary.integer_items is not None:
            integers = np.flatnonzero(vocabulary.integer_items[items]) + start
            connection.executemany("INSERT INTO integers VALUES (?)", ((number,) for number in integers.tolist()))
        in_names = [split_words(name or id_ or "") for name, id_ in zip(names, ids, strict=True)]
        texts = zip(numbers, map(" ".join, in_names), group_words, strict=True)
        connection.executemany("INSERT INTO item_words (rowid, name, grp) VALUES (?, ?, ?)", texts)
        counts.update(word for word in chain.from_iterable(in_names) if word.isalpha())


def _select(column: Sequence[str | None] | None, items: NDArray[np.int64]) -> list[str | None]:
    return [None] * len(items) if column is None else [column[item] for item in items.tolist()]


def _by_length(vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the items from the shortest name to the longest; an item without a name has its id."""
    names: Iterable[str | None] = vocabulary.names or vocabulary.ids
    sizes = (len(name if name is not None else vocabulary.ids[item]) for item, name in enumerate(names))
    return np.argsort(np.fromiter(sizes, np.int64, len(vocabulary)), kind="stable")


def _write_terms(connection: sqlite3.Connection, counts: Counter[str]) -> None:
    """Write the words that a misspelled one may mean: letters only, since another digit is another number."""
    kept = sorted((word, count) for word, count in counts.most_common(MAX_TERMS) if max_edits(word))
    facts = {
        "words": "\n".join(word for word, _ in kept).encode(),
        "letters": np.array([letter_set(word) for word, _ in kept], np.uint32).tobytes(),
        "counts": np.array([count for _, count in kept], np.uint32).tobytes(),
    }
    connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())


def remove_old(folder: Path) -> None:
    """Remove temporary files of killed processes, and the least recently used indexes."""
    indexes = sorted(folder.glob("items-*.sqlite"), key=_age)
    abandoned = [path for path in folder.glob(".items-*") if _age(path) > ABANDONED_SECONDS]
    for path in indexes[MAX_INDEXES:] + abandoned:
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:  # another process was faster
        return 0.0


def main() -> int:
    with suppress(OSError):  # not every user may
        os.nice(NICENESS)
    run, folder = map(Path, sys.argv[1:])
    try:
        print(build_index(run, folder))
    except (FansError, sqlite3.Error, OSError) as error:
        print(format_os_error(error) if isinstance(error, OSError) else error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
