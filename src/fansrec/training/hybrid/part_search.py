"""Search the parts of the hybrid model that are fitted in closed form: list memory and linear part.

First the settings of the memory, then the linear part that mixes best with it, and its weight. A candidate is kept only
if it is better than the best before it by more than the noise, on lists that it was not fitted to (evidence.py). Each
part can also be the only one. Settings that the user gave stay as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import MemoryConfig
from fansrec.models.hybrid.list_memory import ListMemory
from fansrec.models.hybrid.model import LinearPart, log_scores
from fansrec.models.linear.item_weights import NEIGHBORS, PrunedWeights, Table
from fansrec.models.linear.neighbor_regression import KEPT_CELLS
from fansrec.models.registry import build
from fansrec.training.hybrid.coordinate_search import Figures, Values, coordinate_search, gains, is_significant
from fansrec.training.hybrid.evidence import (
    ENOUGH,
    FOLDS,
    Fold,
    best_in_threads,
    join,
    make_folds,
    metrics_of_answers,
    metrics_of_mixture,
    metrics_per_list,
    needs_folds,
)
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter

# The values that are tried; the defaults, from which the searches start, are in models/hybrid/config.py.
MEMORY_GRID: dict[str, Sequence[Any]] = {
    "sharpness": (1.0, 1.5, 3.0, 4.0, 6.0),
    "before": (0.7, 0.4, 0.2),
    "recency": (0.3, 0.6, 0.9),
    "near": (0.5, 1.0),
    "neighbours": (100, 1500),  # words: keep
    "aligned": (1.0,),
    "newer": (0.5, 1.0, 2.0),
}
MEMORY_ERRORS = 1.0  # standard errors by which a change of the memory must improve the metrics
LINEAR_ERRORS = 0.5  # and one of the linear part or its weight; twice that for few lists, and for giving up the memory
LINEAR_WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0, 3.0)  # beside a memory of weight 1
DECAYS = (20.0, 5.0, 1e6)  # of the input's items; the last one: none
LINEAR_NEIGHBORS = 1000
# In the order in which they are tried; EASE is SLIST with an alpha of 1.
CANDIDATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("slist", {"alpha": 0.2, "regularization": 30.0}),
    ("item-knn", {"similarity": "cosine", "shrinkage": 10.0}),
    ("slist", {"alpha": 0.5, "regularization": 100.0}),
    ("slist", {"alpha": 1.0, "regularization": 200.0}),
    ("slist", {"alpha": 0.2, "regularization": 100.0}),
    ("slist", {"alpha": 0.2, "regularization": 10.0}),
    ("slist", {"alpha": 1.0, "regularization": 1000.0}),
    ("slist", {"alpha": 0.2, "regularization": 30.0, "diagonal": 1.0}),
)
# An exact fit of SLIST takes about 60 picoseconds times the third power of the number of items.
COST_OF_LIST = 2.5e8  # items^3 that a training list may cost in all fits together
MOST_COST = 2.5e12


@dataclass(frozen=True)
class Parts:
    """What the search found; `linear` is None if there is no linear part."""

    settings: Values = field(default_factory=dict)
    linear: tuple[str, dict[str, Any]] | None = None
    fitted: LinearPart | None = None  # to the training lists, if that was done already
    tried: list[Values] = field(default_factory=list)


def find_parts(plan: Plan, corpus: Corpus, reporter: Reporter) -> Parts:
    """Return the settings of the memory, the linear part and the weights of both."""
    memory_folds = make_folds(corpus, FOLDS if needs_folds(corpus) else 1)
    settings: Values = {}
    tried: list[Values] = []
    if not disabled("memory_weight", plan):
        reporter.message("searching the settings of the list memory")
        settings, tried = search_memory(plan, memory_folds)
    if disabled("linear_weight", plan) or plan.config["category_starts"][-1] < 2:
        return Parts(settings | {"linear_weight": 0.0}, tried=tried)
    reporter.message("searching the linear part")
    fits = affordable_fits(plan, corpus)
    folds = memory_folds if fits >= FOLDS else make_folds(corpus, 1)
    found = search_linear(plan, folds, settings, max(1, fits // len(folds)))
    return replace(found, settings=settings | found.settings, tried=tried + found.tried)


def search_memory(plan: Plan, folds: Sequence[Fold]) -> tuple[Values, list[Values]]:
    """Return the best settings of the memory, and all settings tried."""
    judged, start = join(folds), _start(MEMORY_GRID, plan)
    if not judged.inputs:
        return start, []
    memories = [ListMemory.of(plan.config["category_starts"][-1], *fold.lists) for fold in folds]

    def evaluate(values: Values) -> Figures:
        config = from_settings(MemoryConfig, values)
        pairs = zip(memories, folds, strict=True)
        answers = [best_in_threads(partial(memory.votes, config=config), fold.judged.inputs) for memory, fold in pairs]
        return metrics_of_answers(np.concatenate(answers), judged)

    result = coordinate_search(start, not_given(MEMORY_GRID, plan), evaluate, MEMORY_ERRORS)
    return result.values, result.tried


def search_linear(plan: Plan, folds: Sequence[Fold], memory_settings: Values, fits: int) -> Parts:
    """Return the linear part that mixes best with the memory, with its decay and both weights."""
    judged, vocabulary = join(folds), plan.config["category_starts"][-1]
    if not judged.inputs:
        return Parts(linear=CANDIDATES[0])
    base = torch.zeros(len(judged.inputs), vocabulary)
    if memory_settings:
        memories = [ListMemory.of(vocabulary, *fold.lists) for fold in folds]
        base = log_scores(_votes(memories, folds, memory_settings))
    best, figures = Parts({"linear_weight": 0.0}), metrics_per_list(base, judged)
    tried: list[Values] = []
    for candidate in _affordable(fits):
        parts = [fit_linear(candidate, fold.lists, plan) for fold in folds]
        for values, logs in _mixtures(plan, parts, folds, bool(memory_settings)):
            weights = {name: values[f"{name}_weight"] for name in ("memory", "linear")}
            found = metrics_of_mixture({"memory": base, "linear": logs}, weights, judged)
            gain = gains(found, figures)
            tried.append({"linear": candidate[0], **candidate[1], **values, "gain": round(float(gain.mean()), 5)})
            certain = LINEAR_ERRORS * (2 if len(gain) < ENOUGH or not values["memory_weight"] else 1)
            if (best.linear is None and _must_be_linear(plan)) or is_significant(gain, certain):
                best, figures = Parts(values, candidate, parts[0] if len(folds) == 1 else None), found
    return replace(best, tried=tried)


def _mixtures(
    plan: Plan, parts: Sequence[LinearPart], folds: Sequence[Fold], with_memory: bool
) -> Iterator[tuple[Values, Tensor]]:
    """Yield the settings of each mixture of a linear part with the memory, and the log scores of the linear part."""
    decays = (plan.settings["linear_decay"],) if "linear_decay" in plan.given else DECAYS
    for decay in decays:
        pairs = zip(parts, folds, strict=True)
        logs = log_scores(torch.cat([part.scores(fold.judged.inputs, decay) for part, fold in pairs]))
        if "memory_weight" in plan.given or "linear_weight" in plan.given:
            memory, linear = plan.settings["memory_weight"], plan.settings["linear_weight"]
            yield _weights(decay, memory, linear), logs
            continue
        for weight in LINEAR_WEIGHTS if with_memory else ():
            yield _weights(decay, 1.0, weight), logs
        yield _weights(decay, 0.0, 1.0), logs


def _weights(decay: float, memory: float, linear: float) -> Values:
    return {"linear_decay": decay, "memory_weight": memory, "linear_weight": linear}


def affordable_fits(plan: Plan, corpus: Corpus) -> int:
    """Return how many linear parts may be fitted: more for many lists, fewer for many items."""
    cost = min(MOST_COST, COST_OF_LIST * len(corpus.part("train")))
    return int(cost / plan.config["category_starts"][-1] ** 3)


def _affordable(fits: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the first candidates of which `fits` need a matrix to be inverted, at least one; item-kNN needs none."""
    for candidate in CANDIDATES:
        fits -= candidate[0] != "item-knn"
        if fits >= 0:
            yield candidate


