"""The last steps of training the hybrid model: fit the list memory and the linear model, search the mixture weights.

The settings of the list memory are searched on training lists, each excluded from its own neighbors. The mixture
weights are searched on the validation lists, which no part was trained on (the best epoch is chosen there too).
Settings that the user gave stay as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.data.corpus import Corpus, FlatLists
from fansrec.engine.decoding.limits import NONE
from fansrec.evaluation.protocol import (
    MAX_CUTOFF,
    METRICS,
    EvaluationLists,
    cut_lists,
    evaluation_lists,
    evenly_spaced,
    list_metrics,
    protocol,
)
from fansrec.models.config import from_settings, with_settings
from fansrec.models.hybrid.config import MemoryConfig
from fansrec.models.hybrid.list_memory import ListMemory
from fansrec.models.hybrid.model import HybridFans, LinearPart, mix
from fansrec.models.linear.item_weights import PrunedWeights, Table
from fansrec.models.linear.slist import Slist, SlistConfig
from fansrec.training.hybrid.coordinate_search import Figures, Values, coordinate_search
from fansrec.training.plan import Plan, Trained
from fansrec.training.reporting import Reporter

PROTOCOL = protocol("standard")
# The values that are tried; the defaults, from which the searches start, are in models/hybrid/config.py.
MEMORY_GRID: dict[str, Sequence[Any]] = {
    "sharpness": (1.0, 1.5, 3.0, 4.0, 6.0),
    "before": (0.7, 0.4, 0.2),
    "recency": (0.3, 0.6, 0.9),
    "near": (0.5, 1.0),
    "neighbours": (100, 1500),  # words: keep
    "aligned": (1.0,),
}
WEIGHT_GRID: dict[str, Sequence[Any]] = {
    "network_weight": (0.0, 0.05, 0.2, 0.3, 0.5, 1.0, 3.0),
    "linear_weight": (0.0, 0.1, 0.5, 1.0, 3.0),
    "memory_weight": (0.0,),
}
STANDARD_ERRORS = 1.0  # by which a change must improve the metrics
MAX_LISTS = 2000  # that are evaluated
CELLS = 1 << 26  # lists times items: 256 MB of fp32
LINEAR: dict[str, Any] = {"alpha": 0.2, "regularization": 30.0}
LINEAR_NEIGHBORS = 1000


def complete_hybrid(plan: Plan, network: HybridFans, corpus: Corpus, lists: FlatLists, reporter: Reporter) -> Trained:
    """Add a list memory and a linear part to a trained network, with the settings and weights that a search finds."""
    network.eval()
    max_lists = min(MAX_LISTS, max(1, CELLS // len(corpus.vocabulary)))
    memory = None if _disabled("memory_weight", plan) else ListMemory.of(len(corpus.vocabulary), *lists)
    linear = fit_linear(plan, lists)
    found: Values = {}
    tried: list[Values] = []
    if memory is not None:
        reporter.message(f"searching the settings of the list memory ({len(memory):,} lists)")
        found, tried = search_memory(plan, memory, lists, max_lists)
    config = with_settings(network.config, found)
    whole = network.with_parts(config, memory, linear).to(network.device)
    weights, figures, more = search_weights(plan, whole, corpus, max_lists)
    found |= weights
    reporter.message("found: " + ", ".join(f"{name} {value:g}" for name, value in found.items()))
    config = with_settings(config, weights | ({"linear_weight": 0.0} if linear is None else {}))
    used = config.weights
    whole = network.with_parts(config, memory if used.memory else None, linear if used.linear else None)
    return Trained(replace(plan, config=asdict(whole.config)), whole, figures, tried=tried + more)


def search_memory(plan: Plan, memory: ListMemory, lists: FlatLists, max_lists: int) -> tuple[Values, list[Values]]:
    """Return the best settings of the memory for training lists that the memory lacks, and all settings tried."""
    items, offsets = lists
    chosen = evenly_spaced(np.flatnonzero(np.diff(offsets) >= 2), max_lists)
    evaluated = cut_lists(items, offsets, chosen)

    def evaluate(values: Values) -> Figures:
        return metrics_per_list(
            memory.votes(evaluated.inputs, from_settings(MemoryConfig, values), without=chosen), evaluated
        )

    start = _start(MEMORY_GRID, plan)
    if not len(chosen):
        return start, []
    result = coordinate_search(start, _not_given(MEMORY_GRID, plan), evaluate, STANDARD_ERRORS)
    return result.values, result.tried


def search_weights(
    plan: Plan, network: HybridFans, corpus: Corpus, max_lists: int
) -> tuple[Values, dict[str, Any], list[Values]]:
    """Return the best mixture weights on the validation lists, the figures there, and the weights tried."""
    evaluated = evaluation_lists(corpus, "valid", max_lists)
    start = _start(WEIGHT_GRID, plan)
    if not evaluated.inputs:
        return start, {}, []
    parts = parts_of(network, evaluated)

    def evaluate(values: Values) -> Figures:
        return metrics_per_list(mix(parts, {name: values[f"{name}_weight"] for name in parts}), evaluated)

    grids = {name: grid for name, grid in WEIGHT_GRID.items() if name.removesuffix("_weight") in parts}
    result = coordinate_search(start, _not_given(grids, plan), evaluate, STANDARD_ERRORS)
    means = zip(METRICS, result.figures.mean(0).tolist(), strict=True)
    return result.values, {f"valid {name}": mean for name, mean in means}, result.tried


@torch.inference_mode()
def parts_of(network: HybridFans, evaluated: EvaluationLists) -> dict[str, Tensor]:
    """Return the log scores (lists, M) of each part, computed for one list at a time to limit memory."""
    rows = [network.parts([given], [MAX_CUTOFF]) for given in evaluated.inputs]
    return {name: torch.cat([row[name].cpu() for row in rows]) for name in rows[0]}


def metrics_per_list(scores: Tensor, evaluated: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the best items by scores (lists, M), without the items of the input."""
    scores = scores.clone()
    for row, given in zip(scores, evaluated.inputs, strict=True):
        row[torch.from_numpy(given)] = -torch.inf
    best = scores.topk(min(MAX_CUTOFF, scores.shape[1]), dim=1)
    answers = best.indices.masked_fill(best.values == -torch.inf, NONE).numpy()
    metrics = list_metrics(answers, evaluated, PROTOCOL)
    return np.stack([metrics[name] for name in METRICS], 1)


def fit_linear(plan: Plan, lists: FlatLists) -> LinearPart | None:
    """Fit SLIST and return its largest weights; None for too many items, for a single one, or if its weight is 0."""
    starts = tuple(plan.config["category_starts"])
    if _disabled("linear_weight", plan) or not 1 < starts[-1] <= SlistConfig.dense_items:
        return None
    slist = Slist(SlistConfig(starts, **LINEAR, neighbours=min(LINEAR_NEIGHBORS, starts[-1] - 1)))
    slist.fit(*lists)
    assert isinstance(slist.weights, PrunedWeights)
    part = LinearPart(starts[-1], slist.weights.width)
    part.assign(Table(slist.weights.items, slist.weights.weights))
    return part


def _disabled(weight: str, plan: Plan) -> bool:
    return weight in plan.given and not plan.settings[weight]


def _start(grids: Mapping[str, Sequence[Any]], plan: Plan) -> Values:
    return {name: plan.settings[name] for name in grids}


def _not_given(grids: Mapping[str, Sequence[Any]], plan: Plan) -> dict[str, Sequence[Any]]:
    return {name: grid for name, grid in grids.items() if name not in plan.given}
