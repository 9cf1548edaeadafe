"""What `fans --recipe best` does when its network is trained: keep the lists, and find out how much each part says.

How lists are compared is settled on training lists, each judged without itself; how much the network, the memory and
the linear model weigh is settled on the validation lists, which none of them was trained on (the network's best epoch
is chosen there too). Settings that were given are left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.data.corpus import Corpus
from fansrec.data.targets import target_lengths
from fansrec.engine.decoding.limits import NONE
from fansrec.evaluation.protocol import MAX_CUTOFF, METRICS, EvaluationLists, evaluation_lists, list_metrics, protocol
from fansrec.models.hybrid.linear_part import LinearPart
from fansrec.models.hybrid.list_memory import Kernel, ListMemory
from fansrec.models.hybrid.model import FLOOR
from fansrec.models.linear.item_weights import PrunedWeights, Table
from fansrec.models.linear.slist import Slist, SlistConfig
from fansrec.training.hybrid.coordinate_search import Figures, Values, climb
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter

HOW = protocol("standard")
KERNELS: dict[str, Sequence[Any]] = {
    "sharpness": (1.0, 1.5, 3.0, 4.0, 6.0),
    "before": (0.7, 0.4, 0.2),
    "recency": (0.3, 0.6, 0.9),
    "near": (0.5, 1.0),
    "neighbours": (100, 1500),
    "aligned": (1.0,),
}
WEIGHTS: dict[str, Sequence[Any]] = {
    "network_weight": (0.0, 0.05, 0.2, 0.3, 0.5, 1.0, 3.0),
    "linear_weight": (0.0, 0.1, 0.5, 1.0, 3.0),
    "memory_weight": (0.0,),
}
SURE = 1.0  # standard errors
LISTS = 2000  # at most are tried
CELLS = 1 << 26  # lists times items: 256 MB of fp32
LINEAR: dict[str, Any] = {"alpha": 0.2, "regularization": 30.0}
LINEAR_NEIGHBOURS = 1000

Lists = tuple[NDArray[np.int32], NDArray[np.int64]]


@dataclass(frozen=True)
class Blended:
    plan: Plan
    network: Any
    figures: dict[str, Any]  # on the validation lists
    tried: list[Values]


def blend(plan: Plan, network: Any, corpus: Corpus, lists: Lists, reporter: Reporter) -> Blended:
    network.eval()
    memory = ListMemory(len(corpus.vocabulary), 0, 0)
    memory.learn(*lists)
    linear = fitted_linear(plan, lists)
    most = min(LISTS, max(1, CELLS // len(corpus.vocabulary)))
    found: Values = {}
    tried: list[Values] = []
    if not _unwanted("memory_weight", plan):
        reporter.message(f"comparing {len(memory):,} lists with each other")
        found, tried = compared(plan, memory, lists, most)
    weights, figures, more = weighed(plan, network, memory, linear, kernel_of(plan, found), corpus, most)
    reporter.message(told(found | weights))
    return _assembled(plan, network, memory, linear, found | weights, figures, tried + more)


def compared(plan: Plan, memory: ListMemory, lists: Lists, most: int) -> tuple[Values, list[Values]]:
    """How to compare lists: what is best where each training list is judged by all others."""
    items, offsets = lists
    chosen = np.flatnonzero(np.diff(offsets) >= 2)
    chosen = chosen[np.linspace(0, len(chosen) - 1, min(most, len(chosen))).astype(int)] if len(chosen) else chosen
    asked = halved(items, offsets, chosen)

    def judged(values: Values) -> Figures:
        return figures_of(memory.strengths(asked.inputs, Kernel(**values), without=chosen), asked)

    start = {name: plan.config[name] for name in KERNELS}
    if not len(chosen):
        return start, []
    climbed = climb(start, _not_given(KERNELS, plan), judged, SURE)
    return climbed.values, climbed.tried


def weighed(
    plan: Plan,
    network: Any,
    memory: ListMemory,
    linear: LinearPart | None,
    kernel: Kernel,
    corpus: Corpus,
    most: int,
) -> tuple[Values, dict[str, Any], list[Values]]:
    """How much each part says: what is best on the validation lists."""
    asked = evaluation_lists(corpus, "valid", most)
    weights = {name: plan.config[name] for name in WEIGHTS}
    if not asked.inputs:
        return weights, {}, []
    parts = parts_of(plan, network, memory, linear, kernel, asked)

    def judged(values: Values) -> Figures:
        total = sum(values[name] * part for name, part in parts.items())
        assert isinstance(total, Tensor)
        return figures_of(total, asked)

    climbed = climb(weights, _not_given({name: WEIGHTS[name] for name in parts}, plan), judged, SURE)
    means = zip(METRICS, climbed.figures.mean(0).tolist(), strict=True)
    return climbed.values, {f"valid {name}": mean for name, mean in means}, climbed.tried


@torch.inference_mode()
def parts_of(
    plan: Plan, network: Any, memory: ListMemory, linear: LinearPart | None, kernel: Kernel, asked: EvaluationLists
) -> dict[str, Tensor]:
    """(lists, M) each: what the parts of the model say, as they are added up there."""
    probable = torch.cat([network.probabilities([given], [MAX_CUTOFF]).cpu() for given in asked.inputs])
    parts = {"network_weight": torch.log1p(probable * probable.shape[1])}
    if not _unwanted("memory_weight", plan):
        parts["memory_weight"] = torch.log1p(memory.strengths(asked.inputs, kernel) / FLOOR)
    if linear is not None:
        parts["linear_weight"] = torch.log1p(linear.strengths(asked.inputs, plan.config["linear_decay"]) / FLOOR)
    return parts


def figures_of(scores: Tensor, asked: EvaluationLists) -> Figures:
    """(lists, 4): the figures of every list when these scores are followed; the input's items are left out."""
    scores = scores.clone()
    for row, given in zip(scores, asked.inputs, strict=True):
        row[torch.from_numpy(given)] = -torch.inf
    best = scores.topk(min(MAX_CUTOFF, scores.shape[1]), dim=1)
    answers = best.indices.masked_fill(best.values == -torch.inf, NONE).numpy()
    judged = list_metrics(answers, asked, HOW)
    return np.stack([judged[name] for name in METRICS], 1)


