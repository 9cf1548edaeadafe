"""The structures that Python passes to the native kernel, with the fields of the C++ ones of the same names.

The kernel is compiled with assertions of this layout and reports the layout that it was compiled with (compile.py).
Only the standard library is imported, since compile.py runs this module when nothing else is installed.
"""

import ctypes
import hashlib
from collections.abc import Iterable
from ctypes import Structure
from typing import Any

KINDS = {"*": ctypes.c_void_p, ".": ctypes.c_double, "'": ctypes.c_float}


def declare(name: str, *parts: str | tuple[Any, str], integer: Any = ctypes.c_int64) -> type[Structure]:
    """Return a structure: `a` is an integer, `a*` a pointer, `a.` a double, `a'` a float; others come with a type."""
    fields: list[tuple[str, Any]] = []
    for part in parts:
        kind, names = part if isinstance(part, tuple) else (integer, part)
        fields += [(field.rstrip("*.'"), KINDS.get(field[-1], kind)) for field in names.split()]
    return type(name, (Structure,), {"_fields_": fields, "__slots__": ()})  # without slots, any name can be set


Affine = declare("Affine", "weight* bias*")
EncoderLayer = declare("EncoderLayer", (Affine, "qkv out attention_norm widen narrow feedforward_norm"))
CausalLayer = declare("CausalLayer", (Affine, "attention_norm qkv feedforward_norm first second"))
Encoder = declare(
    "Encoder",
    "width layers heads feedforward positions tokens category_rows causal",
    "item_embedding* category_embedding* position_embedding* segment_embedding*",
    (Affine, "norm"),
    "layer*",
)
RoundedVectors = declare("RoundedVectors", "pairs* steps* starts* largest_step'")
Head = declare(
    "Head",
    "items categories width starts*",
    (Affine, "transform transform_norm category local local_norm item"),
    (RoundedVectors, "rounded"),
)
Call = declare(
    "Call",
    "mode threads lists items* offsets* counts* excluded_count allowed_count excluded* allowed* groups*",
    "max_per_group keep_seen min_score. answer_items* answer_scores* answer_lengths*",
)
TiedClassifier = declare(
    "TiedClassifier",
    "items categories read_categories width starts*",
    (Affine, "transform transform_norm category item"),
    (RoundedVectors, "rounded"),
    "scale* prior* highest_prior*",
)
ListMemory = declare(
    "ListMemory",
    "items* places* starts* lists* list_places* list_starts* known longest vocabulary members",
    "sharpness. recency. before. near. aligned. newer. neighbors",
)
LinearPart = declare("LinearPart", "items* weights* width vocabulary decay.")
SparseParts = declare("SparseParts", "memory* linear* memory_weight. linear_weight.")
LinearModel = declare("LinearModel", (LinearPart, "weights"), "base*")
Vstan = declare(
    "Vstan",
    (ListMemory, "memory"),
    "list_factors* item_factors* base* input_decay. item_decay. shared_decay. sample_size",
)
Hybrid = declare("Hybrid", (TiedClassifier, "tied"), (SparseParts, "parts"), "network_weight. next_share. read_masks")
Model = declare(
    "Model",
    "kind categories_of*",
    (Encoder, "encoder"),
    "causal*",
    (Affine, "last_norm"),
    (Head, "head"),
    "hybrid* linear* vstan*",
)
ItemIds = declare("ItemIds", "content* ends* items slots* mask bits seed")
STRUCTURES = (
    *(Affine, EncoderLayer, CausalLayer, Encoder, RoundedVectors, Head, Call),
    *(TiedClassifier, ListMemory, LinearPart, SparseParts, Hybrid, LinearModel, Vstan, Model, ItemIds),
)


def layout_assertions(structures: Iterable[type[Structure]]) -> str:
    """Return C++ assertions that every field of the C++ structures has the offset and size that it has here."""
    lines = []
    for kind in structures:
        lines.append(f'static_assert(sizeof({kind.__name__}) == {ctypes.sizeof(kind)}, "{kind.__name__}");')
        for name, *_ in kind._fields_:
            field, path = getattr(kind, name), f"{kind.__name__}, {name}"
            placed = f"__builtin_offsetof({path}) == {field.offset}"
            lines.append(f'static_assert({placed} && sizeof({kind.__name__}::{name}) == {field.size}, "{path}");')
    return "\n".join(lines) + "\n"


ASSERTIONS = layout_assertions(STRUCTURES)
LAYOUT = hashlib.sha256(ASSERTIONS.encode()).hexdigest()
