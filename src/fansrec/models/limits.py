"""The types and the largest values of a model's settings.

Settings come from files that anybody may have written. The limits are far above what any trained model needs. They keep
every index within 32 bits and every product of sizes within 64 bits, as the kernels require. They are checked before
anything is built, so that a setting alone can never make a process allocate memory or loop for long.
docs/reference/model-files.md lists them for users.
"""

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

import numpy as np

from fansrec.errors import BadSetting
from fansrec.models.config import sections, setting_name

INTEGER = 2**31 - 1  # every setting that is an integer and has no limit of its own
NUMBER = 1e12  # every setting that is a float, with either sign
ITEMS = 2**31 - 16  # items and special tokens have 32-bit indices
LIST_LENGTH = 1 << 20  # positions inside one list of a list memory
LARGEST = {
    "layers": 256,
    "width": 16_384,
    "heads": 1_024,
    "feedforward": 65_536,
    "positions": LIST_LENGTH,
    "window": 256,
    "horizontal": 4_096,
    "vertical": 4_096,
    "memory_items": 2**40,  # of all lists together; offsets into them have 64 bits
}


def check_settings(kind: type[Any], values: Mapping[str, Any]) -> None:
    """Raise BadSetting unless all values have the types that the dataclass `kind` declares and are within the limits.

    `values` are those of its fields, nested as in a file. Messages have the names under which users set them.
    """
    hints, nested = _hints(kind), sections(kind)
    settings = {one.name: setting_name(one) for one in fields(kind)}
    for field, value in values.items():
        hint, name = hints.get(field), settings.get(field, field)
        if field in nested:
            if type(value) is not dict:
                raise BadSetting(f"{field} is {_shown(value)}; it must be an object with settings")
            check_settings(nested[field], value)
        elif hint in (int, float, bool, str):
            _check_value(name, value, hint)
    if "category_starts" in values:
        _check_starts(values["category_starts"])


def _hints(kind: type[Any]) -> dict[str, Any]:
    try:
        return get_type_hints(kind)
    except NameError:  # annotations of another package that can only be resolved there
        return {}


def _check_value(name: str, value: Any, kind: type) -> None:
    if type(value) not in ((int, float) if kind is float else (kind,)):
        raise BadSetting(f"{name} is {_shown(value)}; it must be of type {kind.__name__}")
    largest = LARGEST.get(name, INTEGER)
    if kind is int and not -INTEGER <= value <= largest:
        raise BadSetting(f"{name} is {_shown(value)}; it can be at most {largest:,}")
    if kind is float and not -NUMBER <= value <= NUMBER:  # NaN fails this too
        raise BadSetting(f"{name} is {_shown(value)}; it must be a finite number of at most {NUMBER:,.0f}")


def _check_starts(starts: Any) -> None:
    """Raise BadSetting unless `starts` increase from 0: category c is items `starts[c]` to `starts[c + 1]` - 1."""
    whole = isinstance(starts, list | tuple) and all(type(start) is int for start in starts)
    if not whole or len(starts) < 2 or max(starts) > ITEMS or min(starts) != 0:
        raise BadSetting(f"category_starts is {_shown(starts)}; it must be integers from 0 to at most {ITEMS:,}")
    if starts[0] != 0 or bool((np.diff(np.array(starts, dtype=np.int64)) <= 0).any()):
        raise BadSetting(f"category_starts is {_shown(starts)}; it must increase from 0 to the number of items")


def _shown(value: Any, most: int = 40) -> str:
    """Return a value as short text for a message: a hostile one may have thousands of digits."""
    text = f"about 1e{int(math.log10(abs(value)))}" if type(value) is int and abs(value) > 10**most else repr(value)
    return text if len(text) <= most else text[:most] + "…"
