"""Checks of what callers of the Python API pass, which may come from numpy, pandas or polars."""

import math
from collections.abc import Iterable
from operator import index
from typing import Any, cast

from fansrec.errors import BadSetting


def check_lists(lists: Iterable[Iterable[object]]) -> list[list[object]]:
    """Return lists of items; raise BadSetting where there is an item instead of a list."""
    if _is_text(lists) or not isinstance(lists, Iterable):
        raise BadSetting(f"lists is {_shown(lists)}; give lists of items, such as [['a', 'b'], ['c']]")
    return [_check_list(items, number) for number, items in enumerate(lists)]


def _check_list(items: Any, number: int) -> list[object]:
    if _is_text(items) or not isinstance(items, Iterable):
        raise BadSetting(
            f"list {number} of lists is the item {_shown(items)}; give lists of items, such as [[{_shown(items)}]]"
        )
    return _check_types(items, f"list {number} of lists")


def check_items(items: Iterable[object], name: str) -> list[object]:
    """Return the items, or names, of the argument `name`; raise BadSetting for a single one."""
    return _check_types(check_names(items, name), name)


def check_names(names: Iterable[object], name: str) -> list[object]:
    """Return the values of the argument `name`; raise BadSetting for a single one."""
    if _is_text(names) or not isinstance(names, Iterable):
        raise BadSetting(f"{name} is {_shown(names)}; give a list, such as [{_shown(names)}]")
    return [*names]


def _check_types(items: Iterable[object], where: str) -> list[object]:
    """Return the items; raise BadSetting for one that is neither text nor an integer, as in a column with gaps."""
    found = [*items]
    for item in found:
        if not isinstance(item, str) and not _is_integer(item):
            raise BadSetting(
                f"{where} has {_shown(item)}, of type {type(item).__name__}; an item must be text or an integer"
            )
    return found


def _is_integer(item: Any) -> bool:
    """Return whether this is an integer of any library; a float is not, even if it is whole."""
    try:
        index(item)
    except TypeError:
        return False
    return not isinstance(item, bool)


def check_whole(value: Any, name: str) -> int:
    """Return an integer of any library; raise BadSetting for another value."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return index(value)
    except TypeError:
        raise BadSetting(f"{name} is {_shown(value)}; it must be a whole number") from None


def check_number(value: Any, name: str) -> float:
    """Return a number of any library; raise BadSetting for another value."""
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if math.isnan(number):
        raise BadSetting(f"{name} is {_shown(value)}; it must be a number")
    return number


def plain(item: object) -> object:
    """Return an item of numpy as a value of Python, others as they are."""
    return cast(Any, item).item() if hasattr(item, "item") and callable(item.item) else item


def _is_text(value: object) -> bool:
    return isinstance(value, str | bytes)


def _shown(value: object) -> str:
    return f"{plain(value)!r:.80}"
