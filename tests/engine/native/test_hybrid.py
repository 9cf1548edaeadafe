"""The hybrid model in the native kernel, compared with float64."""

import copy
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.native.test_backend import NARROWER
from engine.parity import faults
from fansrec.engine.native.backend import NativeEngine, why_not
from fansrec.engine.native.hybrid import HybridWeights
from fansrec.engine.native.structures import Hybrid
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.linear.item_weights import Table
from fansrec.models.stored import stored_model

pytestmark = pytest.mark.usefixtures("native_kernel")

STARTS = (0, 90, 91, 160, 240, 300)  # one category has a single item
ITEMS = STARTS[-1]
GROUPS = np.arange(ITEMS) % 40
SIZES: dict[str, Any] = {"category_starts": STARTS, "positions": 60, "width": 16, "heads": 2, "feedforward": 24}
LISTS = 350
NEIGHBORS, LINEAR_NEIGHBORS = "neighbours", "linear_neighbours"  # words: keep (names of settings)
ALL: dict[str, Any] = {"memory_lists": LISTS, LINEAR_NEIGHBORS: 30, NEIGHBORS: 60, "before": 0.4, "near": 0.5}
TRAINED: dict[str, Any] = ALL | {"causal": True, "transform": False, "next_share": 0.5, "read_masks": 3, "newer": 0.7}
KINDS: dict[str, dict[str, Any]] = {
    "network": {},
    "vanilla": {"classifier": "vanilla"},
    "vanilla, all": ALL | {"classifier": "vanilla"},
    "no categories": {"use_categories": False},
    "one category requested": {"asked_categories": 1},
    "more categories requested than there are": {"asked_categories": 9},
    "wider": {"width": 64, "heads": 4, "feedforward": 256},
    "an odd width": {"width": 21, "heads": 3, "feedforward": 19, "layers": 1},
    "memory": {"memory_lists": LISTS, NEIGHBORS: 60},
    "linear": {LINEAR_NEIGHBORS: 30},
    "all": ALL,
    "recency": ALL | {"recency": 0.9},
    "before": ALL | {"before": 0.0},
    "near": ALL | {"near": 3.0},
    "aligned": ALL | {"aligned": 2.0},
    "sharpness": ALL | {"sharpness": 5.5},
    "few neighbors": ALL | {NEIGHBORS: 3},
    "one neighbor": ALL | {NEIGHBORS: 1},
    "more neighbors than lists": ALL | {NEIGHBORS: 1000},
    "the network silent": ALL | {"network_weight": 0.0},
    "the network silent, vanilla": ALL | {"network_weight": 0.0, "classifier": "vanilla"},
    "the memory silent": ALL | {"memory_weight": 0.0},
    "no part with a weight": {"network_weight": 0.0},
    "causal": {"causal": True},
    "causal, more tokens than a tile": {"causal": True, "layers": 3, "width": 64, "heads": 4, "feedforward": 256},
    "no transform": {"transform": False},
    "no transform, vanilla": {"transform": False, "classifier": "vanilla"},
    "next item": {"next_share": 0.3},
    "next item, vanilla": {"next_share": 0.3, "classifier": "vanilla"},
    "next item only": {"next_share": 1.0},
    "causal, next item only": {"causal": True, "next_share": 1.0, "layers": 3},
    "newer": ALL | {"newer": 2.5},
    "as trained": TRAINED,
    "as trained, vanilla": TRAINED | {"classifier": "vanilla"},
    "as trained, one layer": TRAINED | {"layers": 1, "width": 21, "heads": 3, "feedforward": 19},
}
RULES = {
    "seen kept": Rules(keep_seen=True),
    "groups": Rules(groups=GROUPS, max_per_group=1),
    "more of a group": Rules(groups=GROUPS, max_per_group=2),
    "few allowed": Rules(allow=range(85, 110), exclude=[91, 92]),
    "as many allowed as are scored one by one": Rules(allow=range(ITEMS), min_score=0.5),
    "excluded": Rules(exclude=range(0, ITEMS, 2)),
    "a floor": Rules(min_score=2.0),
    "all at once": Rules(
        allow=range(20, 250), exclude=[30, 31], groups=GROUPS, max_per_group=2, min_score=1.0, keep_seen=True
    ),
}


