"""FANS by `--recipe best` in the native kernel, held against float64."""

import copy
import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.parity import faults
from fansrec.engine.native.backend import NativeEngine, why_not
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.linear.item_weights import Table

pytestmark = pytest.mark.usefixtures("native_kernel")

X86_MACHINE = platform.machine() in ("x86_64", "AMD64")
STARTS = (0, 90, 91, 160, 240, 300)  # one category has a single item
ITEMS = STARTS[-1]
GROUPS = np.arange(ITEMS) % 40
SIZES: dict[str, Any] = {"category_starts": STARTS, "positions": 60, "width": 16, "heads": 2, "feedforward": 24}
LISTS = 350
ALL: dict[str, Any] = {"memory_lists": LISTS, "linear_neighbours": 30, "neighbours": 60, "before": 0.4, "near": 0.5}
KINDS: dict[str, dict[str, Any]] = {
    "network": {},
    "vanilla": {"classifier": "vanilla"},
    "vanilla, all": ALL | {"classifier": "vanilla"},
    "no categories": {"use_categories": False},
    "one category asked": {"asked_categories": 1},
    "more categories asked than there are": {"asked_categories": 9},
    "wider": {"width": 64, "heads": 4, "feedforward": 256},
    "an odd width": {"width": 21, "heads": 3, "feedforward": 19, "layers": 1},
    "memory": {"memory_lists": LISTS, "neighbours": 60},
    "linear": {"linear_neighbours": 30},
    "all": ALL,
    "recency": ALL | {"recency": 0.9},
    "before": ALL | {"before": 0.0},
    "near": ALL | {"near": 3.0},
    "aligned": ALL | {"aligned": 2.0},
    "sharpness": ALL | {"sharpness": 5.5},
    "few neighbours": ALL | {"neighbours": 3},
    "one neighbour": ALL | {"neighbours": 1},
    "more neighbours than lists": ALL | {"neighbours": 1000},
    "the network silent": ALL | {"network_weight": 0.0},
    "the memory silent": ALL | {"memory_weight": 0.0},
}
RULES = {
    "seen kept": Rules(keep_seen=True),
    "groups": Rules(groups=GROUPS, max_per_group=1),
    "more of a group": Rules(groups=GROUPS, max_per_group=2),
    "few allowed": Rules(allow=range(85, 110), exclude=[91, 92]),
    "excluded": Rules(exclude=range(0, ITEMS, 2)),
    "a floor": Rules(min_score=2.0),
    "all at once": Rules(
        allow=range(20, 250), exclude=[30, 31], groups=GROUPS, max_per_group=2, min_score=1.0, keep_seen=True
    ),
}


def made(**changes: Any) -> HybridFans:
    """Weights far from zero, so that what is asked matters; a memory and a linear part of made-up lists."""
    torch.manual_seed(0)
    random = np.random.default_rng(5)
    lists = [popular(random, int(length)) for length in random.integers(5, 40, size=LISTS)]
    items, offsets = np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)])
    distinct = sum(len({*made.tolist()}) for made in lists)
    held = {"memory_items": distinct if "memory_lists" in changes else 0}
    model = HybridFans(from_settings(HybridConfig, SIZES | changes | held)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.4)
    model.start(items, offsets)
    if model.memory is not None:
        model.memory.fit(items, offsets)
    if model.linear is not None:
        towards = np.stack([random.choice(ITEMS, model.linear.width, replace=False) for _ in range(ITEMS)])
        strong = random.normal(size=towards.shape).astype(np.float32)
        model.linear.assign(Table(torch.from_numpy(towards.astype(np.int32)), torch.from_numpy(strong)))
    return model


