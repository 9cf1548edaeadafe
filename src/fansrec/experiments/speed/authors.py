"""How the authors' published code (github Jyonn/FANS) continues lists, step for step, over this project's weights.

What makes its time is kept: every list is padded to the longest one of the set; all places go through all layers and
through the category classifier, or through the whole vanilla classifier; places are gone through one by one in Python
with a tensor looked at for each; the scores of every masked place are sorted whole, handed to Python as a list whole,
and cut to ten there; the category of a place stays on the device, so that each use of it waits for the device. BERT4Rec
does all of it again for every item.

It is kinder than theirs in a few things: BERT4Rec's lists are laid out as ours, no loader stands before it, and a local
classifier transforms its own places only, as our weights have a transform for each of them.

An answer is the ten best items of every position. Theirs goes on to the ten items it is judged by (`candidates`); that
is run too, since it is part of their time.
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
    inside_categories,
    stacked,
)
from fansrec.models.fans import Fans, TwoStageClassifier
from fansrec.models.sequence.bert4rec import Bert4Rec

Inputs = Sequence[NDArray[np.int64]]


class AuthorsFans:
    """FANS of the paper, both classifiers."""

    def __init__(self, model: Fans, longest: int) -> None:
        self.network = Network(model)
        self.longest = longest  # tokens
        self.classifier = model.classifier
        starts = model.config.category_starts
        self.local_to_global = [list(range(*bounds)) for bounds in pairwise(starts)]

    @torch.no_grad()
    def continue_lists(self, inputs: Inputs, counts: Sequence[int]) -> list[Ranking]:
        batch = stacked([self._sample(given, k) for given, k in zip(inputs, counts, strict=True)])
        before = {part: places.clone() for part, places in batch.parts.items()}
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
        """CLS input SEP target SEP, padded; the target's places are masked later, as if its items had been there."""
        alphabet = self.network.model.config.alphabet
        tokens = [alphabet.cls, *given.tolist(), alphabet.sep, *[0] * count, alphabet.sep]
        target = slice(len(given) + 2, len(given) + 2 + count)
        parts = {INPUT: slice(1, len(given) + 1), TARGET: target}
        segments = [0] * (len(given) + 2) + [1] * (count + 1)
        return self.network.sample(tokens, segments, parts, self.longest)

    def _mask_target(self, batch: Sample, row: int) -> None:
        first = last = None
        for place in range(self.longest):
            if batch.parts[TARGET][row][place]:
                first, last = place if first is None else first, place
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
        for part in (INPUT, TARGET):  # nothing of the input is masked, but it is looked through
            masked = torch.not_equal(batch.parts[part].to(hidden.device), before[part].to(hidden.device))
            scores = inside_categories(classifier, hidden, masked * (chosen + 1) - 1)
        used = [0] * classifier.ranks
        rankings = []
        for row in range(len(hidden)):
            ranking = []
            for place in range(self.longest):
                if before[TARGET][row][place]:
                    category = chosen[row][place]
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
                torch.argsort(scores[row][place], descending=True).cpu().tolist()[:KEPT]
                for place in range(self.longest)
                if masked[row][place]
            ]
            for row in range(len(hidden))
        ]


class AuthorsBert4Rec:
    """One item after the other, each with a pass over the whole padded list and all scores of all places."""

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
            batch = stacked([self._sample(items) for items in lists])
            masked = [self._mask_last(batch, row) for row in range(len(lists))]
            hidden = self.network.encode(batch)
            scores = self.classifier.items(self.classifier.transform(hidden))  # type: ignore[attr-defined]  # (B, T, M)
            for row, (items, place) in enumerate(zip(lists, torch.tensor(masked), strict=True)):
                best = torch.argsort(scores[row][place], descending=True).cpu().tolist()[:KEPT]
                rankings[row].append(best)
                items[-1] = best[0]
        rankings = [ranking[:k] for ranking, k in zip(rankings, counts, strict=True)]
        for ranking in rankings:
            candidates(ranking, [1] * len(ranking))
        return rankings

    def _sample(self, items: list[int]) -> Sample:
        return self.network.sample(items, [0] * len(items), {INPUT: slice(0, len(items))}, self.longest)

    def _mask_last(self, batch: Sample, row: int) -> int:
        last = next(place for place in range(self.longest - 1, -1, -1) if batch.parts[INPUT][row][place])
        batch.items[row][last] = self.network.model.config.alphabet.mask
        batch.parts[INPUT][row][last] = 0
        batch.parts[SPECIAL][row][last] = 1
        return last
