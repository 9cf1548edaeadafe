"""The best items of a position where a list may have only so many of one group."""

import torch
from torch import Tensor


def best_of_groups(scores: Tensor, groups: Tensor, most: int, count: int) -> tuple[Tensor, Tensor]:
    """Scores and places, (R, L), L <= `count`, of the best items (R, m), at most `most` of one group in a row.

    No list needs others. Before a list of `count` is full, it has taken fewer than `count` items. Of a group that is
    not full it has fewer than `most`, so the next best is among the group's first `most`; and for every item of this
    shortlist that it may not take, be it taken or of a full group, it has taken one.
    """
    reach = min(2 * count, scores.shape[1])
    while True:
        best, places = scores.topk(reach, dim=1)
        kept = (_times_before(groups[places]) < most) & (best > -torch.inf)
        enough = (kept.sum(1) >= count) | (best[:, -1] == -torch.inf)
        if reach == scores.shape[1] or bool(enough.all()):
            break
        reach = min(4 * reach, scores.shape[1])
    first = (~kept).to(torch.int8).argsort(dim=1, stable=True)[:, :count]
    return best.masked_fill(~kept, -torch.inf).gather(1, first), places.gather(1, first)


def _times_before(groups: Tensor) -> Tensor:
    """(R, L): how often the group of each place stands before it in its row."""
    ordered, order = groups.sort(dim=1, stable=True)
    places = torch.arange(groups.shape[1]).expand_as(groups)
    begins = torch.ones_like(ordered, dtype=torch.bool)
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    since = places - places.masked_fill(~begins, 0).cummax(1).values
    return torch.empty_like(since).scatter_(1, order, since)
