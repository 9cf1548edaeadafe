"""The three ways to make an answer, for whatever a model can do."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.decoding.dense import NONE, Answers, Limits, best_of, by_position, depth_first, one_by_one
from fansrec.engine.decoding.shortlists import by_position_from_shortlists
from fansrec.engine.interface import Inputs
from fansrec.errors import BadSetting
from fansrec.models.contract import ScoreBlock, Steps

ONE_PASS, AUTOREGRESSIVE, RECALL = "one-pass", "autoregressive", "recall"


def ways(model: Any) -> list[str]:
    """The ways a model can be asked: recall is always one."""
    one_pass = hasattr(model, "score_positions") or hasattr(model, "score_lists")
    able = {ONE_PASS: one_pass, AUTOREGRESSIVE: hasattr(model, "score_next"), RECALL: True}
    return [way for way, can in able.items() if can]


def way_of(model: Any, asked: str | None) -> str:
    """The way asked for, or the model's own."""
    if asked is None or asked in ways(model):
        return asked or str(model.generation)
    raise BadSetting(f"{model.name} cannot be run {asked}; it can be run {' or '.join(ways(model))}")


def generate(model: Any, way: str, inputs: Inputs, counts: Sequence[int], limits: Limits, fill: str) -> Answers:
    """Answers under `limits`; `fill` says how positions scored together become a list."""
    if fill == "arranged" and not hasattr(model, "expected_places"):
        raise BadSetting(f"{model.name} cannot arrange an answer; only fans of --recipe best can, use by-position")
    if way == AUTOREGRESSIVE:
        return one_by_one(begin(model, inputs, max(counts)), limits)
    if hasattr(model, "score_lists"):
        answers = best_of(model.score_lists(inputs, counts if way == ONE_PASS else [1] * len(inputs)), limits)
        return arranged(model, inputs, counts, answers) if fill == "arranged" else answers
    if way == RECALL and hasattr(model, "score_next"):
        return best_of(model.score_next(inputs), limits)
    score = model.score_positions(inputs, counts) if way == ONE_PASS else recalled(model, inputs)
    if fill != "by-position":
        return depth_first(score, model.ranks, limits)
    if hasattr(score, "best") and limits.max_per_group is None:
        return by_position_from_shortlists(score, model.ranks, limits)
    return by_position(score, model.ranks, limits)


def arranged(model: Any, inputs: Inputs, counts: Sequence[int], answers: Answers) -> Answers:
    """The same items in the order in which the model expects them to stand."""
    places = model.expected_places(inputs, counts, answers.items.clamp(min=0))
    order = places.masked_fill(answers.items == NONE, torch.inf).argsort(dim=1, stable=True)
    return Answers(answers.items.gather(1, order), answers.scores.gather(1, order))


def recalled(model: Any, inputs: Inputs) -> ScoreBlock:
    """The scores of the very next position for every position: the best k of one prediction."""
    score: ScoreBlock = model.score_positions(inputs, [1] * len(inputs))
    return lambda first, last, rank: score(0, 1, rank).expand(-1, last - first, -1)


def begin(model: Any, inputs: Inputs, room: int) -> Steps:
    """Steps that reuse what the model knows of the list so far, if it can."""
    steps: Steps = model.begin(inputs, room) if hasattr(model, "begin") else Recomputed(model, inputs)
    return steps


class Recomputed:
    """Every step looks at the whole list again."""

    def __init__(self, model: Any, inputs: Inputs) -> None:
        self.model = model
        self.lists = list(inputs)

    def scores(self) -> Tensor:
        scores: Tensor = self.model.score_next(self.lists)
        return scores

    def append(self, items: Tensor) -> None:
        grown = zip(self.lists, items.tolist(), strict=True)
        self.lists = [np.append(given, item) if item >= 0 else given for given, item in grown]
