"""Search the linear part of the hybrid model: which linear model mixes best with the list memory, and its weight."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.models.config import from_settings
from fansrec.models.hybrid.model import LinearPart, log_scores
from fansrec.models.linear.config import regression_width
from fansrec.models.linear.item_weights import PrunedWeights, Table
from fansrec.models.linear.slist import Slist
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.registry import build
from fansrec.training.hybrid.coordinate_search import Values, gains, is_significant
from fansrec.training.hybrid.given import disabled, values_to_try
from fansrec.training.hybrid.held_out import ENOUGH, Fold, join
from fansrec.training.hybrid.metrics import metrics_of_mixture, metrics_per_list
from fansrec.training.plan import Plan

# Standard errors by which a linear part or its weight must improve the metrics; twice that for few lists, and for
# giving up the memory.
LINEAR_ERRORS = 0.5
LINEAR_WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0, 3.0)  # beside a memory of weight 1
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
    """What the searches of memory and linear part found; `linear` is None if there is no linear part."""

    settings: Values = field(default_factory=dict)
    linear: tuple[str, dict[str, Any]] | None = None
    fitted: LinearPart | None = None  # to the training lists, if that was done already
    tried: list[Values] = field(default_factory=list)


def search_linear(plan: Plan, folds: Sequence[Fold], memory_settings: Values, fits: int) -> Parts:
    """Return the linear part that mixes best with the memory, with its decay and both weights."""
    held_out, vocabulary = join(folds), plan.config["category_starts"][-1]
    if not held_out.inputs:
        return Parts(linear=CANDIDATES[0])
    base = torch.zeros(len(held_out.inputs), vocabulary)
    if memory_settings:
        memories = [ListMemory.of(vocabulary, *fold.lists) for fold in folds]
        base = log_scores(_votes(memories, folds, memory_settings))
    best, figures = Parts({"linear_weight": 0.0}), metrics_per_list(base, held_out)
    tried: list[Values] = []
    for candidate in _affordable(fits):
        parts = [fit_linear(candidate, fold.lists, plan) for fold in folds]
        for values, logs in _mixtures(plan, parts, folds, bool(memory_settings)):
            weights = {name: values[f"{name}_weight"] for name in ("memory", "linear")}
            found = metrics_of_mixture({"memory": base, "linear": logs}, weights, held_out)
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
    for decay in values_to_try("linear_decay", Slist.search["input_decay"], plan):
        pairs = zip(parts, folds, strict=True)
        logs = log_scores(torch.cat([part.scores(fold.held_out.inputs, decay) for part, fold in pairs]))
        if "memory_weight" in plan.given or "linear_weight" in plan.given:
            memory, linear = plan.settings["memory_weight"], plan.settings["linear_weight"]
            yield _weights(decay, memory, linear), logs
            continue
        for weight in LINEAR_WEIGHTS if with_memory else ():
            yield _weights(decay, 1.0, weight), logs
        yield _weights(decay, 0.0, 1.0), logs


def _weights(decay: float, memory: float, linear: float) -> Values:
    return {"linear_decay": decay, "memory_weight": memory, "linear_weight": linear}


def _votes(memories: Sequence[ListMemory], folds: Sequence[Fold], values: Values) -> Tensor:
    """Return the votes (lists, M) for the held-out lists of all folds, each by the memory of its fold."""
    config = from_settings(MemoryConfig, values)
    pairs = zip(memories, folds, strict=True)
    return torch.cat([memory.votes(fold.held_out.inputs, config) for memory, fold in pairs])


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


def _must_be_linear(plan: Plan) -> bool:
    """Return whether there must be a linear part, better or not: it was asked for, or no other part is left."""
    return "linear_weight" in plan.given or (disabled("memory_weight", plan) and disabled("network_weight", plan))


def fit_linear(candidate: tuple[str, Mapping[str, Any]], lists: FlatLists, plan: Plan) -> LinearPart:
    """Fit a linear model and return its largest weights."""
    model, settings = candidate
    starts = plan.config["category_starts"]
    neighbors = {"neighbours": regression_width(starts[-1])}  # words: keep
    fitted = build(model, {"category_starts": starts, **settings, **neighbors})
    fitted.fit(*lists)
    assert isinstance(fitted.weights, PrunedWeights)
    part = LinearPart(starts[-1], fitted.weights.width)
    part.assign(Table(fitted.weights.items, fitted.weights.weights))
    return part
