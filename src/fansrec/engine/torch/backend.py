"""The reference engine: plain torch, any model, any device."""

from collections.abc import Iterator, Sequence

import torch

from fansrec.engine.decoding.limits import make_limits
from fansrec.engine.generation import generate
from fansrec.engine.interface import (
    CategoryLookup,
    Continuation,
    Inputs,
    batches_by_length,
    check_indices,
    check_not_empty,
    check_rules,
    continuations,
    requested_counts,
)
from fansrec.engine.modes import AUTOREGRESSIVE, generation_mode
from fansrec.engine.reranking import rerank
from fansrec.engine.rules import Rules
from fansrec.models.contract import ContinuationModel

TOKENS_AT_ONCE = 1 << 14
LISTS_AT_ONCE = 256
SCORES_AT_ONCE = 1 << 25


class TorchEngine:
    """Runs any model; with a model in double precision it is the reference for all other engines."""

    backend = "torch"

    def __init__(
        self,
        model: ContinuationModel,
        items: int,
        device: torch.device | str = "cpu",
        generation: str | None = None,  # default: the model's own generation mode
    ) -> None:
        self.model = model
        self.generation = generation_mode(model, generation)
        self.items = items
        self.device = str(device)
        self._categories = CategoryLookup(model.config.category_starts)

    @torch.inference_mode()
    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        """Return `k` (or `k[i]`) distinct items for each list, fewer only if the rules leave fewer."""
        if rules.reranks:
            return rerank(self, inputs, k, rules)
        counts = requested_counts(inputs, k, self.items, self.model.longest_sequence())
        check_indices(inputs, self.items)
        check_rules(rules, self.items)
        answers: dict[int, Continuation] = {}
        for batch in self._batches(inputs, counts, rules):
            answer = self._answer([inputs[i] for i in batch], [counts[i] for i in batch], rules)
            for i, continuation in zip(batch, answer, strict=True):
                check_not_empty(inputs[i], continuation, counts[i], rules, self.items)
                answers[i] = continuation
        return [answers[i] for i in range(len(inputs))]

    def _answer(self, inputs: Inputs, counts: Sequence[int], rules: Rules) -> Iterator[Continuation]:
        limits = make_limits(rules, inputs, counts, self.items, self.device)
        selection = generate(self.model, self.generation, inputs, counts, rules, limits)
        return continuations(selection.items.cpu().numpy(), selection.scores.cpu().numpy(), self._categories)

    def _batches(self, inputs: Inputs, counts: Sequence[int], rules: Rules) -> Iterator[list[int]]:
        """Yield indices of lists within a budget of tokens and of scores."""
        lengths = [len(items) + count for items, count in zip(inputs, counts, strict=True)]
        all_positions_at_once = rules.fill == "depth-first" and self.generation != AUTOREGRESSIVE
        scores_per_list = self.items * (max(counts, default=1) if all_positions_at_once else 1)
        max_lists = max(1, min(LISTS_AT_ONCE, SCORES_AT_ONCE // scores_per_list))
        return batches_by_length(lengths, TOKENS_AT_ONCE, max_lists)
