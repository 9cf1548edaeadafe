"""The structures that Python passes to the native kernel, with the fields of the C++ ones of the same names.

`library.py` compares offset and size of every field with the kernel's own when it loads the kernel.
"""

from ctypes import Structure, c_double, c_float, c_int64, c_void_p
from typing import Any

KINDS = {"*": c_void_p, ".": c_double, "'": c_float}


def fields(*parts: str | tuple[type[Structure], str]) -> tuple[tuple[str, type[Any]], ...]:
    """Return fields by name: `a` is an int64, `a*` a pointer, `a.` a double, `a'` a float; others come with a type."""
    typed: list[tuple[str, type[Any]]] = []
    for part in parts:
        if isinstance(part, str):
            typed += ((name.rstrip("*.'"), KINDS.get(name[-1], c_int64)) for name in part.split())
        else:
            typed += ((name, part[0]) for name in part[1].split())
    return tuple(typed)


class Pair(Structure):
    """The weight and the bias of a linear layer (Linear in C++) or of a layer normalization (Norm)."""

    _fields_ = fields("weight* bias*")


class EncoderLayer(Structure):
    _fields_ = fields((Pair, "qkv out attention_norm widen narrow feedforward_norm"))


class CausalLayer(Structure):
    _fields_ = fields((Pair, "attention_norm qkv feedforward_norm first second"))


class Encoder(Structure):
    _fields_ = fields(
        "width layers heads feedforward positions tokens category_rows",
        "item_embedding* category_embedding* position_embedding* segment_embedding*",
        *((Pair, "norm"), "layer*"),
    )


class Head(Structure):
    _fields_ = fields(
        "items categories width starts*",
        (Pair, "transform transform_norm category local local_norm item"),
        "halves* half_starts* longest.",
    )


class Model(Structure):
    _fields_ = fields("kind categories_of*", (Encoder, "encoder"), "causal*", (Pair, "last_norm"), (Head, "head"))


class Call(Structure):
    _fields_ = fields(
        "mode threads lists items* offsets* counts* excluded_count allowed_count excluded* allowed* groups*",
        "max_per_group keep_seen min_score. answer_items* answer_scores* answer_lengths*",
    )


class ItemVectors(Structure):
    _fields_ = fields("weight* bias* width halves* longest'")


class TiedClassifier(Structure):
    _fields_ = fields(
        "items categories read_categories width starts*",
        (Pair, "transform transform_norm category"),
        *((ItemVectors, "item"), "scale* prior* highest_prior*"),
    )


class ListMemory(Structure):
    _fields_ = fields(
        "items* places* starts* lists* list_places* list_starts* known longest vocabulary members",
        "sharpness. recency. before. near. aligned. neighbors",
    )


class LinearPart(Structure):
    _fields_ = fields("items* weights* width vocabulary decay.")


class SparseParts(Structure):
    _fields_ = fields("memory* linear* memory_weight. linear_weight.")


class Hybrid(Structure):
    _fields_ = fields("model*", (TiedClassifier, "tied"), (SparseParts, "parts"), "network_weight.")


_NAMED = (EncoderLayer, CausalLayer, Encoder, Head, Model, Call)
_HYBRID = (ItemVectors, TiedClassifier, ListMemory, LinearPart, SparseParts, Hybrid)
STRUCTURES: dict[str, type[Structure]] = {"Linear": Pair, "Norm": Pair, **{s.__name__: s for s in (*_NAMED, *_HYBRID)}}
