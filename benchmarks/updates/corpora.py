"""The lists of the measurements, oldest first, and the corpora that models are trained on.

The order of the lists in the file stands for time. The newest tenth is for testing only; of the others, the newest
fifth is new to a model that was trained before it.
"""

import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.data.corpus import PARTS, Corpus, read_corpus, write_corpus
from fansrec.files import write_text

TEST_SHARE, NEW_SHARE = 0.1, 0.2
VALID_SHARE = 0.1  # of the lists of a corpus, the newest ones


@dataclass(frozen=True)
class NamedList:
    id: str
    items: list[str]  # ids


@dataclass(frozen=True)
class Periods:
    """The lists by time: those of the trained model, those that are new to it, and those for testing."""

    old: list[NamedList]
    new: list[NamedList]
    later: list[NamedList]


def kept_lists(file: Path, source: str, newest: int | None = None) -> list[NamedList]:
    """Return the lists of a file, or, if it is not there yet, write the lists of a set to it."""
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_lists(file, read_lists(source, newest))
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [NamedList(row["list_id"], row["items"]) for row in rows]


def read_lists(source: str, newest: int | None = None) -> list[NamedList]:
    """Return the filtered lists of a set, oldest first; only the `newest` ones, filtered again, if given."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = _prepared(source, Path(folder) / "corpus")
        if newest is None or newest >= len(corpus):
            return _named(corpus)
        file = Path(folder) / "lists.jsonl"
        write_lists(file, _named(corpus)[-newest:])
        options = corpus.summary["preparation"]
        filters = {name: options[name] for name in ("min_item_count", "min_length", "max_length")}
        return _named(_prepared(str(file), Path(folder) / "newest", **filters))


def read_names(source: str) -> dict[str, str]:
    """Return the names of the items of a set, by their ids."""
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = _prepared(source, Path(folder) / "corpus").vocabulary
    return {
        id_: name
        for id_, name in zip(vocabulary.ids, vocabulary.names or [None] * len(vocabulary), strict=True)
        if name
    }


def in_periods(lists: Sequence[NamedList]) -> Periods:
    """Return the lists by period."""
    known = round(len(lists) * (1 - TEST_SHARE))
    old = round(known * (1 - NEW_SHARE))
    return Periods([*lists[:old]], [*lists[old:known]], [*lists[known:]])


def make_corpus(lists: Sequence[NamedList], folder: Path, items: Path | None = None) -> Corpus:
    """Write the corpus of all these lists; the newest tenth is for validation, and none are for testing."""
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "lists.jsonl"
        write_lists(file, lists)
        options: dict[str, Any] = {"min_item_count": 1, "min_length": 2, "max_length": 10_000, "items": items}
        corpus = _prepared(str(file), Path(temporary) / "corpus", **options)
    parts = np.where(np.arange(len(corpus)) < len(corpus) * (1 - VALID_SHARE), 0, 1).astype(np.uint8)
    splits = dict(zip(PARTS, np.bincount(parts, minlength=len(PARTS)).tolist(), strict=True))
    corpus = replace(corpus, parts=parts, summary=corpus.summary | {"splits": splits})
    write_corpus(folder, corpus, force=True)
    return corpus


def write_lists(file: Path, lists: Iterable[NamedList]) -> None:
    """Write lists as JSON lines, as `fans prepare` and `fans update` read them."""
    write_text(file, "".join(json.dumps({"list_id": one.id, "items": one.items}) + "\n" for one in lists))


def _prepared(source: str, folder: Path, **options: Any) -> Corpus:
    from fansrec.data.interface import prepare  # needs polars, which a machine for training may not have

    prepare(source, folder, split="file-order", report=lambda line: None, **options)
    return read_corpus(folder)


def _named(corpus: Corpus) -> list[NamedList]:
    ids = np.array([*corpus.vocabulary.ids], dtype=object)
    return [NamedList(f"l{index}", ids[corpus.list(index)].tolist()) for index in range(len(corpus))]
