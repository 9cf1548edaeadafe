"""The native kernel as a shared library: which copy this machine can run, and whether it fits the Python code."""

import ctypes
import os
from collections.abc import Iterable, Mapping
from ctypes import Structure, c_char_p, c_int, c_int64, c_void_p
from functools import cache
from typing import Any

from fansrec.engine.native.compile import library_path
from fansrec.engine.native.structures import STRUCTURES
from fansrec.errors import BadArtifact, BadSetting, FansError

DONE, UNKNOWN_ITEM, NO_MEMORY, BAD_CALL, BAD_MODEL = range(5)  # Outcome of call.h
CHOICES = ("avx512", "avx2", "portable", "off")
FUNCTIONS: dict[str, tuple[type[Any] | None, tuple[type[Any], ...]]] = {  # result and arguments
    "fans_check": (c_int, (c_void_p, c_int64)),
    "fans_continue": (c_int, (c_void_p, c_void_p)),
    "fans_hybrid_check": (c_int, (c_void_p, c_int64)),
    "fans_hybrid_open": (c_void_p, (c_void_p, c_int64)),
    "fans_hybrid_close": (None, (c_void_p,)),
    "fans_hybrid_continue": (c_int, (c_void_p, c_void_p)),
}
Layout = list[tuple[str, str, int, int]]  # structure, field (empty: the whole structure), offset, size


class OutdatedKernel(FansError):
    """The library was compiled from sources that do not fit the Python code."""


class Field(Structure):
    """An entry of the table in layout.cpp."""

    _fields_ = (("structure", c_char_p), ("name", c_char_p), ("offset", c_int64), ("size", c_int64))


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
    loaded = ctypes.CDLL(str(library_path(_requested() or _widest())))
    differences = layout_differences(kernel_layout(loaded))
    if differences:
        raise OutdatedKernel(
            f"the fast CPU kernel is of another version: {', '.join(differences[:3])} differ; "
            "compile it again (python -m fansrec.engine.native.compile)"
        )
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def kernel_layout(loaded: ctypes.CDLL) -> Layout:
    """Return the fields of the kernel's structures; empty if the kernel is too old to report them."""
    if not hasattr(loaded, "fans_layout"):
        return []
    loaded.fans_layout.restype = ctypes.POINTER(Field)
    layout: Layout = []
    fields = loaded.fans_layout()
    while (field := fields[len(layout)]).structure:
        layout.append((field.structure.decode(), field.name.decode(), field.offset, field.size))
    return layout


def layout_differences(layout: Layout, structures: Mapping[str, type[Structure]] = STRUCTURES) -> list[str]:
    """Return the names of fields that the kernel and Python place differently, or that only one of them has."""
    kernel = {(structure, name): (offset, size) for structure, name, offset, size in layout}
    python = {
        (structure, name): place for structure, kind in structures.items() for name, place in _offsets_and_sizes(kind)
    }
    different = {field for field in kernel.keys() | python.keys() if kernel.get(field) != python.get(field)}
    return [f"{structure}.{name}" for structure, name in sorted(different)]


def _offsets_and_sizes(kind: type[Structure]) -> Iterable[tuple[str, tuple[int, int]]]:
    """Yield the name, offset and size of every field, and of the whole structure under an empty name."""
    yield "", (0, ctypes.sizeof(kind))
    for name, *_ in kind._fields_:
        field = getattr(kind, name)
        yield name, (field.offset, field.size)


def _requested() -> str | None:
    requested = os.environ.get("FANS_NATIVE") or None
    if requested is not None and requested not in CHOICES:
        raise BadSetting(f"FANS_NATIVE is {requested!r}; it can be {', '.join(CHOICES)}")
    return requested


def _widest() -> str:
    """Return the widest instruction set that this machine runs and that the library was compiled for."""
    portable = ctypes.CDLL(str(library_path("portable")))
    portable.fans_instructions.restype = c_char_p
    widest = CHOICES.index(portable.fans_instructions().decode())
    return next(name for name in CHOICES[widest:] if library_path(name).exists())
