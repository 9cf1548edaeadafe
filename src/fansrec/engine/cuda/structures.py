"""The structures of encoder.cuh, products.cuh and choice.cuh, field by field."""

import ctypes

from torch import Tensor


def _structure(name: str, pointers_and_numbers: str) -> type[ctypes.Structure]:
    """`a* b c.` is a pointer a, an int b and a float c."""
    kinds = {"*": ctypes.c_void_p, ".": ctypes.c_float}
    fields = [(word.rstrip("*."), kinds.get(word[-1], ctypes.c_int)) for word in pointers_and_numbers.split()]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


Weights = _structure(
    "Weights",
    "items* categories* positions* segments* matrices* vectors* head_matrices* "
    "local_matrices* local_vectors* category_of* place_of* item_count trained_positions",
)
Question = _structure("Question", "ids* offsets* first* lists length k tiles blocked* words mark_seen")
Asked = _structure("Asked", "query16* query32* category* list* category_score* counts* buckets* seen* positions")
Given = type("Given", (ctypes.Structure,), {"_fields_": [("ids", ctypes.c_int * 512)]})  # one short list
Catalogue = _structure("Catalogue", "weights* bias* category_of_block* first_block* blocks")
Found = _structure("Found", "best* row")
Table = _structure("Table", "weights* bias* item_at* longest.")
Answer = _structure("Answer", "shortlists* lengths* done* row base* items* scores* least_score. grown* holes*")


def address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
