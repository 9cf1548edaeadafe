"""The native kernel as a shared library: which copy this machine can run, and whether it fits the Python code."""

import ctypes
import os
from ctypes import c_char_p, c_int, c_int64, c_void_p
from functools import cache
from typing import Any

from fansrec.engine.native.compile import library_path
from fansrec.engine.native.structures import LAYOUT
from fansrec.errors import BadArtifact, BadSetting, FansError

DONE, UNKNOWN_ITEM, NO_MEMORY, BAD_CALL, BAD_MODEL = range(5)  # Outcome of call.h
CHOICES = ("vnni", "avx512", "avx2", "portable", "off")
FUNCTIONS: dict[str, tuple[type[Any] | None, tuple[type[Any], ...]]] = {  # result and arguments
    "fans_open": (c_int, (c_void_p, c_void_p)),
    "fans_close": (None, (c_void_p,)),
    "fans_continue": (c_int, (c_void_p, c_void_p)),
    "fans_layout": (c_char_p, ()),
    "fans_index_ids": (None, (c_void_p,)),
    "fans_items_of_ids": (c_int64, (c_void_p, c_char_p, c_int64, c_int64, c_void_p)),
}


class OutdatedKernel(FansError):
    """The library was compiled from sources that do not fit the Python code."""


def missing() -> str | None:
    """Return why the kernel cannot be used here, in one line, or None if it can."""
    if _requested() == "off":
        return "the fast CPU kernel is switched off (FANS_NATIVE=off)"
    if not library_path("portable").exists():
        return "the fast CPU kernel was not built (no C++ compiler at install)"
    try:
        library()
    except OutdatedKernel as error:
        return str(error)
    except OSError as error:
        return f"the fast CPU kernel cannot be loaded ({error})"
    return None


def check_outcome(outcome: int) -> None:
    """Raise the error that the kernel's outcome stands for; the caller reports UNKNOWN_ITEM itself."""
    if outcome == NO_MEMORY:
        raise FansError("there is not enough memory for this answer; ask for fewer lists or items at once")
    if outcome == BAD_CALL:
        raise FansError(
            "the fast CPU kernel refused the call: a size, count or pointer is out of range; use FANS_NATIVE=off"
        )
    if outcome == BAD_MODEL:
        raise BadArtifact(
            "the fast CPU kernel refused the model: its sizes or offsets are out of range; train it again"
        )


@cache
def library() -> ctypes.CDLL:
    """Load the copy for this machine's instructions, or the one that FANS_NATIVE names.

    Raises OutdatedKernel if its structures differ from those of structures.py.
    """
    loaded = ctypes.CDLL(str(library_path(chosen())))
    try:
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
        layout = loaded.fans_layout().decode()
    except AttributeError:  # an old kernel lacks a function
        layout = None
    if layout != LAYOUT:
        raise OutdatedKernel(
            "the fast CPU kernel is of another version; compile it again (python -m fansrec.engine.native.compile)"
        )
    return loaded


def chosen() -> str:
    """Return the instruction set that FANS_NATIVE names, or else the widest one of this machine."""
    return _requested() or widest()


def widest() -> str:
    """Return the widest instruction set that this machine runs and that the library was compiled for."""
    portable = ctypes.CDLL(str(library_path("portable")))
    portable.fans_instructions.restype = c_char_p
    first = CHOICES.index(portable.fans_instructions().decode())
    return next(name for name in CHOICES[first:] if library_path(name).exists())


def _requested() -> str | None:
    requested = os.environ.get("FANS_NATIVE") or None
    if requested is not None and requested not in CHOICES:
        raise BadSetting(f"FANS_NATIVE is {requested!r}; it can be {', '.join(CHOICES)}")
    return requested
