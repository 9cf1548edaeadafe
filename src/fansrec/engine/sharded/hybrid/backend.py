"""The engine for a hybrid model whose items are distributed over several workers.

The encoder and the first stage of its classifier run here, and similar lists are chosen here. Every shard scores its
items by all parts and answers with its best few for each list. Votes are divided by the highest one of all shards, so
shards are asked for that first.
"""

import secrets
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.decoding.limits import NONE, Selection
from fansrec.engine.decoding.top_items import merge_shortlists
from fansrec.engine.generation import arrange
from fansrec.engine.interface import Continuation, Inputs, check_not_empty, continuations
from fansrec.engine.rules import Rules
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.candidates import ShardRules
from fansrec.engine.sharded.hybrid.evidence import ShardedSearch, linear_scores
from fansrec.engine.sharded.hybrid.question import Categories, Cells, Indices, Question, Votes
from fansrec.engine.sharded.shards import Plan, Shards
from fansrec.models.hybrid.model import HybridFans

LISTS_AT_ONCE = 256
SCORES_AT_ONCE = 1 << 24  # lists times items of a shard: 128 MB of votes


class ShardedHybridEngine(ShardedEngine):
    """Returns what `TorchEngine` returns for the whole model; `model` has no items, no memory and no linear part.

    `starts` (lists + 1,) are the offsets of the lists of the memory, None if the model does not use it.
    """

    model: HybridFans
    fills = ("by-position", "depth-first", "arranged")

    def __init__(self, model: HybridFans, plan: Plan, shards: Shards, starts: Indices | None) -> None:
        super().__init__(model, plan, shards)
        config = model.config
        self._search = None if starts is None else ShardedSearch(shards, plan, starts)
        self._uses_linear = bool(config.linear.neighbors and config.weights.linear)
        others = self._search is not None or self._uses_linear
        self._uses_network = bool(config.weights.network) or not others  # as `HybridFans.parts`
        self.lists_at_once = max(1, min(LISTS_AT_ONCE, SCORES_AT_ONCE // int(np.diff(plan.items).max())))

    def _answer(
        self, inputs: Inputs, counts: list[int], rules: Rules, shard_rules: ShardRules
    ) -> Iterator[Continuation]:
        best, items = self._shortlists(inputs, counts, shard_rules)
        groups = None if rules.max_per_group is None or rules.groups is None else torch.from_numpy(rules.groups)[items]
        best, items = merge_shortlists(best, items, groups, rules.max_per_group, max(counts))
        taken = (torch.arange(best.shape[1]) < torch.tensor(counts)[:, None]) & best.isfinite()
        if rules.min_score is not None:
            taken &= best >= rules.min_score
        items, best = items.masked_fill(~taken, NONE), best.masked_fill(~taken, -torch.inf)
        if rules.fill == "arranged":
            arranged = arrange(self.model, inputs, counts, Selection(items.to(self.device), best.to(self.device)))
            items, best = arranged.items.cpu(), arranged.scores.cpu()
        answers = continuations(items.numpy(), best.numpy(), self._categories)
        for given, answer, count in zip(inputs, answers, counts, strict=True):
            check_not_empty(given, answer, count, rules, self.items)
            yield answer

    def _shortlists(self, inputs: Inputs, counts: list[int], rules: ShardRules) -> tuple[Tensor, Tensor]:
        """Return the shortlists of all shards, (B, shards x K) scores and items."""
        questions = self._questions(inputs, counts, rules)
        answers = self.shards.ask("best", {shard: (one, *rules.of_shard(shard)) for shard, one in questions.items()})
        scores, items = (np.concatenate(parts, axis=1) for parts in zip(*answers, strict=True))
        return torch.from_numpy(scores), torch.from_numpy(items)

    def _questions(self, inputs: Inputs, counts: list[int], rules: ShardRules) -> dict[int, Question]:
        rows = np.repeat(np.arange(len(inputs)), [len(given) for given in inputs])
        seen = self._divided(Cells(rows, np.concatenate(inputs)))
        stage = self._first_stage(inputs, counts) if self._uses_network else None
        config, linear = self.model.config, None
        if self._uses_linear:
            linear = self._divided(linear_scores(self.shards, self.plan, inputs, config.linear.decay))
        votes, highest = self._votes(inputs, seen)
        none = Cells(rows[:0], rows[:0])
        return {
            shard: Question(
                lists=len(inputs),
                categories=None if stage is None else self._of_shard(stage, shard),
                votes=None if votes is None else votes[shard],
                highest=highest,
                linear=None if linear is None else linear[shard],
                blocked=none if rules.keep_seen else seen[shard],
                count=max(counts),
                max_per_group=rules.max_per_group,
            )
            for shard in range(self.plan.shards)
        }

    def _divided(self, cells: Cells) -> list[Cells]:
        """Divide cells among the shards."""
        shard = np.searchsorted(self.plan.items[1:-1], cells.items, side="right")
        parts = []
        for number in range(self.plan.shards):
            own = shard == number
            parts.append(Cells(cells.rows[own], cells.items[own], None if cells.values is None else cells.values[own]))
        return parts

    def _first_stage(self, inputs: Inputs, counts: list[int]) -> Categories:
        """Return the first stage of the network for all categories."""
        network = self.model.config.network
        stage = self.model.tied.first_stage(*self.model.states(inputs, counts, network.read_masks, network.next_share))
        parts = stage.hidden, stage.by_list, stage.requested, stage.weights
        return Categories(*(part.cpu().numpy() for part in parts))

    def _of_shard(self, stage: Categories, shard: int) -> Categories:
        return replace(stage, by_list=stage.by_list[:, self.plan.cuts[shard] : self.plan.cuts[shard + 1]])

    def _votes(self, inputs: Inputs, seen: list[Cells]) -> tuple[list[Votes] | None, NDArray[np.float64] | None]:
        """Return the neighbors as every shard is to get them, and the highest vote (B,) of all shards."""
        if self._search is None:
            return None, None
        nearest, weights = self._search.nearest(inputs, self.model.config.memory)
        key = secrets.token_hex(8)
        votes = [Votes(key, nearest, weights, own, len(inputs)) for own in seen]
        highest = self.shards.ask("highest", {shard: (own,) for shard, own in enumerate(votes)})
        return votes, np.max(highest, axis=0)
