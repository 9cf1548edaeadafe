"""The changes that update a model: lists that are added, replaced or removed, and items that are added or described."""

from dataclasses import dataclass
from datetime import datetime

from fansrec.errors import BadInput
from fansrec.vocabulary.json_lines import MAX_STRING_BYTES

ItemId = str | int
MAX_LIST_ITEMS = 10_000  # of one list: a longer one is a mistake


@dataclass(frozen=True)
class SetList:
    """A list that is added, or replaces the one with the same id; it is then the newest list.

    A list without an id can neither be replaced nor removed by its id.
    """

    id: str | None
    items: tuple[ItemId, ...]  # in order; repetitions are allowed
    title: str | None = None

    def __post_init__(self) -> None:
        _check_text("the id of a list", self.id, least=1)
        _check_text("the title of a list", self.title)
        if not 1 <= len(self.items) <= MAX_LIST_ITEMS:
            raise BadInput(f"list {self.id!r:.80} has {len(self.items):,} items; give 1 to {MAX_LIST_ITEMS:,}")
        for item in self.items:
            _check_text(f"an item of list {self.id!r:.80}", str(item), least=1)


@dataclass(frozen=True)
class RemoveList:
    """A list that is deleted; an unknown id changes nothing."""

    id: str

    def __post_init__(self) -> None:
        _check_text("the id of a list", self.id, least=1)


@dataclass(frozen=True)
class SetItem:
    """An item that is added, or described again; None leaves what is known of it as it is."""

    id: ItemId
    name: str | None = None
    group: str | None = None
    category: str | None = None  # one of the model's categories; only an item that was not trained can be moved
    date: str | None = None  # ISO 8601, for the rule `freshness`

    def __post_init__(self) -> None:
        _check_text("the id of an item", str(self.id), least=1)
        for field in ("name", "group", "category", "date"):
            _check_text(f"the {field} of item {self.id!r:.80}", getattr(self, field))
        if self.date is not None:
            _check_date(self.date, self.id)


Change = SetList | RemoveList | SetItem


def _check_text(what: str, text: str | None, least: int = 0) -> None:
    try:
        size = least if text is None else len(text.encode())
    except UnicodeEncodeError:
        raise BadInput(f"{what} ({text!r:.80}) is not valid Unicode; remove the characters that stand alone") from None
    if not least <= size <= MAX_STRING_BYTES:
        raise BadInput(f"{what} has {size:,} bytes; give {least:,} to {MAX_STRING_BYTES:,}")


def _check_date(date: str, item: ItemId) -> None:
    try:
        datetime.fromisoformat(date)
    except ValueError:
        raise BadInput(f"the date of item {item!r:.80} is {date!r:.80}; give one such as 2026-01-31") from None
