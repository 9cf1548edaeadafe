"""A shard: the item vectors, local transforms and classifier rows of consecutive categories."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fansrec.engine.decoding.candidates import Shortlists
from fansrec.engine.decoding.top_items import top_items
from fansrec.models.fans import LocalTransforms
from fansrec.models.layers.transformer import in_full

SCORES_AT_ONCE = 1 << 24  # 64 MB of fp32

Indices = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Question:
    """R positions, in the order of the categories in which they look for items."""

    hidden: Floats  # (R, D): the encoder's output
    categories: Indices  # (R,)
    log_probabilities: Floats  # (R,): of the categories
    blocked_rows: Indices  # (X,), ascending: positions that may not take ...
    blocked_items: Indices  # (X,): ... these items of their category
    count: int  # the length of shortlists
    max_per_group: int | None = None


@dataclass(frozen=True)
class ShardWeights:
    """The weights of a shard, all on one device; the item vectors may be a memory-mapped file."""

    first: int  # the first category
    starts: tuple[int, ...]  # item indices at which its categories start; the last one is where the shard ends
    vectors: Tensor  # (m, D)
    local: LocalTransforms
    weight: Tensor  # (m, D)
    bias: Tensor  # (m,)


class LocalShard:
    """A shard in this process."""

    def __init__(self, weights: ShardWeights) -> None:
        self.weights = weights
        self.device = weights.vectors.device
        self.items = len(weights.bias)
        self._start = weights.starts[0]

    @torch.inference_mode()
    def vectors(self, items: Indices) -> Floats:
        """Return what the encoder reads for these items of the shard, shape (n, D)."""
        rows = torch.from_numpy(items - self._start).to(self.device)
        found: Floats = self.weights.vectors[rows].float().cpu().numpy()
        return found

    @torch.inference_mode()
    def best(
        self, question: Question, excluded: Indices, allowed: Indices | None, groups: Indices | None
    ) -> Shortlists:
        """Return the shortlists (R, count) of positions.

        Excluded items, allowed items and groups are those of the shard and hold for all positions; items ascend.
        """
        shape = (len(question.hidden), question.count)
        found = Shortlists(np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int64))
        for category, rows in self._runs(question.categories):
            start, end = self._slice(category)
            scores = self._block(self._scores(question, category, rows), question, rows, start)
            if allowed is not None or len(excluded):
                scores.masked_fill_(self._to_device(unavailable(start, end, excluded, allowed)), -torch.inf)
            own = None if groups is None else self._to_device(groups[start - self._start : end - self._start])
            best, offsets = top_items(scores, question.count, own, question.max_per_group)
            found.scores[rows] = best.cpu().numpy()
            found.items[rows] = offsets.cpu().numpy() + start
        return found

    def _to_device(self, array: NDArray[Any]) -> Tensor:
        """Copy: arrays from another process are read-only, about which torch warns."""
        return torch.tensor(array).to(self.device)

    def _runs(self, categories: Indices) -> Iterator[tuple[int, slice]]:
        """Yield rows of one category, at most as many as leave room for the scores of all its items."""
        ends = np.flatnonzero(np.diff(categories)) + 1
        for first, last in pairwise([0, *ends.tolist(), len(categories)]):
            category = int(categories[first])
            start, end = self._slice(category)
            step = max(1, SCORES_AT_ONCE // (end - start))
            yield from ((category, slice(row, min(row + step, last))) for row in range(first, last, step))

    def _slice(self, category: int) -> tuple[int, int]:
        own = category - self.weights.first
        return self.weights.starts[own], self.weights.starts[own + 1]

    def _scores(self, question: Question, category: int, rows: slice) -> Tensor:
        """Return the scores of a category's items, (R, items): the second stage of `models/fans.py`."""
        hidden = self._to_device(question.hidden[rows])
        log_probabilities = self._to_device(question.log_probabilities[rows])
        start, end = (bound - self._start for bound in self._slice(category))
        transformed = self.weights.local(hidden, [slice(0, len(hidden))], [category - self.weights.first])
        logits = F.linear(transformed, self.weights.weight[start:end], self.weights.bias[start:end])
        return in_full(logits).log_softmax(1) + log_probabilities[:, None]

    def _block(self, scores: Tensor, question: Question, rows: slice, start: int) -> Tensor:
        """Return the same scores, -inf where a position may not take an item."""
        first, last = np.searchsorted(question.blocked_rows, (rows.start, rows.stop))
        where = question.blocked_rows[first:last] - rows.start, question.blocked_items[first:last] - start
        scores[tuple(map(self._to_device, where))] = -torch.inf
        return scores


def unavailable(start: int, end: int, excluded: Indices, allowed: Indices | None) -> NDArray[np.bool_]:
    """Return which of the items `start` to `end` no list may take."""
    unavailable = np.full(end - start, allowed is not None)
    if allowed is not None:
        unavailable[_between(allowed, start, end) - start] = False
    unavailable[_between(excluded, start, end) - start] = True
    return unavailable


def _between(items: Indices, start: int, end: int) -> Indices:
    first, last = np.searchsorted(items, (start, end))
    return items[first:last]
