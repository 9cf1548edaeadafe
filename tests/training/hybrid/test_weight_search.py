"""The mixture's figures while the network is trained, and the search of its weights, for networks of known scores."""

from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fansrec.evaluation.protocol import METRICS, EvaluationLists, evaluation_lists
from fansrec.models.config import from_settings, with_settings
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import LinearPart, log_scores, mix
from fansrec.models.linear.item_weights import Table
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.hybrid import weight_search
from fansrec.training.hybrid.coordinate_search import FEWEST, Values
from fansrec.training.hybrid.linear_search import CANDIDATES, fit_linear
from fansrec.training.hybrid.metrics import LISTS_AT_ONCE, metrics_per_list
from fansrec.training.hybrid.weight_search import (
    NEXT_SHARES,
    WEIGHT_GRID,
    FittedParts,
    MixtureValidation,
    closed_form_scores,
    network_scores,
    search_weights,
)
from fansrec.training.plan import Plan, make_plan
from fansrec.training.process import make_accelerator
from worlds import walks

WALKS = walks(lists=300)
VALID = evaluation_lists(WALKS, "valid")
SEARCHED = (*WEIGHT_GRID, "next_share")
Scores = Callable[[np.ndarray, float], Tensor]  # of an input and the share of the state after it


class KnownNetwork:
    """A network with known log scores (M,) for every input."""

    device = torch.device("cpu")

    def __init__(self, scores: Scores, config: HybridConfig) -> None:
        self.scores, self.config = scores, config
        self.calls: list[int] = []  # the number of lists of each

    def eval(self) -> "KnownNetwork":
        return self

    def network_scores(self, inputs: Inputs, counts: list[int], next_share: float) -> Tensor:
        assert counts == [10] * len(inputs)
        self.calls.append(len(inputs))
        return torch.stack([self.scores(given, next_share) for given in inputs])


# One list: item 0, continued by item 3. There are twelve items.
ONE = EvaluationLists([np.array([0])], [np.array([3], dtype=np.int32)])
TWELVE = from_settings(HybridConfig, {"category_starts": (0, 12), "positions": 19})


def ranking(*items: int) -> Tensor:
    """Return scores of twelve items, the highest for the first of `items`."""
    scores = torch.zeros(12)
    scores[list(items)] = torch.arange(len(items), 0, -1).float()
    return scores


def linear_part(first: tuple[int, float], second: tuple[int, float]) -> LinearPart:
    """Return a linear part with these weights from item 0 to two others."""
    part = LinearPart(12, 2)
    items, weights = zip(first, second, strict=True)
    part.assign(Table(torch.tensor([items, *[(0, 1)] * 11]).int(), torch.tensor([weights, *[(0.0, 0.0)] * 11])))
    return part


def figures_of_one(
    scores: Scores, parts: FittedParts = (None, None), given: dict[str, float] | None = None, **settings: Any
) -> dict[str, float]:
    network: Any = KnownNetwork(scores, with_settings(TWELVE, settings))
    return MixtureValidation(plan_of(**given or {}), network, parts, ONE, make_accelerator("fp32")).figures()


def test_figures_of_a_network_alone_are_those_of_the_better_readout() -> None:
    found = figures_of_one(lambda _, share: ranking(5, 3) if share == 0 else ranking(5, 6, 3))
    assert found == pytest.approx({"valid HR@5": 1, "valid NDCG@5": 1 / log2(3), "network NDCG@5": 1 / log2(3)})


def test_figures_are_those_of_the_best_mixture() -> None:
    # The linear part prefers item 5 to 3 by log(1001 / 501) = 0.7, the network 3 to 5 by 1 and 6 to 3 by 1: the
    # weights 0.1 and 0.3 leave 5 first, and with 1 item 3 is before 5, and 6 far behind both.
    part = linear_part((5, 1.0), (3, 0.5))
    found = figures_of_one(lambda *_: ranking(6, 3, 5), (None, part), linear_weight=1.0)
    assert found == pytest.approx({"valid HR@5": 1, "valid NDCG@5": 1, "network NDCG@5": 1 / log2(3)})


