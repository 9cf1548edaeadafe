"""The native kernel as Python sees it: which copy of the library fits this machine, and its structures.

They mirror engine/native/models.h and api.cpp, field by field.
"""

import ctypes
import os
from ctypes import Structure, c_double, c_int, c_int64, c_void_p
from functools import cache

from fansrec.engine.native.compile import library_path
from fansrec.errors import BadArtifact, BadSetting, FansError

DONE, UNKNOWN_ITEM, NO_MEMORY, BAD_CALL, BAD_MODEL = range(5)  # what the kernel may answer (call.h)
CHOICES = ("avx512", "avx2", "portable", "off")


class Pair(Structure):
    """A linear layer or a normalisation."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p))


class EncoderLayer(Structure):
    _fields_ = tuple((name, Pair) for name in ("qkv", "out", "attention_norm", "widen", "narrow", "feedforward_norm"))


class CausalLayer(Structure):
    _fields_ = tuple((name, Pair) for name in ("attention_norm", "qkv", "feedforward_norm", "first", "second"))


class Encoder(Structure):
    _fields_ = (
        *(
            (name, c_int64)
            for name in ("width", "layers", "heads", "feedforward", "positions", "tokens", "category_rows")
        ),
        *((name, c_void_p) for name in ("items", "categories", "places", "segments")),
        ("norm", Pair),
        ("layer", c_void_p),
    )


class Head(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("items", "categories", "width")),
        ("starts", c_void_p),
        *((name, Pair) for name in ("transform", "transform_norm", "category", "local", "local_norm", "item")),
        ("halves", c_void_p),
        ("half_starts", c_void_p),
        ("longest", c_double),
    )


class Model(Structure):
    _fields_ = (
        ("kind", c_int64),
        ("categories_of", c_void_p),
        ("encoder", Encoder),
        ("causal", c_void_p),
        ("last_norm", Pair),
        ("head", Head),
    )


class Call(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("way", "threads", "lists")),
        *((name, c_void_p) for name in ("items", "offsets", "wanted")),
        *((name, c_int64) for name in ("excluded_count", "allowed_count")),
        *((name, c_void_p) for name in ("excluded", "allowed", "groups")),
        *((name, c_int64) for name in ("max_per_group", "keep_seen")),
        ("min_score", c_double),
        *((name, c_void_p) for name in ("answers", "scores", "answered")),
    )


def missing() -> str | None:
    """Why the kernel cannot be used here, in a line; None: it can."""
    if _asked() == "off":
        return "the fast CPU kernel is switched off (FANS_NATIVE=off)"
    if not library_path("portable").exists():
        return "the fast CPU kernel was not built (no C++ compiler at install)"
    try:
        fits = library().fans_fits(ctypes.sizeof(Model), ctypes.sizeof(Call))
    except (OSError, AttributeError) as error:
        return f"the fast CPU kernel cannot be loaded ({error})"
    return None if fits else "the fast CPU kernel is of another version (python -m fansrec.engine.native.compile)"


def check_outcome(outcome: int) -> None:
    """Raise what the kernel's answer means, unless it is DONE; unknown items are the caller's to report."""
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
    """The copy for this machine's instructions, or the one FANS_NATIVE names."""
    name = _asked() or _fitting()
    loaded = ctypes.CDLL(str(library_path(name)))
    loaded.fans_fits.argtypes = (c_int64, c_int64)
    loaded.fans_check.argtypes = (c_void_p, c_int64)
    loaded.fans_check.restype = c_int
    loaded.fans_continue.argtypes = (c_void_p, c_void_p)
    loaded.fans_continue.restype = c_int
    return loaded


def _asked() -> str | None:
    asked = os.environ.get("FANS_NATIVE") or None
    if asked is not None and asked not in CHOICES:
        raise BadSetting(f"FANS_NATIVE is {asked!r}; it can be {', '.join(CHOICES)}")
    return asked


def _fitting() -> str:
    """The widest that this machine can run and its compiler could make."""
    portable = ctypes.CDLL(str(library_path("portable")))
    portable.fans_instructions.restype = ctypes.c_char_p
    widest = CHOICES.index(portable.fans_instructions().decode())
    return next(name for name in CHOICES[widest:] if library_path(name).exists())
