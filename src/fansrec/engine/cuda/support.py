"""The models whose encoder the kernels can run."""

from collections.abc import Sequence
from typing import Any

import torch

from fansrec.engine.cuda.sizes import CLUSTER

MAX_CATEGORIES = 1024  # their logits must fit into shared memory
MAX_ITEMS = 1_300_000  # of the catalog: one bit per item in the shared memory of a block


def why_not_encoder(model: Any, sizes: Any, category_starts: Sequence[int], two_stage: bool) -> str | None:
    """Return why the kernels cannot run a model with an encoder of these sizes, in one line, or None if they can."""
    head = sizes.width // sizes.heads
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return "its weights are not float32"
    if sizes.width not in (64, 128) or sizes.feedforward % 64 or sizes.feedforward < 2 * sizes.width + 8:
        return "width must be 64 or 128, and feedforward a multiple of 64, at least 2 x width + 8"
    if head % 8 or (sizes.heads > CLUSTER and sizes.heads % CLUSTER) or (CLUSTER % min(sizes.heads, CLUSTER)):
        return "heads must be 1, 2, 4 or a multiple of 8, and the width of a head a multiple of 8"
    if category_starts[-1] > MAX_ITEMS:
        return f"it takes at most {MAX_ITEMS:,} items"
    if len(category_starts) - 1 > MAX_CATEGORIES and two_stage:
        return f"it takes at most {MAX_CATEGORIES} categories with the two-stage classifier"
    return None
