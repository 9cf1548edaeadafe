"""The engine for a catalog that is distributed over several workers.

The encoder runs here. Of the items, only the rows that a list names are fetched, and of the second stage only the best
few items of each position: nothing of the size of the catalog is allocated for a list, neither here nor on a shard.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from fansrec.engine.decoding.selection import select_by_position
from fansrec.engine.interface import (
    CategoryLookup,
    Continuation,
    Inputs,
    batches_by_length,
    check_indices,
    check_rules,
    continuations,
    requested_counts,
)
from fansrec.engine.modes import ONE_PASS
from fansrec.engine.reranking import rerank
from fansrec.engine.rules import Rules
from fansrec.engine.sharded.candidates import ShardCandidates, ShardRules
from fansrec.engine.sharded.shards import Plan, Shards
from fansrec.errors import BadSetting

TOKENS_AT_ONCE = 1 << 14
CATEGORY_SCORES_AT_ONCE = 1 << 24  # positions times categories


class ShardedEngine:
    """Returns what `TorchEngine` returns for the whole model; `model` is FANS `without_items`."""

    backend = "sharded"
    generation = ONE_PASS
    fills: tuple[str, ...] = ("by-position",)
    lists_at_once: int | None = None

    def __init__(self, model: Any, plan: Plan, shards: Shards) -> None:
        self.model, self.plan, self.shards = model, plan, shards
        self.items = plan.starts[-1]
        self.device = str(model.device)
        self._categories = CategoryLookup(plan.starts)
        self._groups: tuple[Any, list[Any]] = (None, [])  # the last ones, as they were shared

    def to(self, device: str) -> None:
        """Move what is here of the model to a device."""
        self.model.to(device)
        self.device = device

    @torch.inference_mode()
    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        """Return `k` (or `k[i]`) distinct items for each list, fewer only if the rules leave fewer."""
        if rules.reranks:
            return rerank(self, inputs, k, rules)
        counts = requested_counts(inputs, k, self.items, self.model.longest_sequence())
        check_indices(inputs, self.items)
        check_rules(rules, self.items)
        if rules.fill not in self.fills:
            raise BadSetting(
                f"a sharded model cannot fill {rules.fill}; use by-position, or a model that is not sharded"
            )
        shard_rules = ShardRules(rules, self._shared_groups(rules), self.plan, self.shards)
        lengths = [len(items) + count for items, count in zip(inputs, counts, strict=True)]
        answers: dict[int, Continuation] = {}
        tokens = max(1, min(TOKENS_AT_ONCE, CATEGORY_SCORES_AT_ONCE // (len(self.plan.starts) - 1)))
        for batch in batches_by_length(lengths, tokens, self.lists_at_once):
            answer = self._answer([inputs[i] for i in batch], [counts[i] for i in batch], rules, shard_rules)
            answers.update(zip(batch, answer, strict=True))
        return [answers[i] for i in range(len(inputs))]

    def _shared_groups(self, rules: Rules) -> list[Any] | None:
        """Return the groups of each shard; a vocabulary has one array of groups for all calls, so it is sent once."""
        if rules.max_per_group is None or rules.groups is None:
            return None
        held, parts = self._groups  # one read: another thread may replace the pair
        if held is not rules.groups:
            parts = [self.shards.share(part) for part in np.split(rules.groups, self.plan.items[1:-1])]
            self._groups = rules.groups, parts
        return parts

    def _answer(
        self, inputs: Inputs, counts: list[int], rules: Rules, shard_rules: ShardRules
    ) -> Iterator[Continuation]:
        candidates = ShardCandidates(self.model, self.shards, self.plan, inputs, counts, shard_rules)
        selector = select_by_position(candidates, counts, rules)
        return continuations(selector.items, selector.scores, self._categories)
