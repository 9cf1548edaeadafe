"""The reference engine: plain torch, any model, any device."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from fansrec.engine.generation import AUTOREGRESSIVE, generate, way_of
from fansrec.engine.interface import (
    Categories,
    Continuation,
    Inputs,
    check_answered,
    check_numbers,
    check_rules,
    wanted_of,
)
from fansrec.engine.rules import Rules, limits_of
from fansrec.models.contract import ContinuationModel

TOKENS_AT_ONCE = 1 << 14
LISTS_AT_ONCE = 256
SCORES_AT_ONCE = 1 << 25


class TorchEngine:
    """Runs whatever a model offers; with a model in double precision it is what the others are held against."""

    backend = "torch"

    def __init__(
        self,
        model: ContinuationModel,
        items: int,
        device: torch.device | str = "cpu",
        generation: str | None = None,  # the model's own way, unless told otherwise
    ) -> None:
        self.model = model
        self.generation = way_of(model, generation)
        self.items = items
        self.device = torch.device(device)
        self._categories = Categories(model.config.category_starts)

    @torch.inference_mode()
    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        """`k` items (or `k[i]`) for each list: exactly so many distinct ones, or as many as the rules leave."""
        wanted = wanted_of(inputs, k, self.items, self.model.longest_sequence())
        check_numbers(inputs, self.items)
        check_rules(rules, self.items)
        answers: list[Continuation | None] = [None] * len(inputs)
        for batch in self._batches(inputs, wanted, rules):
            answer = self._answer([inputs[i] for i in batch], [wanted[i] for i in batch], rules)
            for i, continuation in zip(batch, answer, strict=True):
                check_answered(inputs[i], continuation, wanted[i], rules, self.items)
                answers[i] = continuation
        return [answer for answer in answers if answer is not None]

    def _answer(self, inputs: Inputs, wanted: Sequence[int], rules: Rules) -> Iterator[Continuation]:
        limits = limits_of(rules, inputs, wanted, self.items, self.device)
        answers = generate(self.model, self.generation, inputs, wanted, limits, rules.fill)
        items, scores = answers.items.cpu().numpy(), answers.scores.cpu().numpy()
        for row, score in zip(items, scores, strict=True):
            given = row >= 0
            yield Continuation(row[given], score[given].astype(np.float32), self._categories(row[given]))

    def _batches(self, inputs: Inputs, wanted: Sequence[int], rules: Rules) -> Iterator[list[int]]:
        """Lists of like length together, within a budget of tokens and of scores."""
        lengths = [len(items) + k for items, k in zip(inputs, wanted, strict=True)]
        together = rules.fill == "depth-first" and self.generation != AUTOREGRESSIVE
        scores = self.items * (max(wanted, default=1) if together else 1)  # a list needs at once
        most = max(1, min(LISTS_AT_ONCE, SCORES_AT_ONCE // scores))
        batch: list[int] = []
        for i in sorted(range(len(inputs)), key=lengths.__getitem__):
            if batch and (len(batch) == most or (len(batch) + 1) * lengths[i] > TOKENS_AT_ONCE):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch
