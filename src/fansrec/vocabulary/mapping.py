"""The mapping between the item ids and names of users and the item indices of models."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadArtifact, BadInput
from fansrec.files import read_json
from fansrec.vocabulary.close_texts import CloseTexts
from fansrec.vocabulary.dates import days_of
from fansrec.vocabulary.json_lines import MAX_STRING_BYTES, json_lines, read_json_lines
from fansrec.vocabulary.string_table import StringTable

ITEMS_FILE = "items.jsonl"
CATEGORIES_FILE = "categories.json"
MAX_GROUP_NAME = 40  # characters of the word for groups, which is shown in sentences
GROUP = "group"  # that word, unless the data has its own
MAX_DIGITS = 18  # of integer ids, so that they fit into 64 bits
MAX_SUGGESTED = 500_000  # items, among which those that a misspelled one may mean are searched
CACHED_LOOKUPS = 1 << 16  # a cached lookup is ten times as fast; a full cache takes 11 MB

# Finds ids: the index of each, -1 for an unknown one, and how many are unknown; None if it cannot say.
IdIndex = Callable[[Sequence[str]], tuple[NDArray[np.int64], int] | None]


@dataclass(frozen=True)
class Vocabulary:
    """The items of a corpus or model in category order: category c has the items `starts[c]` to `starts[c + 1]`."""

    ids: Sequence[str]
    starts: NDArray[np.int64]  # (N + 1,)
    names: Sequence[str | None] | None = None
    groups: Sequence[str | None] | None = None
    category_names: Sequence[str] = field(default_factory=tuple)
    integer_ids: bool = False  # all ids are integers
    integer_items: NDArray[np.bool_] | None = None  # (M,): the ids that are integers, if only some are
    group_name: str = GROUP
    """What a group is in this data: an artist, an author, a brand."""
    dates: Sequence[str | None] | None = None
    """When each item appeared, ISO 8601."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def categories(self) -> NDArray[np.int64]:
        """The category of every item, shape (M,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @cached_property
    def _tables(self) -> tuple[StringTable, StringTable]:
        """The ids and the names."""
        columns = (self.ids, self.names or ())
        ids, names = (
            column if isinstance(column, StringTable) else StringTable.from_strings(column) for column in columns
        )
        return ids, names

    @cached_property
    def _cached_find(self) -> Callable[[str], int | None]:
        return lru_cache(CACHED_LOOKUPS)(self._find)

    def _find(self, text: str) -> int | None:
        ids, names = self._tables
        if by_id := ids.find(text):
            return by_id[-1]
        by_name = names.find(text) or self._find_folded(text)
        return by_name[0] if len(by_name) == 1 else None

    def _find_folded(self, text: str) -> list[int]:
        """Return the items with this name, without regard to case."""
        folded, (hashes, order) = text.casefold(), self._folded_names
        first, end = np.searchsorted(hashes, hash(folded), "left"), np.searchsorted(hashes, hash(folded), "right")
        named = ((index, self.name(index)) for index in order[first:end].tolist())
        return [index for index, name in named if name is not None and name.casefold() == folded]

    @cached_property
    def _folded_names(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The hashes of all names without regard to case in ascending order, and the items in this order."""
        hashes = np.fromiter((hash((name or "").casefold()) for name in self.names or ()), np.int64)
        order = np.argsort(hashes, kind="stable").astype(np.int32)
        return hashes[order], order

    def find(self, item: object) -> int | None:
        """Return the index of the item with this id, or with this name if no other item has it; None if unknown.

        A name that no item has matches one that differs only in upper and lower case, again if only one item has it.
        """
        return self._cached_find(str(item))

    def suggestions(self, item: object, count: int = 2) -> list[str]:
        """Return names or ids of items that an unknown one may mean, the closest first; `find` finds each of them.

        A catalog of more than MAX_SUGGESTED items gets none, since a search takes too long.
        """
        if len(self) > MAX_SUGGESTED:
            return []
        text = str(item)
        by_id = [self.ids[index] for one in (text.lower(), text.upper()) for index in self._tables[0].find(one)]
        by_label = map(self._findable, self._close_labels.close_to(text, count))
        return [*dict.fromkeys([*by_id, *by_label])][:count]

    @cached_property
    def _close_labels(self) -> CloseTexts:
        return CloseTexts(name or id_ for name, id_ in zip(self.names or repeat(None), self.ids, strict=False))

    def _findable(self, index: int) -> str:
        """Return the name of an item if it stands for this item alone, else the id."""
        name = self.name(index)
        return self.ids[index] if name is None or self.find(name) != index else name

    def prepare_lookups(self, make_index: Callable[[StringTable], IdIndex | None] = lambda ids: None) -> None:
        """Compute what lookups need, for processes that are forked later; `make_index` may speed up those of ids."""
        self.find("")
        if "_id_index" not in self.__dict__:
            self.__dict__["_id_index"] = make_index(self._tables[0])
        if len(self) <= MAX_SUGGESTED:
            self._close_labels  # noqa: B018

    def indices(self, items: Iterable[object]) -> tuple[NDArray[np.int64], list[object]]:
        """Return the indices of the known items, in order, and the unknown items."""
        items = [*items]
        texts = [*map(str, items)]
        index: IdIndex | None = self.__dict__.get("_id_index")
        by_id = index(texts) if index else None
        if by_id is None:
            found = [*map(self._cached_find, texts)]  # no Python loop: it is slow
        elif not by_id[1]:
            return by_id[0], []
        else:
            known = by_id[0].tolist()
            found = [self._cached_find(text) if at < 0 else at for text, at in zip(texts, known, strict=True)]
        unknown = [item for item, at in zip(items, found, strict=True) if at is None] if None in found else []
        return np.array([at for at in found if at is not None] if unknown else found, dtype=np.int64), unknown

    def id(self, index: int) -> str | int:
        is_integer = self.integer_ids if self.integer_items is None else self.integer_items[index]
        return int(self.ids[index]) if is_integer else self.ids[index]

    @property
    def integers(self) -> NDArray[np.bool_]:
        """Which ids are integers, shape (M,)."""
        return np.full(len(self), self.integer_ids) if self.integer_items is None else self.integer_items

    def name(self, index: int) -> str | None:
        return self.names[index] if self.names else None

    def group(self, index: int) -> str | None:
        return self.groups[index] if self.groups else None

    def date(self, index: int) -> str | None:
        return self.dates[index] if self.dates else None

    def label(self, index: int) -> str:
        """Return the name of an item for display, or its id if it has no name."""
        return self.name(index) or self.ids[index]

    def category(self, index: int) -> str:
        return self.category_names[int(self.categories[index])]

    @cached_property
    def group_indices(self) -> NDArray[np.int64]:
        """The group of every item as an integer, shape (M,); an item without a group gets one of its own."""
        indices: dict[str, int] = {}
        groups = self.groups or [None] * len(self)
        return np.array(
            [indices.setdefault(f"{i}" if g is None else f"={g}", len(indices)) for i, g in enumerate(groups)],
            dtype=np.int64,
        )

    @cached_property
    def days(self) -> NDArray[np.float64]:
        """The date of every item in days since 1970, shape (M,); NaN for an item without one."""
        return days_of(self.dates) if self.dates else np.full(len(self), np.nan)

    def files(self) -> dict[str, bytes]:
        """Return the contents of the two vocabulary files of a corpus or an artifact, by file name."""
        categories: dict[str, Any] = {
            "names": list(self.category_names),
            "starts": [int(start) for start in self.starts],
            "integer_ids": self.integer_ids,
        }
        if self.group_name != GROUP:  # the files of other vocabularies stay as they are
            categories["group_name"] = self.group_name
        return {
            ITEMS_FILE: json_lines(self._rows()),
            CATEGORIES_FILE: (json.dumps(categories, ensure_ascii=False) + "\n").encode(),
        }

    def _rows(self) -> Iterable[dict[str, Any]]:
        for index, id_ in enumerate(self.ids):
            row: dict[str, Any] = {"id": id_, "name": self.name(index), "group": self.group(index)}
            row["date"] = self.date(index)
            for key, text in row.items():
                if text and len(text.encode()) > MAX_STRING_BYTES:
                    raise BadInput(
                        f"the {key} of item {id_[:80]!r} has more than {MAX_STRING_BYTES:,} bytes; shorten it"
                    )
            if self.integer_items is not None and self.integer_items[index]:
                row["id"] = int(id_)
            yield {key: value for key, value in row.items() if value is not None}