def fit_linear(candidate: tuple[str, Mapping[str, Any]], lists: FlatLists, plan: Plan) -> LinearPart:
    """Fit a linear model and return its largest weights."""
    model, settings = candidate
    starts = plan.config["category_starts"]
    width = min(LINEAR_NEIGHBORS, max(NEIGHBORS, KEPT_CELLS // starts[-1]))
    neighbors = {"neighbours": min(width, starts[-1] - 1)}  # words: keep
    fitted = build(model, {"category_starts": starts, **settings, **neighbors})
    fitted.fit(*lists)
    assert isinstance(fitted.weights, PrunedWeights)
    part = LinearPart(starts[-1], fitted.weights.width)
    part.assign(Table(fitted.weights.items, fitted.weights.weights))
    return part


def _votes(memories: Sequence[ListMemory], folds: Sequence[Fold], values: Values) -> Tensor:
    """Return the votes (lists, M) for the judged lists of all folds, each by the memory of its fold."""
    config = from_settings(MemoryConfig, values)
    pairs = zip(memories, folds, strict=True)
    return torch.cat([memory.votes(fold.judged.inputs, config) for memory, fold in pairs])


def _must_be_linear(plan: Plan) -> bool:
    """Return whether there must be a linear part, better or not: it was asked for, or no other part is left."""
    return "linear_weight" in plan.given or (disabled("memory_weight", plan) and disabled("network_weight", plan))


def disabled(weight: str, plan: Plan) -> bool:
    """Return whether the user gave a weight of 0."""
    return weight in plan.given and not plan.settings[weight]


def _start(grids: Mapping[str, Sequence[Any]], plan: Plan) -> Values:
    """Return the values of the plan from which a search starts."""
    return {name: plan.settings[name] for name in grids}


def not_given(grids: Mapping[str, Sequence[Any]], plan: Plan) -> dict[str, Sequence[Any]]:
    """Return the grids of the settings that the user did not give."""
    return {name: grid for name, grid in grids.items() if name not in plan.given}
