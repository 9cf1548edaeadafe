"""Lists in JSON lines under other names than `items` and `id`, read without polars."""

from typing import Any

from fansrec.data.columns import ITEMS_NAMES, LIST_NAMES, find, find_all

Row = dict[str, Any]


def recognized(row: Row) -> Row:
    """Return a list with its items in `items` and its id in `id`, found under well-known names such as `tracks`."""
    items = next((name for name in find_all(row, ITEMS_NAMES) if isinstance(row[name], list)), None)
    id_ = "id" if "id" in row else find(row, LIST_NAMES)
    found = row if items is None else row | {"items": row[items]}
    return found if id_ is None else found | {"id": row[id_]}
