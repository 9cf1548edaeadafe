"""The columns of a table with lists: those the user names, or those with a well-known name."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fansrec.errors import BadInput

LIST_NAMES = ("list_id", "playlist_id", "list", "playlist", "listid", "playlistid", "pid", "session_id", "basket_id")
ITEM_NAMES = ("item_id", "item", "itemid", "track_id", "track", "track_uri", "song_id", "song", "book_id", "product_id")
POSITION_NAMES = ("position", "pos")
ITEMS_NAMES = ("items", "item_ids", "itemids", "tracks", "track_ids", "songs", "books")


@dataclass(frozen=True)
class Columns:
    """The column names the user gave; None means that the column is detected by name."""

    list: str | None = None
    item: str | None = None
    position: str | None = None
    items: str | None = None


def find(names: Iterable[str], known: Sequence[str]) -> str | None:
    """Return the column with the first of the known names, ignoring case, or None."""
    by_lower = {name.strip().lower(): name for name in reversed(list(names))}
    return next((by_lower[name] for name in known if name in by_lower), None)


def items_column(names: Sequence[str], columns: Columns, where: str) -> str | None:
    """Return the column that holds whole lists, or None if the table has one row per item."""
    if columns.items is not None:
        return required(names, columns.items, "--items-column", where)
    if columns.list is not None or columns.item is not None or columns.position is not None:
        return None
    if find(names, LIST_NAMES) and find(names, ITEM_NAMES):  # then a column `tracks` is a count
        return None
    return find(names, ITEMS_NAMES)


def long_columns(names: Sequence[str], columns: Columns, where: str) -> Columns:
    """Return the columns of a table with one row per item; only the position is optional."""
    list_name = columns.list or find(names, LIST_NAMES)
    item_name = columns.item or find(names, ITEM_NAMES)
    if list_name is None and item_name is None:
        raise _missing(names, "no columns of lists and items were found", "--list-column and --item-column", where)
    if list_name is None:
        raise _missing(names, "no column of list ids was found", "--list-column", where)
    if item_name is None:
        raise _missing(names, "no column of item ids was found", "--item-column", where)
    position = columns.position or find(names, POSITION_NAMES)
    if position is not None:
        required(names, position, "--position-column", where)
    return Columns(
        list=required(names, list_name, "--list-column", where),
        item=required(names, item_name, "--item-column", where),
        position=position,
    )


def required(names: Sequence[str], name: str, flag: str, where: str) -> str:
    """Return `name`; raise BadInput if the table has no such column."""
    if name not in names:
        raise _missing(names, f"there is no column {name!r}", flag, where)
    return name


def _missing(names: Sequence[str], problem: str, flag: str, where: str) -> BadInput:
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return BadInput(f"{where}: {problem} (columns: {shown}); name it with {flag}")
