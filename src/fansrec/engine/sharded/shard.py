"""A shard: the vectors, local transforms and classifier rows of a run of categories, and what it is asked."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from fansrec.engine.sharded.capped import best_of_groups
from fansrec.models.fans import LocalTransforms
from fansrec.models.layers.transformer import in_full

SCORES_AT_ONCE = 1 << 24  # 64 MB of fp32

Numbers = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Question:
    """R positions, in the order of the categories they are to be looked up in."""

    hidden: Floats  # (R, D): the encoder's output
    categories: Numbers  # (R,)
    chances: Floats  # (R,): the log-probability of that category
    blocked_rows: Numbers  # (X,), rising: positions that may not have ...
    blocked_items: Numbers  # (X,): ... these items of their category
    count: int  # how many items each position is to get
    most_of_group: int | None = None


class Shortlists(NamedTuple):
    """The best allowed items of R positions, best first; where there are no more, scores are -inf."""

    scores: Floats  # (R, count)
    items: Numbers  # (R, count)


class Shard(Protocol):
    def vectors(self, items: Numbers) -> Floats:
        """(n, D): what the encoder reads for these items, all of them the shard's own."""
        ...

    def best(
        self, question: Question, excluded: Numbers, allowed: Numbers | None, groups: Numbers | None
    ) -> Shortlists:
        """The last three are for all positions alike, and of the shard's items only; `groups` is one for each."""
        ...


@dataclass(frozen=True)
class ShardWeights:
    """All of one device; the items' vectors may be a mapped file."""

    first: int  # the first category
    starts: tuple[int, ...]  # of its categories, in numbers of the whole catalogue; the last is where it ends
    vectors: Tensor  # (m, D)
    local: LocalTransforms
    weight: Tensor  # (m, D)
    bias: Tensor  # (m,)


class LocalShard:
    """A shard in this process."""

    def __init__(self, weights: ShardWeights) -> None:
        self.weights = weights
        self.device = weights.vectors.device
        self._start = weights.starts[0]

    @torch.inference_mode()
    def vectors(self, items: Numbers) -> Floats:
        rows = torch.from_numpy(items - self._start).to(self.device)
        found: Floats = self.weights.vectors[rows].float().cpu().numpy()
        return found

    @torch.inference_mode()
    def best(
        self, question: Question, excluded: Numbers, allowed: Numbers | None, groups: Numbers | None
    ) -> Shortlists:
        shape = (len(question.hidden), question.count)
        found = Shortlists(np.full(shape, -np.inf, dtype=np.float32), np.zeros(shape, dtype=np.int64))
        for category, rows in self._runs(question.categories):
            start, end = self._slice(category)
            scores = self._block(self._scores(question, category, rows), question, rows, start)
            if allowed is not None or len(excluded):
                scores.masked_fill_(
                    torch.from_numpy(_barred(start, end, excluded, allowed)).to(self.device), -torch.inf
                )
            if question.most_of_group is None or groups is None:
                best, places = scores.topk(min(question.count, end - start), dim=1)
            else:
                own = torch.tensor(groups[start - self._start : end - self._start])
                best, places = best_of_groups(scores.cpu(), own, question.most_of_group, question.count)
            found.scores[rows, : best.shape[1]] = best.cpu().numpy()
            found.items[rows, : best.shape[1]] = places.cpu().numpy() + start
        return found

    def _runs(self, categories: Numbers) -> Iterator[tuple[int, slice]]:
        """Rows of one category, no more than have room for the scores of all its items."""
        ends = np.flatnonzero(np.diff(categories)) + 1
        for first, last in pairwise([0, *ends.tolist(), len(categories)]):
            category = int(categories[first])
            start, end = self._slice(category)
            step = max(1, SCORES_AT_ONCE // (end - start))
            yield from ((category, slice(row, min(row + step, last))) for row in range(first, last, step))

    def _slice(self, category: int) -> tuple[int, int]:
        at = category - self.weights.first
        return self.weights.starts[at], self.weights.starts[at + 1]

    def _scores(self, question: Question, category: int, rows: slice) -> Tensor:
        """(R, items of the category): the second stage of `models/fans.py`."""
        # Copies: what comes from another process may not be written to, and torch would complain.
        hidden, chances = (torch.tensor(part[rows]).to(self.device) for part in (question.hidden, question.chances))
        start, end = (bound - self._start for bound in self._slice(category))
        transformed = self.weights.local(hidden, [slice(0, len(hidden))], [category - self.weights.first])
        logits = F.linear(transformed, self.weights.weight[start:end], self.weights.bias[start:end])
        return in_full(logits).log_softmax(1) + chances[:, None]

    def _block(self, scores: Tensor, question: Question, rows: slice, start: int) -> Tensor:
        """The same scores, -inf where a position may not have an item."""
        first, last = np.searchsorted(question.blocked_rows, (rows.start, rows.stop))
        places = question.blocked_rows[first:last] - rows.start, question.blocked_items[first:last] - start
        scores[tuple(torch.from_numpy(part).to(self.device) for part in places)] = -torch.inf
        return scores


def _barred(start: int, end: int, excluded: Numbers, allowed: Numbers | None) -> NDArray[np.bool_]:
    """Of items `start` to `end`, those that no list may have; numbers are in rising order."""
    barred = np.full(end - start, allowed is not None)
    if allowed is not None:
        barred[_between(allowed, start, end) - start] = False
    barred[_between(excluded, start, end) - start] = True
    return barred


def _between(items: Numbers, start: int, end: int) -> Numbers:
    first, last = np.searchsorted(items, (start, end))
    return items[first:last]