def hybrid_model(**changes: Any) -> HybridFans:
    """Return a model with large random weights, a list memory and a linear part of generated lists."""
    torch.manual_seed(0)
    random = np.random.default_rng(5)
    lists = [popular(random, int(length)) for length in random.integers(5, 40, size=LISTS)]
    items, offsets = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
    distinct = sum(len({*generated.tolist()}) for generated in lists)
    stored = {"memory_items": distinct if "memory_lists" in changes else 0}
    model = HybridFans(from_settings(HybridConfig, SIZES | changes | stored)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.4)
    model.start(items, offsets)
    if model.memory is not None:
        model.memory.fit(items, offsets)
    if model.linear is not None:
        targets = np.stack([random.choice(ITEMS, model.linear.width, replace=False) for _ in range(ITEMS)])
        weights = random.normal(size=targets.shape).astype(np.float32)
        model.linear.assign(Table(torch.from_numpy(targets.astype(np.int32)), torch.from_numpy(weights)))
    return model


def popular(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return random items: some are much more frequent than others, and some are repeated."""
    return (ITEMS * random.random(count) ** 2).astype(np.int64)


def requests(count: int, seed: int = 1) -> tuple[list[NDArray[np.int64]], list[int]]:
    random = np.random.default_rng(seed)
    inputs = [popular(random, int(length)) for length in random.integers(0, 25, size=count)]
    inputs[0], inputs[1] = inputs[0][:0], np.array([3, 4, 3, 3])
    return inputs, random.choice([1, 2, 5, 10, 11, 30, 100], size=count).tolist()


def faults_of(model: HybridFans, rules: Rules, count: int, mode: str = "one-pass") -> list[str]:
    inputs, counts = requests(count)
    answers = NativeEngine(model, ITEMS, mode, threads=2).continue_lists(inputs, counts, rules)
    return faults(copy.deepcopy(model).double(), mode, inputs, counts, rules, answers)


def same(ones: list[Any], others: list[Any]) -> bool:
    pairs = zip(ones, others, strict=True)
    return all(np.array_equal(a.items, b.items) and np.array_equal(a.scores, b.scores) for a, b in pairs)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_configuration_matches_float64(kind: dict[str, Any]) -> None:
    assert faults_of(hybrid_model(**kind), Rules(), 60) == []


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("kind", ["network", "vanilla, all", "all", "the network silent", "as trained"])
def test_rules_are_applied_and_the_best_allowed_items_returned(kind: str, rules: Rules) -> None:
    assert faults_of(hybrid_model(**KINDS[kind]), rules, 30) == []


@pytest.mark.parametrize("kind", ["vanilla, all", "as trained", "the network silent"])
def test_scores_of_few_allowed_items_are_those_of_all(kind: str) -> None:
    inputs, counts = requests(20)
    engine = NativeEngine(hybrid_model(**KINDS[kind]), ITEMS)
    for given, count, answer in zip(inputs, counts, engine.continue_lists(inputs, counts, Rules()), strict=True):
        (again,) = engine.continue_lists([given], count, Rules(allow=answer.items[::-1].tolist()))
        scores = dict(zip(again.items.tolist(), again.scores.tolist(), strict=True))
        assert [scores[item] for item in answer.items.tolist()] == pytest.approx(answer.scores, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ["all", "as trained", "next item only"])
def test_recall_matches_float64(kind: str) -> None:
    assert faults_of(hybrid_model(**KINDS[kind]), Rules(), 60, "recall") == []


@pytest.mark.parametrize("kind", ["all", "as trained", "the network silent"])
def test_answer_does_not_depend_on_batch_threads_or_repetition(kind: str) -> None:
    model, (inputs, counts) = hybrid_model(**KINDS[kind]), requests(60)
    engine = NativeEngine(model, ITEMS, threads=2)
    together = engine.continue_lists(inputs, counts, Rules())
    assert same(together, engine.continue_lists(inputs, counts, Rules()))
    assert same(together, NativeEngine(model, ITEMS, threads=1).continue_lists(inputs, counts, Rules()))
    alone = [engine.continue_lists([given], count, Rules())[0] for given, count in zip(inputs, counts, strict=True)]
    assert same(together, alone)


def test_concurrent_callers_get_the_same_answers() -> None:
    model, (inputs, counts) = hybrid_model(**ALL), requests(40)
    engine = NativeEngine(model, ITEMS, threads=2)
    expected = engine.continue_lists(inputs, counts, Rules())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: engine.continue_lists(inputs, counts, Rules()), range(12)))
    assert all(same(expected, answer) for answer in answers)


def test_network_without_a_weight_is_not_run() -> None:
    model, (inputs, counts) = hybrid_model(**KINDS["the network silent"]), requests(20)
    expected = NativeEngine(model, ITEMS).continue_lists(inputs, counts, Rules())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(torch.nan)
    assert same(NativeEngine(model, ITEMS).continue_lists(inputs, counts, Rules()), expected)


def test_memory_and_linear_part_without_a_weight_are_not_read() -> None:
    weights = HybridWeights(stored_model(hybrid_model(**ALL, memory_weight=0.0, linear_weight=0.0)))
    parts = Hybrid.from_address(weights.model.hybrid).parts
    assert parts.memory is None and parts.linear is None


def test_masks_do_not_change_the_next_item_of_a_causal_network() -> None:
    engine = NativeEngine(hybrid_model(causal=True, next_share=1.0), ITEMS)
    one, many = (engine.continue_lists([np.array([5, 6, 7])], count, Rules())[0] for count in (1, 90))
    assert one.items[0] == many.items[0] and one.scores[0] == many.scores[0]


def test_arranged_fill_is_left_to_torch() -> None:
    model, (inputs, counts) = hybrid_model(**ALL), requests(8)
    rules = Rules(fill="arranged")
    expected = TorchEngine(model, ITEMS).continue_lists(inputs, counts, rules)
    assert same(NativeEngine(model, ITEMS).continue_lists(inputs, counts, rules), expected)


def test_all_items_can_be_requested() -> None:
    (answer,) = NativeEngine(hybrid_model(**ALL), ITEMS).continue_lists(
        [np.array([5, 6])], ITEMS, Rules(keep_seen=True)
    )
    assert sorted(answer.items.tolist()) == list(range(ITEMS))
    assert (np.diff(answer.scores) <= 0).all()


def test_lowest_index_of_items_with_equal_scores_comes_first() -> None:
    model = hybrid_model(network_weight=0.0, **{"memory_lists": LISTS, NEIGHBORS: 60})
    (answer,) = NativeEngine(model, ITEMS).continue_lists([np.array([], dtype=np.int64)], 12, Rules(exclude=[4]))
    assert answer.items.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]  # nothing is known, so all score 0


def test_model_in_half_precision_is_left_to_torch() -> None:
    assert why_not(hybrid_model(), "one-pass") is None
    assert "float32" in str(why_not(hybrid_model().half(), "one-pass"))


@pytest.mark.long
@pytest.mark.parametrize("instructions", NARROWER)
def test_narrower_instruction_sets_match_float64(instructions: str) -> None:
    program = (
        "from engine.native import test_hybrid as t\n"
        "for kind in (t.ALL, t.TRAINED):\n"
        "    assert t.faults_of(t.hybrid_model(**kind), t.RULES['groups'], 40) == []"
    )
    tests = str(Path(__file__).parents[2])
    environment = os.environ | {"FANS_NATIVE": instructions, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
