"""The structures of structures.cuh, field by field."""

import ctypes

from torch import Tensor

from fansrec.engine.cuda.sizes import INLINE


def _structure(name: str, fields: str) -> type[ctypes.Structure]:
    """Return a structure; `a* b c.` are a pointer a, an int b and a float c."""
    kinds = {"*": ctypes.c_void_p, ".": ctypes.c_float}
    typed = [(field.rstrip("*."), kinds.get(field[-1], ctypes.c_int)) for field in fields.split()]
    return type(name, (ctypes.Structure,), {"_fields_": typed, "__slots__": ()})  # without slots, any name can be set


Weights = _structure(
    "Weights",
    "items* categories* positions* segments* matrices* vectors* head_matrices* "
    "local_matrices* local_vectors* category_of* slot_of* item_count trained_positions",
)
Request = _structure("Request", "items* offsets* first_positions* lists length k tiles blocked* words mark_seen")
InlineItems = type("InlineItems", (ctypes.Structure,), {"_fields_": [("items", ctypes.c_int * INLINE)]})
Queries = _structure("Queries", "query16* query32* category* list* category_score* counts* buckets* seen* positions")
Catalog = _structure("Catalog", "weights* bias* category_of_block* first_block* blocks")
BlockBest = _structure("BlockBest", "best* stride")
ItemTable = _structure("ItemTable", "weights* bias* item_at* longest.")
Answer = _structure(
    "Answer", "shortlists* lengths* finished* stride base_blocked* items* scores* min_score. append_to* unfilled*"
)
STRUCTURES = (Weights, Request, InlineItems, Queries, Catalog, BlockBest, ItemTable, Answer)


def layout_assertions(structures: tuple[type[ctypes.Structure], ...] = STRUCTURES) -> str:
    """Return C++ assertions that every field of structures.cuh has the offset and size that it has here."""
    lines = []
    for kind in structures:
        lines.append(f'static_assert(sizeof({kind.__name__}) == {ctypes.sizeof(kind)}, "{kind.__name__}");')
        for name, *_ in kind._fields_:
            field, path = getattr(kind, name), f"{kind.__name__}, {name}"
            place = f"__builtin_offsetof({path}) == {field.offset}"
            lines.append(f'static_assert({place} && sizeof({kind.__name__}::{name}) == {field.size}, "{path}");')
    return "\n".join(lines) + "\n"


def address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
