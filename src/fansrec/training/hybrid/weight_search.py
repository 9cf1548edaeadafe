"""The validation of the hybrid model while its network is trained, and the search of the mixture weights after it.

Epochs are compared by the figures of the whole mixture: the network that is best alone is not always the one that adds
most to the other parts.
"""

from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor

from fansrec.evaluation.protocol import MAX_CUTOFF, METRICS, EvaluationLists
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.list_memory import ListMemory
from fansrec.models.hybrid.model import HybridFans, LinearPart, log_scores, mix
from fansrec.training.hybrid.coordinate_search import Figures, Values, coordinate_search
from fansrec.training.hybrid.evidence import metrics_per_list
from fansrec.training.hybrid.part_search import not_given
from fansrec.training.plan import Plan
from fansrec.training.validation import mean_of_processes

WEIGHT_GRID: dict[str, Sequence[Any]] = {
    "network_weight": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 2.0, 4.0),
    "linear_weight": (0.0, 0.1, 0.2, 0.5, 1.0, 3.0),
    "memory_weight": (0.0, 0.5, 1.0),
}
STANDARD_ERRORS = 0.5  # by which a change must improve the metrics
WATCHED_WEIGHTS = (0.1, 0.3, 1.0)  # of the network; the best of them counts when epochs are compared
LISTS_AT_ONCE = 64

FittedParts = tuple[ListMemory | None, LinearPart | None]


class MixtureValidation:
    """The validation lists of a process, with the weighted log scores of the parts that are fitted already."""

    def __init__(
        self, network: HybridFans, parts: FittedParts, lists: EvaluationLists, accelerator: Accelerator
    ) -> None:
        self.network, self.accelerator = network, accelerator
        self.lists = lists.every(accelerator.num_processes, accelerator.process_index)
        logs = closed_form_scores(network, parts, self.lists.inputs)
        self.base = mix(logs, vars(network.config.weights)) if logs else None

    @torch.inference_mode()
    def figures(self) -> dict[str, float]:
        """Return the figures of the mixture and of the network alone, over the lists of all processes."""
        self.network.eval()
        logs = network_scores(self.network, self.lists.inputs)
        alone = self._means(logs)
        mixtures = (
            [alone] if self.base is None else [self._means(self.base + weight * logs) for weight in WATCHED_WEIGHTS]
        )
        best = max(mixtures, key=lambda means: means["NDCG@5"])
        valid = {f"valid {name}": best[name] for name in ("HR@5", "NDCG@5")}
        return valid | {"network NDCG@5": alone["NDCG@5"]}

    def _means(self, scores: Tensor) -> dict[str, float]:
        figures = metrics_per_list(scores, self.lists)
        return {
            name: mean_of_processes(column, self.accelerator) for name, column in zip(METRICS, figures.T, strict=True)
        }


def closed_form_scores(network: HybridFans, parts: FittedParts, inputs: Inputs) -> dict[str, Tensor]:
    """Return the log scores (lists, M) of memory and linear part, by their names in the mixture."""
    memory, linear = parts
    logs = {}
    if memory is not None:
        logs["memory"] = log_scores(memory.votes(inputs, network.config.memory).to(network.device))
    if linear is not None:
        logs["linear"] = log_scores(linear.scores(inputs, network.config.linear.decay).to(network.device))
    return logs


def network_scores(network: HybridFans, inputs: Inputs) -> Tensor:
    """Return the log scores (lists, M) of the network, computed for a few lists at a time to limit memory."""
    rows = [network.network_scores([], [])] if not inputs else []
    for first in range(0, len(inputs), LISTS_AT_ONCE):
        some = inputs[first : first + LISTS_AT_ONCE]
        rows.append(network.network_scores(some, [MAX_CUTOFF] * len(some)))
    return torch.cat(rows)


@torch.inference_mode()
def search_weights(
    plan: Plan, network: HybridFans, parts: FittedParts, lists: EvaluationLists
) -> tuple[Values, dict[str, Any], list[Values]]:
    """Return the best mixture weights on these validation lists, the figures there, and the weights tried."""
    start = {name: plan.settings[name] for name in WEIGHT_GRID}
    if not lists.inputs:
        return start, {}, []
    logs = {"network": network_scores(network, lists.inputs)} | closed_form_scores(network, parts, lists.inputs)

    def evaluate(values: Values) -> Figures:
        return metrics_per_list(mix(logs, {name: values[f"{name}_weight"] for name in logs}), lists)

    grids = {name: grid for name, grid in WEIGHT_GRID.items() if name.removesuffix("_weight") in logs}
    result = coordinate_search(start, not_given(grids, plan), evaluate, STANDARD_ERRORS)
    means = zip(METRICS, result.figures.mean(0).tolist(), strict=True)
    return result.values, {f"valid {name}": mean for name, mean in means}, result.tried
