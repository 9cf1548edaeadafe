"""Search the parts of the hybrid model that are fitted in closed form: list memory and linear part.

First the settings of the memory, then the linear part that mixes best with it, and its weight (linear_search.py). A
candidate is kept only if it is better than the best before it by more than the noise, on lists that it was not fitted
to (held_out.py). Each part can also be the only one. Settings that the user gave stay as they are.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fansrec.data.corpus import Corpus
from fansrec.models.config import from_settings
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.hybrid.coordinate_search import FEWEST, Figures, Values, coordinate_search
from fansrec.training.hybrid.given import disabled, not_given
from fansrec.training.hybrid.held_out import FOLDS, Fold, join, make_folds, needs_folds
from fansrec.training.hybrid.linear_search import Parts, affordable_fits, search_linear
from fansrec.training.hybrid.metrics import best_in_threads, metrics_of_answers
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
    held_out, start = join(folds), {name: plan.settings[name] for name in MEMORY_GRID}
    if len(held_out.inputs) < FEWEST:
        return start, []
    memories = [ListMemory.of(plan.config["category_starts"][-1], *fold.lists) for fold in folds]

    def evaluate(values: Values) -> Figures:
        config = from_settings(MemoryConfig, values)
        answers = [
            best_in_threads(partial(memory.votes, config=config), fold.held_out.inputs)
            for memory, fold in zip(memories, folds, strict=True)
        ]
        return metrics_of_answers(np.concatenate(answers), held_out)

    result = coordinate_search(start, not_given(MEMORY_GRID, plan), evaluate, MEMORY_ERRORS)
    return result.values, result.tried


def order_matters(parts: Parts) -> bool:
    """Return whether the order of items helps the memory; True if nothing was searched."""
    without = {name: getattr(MemoryConfig, name) for name in ("before", "recency", "near", "aligned")}
    return not parts.tried or any(parts.settings.get(name) != value for name, value in without.items())
