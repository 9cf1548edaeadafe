"""The ids and titles of lists, in the order of the lists: in a corpus, and of the lists that a model remembers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadArtifact
from fansrec.vocabulary.json_lines import MAX_STRING_BYTES, json_lines, read_json_lines
from fansrec.vocabulary.string_table import StringTable

LISTS_FILE = "lists.jsonl"


@dataclass(frozen=True)
class ListNames:
    """The id of every list, as text, and its title; None for a list without one."""

    ids: Sequence[str | None]
    titles: Sequence[str | None] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def id(self, index: int) -> str | None:
        return self.ids[index]

    def title(self, index: int) -> str | None:
        return self.titles[index] if self.titles else None

    def select(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> "ListNames":
        """Return the names of some lists, by their indices or by a mask (lists,)."""
        indices = (np.flatnonzero(which) if which.dtype == np.bool_ else which).tolist()
        titles = None if self.titles is None else StringTable.from_strings([self.titles[index] for index in indices])
        return ListNames(StringTable.from_strings([self.ids[index] for index in indices]), titles)

    def file(self) -> bytes:
        """Return the content of the file of a corpus or an artifact."""
        return json_lines(self._rows())

    def _rows(self) -> Iterator[dict[str, str]]:
        titles = self.titles or [None] * len(self)
        for id_, title in zip(self.ids, titles, strict=True):
            yield {key: value for key, value in (("id", id_), ("title", title)) if value is not None}


def read_list_names(folder: Path, lists: int) -> ListNames | None:
    """Return the names of the lists in a corpus or artifact folder, None if it has none.

    Raises BadArtifact unless they are the names of that many `lists`.
    """
    path = folder / LISTS_FILE
    if not path.is_file():
        return None
    try:
        blocks = [
            tuple(StringTable.from_strings(_text(row.get(key)) for row in rows) for key in ("id", "title"))
            for rows in read_json_lines(path)
        ]
        ids, titles = (StringTable.concatenate([block[column] for block in blocks]) for column in range(2))
        if max(ids.longest(), titles.longest()) > MAX_STRING_BYTES:
            raise ValueError(f"{LISTS_FILE} has a string of more than {MAX_STRING_BYTES:,} bytes")
        if len(ids) != lists:
            raise ValueError(f"{LISTS_FILE} has {len(ids):,} rows for {lists:,} lists")
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadArtifact(f"{folder} does not hold readable names of lists ({error}); create it again") from error
    return ListNames(ids, titles if titles.any() else None)


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{LISTS_FILE} has an id or a title that is not text: {value!r:.80}")
    return value