def test_weights_of_the_closed_form_parts_count() -> None:
    # With ten times the weight, the linear part prefers item 5 by 7: no weight of the network changes that.
    part = linear_part((5, 1.0), (3, 0.5))
    found = figures_of_one(lambda *_: ranking(6, 3, 5), (None, part), linear_weight=10.0)
    assert found["valid NDCG@5"] == pytest.approx(1 / log2(3))


def test_given_network_weight_is_the_only_one_that_counts() -> None:
    # As above, where 1 was the best of all weights: 0.3 leaves item 5 before 3.
    part = linear_part((5, 1.0), (3, 0.5))
    found = figures_of_one(lambda *_: ranking(6, 3, 5), (None, part), {"network_weight": 0.3}, linear_weight=1.0)
    assert found == pytest.approx({"valid HR@5": 1, "valid NDCG@5": 1 / log2(3), "network NDCG@5": 1 / log2(3)})


def test_given_share_of_the_next_item_is_the_only_one_that_counts() -> None:
    by_share = {0.25: ranking(5, 6, 3), 0.5: ranking(3), 0.0: ranking(3)}
    found = figures_of_one(lambda _, share: by_share[share], given={"next_share": 0.25})
    assert found["valid NDCG@5"] == found["network NDCG@5"] == pytest.approx(1 / log2(4))


def test_scores_are_computed_for_a_few_lists_at_a_time() -> None:
    network: Any = KnownNetwork(lambda given, share: ranking(int(given[0]), 11) + share, TWELVE)
    inputs = [np.array([n % 10]) for n in range(LISTS_AT_ONCE + 3)]
    rows = network_scores(network, inputs, 0.5)
    assert network.calls == [LISTS_AT_ONCE, 3]
    torch.testing.assert_close(rows, torch.stack([ranking(n % 10, 11) + 0.5 for n in range(len(inputs))]))


def plan_of(**given: Any) -> Plan:
    return make_plan("fans", {"recipe": "best"} | given, WALKS)


TRAIN = WALKS.flat("train")
PARTS: FittedParts = ListMemory.of(60, *TRAIN), fit_linear(CANDIDATES[1], TRAIN, plan_of())


def noise(given: np.ndarray, _: float) -> Tensor:
    """Return strong scores that do not depend on the order of the list."""
    return 500 * torch.rand(60, generator=torch.Generator().manual_seed(int(given.sum())))


def walk(given: np.ndarray, _: float) -> Tensor:
    """Return scores that continue the walk exactly."""
    last, scores = int(given[-1]), torch.zeros(60)
    for step in range(1, 9):
        scores[last - last % 15 + (last + step) % 15] = 9 - step
    return scores


def searched(
    scores: Scores, lists: EvaluationLists = VALID, parts: FittedParts = PARTS, **given: Any
) -> tuple[Values, dict[str, Any], list[Values]]:
    plan = plan_of(**given)
    network: Any = KnownNetwork(scores, plan.build().config)
    return search_weights(plan, network, parts, lists)


def test_network_of_noise_gets_weight_0() -> None:
    weights, _, tried = searched(noise)
    assert weights["network_weight"] == 0 and weights["memory_weight"] + weights["linear_weight"] > 0
    assert tried[0] == {name: plan_of().settings[name] for name in SEARCHED} | {"gain": 0.0}


def test_exact_network_gets_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_search, "ENOUGH", 1)  # half a standard error decides
    assert searched(walk)[0]["network_weight"] > plan_of().settings["network_weight"]


@pytest.mark.parametrize("best", NEXT_SHARES)
def test_best_share_of_the_next_item_is_chosen(best: float) -> None:
    weights, _, tried = searched(lambda given, share: (walk if share == best else noise)(given, share))
    assert weights["next_share"] == best and weights["network_weight"] > 0
    assert {row["next_share"] for row in tried} == {*NEXT_SHARES}