def read_vocabulary(folder: Path) -> Vocabulary:
    """Return the vocabulary in a corpus or artifact folder, all of it checked."""
    try:
        ids, names, groups, dates, integers = _read_columns(folder / ITEMS_FILE)
        if max(column.longest() for column in (ids, names, groups, dates)) > MAX_STRING_BYTES:
            raise ValueError(f"{ITEMS_FILE} has a string of more than {MAX_STRING_BYTES:,} bytes")
        categories = _check_categories(read_json(folder / CATEGORIES_FILE))
        if categories["integer_ids"] and integers.any():
            raise ValueError(f"{ITEMS_FILE} has ids that are integers, although {CATEGORIES_FILE} says that all are")
        vocabulary = Vocabulary(
            ids=cast(Sequence[str], ids),
            starts=np.array(categories["starts"], dtype=np.int64),
            names=names if names.any() else None,
            groups=groups if groups.any() else None,
            category_names=categories["names"],
            integer_ids=categories["integer_ids"],
            integer_items=integers if integers.any() else None,
            group_name=categories.get("group_name", GROUP),
            dates=dates if dates.any() else None,
        )
        vocabulary.days  # noqa: B018 - raises ValueError unless the dates can be read
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise BadArtifact(f"{folder} does not hold a readable vocabulary ({error}); create the folder again") from error
    _check_vocabulary(vocabulary, folder)
    return vocabulary


