"""The best items of rows of scores, with ties broken by item index and with a limit per group."""

import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.engine.decoding.limits import NONE, Limits, Selection


def select_best(scores: Tensor, limits: Limits) -> Selection:
    """Select the best allowed items by one score each, (B, M), best first."""
    allowed = scores.masked_fill(limits.blocked, -torch.inf)
    best, items = top_items(allowed, limits.width, limits.groups, limits.max_per_group)
    taken = (torch.arange(limits.width, device=scores.device) < limits.counts[:, None]) & limits.accept(best)
    return Selection(items.masked_fill(~taken, NONE), best.masked_fill(~taken, -torch.inf))


def top_items(
    scores: Tensor, count: int, groups: Tensor | None = None, max_per_group: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return the `count` highest scores of every row of `scores` (R, M) and their items, (R, count) each.

    Equal scores are ordered by item index; -inf fills up a row that has no more items. If `max_per_group` is given, a
    row has at most that many items of one of `groups` (M,).
    """
    if groups is None or max_per_group is None:
        best, items = _highest(scores, min(count, scores.shape[1]))
    else:
        best, items = _highest_of_groups(scores, min(count, scores.shape[1]), groups, max_per_group)
    missing = count - best.shape[1]
    return F.pad(best, (0, missing), value=-torch.inf), F.pad(items, (0, missing))


def merge_shortlists(
    scores: Tensor, items: Tensor, groups: Tensor | None, max_per_group: int | None, count: int
) -> tuple[Tensor, Tensor]:
    """Return the `count` best of the entries of each row, with their items, (R, count) each.

    `scores`, `items` and `groups` are (R, L); equal scores are in the order of their items already. If `max_per_group`
    is given, a row has at most that many items of one group.
    """
    best, order = scores.sort(dim=1, descending=True, stable=True)
    if groups is not None and max_per_group is not None:
        full = _earlier_of_group(groups.gather(1, order)) >= max_per_group
        best, within = best.masked_fill(full, -torch.inf).sort(dim=1, descending=True, stable=True)
        order = order.gather(1, within)
    return best[:, :count], items.gather(1, order)[:, :count]


def _highest(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    best, items = scores.topk(min(count + 1, scores.shape[1]), dim=1)
    if bool(((best[:, 1:] == best[:, :-1]) & (best[:, 1:] > -torch.inf)).any()):
        return _highest_with_ties(scores, count)  # the order of ties in `topk` depends on the shape of the batch
    return best[:, :count], items[:, :count]


def _highest_with_ties(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    lowest = scores.topk(max(1, count), dim=1).values[:, -1:]
    rows, items = (scores >= lowest).nonzero(as_tuple=True)
    order = scores[rows, items].argsort(descending=True, stable=True)
    order = order[rows[order].argsort(stable=True)]
    rows, items = rows[order], items[order]
    per_row = torch.bincount(rows, minlength=len(scores))
    columns = torch.arange(len(rows), device=rows.device) - (per_row.cumsum(0) - per_row)[rows]
    kept = columns < count
    rows, columns, items = rows[kept], columns[kept], items[kept]
    best = scores.new_full((len(scores), count), -torch.inf)
    found = items.new_zeros((len(scores), count))
    best[rows, columns], found[rows, columns] = scores[rows, items], items
    return best, found


def _highest_of_groups(scores: Tensor, count: int, groups: Tensor, max_per_group: int) -> tuple[Tensor, Tensor]:
    """Look at more and more of the best items until every row has `count` of them within the limit."""
    width = scores.shape[1]
    reach = min(2 * count, width)
    while True:
        best, items = _highest(scores, reach)
        kept = (_earlier_of_group(groups[items]) < max_per_group) & (best > -torch.inf)
        enough = (kept.sum(1) >= count) | (best[:, -1:] == -torch.inf).any(1)
        if reach == width or bool(enough.all()):
            break
        reach = min(4 * reach, width)
    order = (~kept).to(torch.int8).argsort(dim=1, stable=True)[:, :count]
    return best.masked_fill(~kept, -torch.inf).gather(1, order), items.gather(1, order)


def _earlier_of_group(groups: Tensor) -> Tensor:
    """Return how many earlier columns of its row have the group of each column, shape (R, L)."""
    ordered, order = groups.sort(dim=1, stable=True)
    columns = torch.arange(groups.shape[1], device=groups.device).expand_as(groups)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    earlier = columns - columns.masked_fill(~starts, 0).cummax(1).values
    return torch.empty_like(earlier).scatter_(1, order, earlier)