def popular(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Items of which some come much more often than others, and some come again."""
    return (ITEMS * random.random(count) ** 2).astype(np.int64)


def questions(count: int, seed: int = 1) -> tuple[list[NDArray[np.int64]], list[int]]:
    random = np.random.default_rng(seed)
    inputs = [popular(random, int(length)) for length in random.integers(0, 25, size=count)]
    inputs[0], inputs[1] = inputs[0][:0], np.array([3, 4, 3, 3])
    return inputs, random.choice([1, 2, 5, 10, 11, 30, 100], size=count).tolist()


def judged(model: HybridFans, rules: Rules, count: int, way: str = "one-pass") -> list[str]:
    inputs, wanted = questions(count)
    answers = NativeEngine(model, ITEMS, way, threads=2).continue_lists(inputs, wanted, rules)
    return faults(copy.deepcopy(model).double(), way, inputs, wanted, rules, answers)


def same(ones: list[Any], others: list[Any]) -> bool:
    pairs = zip(ones, others, strict=True)
    return all(np.array_equal(a.items, b.items) and np.array_equal(a.scores, b.scores) for a, b in pairs)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_kernel_gives_what_float64_gives(kind: dict[str, Any]) -> None:
    assert judged(made(**kind), Rules(), 60) == []


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("kind", ["network", "vanilla, all", "all"])
def test_rules_are_kept_and_nothing_better_is_left_out(kind: str, rules: Rules) -> None:
    assert judged(made(**KINDS[kind]), rules, 30) == []


def test_one_prediction_can_be_asked_for_its_best() -> None:
    assert judged(made(**ALL), Rules(), 60, "recall") == []


def test_an_answer_is_the_same_alone_in_a_batch_with_any_threads_and_when_asked_again() -> None:
    model, (inputs, wanted) = made(**ALL), questions(60)
    engine = NativeEngine(model, ITEMS, threads=2)
    together = engine.continue_lists(inputs, wanted, Rules())
    assert same(together, engine.continue_lists(inputs, wanted, Rules()))
    assert same(together, NativeEngine(model, ITEMS, threads=1).continue_lists(inputs, wanted, Rules()))
    alone = [engine.continue_lists([given], count, Rules())[0] for given, count in zip(inputs, wanted, strict=True)]
    assert same(together, alone)


def test_several_callers_at_once_get_what_each_would_get_alone() -> None:
    model, (inputs, wanted) = made(**ALL), questions(40)
    engine = NativeEngine(model, ITEMS, threads=2)
    right = engine.continue_lists(inputs, wanted, Rules())
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: engine.continue_lists(inputs, wanted, Rules()), range(12)))
    assert all(same(right, answer) for answer in answers)


def test_an_arranged_answer_is_left_to_the_reference() -> None:
    model, (inputs, wanted) = made(**ALL), questions(8)
    rules = Rules(fill="arranged")
    right = TorchEngine(model, ITEMS).continue_lists(inputs, wanted, rules)
    assert same(NativeEngine(model, ITEMS).continue_lists(inputs, wanted, rules), right)


def test_every_item_can_be_asked_for() -> None:
    (answer,) = NativeEngine(made(**ALL), ITEMS).continue_lists([np.array([5, 6])], ITEMS, Rules(keep_seen=True))
    assert sorted(answer.items.tolist()) == list(range(ITEMS))
    assert (np.diff(answer.scores) <= 0).all()


def test_of_items_with_the_same_score_the_lowest_number_comes_first() -> None:
    model = made(network_weight=0.0, **{"memory_lists": LISTS, "neighbours": 60})
    (answer,) = NativeEngine(model, ITEMS).continue_lists([np.array([], dtype=np.int64)], 12, Rules(exclude=[4]))
    assert answer.items.tolist() == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]  # nothing is known, so all score 0


def test_a_model_in_half_precision_is_left_to_torch() -> None:
    assert why_not(made(), "one-pass") is None
    assert "float32" in str(why_not(made().half(), "one-pass"))


@pytest.mark.long
@pytest.mark.parametrize("instructions", ["avx2", "portable"] if X86_MACHINE else ["portable"])
def test_narrower_machines_give_what_float64_gives(instructions: str) -> None:
    asked = "from engine.native import test_hybrid as t; assert t.judged(t.made(**t.ALL), t.RULES['groups'], 40) == []"
    tests = str(Path(__file__).parents[2])
    environment = os.environ | {"FANS_NATIVE": instructions, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    subprocess.run([sys.executable, "-c", asked], env=environment, check=True)
