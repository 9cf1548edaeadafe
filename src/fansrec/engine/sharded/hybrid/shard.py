"""A shard of a hybrid model: what its parts know of the items of consecutive categories.

Of the linear part, a shard has the weights from its items to all items; of the list memory, the lists of its items, and
with that its items of every list.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.decoding.candidates import Shortlists
from fansrec.engine.decoding.top_items import top_items
from fansrec.engine.sharded.hybrid.question import Categories, Floats, Indices, Question, Votes
from fansrec.engine.sharded.shard import unavailable
from fansrec.models.hybrid.category_items import CategoryItems, FirstStage
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import log_scores, mix
from fansrec.models.neighbors.list_search import ListsOfItems
from fansrec.models.neighbors.list_votes import Lookup, scale


@dataclass(frozen=True)
class HybridShardWeights:
    """The arrays of a shard; those of the network are on one device, the others in host memory."""

    first: int  # the first category
    start: int  # the first item
    network: CategoryItems  # with categories and items counted from 0
    memory: Lookup | None  # with items counted from 0
    linear: tuple[NDArray[np.int32], Floats] | None  # items and weights, (m, n) each


class HybridShard:
    """A shard in this process."""

    def __init__(self, config: HybridConfig, weights: HybridShardWeights) -> None:
        self.config, self.weights = config, weights
        self.device = weights.network.vectors.device
        self.items = len(weights.network.bias)
        self._votes: tuple[str, Any] = ("", None)  # the last ones, and their key

    @torch.inference_mode()
    def vectors(self, items: Indices) -> Floats:
        """Return what the encoder reads for these items of the shard, shape (n, D)."""
        rows = torch.from_numpy(items - self.weights.start).to(self.device)
        found: Floats = self.weights.network.vectors[rows].float().cpu().numpy()
        return found

    def lists_of(self, items: Indices) -> ListsOfItems:
        """Return the training lists that contain these items of the shard."""
        assert self.weights.memory is not None
        return self.weights.memory.lists_of(items - self.weights.start)

    def linear_rows(self, items: Indices) -> tuple[NDArray[np.int32], Floats]:
        """Return the items that these items of the shard lead to, and the weights, (n, width) each."""
        assert self.weights.linear is not None
        to, weights = self.weights.linear
        return to[items - self.weights.start], weights[items - self.weights.start]

    def highest(self, votes: Votes) -> NDArray[np.float64]:
        """Return the highest vote of each list for an item of the shard, (B,)."""
        found: NDArray[np.float64] = self._sums(votes).max(1)
        return found

    @torch.inference_mode()
    def best(
        self, question: Question, excluded: Indices, allowed: Indices | None, groups: Indices | None
    ) -> Shortlists:
        """Return the shortlists (B, count) of lists; excluded items, allowed items and groups hold for all of them."""
        scores = mix(self._parts(question), vars(self.config.weights))
        blocked = question.blocked
        scores[self._tensor(blocked.rows), self._tensor(blocked.items - self.weights.start)] = -torch.inf
        if allowed is not None or len(excluded):
            end = self.weights.start + self.items
            scores.masked_fill_(self._tensor(unavailable(self.weights.start, end, excluded, allowed)), -torch.inf)
        own = None if groups is None else self._tensor(groups)
        best, items = top_items(scores, question.count, own, question.max_per_group)
        return Shortlists(best.cpu().numpy(), items.cpu().numpy() + self.weights.start)

    def _parts(self, question: Question) -> dict[str, Tensor]:
        """Return the log scores (B, m) of each part, as `HybridFans.parts` does."""
        parts = {}
        if question.categories is not None:
            probabilities = self.weights.network.probabilities(self._first_stage(question.categories))
            parts["network"] = torch.log1p(probabilities * self.config.alphabet.items)
        if question.votes is not None:
            assert question.highest is not None
            votes = np.empty((question.lists, self.items), dtype=np.float32)
            scale(self._sums(question.votes), question.highest, votes)
            parts["memory"] = log_scores(torch.from_numpy(votes).to(self.device))
        if question.linear is not None:
            linear = np.zeros((question.lists, self.items), dtype=np.float32)
            linear[question.linear.rows, question.linear.items - self.weights.start] = question.linear.values
            parts["linear"] = log_scores(torch.from_numpy(linear).to(self.device))
        return parts

    def _first_stage(self, categories: Categories) -> FirstStage:
        requested = categories.requested - self.weights.first
        hidden, by_list = self._tensor(categories.hidden), self._tensor(categories.by_list)
        return FirstStage(hidden, by_list, self._tensor(requested), self._tensor(categories.weights))

    def _sums(self, votes: Votes) -> NDArray[np.float64]:
        """Return the votes (B, m) of the neighbors, 0 for the items of the inputs."""
        key, sums = self._votes  # one read: another thread may replace the pair
        if key != votes.key:
            assert self.weights.memory is not None
            sums = self.weights.memory.sums(votes.neighbors, votes.weights, votes.lists, self.config.memory)
            sums[votes.seen.rows, votes.seen.items - self.weights.start] = 0
            self._votes = votes.key, sums
        found: NDArray[np.float64] = sums
        return found

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        """Copy: arrays from another process are read-only, about which torch warns."""
        return torch.tensor(array).to(self.device)