def test_first_share_stays_if_all_are_equal() -> None:
    assert searched(walk)[0]["next_share"] == NEXT_SHARES[0]


def test_figures_are_those_of_the_returned_weights() -> None:
    weights, figures, _ = searched(walk)
    network: Any = KnownNetwork(walk, plan_of().build().config)
    logs = {"network": network_scores(network, VALID.inputs, 0.5)} | closed_form_scores(network, PARTS, VALID.inputs)
    expected = metrics_per_list(mix(logs, {name: weights[f"{name}_weight"] for name in logs}), VALID)
    assert figures == pytest.approx({f"valid {n}": v for n, v in zip(METRICS, expected.mean(0), strict=True)})


def test_closed_form_scores_are_logs_of_votes_and_linear_scores() -> None:
    network: Any = KnownNetwork(noise, with_settings(plan_of().build().config, {"before": 0.5, "linear_decay": 3.0}))
    memory, linear = PARTS
    assert memory is not None and linear is not None
    logs = closed_form_scores(network, PARTS, VALID.inputs)
    torch.testing.assert_close(logs["memory"], log_scores(memory.votes(VALID.inputs, network.config.memory)))
    torch.testing.assert_close(logs["linear"], log_scores(linear.scores(VALID.inputs, 3.0)))
    assert [*closed_form_scores(network, (None, linear), VALID.inputs)] == ["linear"]


def test_too_few_lists_change_nothing() -> None:
    few = EvaluationLists(VALID.inputs[: FEWEST - 1], VALID.targets[: FEWEST - 1])
    weights, figures, tried = searched(walk, few)
    assert weights == {name: plan_of().settings[name] for name in SEARCHED}
    assert any(row["gain"] > 0 for row in tried)  # although another candidate was better on them
    assert figures.keys() == {f"valid {name}" for name in METRICS}


def test_nothing_is_searched_without_lists() -> None:
    weights, figures, tried = searched(walk, EvaluationLists([], []))
    assert (weights, figures, tried) == ({name: plan_of().settings[name] for name in SEARCHED}, {}, [])


@pytest.mark.parametrize("given", [
    {"network_weight": 0.0},
    {"network_weight": 0.7, "next_share": 0.25},
    {"memory_weight": 0.7, "linear_weight": 0.25},
], ids=["no network", "network and share", "memory and linear"])  # fmt: skip
def test_given_settings_stay(given: dict[str, float]) -> None:
    weights, _, tried = searched(walk, **given)
    for name, value in given.items():
        assert weights[name] == value and {row[name] for row in tried} == {value}


def test_network_without_a_weight_is_not_evaluated() -> None:
    plan = plan_of(network_weight=0.0, next_share=0.25)
    network: Any = KnownNetwork(walk, plan.build().config)
    weights, _, tried = search_weights(plan, network, PARTS, VALID)
    assert network.calls == [] and {row["next_share"] for row in tried} == {weights["next_share"]} == {0.25}
    assert {row["linear_weight"] for row in tried} == {*WEIGHT_GRID["linear_weight"]} | {weights["linear_weight"]}


def test_parts_that_do_not_exist_keep_their_weights() -> None:
    weights, _, tried = searched(walk, parts=(None, None), linear_weight=0.0)
    assert {row["memory_weight"] for row in tried} == {plan_of().settings["memory_weight"]}
    assert {row["linear_weight"] for row in tried} == {weights["linear_weight"]} == {0.0}


def test_weights_are_never_all_0() -> None:
    # The network is so bad that equal scores would be better, whatever order of the items they give.
    answered = torch.zeros(60).topk(1).indices
    lists = EvaluationLists([np.array([59])] * 20, [answered.numpy().astype(np.int32)] * 20)
    wrong = torch.ones(60).index_fill(0, answered, 0.0)
    weights, _, _ = searched(lambda *_: wrong, lists, parts=(None, None), memory_weight=0.0, linear_weight=0.0)
    assert weights["network_weight"] > 0
