"""The GPU engine: the code around its kernels, and its answers where there is a GPU."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from engine.cuda.test_emulation import LONG_FP16, LONG_STARTS, open_kernels, paper_model
from engine.parity import FP16, faults
from fansrec.engine.backends import open_engine
from fansrec.engine.cuda import backend as cuda_backend
from fansrec.engine.cuda import driver
from fansrec.engine.cuda.batches import batches
from fansrec.engine.cuda.packing import Blocks, in_lane_order
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.registry import build

STARTS = (0, 300, 301, 500, 1000)
SIZES = {"category_starts": STARTS, "positions": 60, "dropout": 0.0}
KINDS = {
    "two-stage": ("fans", {}),
    "vanilla": ("fans", {"classifier": "vanilla"}),
    "no categories embedded": ("fans", {"use_categories": False}),
    "four heads": ("fans", {"heads": 4, "layers": 2}),
    "bert4rec": ("bert4rec", {}),
}
LIMITED = Rules(groups=np.arange(1000) // 4, max_per_group=1)
RULES = [Rules(), Rules(keep_seen=True), Rules(exclude=range(0, 900, 3)), Rules(allow=range(295, 420)), LIMITED]
gpu = pytest.mark.skipif(driver.missing() is not None, reason=f"no GPU to try it on: {driver.missing()}")


def test_weights_are_stored_in_the_order_of_the_lanes_of_a_warp() -> None:
    matrix = torch.randn(16, 64).half()
    packed = in_lane_order(matrix).view(2, 2, 32, 4, 2)  # tiles of 8 outputs, steps of 32 inputs, lanes, words, halves
    for tile, step, lane, word, half in np.ndindex(2, 2, 32, 4, 2):
        output, column = 8 * tile + lane // 4, 32 * step + 8 * word + 2 * (lane % 4) + half
        assert packed[tile, step, lane, word, half] == matrix[output, column]


def test_blocks_of_items_do_not_cross_categories() -> None:
    blocks = Blocks.of(STARTS)
    assert np.diff(blocks.first_block).tolist() == [10, 1, 7, 16]
    assert blocks.item_at[blocks.slot_of].tolist() == list(range(1000))
    of_item = np.searchsorted(STARTS, np.arange(1000), side="right") - 1
    assert (blocks.category_of_block[blocks.slot_of // 32] == of_item).all()
    assert (blocks.item_at >= 0).sum() == 1000


def test_batches_hold_every_list_that_fits_long_ones_first() -> None:
    inputs = [np.arange(length) for length in (3, 9, 30, 5)]
    first, second = batches(inputs, [2, 6, 2, 4], max_items=20, max_count=6, max_positions=8)
    assert (first.indices, first.offsets.tolist(), first.first_positions.tolist()) == ([1], [0, 9], [0, 6])
    assert (second.indices, second.offsets.tolist(), second.first_positions.tolist()) == ([3, 0], [0, 5, 8], [0, 4, 6])
    assert (second.lists, second.positions, second.most_tokens) == (2, 6, 9)
    (long,) = batches(inputs, [2, 6, 2, 4], max_items=20, max_count=6, max_positions=8, min_items=10)
    assert long.indices == [1]


def test_reason_is_given_for_models_that_the_kernels_cannot_run() -> None:
    config = FansConfig(STARTS, 60)
    assert cuda_backend.why_not(Fans(config), ONE_PASS) is None
    assert "64" in str(cuda_backend.why_not(Fans(replace(config, width=32)), ONE_PASS))
    assert "heads" in str(cuda_backend.why_not(Fans(replace(config, heads=16)), ONE_PASS))
    assert "autoregressive" in str(cuda_backend.why_not(Fans(config), AUTOREGRESSIVE))
    large = Fans(config)
    torch.nn.init.constant_(large.embed.positions.weight, 7e4)
    assert "fp16" in str(cuda_backend.why_not(large, ONE_PASS))
    assert "recipe" in str(cuda_backend.why_not(build("markov", {"category_starts": STARTS}), ONE_PASS))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_missing_gpu_is_reported() -> None:
    assert driver.missing() == "torch sees no CUDA device"
    with pytest.raises(BadSetting, match="does not run on cpu"):
        open_engine(Fans(FansConfig(STARTS, 60)), STARTS[-1], "cpu", backend="cuda")


def model_of(kind: str) -> Any:
    name, values = KINDS[kind]
    torch.manual_seed(0)
    model = build(name, SIZES | values).eval()
    torch.nn.init.normal_(model.embed.positions.weight)  # far apart, so that positions differ
    with torch.no_grad():
        model.classifier.items.weight.mul_(10)  # so that scores differ by much more than the tolerance
    return model


def lists(count: int) -> tuple[list[np.ndarray], list[int]]:
    random = np.random.default_rng(0)
    inputs = [random.integers(1000, size=random.integers(0, 40)) for _ in range(count)]
    return inputs, random.integers(1, 40, size=count).tolist()


@gpu
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_items_of_the_gpu_match_float64_within_fp16(kind: str, rules: Rules) -> None:
    model = model_of(kind)
    double = copy.deepcopy(model).double()
    engine = open_engine(model.cuda(), 1000, "cuda", backend="cuda")
    inputs, counts = lists(200 if engine.generation == ONE_PASS else 40)  # every step is checked by a pass of its own
    assert engine.backend == "cuda"
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(double, engine.generation, inputs, counts, rules, answers, FP16) == []


@gpu
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_list_gets_the_same_items_alone_and_in_a_batch(kind: str, rules: Rules) -> None:
    inputs, counts = lists(50)
    engine = open_engine(model_of(kind).cuda(), 1000, "cuda", backend="cuda")
    together = engine.continue_lists(inputs, counts, rules)
    alone = [engine.continue_lists([given], k, rules)[0] for given, k in zip(inputs, counts, strict=True)]
    assert [one.items.tolist() for one in alone] == [many.items.tolist() for many in together]


@gpu
@pytest.mark.parametrize("rules", [Rules(), Rules(groups=np.arange(9000) // 3, max_per_group=2)], ids=["all", "groups"])
@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("kind", ["two-stage", "vanilla"])
def test_long_answers_match_float64(kind: str, count: int, rules: Rules) -> None:
    model = paper_model(kind, LONG_STARTS)
    inputs, counts = [np.arange(7 * i, 7 * i + 3) for i in range(count)], [500, *range(20, 20 * count, 20)]
    engine = open_kernels(copy.deepcopy(model).cuda(), LONG_STARTS[-1], ONE_PASS)  # refuses to fall back to torch
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(model.double(), ONE_PASS, inputs, counts, rules, answers, LONG_FP16) == []


@pytest.mark.parametrize("kind", KINDS)
def test_fp16_tolerance_accepts_rounded_weights_but_no_wrong_item(kind: str) -> None:
    """Checks the comparison itself without a GPU: weights rounded to fp16 stand in for the kernels."""
    model = model_of(kind)
    double = copy.deepcopy(model).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half().float())
    inputs, counts = lists(8)
    engine = TorchEngine(model, 1000)
    answers = engine.continue_lists(inputs, counts, Rules())
    assert faults(double, engine.generation, inputs, counts, Rules(), answers, FP16) == []
    given, first = inputs[0], answers[0]
    assert len(given) and len(first.items) > 1
    for item in (given[0], first.items[1], (first.items[0] + 1) % 1000):  # not allowed, twice, no tie
        wrong = first._replace(items=np.array([item, *first.items[1:]]))
        assert faults(double, engine.generation, [given], counts[:1], Rules(), [wrong], FP16) != []