def halved(items: NDArray[np.int32], offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> EvaluationLists:
    """Training lists cut where validation lists are."""
    lengths = (offsets[chosen + 1] - offsets[chosen]).astype(np.int64)
    cuts = offsets[chosen + 1] - target_lengths(lengths)
    ends = zip(offsets[chosen].tolist(), cuts.tolist(), offsets[chosen + 1].tolist(), strict=True)
    halves = [(items[first:cut].astype(np.int64), items[cut:last]) for first, cut, last in ends]
    return EvaluationLists([given for given, _ in halves], [target for _, target in halves])


def fitted_linear(plan: Plan, lists: Lists) -> LinearPart | None:
    """SLIST's strongest weights; none where the items are too many for it, or it is not wanted."""
    starts = tuple(plan.config["category_starts"])
    if _unwanted("linear_weight", plan) or not 1 < starts[-1] <= SlistConfig.dense_items:
        return None
    slist = Slist(SlistConfig(starts, **LINEAR, neighbours=min(LINEAR_NEIGHBOURS, starts[-1] - 1)))
    slist.fit(*lists)
    assert isinstance(slist.weights, PrunedWeights)
    part = LinearPart(starts[-1], slist.weights.width)
    part.learn(Table(slist.weights.items, slist.weights.weights))
    return part


def _unwanted(weight: str, plan: Plan) -> bool:
    return weight in plan.given and not plan.config[weight]


def kernel_of(plan: Plan, found: Values) -> Kernel:
    return Kernel(**({name: plan.config[name] for name in KERNELS} | found))


def _assembled(
    plan: Plan,
    network: Any,
    memory: ListMemory,
    linear: LinearPart | None,
    found: Values,
    figures: dict[str, Any],
    tried: list[Values],
) -> Blended:
    """The network with the parts that have a say, and the plan that describes it."""
    sizes: Values = {"linear_weight": 0.0} if linear is None else {}
    state = network.state_dict()
    if found["memory_weight"]:
        sizes |= {"memory_lists": len(memory), "memory_items": len(memory.items)}
        state |= {f"memory.{name}": tensor for name, tensor in memory.state_dict().items()}
    if linear is not None and found["linear_weight"]:
        sizes |= {"linear_neighbours": linear.width}
        state |= {f"linear.{name}": tensor for name, tensor in linear.state_dict().items()}
    plan = replace(plan, config=plan.config | found | sizes)
    whole = plan.build()
    whole.load_state_dict(state)
    return Blended(plan, whole.eval(), figures, tried)


def _not_given(grids: Mapping[str, Sequence[Any]], plan: Plan) -> dict[str, Sequence[Any]]:
    return {name: grid for name, grid in grids.items() if name not in plan.given}


def told(values: Values) -> str:
    return "found: " + ", ".join(f"{name} {value:g}" for name, value in values.items())
