"""Which column of a table is which: as the user says, or by the names such columns usually have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fansrec.errors import BadInput

LIST_NAMES = ("list_id", "playlist_id", "list", "playlist", "listid", "playlistid", "pid", "session_id", "basket_id")
ITEM_NAMES = ("item_id", "item", "itemid", "track_id", "track", "track_uri", "song_id", "song", "book_id", "product_id")
POSITION_NAMES = ("position", "pos")
ITEMS_NAMES = ("items", "item_ids", "itemids", "tracks", "track_ids", "songs", "books")


@dataclass(frozen=True)
class Columns:
    """The names the user gave; what is None is looked for."""

    list: str | None = None
    item: str | None = None
    position: str | None = None
    items: str | None = None


def find(names: Iterable[str], usual: Sequence[str]) -> str | None:
    """The column with the first of the usual names, whatever its case."""
    by_lower = {name.strip().lower(): name for name in reversed(list(names))}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def items_column(names: Sequence[str], columns: Columns, where: str) -> str | None:
    """The column that holds whole lists, None if the table has one row an item."""
    if columns.items is not None:
        return required(names, columns.items, "--items-column", where)
    if columns.list is not None or columns.item is not None or columns.position is not None:
        return None
    if find(names, LIST_NAMES) and find(names, ITEM_NAMES):  # then a column `tracks` counts something
        return None
    return find(names, ITEMS_NAMES)


def long_columns(names: Sequence[str], columns: Columns, where: str) -> Columns:
    """The columns of a table with one row an item; only the position may be absent."""
    list_name = columns.list or find(names, LIST_NAMES)
    item_name = columns.item or find(names, ITEM_NAMES)
    if list_name is None and item_name is None:
        raise _missing(names, "no column of lists and items is found", "--list-column and --item-column", where)
    if list_name is None:
        raise _missing(names, "no column of list ids is found", "--list-column", where)
    if item_name is None:
        raise _missing(names, "no column of item ids is found", "--item-column", where)
    position = columns.position or find(names, POSITION_NAMES)
    if position is not None:
        required(names, position, "--position-column", where)
    return Columns(
        list=required(names, list_name, "--list-column", where),
        item=required(names, item_name, "--item-column", where),
        position=position,
    )


def required(names: Sequence[str], name: str, flag: str, where: str) -> str:
    if name not in names:
        raise _missing(names, f"there is no column {name!r}", flag, where)
    return name


def _missing(names: Sequence[str], what: str, flag: str, where: str) -> BadInput:
    found = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return BadInput(f"{where}: {what} (columns: {found}); name it with {flag}")