def _read_columns(path: Path) -> tuple[StringTable, StringTable, StringTable, StringTable, NDArray[np.bool_]]:
    """Return the ids, names, groups and dates of all items, and which ids are integers in the file."""
    make = StringTable.from_strings
    blocks, integers = [], [np.zeros(0, dtype=np.bool_)]
    for rows in read_json_lines(path):
        given = [row["id"] for row in rows]
        if any(type(id_) is int and abs(id_) >= 10**MAX_DIGITS for id_ in given):
            raise ValueError(f"{path.name} has an integer id of more than {MAX_DIGITS} digits")
        integers.append(np.array([type(id_) is int for id_ in given], dtype=np.bool_))
        texts = [str(id_) if type(id_) is int else id_ for id_ in given] if integers[-1].any() else given
        blocks.append((make(texts), *(make(row.get(key) for row in rows) for key in ("name", "group", "date"))))
    ids, names, groups, dates = (StringTable.concatenate([block[column] for block in blocks]) for column in range(4))
    return ids, names, groups, dates, np.concatenate(integers)


def is_group_name(value: object) -> bool:
    """Return whether a value can be the word for groups."""
    return isinstance(value, str) and 0 < len(value.strip()) <= MAX_GROUP_NAME and value.isprintable()


def _check_categories(categories: Any) -> dict[str, Any]:
    """Return the content of the categories file; raise ValueError unless every value has its type."""
    names, starts = categories["names"], categories["starts"]
    if not (isinstance(names, list) and all(isinstance(name, str) and len(name) <= MAX_STRING_BYTES for name in names)):
        raise ValueError(f"the names of categories are not all strings of at most {MAX_STRING_BYTES:,} characters")
    if not (isinstance(starts, list) and all(type(start) is int for start in starts)):
        raise ValueError("the starts of categories are not all integers")
    if not isinstance(categories["integer_ids"], bool):
        raise ValueError("integer_ids is neither true nor false")
    if not is_group_name(categories.get("group_name", GROUP)):
        raise ValueError(f"group_name is not a word with 1 to {MAX_GROUP_NAME} printable characters")
    return dict(categories)


def _check_vocabulary(vocabulary: Vocabulary, folder: Path) -> None:
    starts = vocabulary.starts.tolist()
    ascending = all(low < high for low, high in pairwise(starts))
    ids, names = vocabulary.ids, len(vocabulary.category_names)
    assert isinstance(ids, StringTable)
    if not (len(starts) > 1 and starts[0] == 0 and starts[-1] == len(vocabulary) and ascending):
        problem = f"{CATEGORIES_FILE} does not match {ITEMS_FILE}"
    elif names != len(starts) - 1:
        problem = f"{CATEGORIES_FILE} has {names:,} names for {len(starts) - 1:,} categories"
    elif not ids.all_present():
        problem = f"{ITEMS_FILE} has an item without an id"
    elif not ids.all_distinct():
        problem = f"{ITEMS_FILE} has two items with the same id"
    elif vocabulary.integer_ids and not ids.all_integers(MAX_DIGITS):
        problem = (
            f"{ITEMS_FILE} has ids that are not integers of at most {MAX_DIGITS} digits, although {CATEGORIES_FILE} "
            "says so"
        )
    else:
        return
    raise BadArtifact(f"{folder / problem}; copy or create the folder again")
