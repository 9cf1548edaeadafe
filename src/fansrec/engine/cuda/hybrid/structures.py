"""The structures of structures.cuh beside this file, field by field."""

import ctypes
from functools import partial

from fansrec.engine.native.structures import declare

_declare = partial(declare, integer=ctypes.c_int)

ListMemory = _declare(
    "ListMemory",
    "items* places* starts* lists* list_places* list_starts* rarity* list_factor* position_weight* alignment*",
    "known longest neighbors most_lists few_items weighs_positions",
    "recency. sharpness. similarity_scale. vote_scale. highest.",
)
LinearPart = _declare("LinearPart", "items* weights* base* width decay. scale.")
Rules = _declare("Rules", "blocked* groups* max_per_group keep_seen min_score'")
Mixture = _declare("Mixture", "network' memory' linear' bins_per_point' items")
LookupScratch = _declare(
    "LookupScratch",
    "similarity* last_shared* found* found_similarity* neighbors*",
    "votes* linear* bins* totals* counts*",
)
Sparse = _declare("Sparse", "scores* least*")
TiedWeights = _declare(
    "TiedWeights",
    "transform* transform_vectors* category* category_bias* items* bias* prior* highest_prior* category_of* starts*",
    "scale' next_share'",
)
States = _declare("States", "rows* masks*")
BlendScratch = _declare("BlendScratch", "entries* logits* sums* candidates* bins* counts* logit_stride")
Selected = _declare("Selected", "items* scores* unfilled*")
Arrangement = _declare("Arrangement", "affinity* expected* stride")
HYBRID_STRUCTURES = (
    *(ListMemory, LinearPart, Rules, Mixture, LookupScratch, Sparse, TiedWeights, States, BlendScratch, Selected),
    Arrangement,
)
