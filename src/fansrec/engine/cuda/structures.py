"""The structures of structures.cuh, field by field."""

import ctypes
from functools import partial

from torch import Tensor

from fansrec.engine.cuda.sizes import INLINE
from fansrec.engine.native.structures import declare

_declare = partial(declare, integer=ctypes.c_int)

Weights = _declare(
    "Weights",
    "items* categories* positions* segments* matrices* vectors* head_matrices* "
    "local_matrices* local_vectors* category_of* slot_of* item_count trained_positions",
)
Request = _declare(
    "Request", "items* offsets* first_positions* lists length k most_masks all_masks tiles blocked* words mark_seen"
)
InlineItems = _declare("InlineItems", (ctypes.c_int * INLINE, "items"))
Queries = _declare("Queries", "query16* query32* category* list* category_score* counts* buckets* seen* positions")
Catalog = _declare("Catalog", "weights* bias* category_of_block* first_block* blocks")
BlockBest = _declare("BlockBest", "best* stride")
ItemTable = _declare("ItemTable", "weights* bias* item_at* longest'")
Answer = _declare(
    "Answer",
    "shortlists* lengths* finished* stride base_blocked*",
    "items* scores* min_score' groups* max_per_group append_to* unfilled*",
)
STRUCTURES = (Weights, Request, InlineItems, Queries, Catalog, BlockBest, ItemTable, Answer)


def address(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()
