"""Depth-first selection, as in the authors' code: the best item of each position in order, then the second best."""

import torch
from torch import Tensor

from fansrec.engine.decoding.limits import Limits, Selection
from fansrec.engine.decoding.masked_selection import MaskedSelection
from fansrec.models.contract import ScoreBlock


def select_depth_first(scores: ScoreBlock, ranks: int, limits: Limits) -> Selection:
    """Select depth after depth, skipping repeats.

    Every position is sorted in full, so that neither ties nor rules make an answer depend on the other lists of the
    batch. It is slower than selection by position, and holds the scores of all positions in memory at once.
    """
    selection = MaskedSelection(limits)
    filled = torch.zeros_like(limits.counts)
    for rank in range(ranks):
        if bool((filled < limits.counts).any()):
            _fill(selection, filled, scores(0, limits.width, rank))
    return selection.result()


def _fill(selection: MaskedSelection, filled: Tensor, scores: Tensor) -> None:
    """Go through the items of all positions by depth; `filled` (B,) counts the items that each list has."""
    limits, positions = selection.limits, scores.shape[1]
    beyond = torch.arange(positions, device=scores.device) >= limits.counts[:, None]
    blocked = selection.blocked[:, None] | beyond[..., None] | ~limits.accept(scores)
    ranked = scores.masked_fill(blocked, -torch.inf).sort(dim=2, descending=True, stable=True)
    for depth in range(scores.shape[2]):
        if bool((filled >= limits.counts).all() | (ranked.values[..., depth] == -torch.inf).all()):
            break
        for position in range(positions):
            score, item = ranked.values[:, position, depth], ranked.indices[:, position, depth]
            takes = (filled < limits.counts) & ~selection.blocked[selection.rows, item] & (score > -torch.inf)
            selection.put(takes, filled.clamp(max=positions - 1), item, score)
            filled += takes
