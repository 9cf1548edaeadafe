"""How a model's scores become an answer in each generation mode, with torch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.decoding.candidates import ScoreCandidates
from fansrec.engine.decoding.limits import NONE, Limits, Selection
from fansrec.engine.decoding.masked_selection import select_autoregressively, select_depth_first
from fansrec.engine.decoding.selection import select_by_position
from fansrec.engine.decoding.top_items import select_best
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS, RECALL
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.models.contract import (
    ArrangesItems,
    ContinuationModel,
    Inputs,
    KeepsState,
    ScoreBlock,
    ScoresLists,
    ScoresNext,
    ScoresPositions,
    Steps,
)


def generate(
    model: ContinuationModel, mode: str, inputs: Inputs, counts: Sequence[int], rules: Rules, limits: Limits
) -> Selection:
    """Return the items for each list under `rules`; `limits` are the same rules as tensors."""
    if rules.fill == "arranged" and not isinstance(model, ArrangesItems):
        raise BadSetting(f"{model.name} cannot arrange an answer; only fans of --recipe best can, use by-position")
    if mode == AUTOREGRESSIVE:
        return select_autoregressively(start_steps(model, inputs, max(counts)), limits)
    scored_counts = counts if mode == ONE_PASS else [1] * len(inputs)
    if isinstance(model, ScoresLists):
        selection = select_best(model.score_lists(inputs, scored_counts), limits)
        if rules.fill == "arranged" and isinstance(model, ArrangesItems):
            return arrange(model, inputs, counts, selection)
        return selection
    if mode == RECALL and isinstance(model, ScoresNext):
        return select_best(model.score_next(inputs), limits)
    assert isinstance(model, ScoresPositions)
    scores = model.score_positions(inputs, scored_counts)
    if rules.fill != "by-position":
        return select_depth_first(scores if mode == ONE_PASS else repeat_first(scores), model.ranks, limits)
    candidates = ScoreCandidates(scores, model.ranks, limits, repeat_first=mode == RECALL)
    selector = select_by_position(candidates, counts, rules)
    return Selection(torch.from_numpy(selector.items), torch.from_numpy(selector.scores))


def arrange(model: ArrangesItems, inputs: Inputs, counts: Sequence[int], selection: Selection) -> Selection:
    """Return the same items in the order in which the model expects them."""
    expected = model.expected_positions(inputs, counts, selection.items.clamp(min=0))
    order = expected.masked_fill(selection.items == NONE, torch.inf).argsort(dim=1, stable=True)
    return Selection(selection.items.gather(1, order), selection.scores.gather(1, order))


def repeat_first(scores: ScoreBlock) -> ScoreBlock:
    """Return a block with the scores of the first position at every position."""
    return lambda first, last, rank: scores(0, 1, rank).expand(-1, last - first, -1)


def start_steps(model: ContinuationModel, inputs: Inputs, room: int) -> Steps:
    """Return steps that reuse the model's state if it keeps one, for at most `room` more items."""
    if isinstance(model, KeepsState):
        return model.begin(inputs, room)
    assert isinstance(model, ScoresNext)
    return RecomputedSteps(model, inputs)


class RecomputedSteps:
    """Steps each of which scores the whole list again."""

    def __init__(self, model: ScoresNext, inputs: Inputs) -> None:
        self.model = model
        self.lists = list(inputs)

    def scores(self) -> Tensor:
        return self.model.score_next(self.lists)

    def append(self, items: Tensor) -> None:
        grown = zip(self.lists, items.tolist(), strict=True)
        self.lists = [np.append(given, item) if item != NONE else given for given, item in grown]
