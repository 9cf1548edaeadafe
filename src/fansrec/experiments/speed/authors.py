"""The authors' published code (github Jyonn/FANS) for continuing lists, step by step, on this project's weights.

Everything that determines its time is kept: every list is padded to the longest list of the data set; all positions
pass all layers and the category classifier, or the whole vanilla classifier; a Python loop reads a tensor for each
position; all scores of every masked position are sorted, copied to a Python list and cut to ten there; the category of
a position stays on the device, so that each use of it waits for the device. BERT4Rec repeats all of this for every
item.

It is faster than the original in a few points: the lists of BERT4Rec are laid out as ours, there is no data loader, and
a local classifier transforms its own positions only, as our weights have one transform per category.

An answer is the ten best items of every position. The original continues to the ten items that it is evaluated on
(`candidates`); this is run too, since it is part of its time.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.experiments.speed.authors_steps import (
    INPUT,
    KEPT,
    SPECIAL,
    TARGET,
    Network,
    Ranking,
    Sample,
    candidates,
    local_scores,
    stack,
)
from fansrec.models.fans import Fans, TwoStageClassifier
from fansrec.models.sequence.bert4rec import Bert4Rec

Inputs = Sequence[NDArray[np.int64]]


class AuthorsFans:
    """FANS of the paper, with either classifier."""

    def __init__(self, model: Fans, longest: int) -> None:
        self.network = Network(model)
        self.longest = longest  # tokens
        self.classifier = model.classifier
        starts = model.config.category_starts
        self.local_to_global = [list(range(*bounds)) for bounds in pairwise(starts)]

    @torch.no_grad()
    def continue_lists(self, inputs: Inputs, counts: Sequence[int]) -> list[Ranking]:
        batch = stack([self._sample(given, k) for given, k in zip(inputs, counts, strict=True)])
        before = {part: positions.clone() for part, positions in batch.parts.items()}
        for row in range(len(inputs)):
            self._mask_target(batch, row)
        hidden = self.network.encode(batch)  # (B, T, D)
        if isinstance(self.classifier, TwoStageClassifier):
            rankings = self._by_category(self.classifier, hidden, batch, before)
        else:
            rankings = self._by_item(hidden, before[TARGET])
        for row, ranking in enumerate(rankings):
            candidates(ranking, before[TARGET][row])
        return rankings

    def _sample(self, given: NDArray[np.int64], count: int) -> Sample:
        """Return CLS input SEP target SEP, padded; the target is masked later, as in the original."""
        alphabet = self.network.model.config.alphabet
        tokens = [alphabet.cls, *given.tolist(), alphabet.sep, *[0] * count, alphabet.sep]
        target = slice(len(given) + 2, len(given) + 2 + count)
        parts = {INPUT: slice(1, len(given) + 1), TARGET: target}
        segments = [0] * (len(given) + 2) + [1] * (count + 1)
        return self.network.sample(tokens, segments, parts, self.longest)

    def _mask_target(self, batch: Sample, row: int) -> None:
        first = last = None
        for position in range(self.longest):
            if batch.parts[TARGET][row][position]:
                first, last = position if first is None else first, position
        assert first is not None and last is not None
        masked = slice(first, last + 1)
        batch.items[row][masked] = self.network.model.config.alphabet.mask
        batch.parts[TARGET][row][masked] = 0
        batch.parts[SPECIAL][row][masked] = 1

    def _by_category(
        self, classifier: TwoStageClassifier, hidden: Tensor, batch: Sample, before: dict[str, Tensor]
    ) -> list[Ranking]:
        chosen = classifier.category(classifier.transform(hidden)).argmax(-1)  # (B, T)
        scores: list[Tensor | None] = []
        for part in (INPUT, TARGET):  # no input item is masked, but the original computes both parts
            masked = torch.not_equal(batch.parts[part].to(hidden.device), before[part].to(hidden.device))
            scores = local_scores(classifier, hidden, masked * (chosen + 1) - 1)
        used = [0] * classifier.ranks
        rankings = []
        for row in range(len(hidden)):
            ranking = []
            for position in range(self.longest):
                if before[TARGET][row][position]:
                    category = chosen[row][position]
                    of_category = scores[category]
                    assert of_category is not None
                    best = torch.argsort(of_category[used[category]], descending=True).cpu().tolist()[:KEPT]
                    ranking.append([self.local_to_global[category][item] for item in best])
                    used[category] += 1
            rankings.append(ranking)
        return rankings

    def _by_item(self, hidden: Tensor, masked: Tensor) -> list[Ranking]:
        scores = self.classifier.items(self.classifier.transform(hidden))  # type: ignore[attr-defined]  # (B, T, M)
        return [
            [
                torch.argsort(scores[row][position], descending=True).cpu().tolist()[:KEPT]
                for position in range(self.longest)
                if masked[row][position]
            ]
            for row in range(len(hidden))
        ]


class AuthorsBert4Rec:
    """BERT4Rec, item by item: each takes a pass over the padded list and the scores of all positions."""

    def __init__(self, model: Bert4Rec, longest: int) -> None:
        self.network = Network(model)
        self.longest = longest
        self.classifier = model.classifier

    @torch.no_grad()
    def continue_lists(self, inputs: Inputs, counts: Sequence[int]) -> list[Ranking]:
        lists = [given.tolist() for given in inputs]
        rankings: list[Ranking] = [[] for _ in lists]
        for _ in range(max(counts)):
            for items in lists:
                items.append(0)
            batch = stack([self._sample(items) for items in lists])
            masked = [self._mask_last(batch, row) for row in range(len(lists))]
            hidden = self.network.encode(batch)
            scores = self.classifier.items(self.classifier.transform(hidden))  # type: ignore[attr-defined]  # (B, T, M)
            for row, (items, position) in enumerate(zip(lists, torch.tensor(masked), strict=True)):
                best = torch.argsort(scores[row][position], descending=True).cpu().tolist()[:KEPT]
                rankings[row].append(best)
                items[-1] = best[0]
        rankings = [ranking[:k] for ranking, k in zip(rankings, counts, strict=True)]
        for ranking in rankings:
            candidates(ranking, [1] * len(ranking))
        return rankings

    def _sample(self, items: list[int]) -> Sample:
        return self.network.sample(items, [0] * len(items), {INPUT: slice(0, len(items))}, self.longest)

    def _mask_last(self, batch: Sample, row: int) -> int:
        last = next(position for position in range(self.longest - 1, -1, -1) if batch.parts[INPUT][row][position])
        batch.items[row][last] = self.network.model.config.alphabet.mask
        batch.parts[INPUT][row][last] = 0
        batch.parts[SPECIAL][row][last] = 1
        return last
