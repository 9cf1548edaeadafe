"""The validation of the hybrid model while its network is trained, and the search of the mixture weights after it.

Epochs are compared by the figures of the whole mixture: the network that is best alone is not always the one that adds
most to the other parts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor

from fansrec.evaluation.protocol import MAX_CUTOFF, METRICS, EvaluationLists
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.model import HybridFans, LinearPart, log_scores, mix
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.hybrid.coordinate_search import (
    Figures,
    SearchResult,
    Values,
    coordinate_search,
    gains,
    is_significant,
)
from fansrec.training.hybrid.given import disabled, not_given, values_to_try
from fansrec.training.hybrid.held_out import ENOUGH
from fansrec.training.hybrid.metrics import best_items, metrics_of_answers, metrics_of_mixture, slices
from fansrec.training.plan import Plan
from fansrec.training.validation import mean_of_processes

WEIGHT_GRID: dict[str, Sequence[Any]] = {
    "network_weight": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0),
    "linear_weight": (0.0, 0.1, 0.2, 0.5, 1.0, 3.0),
    "memory_weight": (0.0, 0.5, 1.0),
}
NEXT_SHARES = (0.5, 0.0, 1.0)
# A change must improve the metrics by this many standard errors; few validation lists have to be more certain, since
# they chose the best epoch too.
ERRORS, ERRORS_OF_FEW = 0.5, 2.0
# Of these, the best counts when epochs are compared; given values are the only ones.
WATCHED_SHARES, WATCHED_WEIGHTS = (0.5, 0.0), (0.1, 0.3, 1.0)

FittedParts = tuple[ListMemory | None, LinearPart | None]


class MixtureValidation:
    """The validation lists of a process, with the weighted log scores of the parts that are fitted already."""

    def __init__(
        self, plan: Plan, network: HybridFans, parts: FittedParts, lists: EvaluationLists, accelerator: Accelerator
    ) -> None:
        self.network, self.accelerator = network, accelerator
        self.shares = values_to_try("next_share", WATCHED_SHARES, plan)
        self.weights = values_to_try("network_weight", WATCHED_WEIGHTS, plan)
        self.lists = lists.every(accelerator.num_processes, accelerator.process_index)
        logs = closed_form_scores(network, parts, self.lists.inputs)
        self.base = mix(logs, vars(network.config.weights)) if logs else None

    @torch.inference_mode()
    def figures(self) -> dict[str, float]:
        """Return the figures of the best mixture and of the network alone, over the lists of all processes."""
        self.network.eval()
        alone, mixtures = [], []
        for share in self.shares:
            *mixed, own = map(self._means, self._answers(share))
            alone.append(own)
            mixtures += mixed
        best, network = (max(means, key=lambda row: row["NDCG@5"]) for means in (mixtures or alone, alone))
        return {f"valid {name}": best[name] for name in ("HR@5", "NDCG@5")} | {"network NDCG@5": network["NDCG@5"]}

    def _answers(self, share: float) -> NDArray[np.int64]:
        """Return the best items (mixtures, lists, 10) by each mixture and, last, by the network alone."""
        base, inputs = self.base, self.lists.inputs
        answers = np.empty(((base is not None) * len(self.weights) + 1, len(inputs), MAX_CUTOFF), dtype=np.int64)
        for rows in slices(len(inputs)):
            logs = network_scores(self.network, inputs[rows], share)
            if base is not None:
                for found, weight in zip(answers, self.weights, strict=False):
                    found[rows] = best_items(base[rows] + weight * logs, inputs[rows])
            answers[-1, rows] = best_items(logs, inputs[rows])
        return answers

    def _means(self, answers: NDArray[np.int64]) -> dict[str, float]:
        columns = zip(METRICS, metrics_of_answers(answers, self.lists).T, strict=True)
        return {name: mean_of_processes(column, self.accelerator) for name, column in columns}


def closed_form_scores(network: HybridFans, parts: FittedParts, inputs: Inputs) -> dict[str, Tensor]:
    """Return the log scores (lists, M) of memory and linear part, by their names in the mixture."""
    memory, linear = parts
    logs = {}
    if memory is not None:
        logs["memory"] = log_scores(memory.votes(inputs, network.config.memory).to(network.device))
    if linear is not None:
        logs["linear"] = log_scores(linear.scores(inputs, network.config.linear.decay).to(network.device))
    return logs


def network_scores(network: HybridFans, inputs: Inputs, next_share: float) -> Tensor:
    """Return the log scores (lists, M) of the network, computed for a few lists at a time to limit memory."""
    rows = torch.empty(len(inputs), network.config.alphabet.items, device=network.device)
    for some in slices(len(inputs)):
        counts = [MAX_CUTOFF] * len(inputs[some])
        rows[some] = network.network_scores(inputs[some], counts, next_share)
    return rows


@torch.inference_mode()
def search_weights(
    plan: Plan, network: HybridFans, parts: FittedParts, lists: EvaluationLists
) -> tuple[Values, dict[str, Any], list[Values]]:
    """Return the best mixture weights on these validation lists, the figures there, and the weights tried."""
    start = {name: plan.settings[name] for name in (*WEIGHT_GRID, "next_share")}
    if not lists.inputs:
        return start, {}, []
    closed_form = closed_form_scores(network, parts, lists.inputs)
    missing = {f"{name}_weight" for name in {"memory", "linear"} - closed_form.keys()}
    grids = {name: grid for name, grid in not_given(WEIGHT_GRID, plan).items() if name not in missing}
    errors = ERRORS if len(lists.inputs) >= ENOUGH else ERRORS_OF_FEW
    best: SearchResult | None = None
    unused, shares = disabled("network_weight", plan), values_to_try("next_share", NEXT_SHARES, plan)
    for share in shares[:1] if unused else shares:
        logs = closed_form if unused else {"network": network_scores(network, lists.inputs, share)} | closed_form

        def evaluate(values: Values, logs: dict[str, Tensor] = logs) -> Figures:
            weights = {name: values[f"{name}_weight"] for name in logs}
            if not any(weights.values()):  # equal scores for all items are not an answer
                return np.zeros((len(lists.inputs), len(METRICS)))
            return metrics_of_mixture(logs, weights, lists)

        found = coordinate_search(start | {"next_share": share}, grids, evaluate, errors)
        best = found if best is None else _better(best, found, errors)
    assert best is not None
    means = zip(METRICS, best.figures.mean(0).tolist(), strict=True)
    return best.values, {f"valid {name}": mean for name, mean in means}, best.tried


def _better(best: SearchResult, found: SearchResult, errors: float) -> SearchResult:
    """Return the better result, with the candidates of both."""
    chosen = found if is_significant(gains(found.figures, best.figures), errors) else best
    return replace(chosen, tried=best.tried + found.tried)
