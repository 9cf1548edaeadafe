"""Items as the user names them, and as the models number them: translated here, at the edge, and nowhere else."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadArtifact, BadInput
from fansrec.files import parse_json, read_json
from fansrec.vocabulary.string_table import Texts

ITEMS_FILE = "items.jsonl"
CATEGORIES_FILE = "categories.json"
BYTES_AT_ONCE = 1 << 20
LONGEST_LINE = 1 << 20  # bytes of one item
LONGEST_TEXT = 1 << 12  # bytes of an id, a name or a group: an answer has thousands of them
DIGITS = 18  # of ids that are integers: they fit into 64 bits
REMEMBERED = 1 << 14  # items looked up before, found ten times as fast when they come again


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
    def _findable(self) -> tuple[Texts, Texts]:
        """Ids and names, to be looked up."""
        ids, names = (texts if isinstance(texts, Texts) else Texts.of(texts) for texts in (self.ids, self.names or ()))
        return ids, names

    @cached_property
    def _found(self) -> Callable[[str], int | None]:
        return lru_cache(REMEMBERED)(self._look_up)

    def _look_up(self, text: str) -> int | None:
        ids, names = self._findable
        if by_id := ids.places(text):
            return by_id[-1]
        by_name = names.places(text)
        return by_name[0] if len(by_name) == 1 else None

    def find(self, item: object) -> int | None:
        """The number of an item given by its id, or by a name that no other item has; None if there is no such item."""
        return self._found(str(item))

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
            for key, text in row.items():
                if text and len(text.encode()) > LONGEST_TEXT:
                    raise BadInput(f"the {key} of item {id_[:80]!r} has more than {LONGEST_TEXT:,} bytes; shorten it")
            yield {key: value for key, value in row.items() if value is not None}


def read_vocabulary(folder: Path) -> Vocabulary:
    try:
        ids, names, groups = _columns(folder / ITEMS_FILE)
        if max(column.longest() for column in (ids, names, groups)) > LONGEST_TEXT:
            raise ValueError(f"{ITEMS_FILE} has a text of more than {LONGEST_TEXT:,} bytes")
        categories = _checked(read_json(folder / CATEGORIES_FILE))
        vocabulary = Vocabulary(
            ids=cast(Sequence[str], ids),
            starts=np.array(categories["starts"], dtype=np.int64),
            names=names if names.any() else None,
            groups=groups if groups.any() else None,
            category_names=categories["names"],
            integer_ids=categories["integer_ids"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadArtifact(f"{folder} holds no readable vocabulary ({error}); make it anew") from error
    _check(vocabulary, folder)
    return vocabulary


def _columns(path: Path) -> tuple[Texts, Texts, Texts]:
    """Ids, names and groups of all items."""
    parts = [
        (Texts.of(row["id"] for row in rows), *(Texts.of(row.get(key) for row in rows) for key in ("name", "group")))
        for rows in _parsed(path)
    ]
    ids, names, groups = (Texts.joined([part[column] for part in parts]) for column in range(3))
    return ids, names, groups


def _parsed(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The rows of a file, many lines at a time: reading them one by one takes thrice as long."""
    with path.open("rb") as file:
        while block := file.read(BYTES_AT_ONCE):
            end = file.readline(LONGEST_LINE)
            if len(end) == LONGEST_LINE:
                raise ValueError(f"{path.name} has a line of more than {LONGEST_LINE:,} bytes")
            lines = (block + end).removesuffix(b"\n")
            rows = parse_json(b"[" + lines.replace(b"\n", b",") + b"]")
            if len(rows) != lines.count(b"\n") + 1:
                raise ValueError(f"{path.name} has lines that are not one item each")
            yield rows


def _checked(categories: Any) -> dict[str, Any]:
    """Return the content of the categories' file; raise ValueError unless every value has its type."""
    names, starts = categories["names"], categories["starts"]
    if not (isinstance(names, list) and all(isinstance(name, str) and len(name) <= LONGEST_TEXT for name in names)):
        raise ValueError(f"the names of categories are not all texts of at most {LONGEST_TEXT:,} characters")
    if not (isinstance(starts, list) and all(type(start) is int for start in starts)):
        raise ValueError("the starts of categories are not all integers")
    if not isinstance(categories["integer_ids"], bool):
        raise ValueError("integer_ids is neither true nor false")
    return dict(categories)


def _check(vocabulary: Vocabulary, folder: Path) -> None:
    starts = vocabulary.starts.tolist()
    rises = all(low < high for low, high in pairwise(starts))
    if not (len(starts) > 1 and starts[0] == 0 and starts[-1] == len(vocabulary) and rises):
        raise BadArtifact(f"{folder / CATEGORIES_FILE} does not fit {ITEMS_FILE}; make the folder anew")
    if len(vocabulary.category_names) != len(starts) - 1:
        raise BadArtifact(
            f"{folder / CATEGORIES_FILE} has {len(vocabulary.category_names):,} names for {len(starts) - 1:,} "
            f"categories; copy or make the folder again"
        )
    ids = vocabulary.ids
    assert isinstance(ids, Texts)
    if not ids.all_present():
        raise BadArtifact(f"{folder / ITEMS_FILE} has an item without an id; copy or make the folder again")
    if not ids.all_distinct():
        raise BadArtifact(f"{folder / ITEMS_FILE} has two items of the same id; copy or make the folder again")
    if vocabulary.integer_ids and not ids.all_integers(DIGITS):
        raise BadArtifact(
            f"{folder / ITEMS_FILE} has ids that are not integers of at most {DIGITS} digits, although "
            f"{CATEGORIES_FILE} says so; copy or make the folder again"
        )
