"""Items as the user names them, and as the models number them: translated here, at the edge, and nowhere else."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadArtifact

ITEMS_FILE = "items.jsonl"
CATEGORIES_FILE = "categories.json"


@dataclass(frozen=True)
class Vocabulary:
    """Item i has id `ids[i]`; items lie in category order, so category c is items `starts[c]` to `starts[c + 1]`."""

    ids: Sequence[str]
    starts: NDArray[np.int64]  # (N + 1,)
    names: Sequence[str | None] | None = None
    groups: Sequence[str | None] | None = None
    category_names: Sequence[str] = field(default_factory=tuple)
    integer_ids: bool = False

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def categories(self) -> NDArray[np.int64]:
        """The category of every item."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def _index(self) -> dict[str, int]:
        """Ids and, where they name one item only and are no id themselves, names."""
        by_name: dict[str, int] = {}
        shared: set[str] = set()
        for index, name in enumerate(self.names or ()):
            if name is not None:
                shared |= {name} & by_name.keys()
                by_name[name] = index
        by_id = {id_: index for index, id_ in enumerate(self.ids)}
        return {name: index for name, index in by_name.items() if name not in shared} | by_id

    def find(self, item: object) -> int | None:
        """The number of an item given by id or by name, None if there is no such item."""
        return self._index.get(str(item))

    def numbers(self, items: Iterable[object]) -> tuple[list[int], list[object]]:
        """The numbers of the known items, in order, and the items that are unknown."""
        known: list[int] = []
        unknown: list[object] = []
        for item in items:
            index = self.find(item)
            if index is None:
                unknown.append(item)
            else:
                known.append(index)
        return known, unknown

    def id(self, index: int) -> str | int:
        return int(self.ids[index]) if self.integer_ids else self.ids[index]

    def name(self, index: int) -> str | None:
        return self.names[index] if self.names else None

    def group(self, index: int) -> str | None:
        return self.groups[index] if self.groups else None

    def label(self, index: int) -> str:
        """What a person wants to read: the name if there is one, else the id."""
        return self.name(index) or self.ids[index]

    def category(self, index: int) -> str:
        return self.category_names[int(self.categories[index])]

    @cached_property
    def group_numbers(self) -> NDArray[np.int64]:
        """Groups as numbers; an item without a group is a group of its own."""
        numbers: dict[str, int] = {}
        groups = self.groups or [None] * len(self)
        return np.array(
            [numbers.setdefault(f"{i}" if g is None else f"={g}", len(numbers)) for i, g in enumerate(groups)],
            dtype=np.int64,
        )

    def files(self) -> dict[str, bytes]:
        """The two files that keep a vocabulary, by name; a corpus and an artifact both hold them."""
        categories = {
            "names": list(self.category_names),
            "starts": [int(start) for start in self.starts],
            "integer_ids": self.integer_ids,
        }
        return {
            ITEMS_FILE: "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self._rows()).encode(),
            CATEGORIES_FILE: (json.dumps(categories, ensure_ascii=False) + "\n").encode(),
        }

    def _rows(self) -> Iterable[dict[str, Any]]:
        for index, id_ in enumerate(self.ids):
            row = {"id": id_, "name": self.name(index), "group": self.group(index)}
            yield {key: value for key, value in row.items() if value is not None}


def read_vocabulary(folder: Path) -> Vocabulary:
    try:
        with (folder / ITEMS_FILE).open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        categories = json.loads((folder / CATEGORIES_FILE).read_text(encoding="utf-8"))
        vocabulary = Vocabulary(
            ids=[row["id"] for row in rows],
            starts=np.array(categories["starts"], dtype=np.int64),
            names=_column(rows, "name"),
            groups=_column(rows, "group"),
            category_names=categories["names"],
            integer_ids=categories["integer_ids"],
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadArtifact(f"{folder} holds no readable vocabulary ({error}); make it anew") from error
    _check(vocabulary, folder)
    return vocabulary


def _column(rows: list[dict[str, Any]], key: str) -> list[str | None] | None:
    return [row.get(key) for row in rows] if any(key in row for row in rows) else None


def _check(vocabulary: Vocabulary, folder: Path) -> None:
    starts = vocabulary.starts.tolist()
    rises = all(low < high for low, high in pairwise(starts))
    if not (starts and starts[0] == 0 and starts[-1] == len(vocabulary) and rises):
        raise BadArtifact(f"{folder / CATEGORIES_FILE} does not fit {ITEMS_FILE}; make the folder anew")
