"""The hybrid model in the CUDA kernels, on a GPU where there is one and emulated on the CPU, compared with float64.

The encoder computes with 22 bits, so the tolerance is that of fp32, except for lists that are too long for it.
"""

import copy
import platform
from typing import Any

import numpy as np
import pytest
import torch

from engine.cuda.emulation import emulate_gpu
from engine.native.test_hybrid import ALL, GROUPS, ITEMS, KINDS, NEIGHBORS, RULES, TRAINED, hybrid_model, requests, same
from engine.parity import FP16, FP32, Tolerance, faults
from fansrec.engine.cuda import driver
from fansrec.engine.cuda.backend import open_backend, why_not
from fansrec.engine.cuda.hybrid.sizes import HybridSizes
from fansrec.engine.interface import Engine
from fansrec.engine.native.compile import find_compiler
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.config import from_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.neighbors.list_memory import ListMemory

NO_GPU = driver.missing()
NO_RULES = Rules()
SIZES = {"width": 64, "heads": 4, "feedforward": 256}
MEMORY = {"memory_lists": 350, NEIGHBORS: 60}
MORE_KINDS: dict[str, dict[str, Any]] = {
    "wide": TRAINED | {"width": 128, "feedforward": 512},
    "memory alone": MEMORY | {"network_weight": 0.0},
    "linear alone": {"linear_neighbours": 30, "network_weight": 0.0},
    "network strong": TRAINED | {"network_weight": 2.0},
}
EVERY_KIND = {name: values for name, values in KINDS.items() if values.get("width", 64) == 64} | MORE_KINDS
SHORT = ("as trained", "all")  # kinds that are always emulated
EMULATED = platform.machine() in ("x86_64", "AMD64") and find_compiler() is not None

gpu = pytest.param("cuda", marks=pytest.mark.skipif(NO_GPU is not None, reason=f"no GPU to try it on: {NO_GPU}"))
emulated = pytest.param("emulated", marks=pytest.mark.skipif(not EMULATED, reason="no C++ compiler for x86-64"))

slowly_emulated = pytest.param("emulated", marks=[*emulated.marks, pytest.mark.long])


def cases(kinds: Any) -> list[Any]:
    """Return all kinds on a GPU and emulated; most emulated ones take long, since each is compiled."""
    return [pytest.param(*gpu.values, kind, marks=gpu.marks, id=f"cuda-{kind}") for kind in kinds] + [
        pytest.param(
            "emulated", kind, marks=(emulated if kind in SHORT else slowly_emulated).marks, id=f"emulated-{kind}"
        )
        for kind in kinds
    ]


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing fall back to torch unnoticed."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the kernels fell back to torch")

    monkeypatch.setattr("fansrec.engine.cuda.engine.TorchEngine.continue_lists", refuse)
    return monkeypatch


def opened(model: HybridFans, where: str, patch: pytest.MonkeyPatch, mode: str = "one-pass") -> Engine:
    if where == "emulated":
        emulate_gpu(patch)
        return open_backend(model, model.config.alphabet.items, mode)
    return open_backend(copy.deepcopy(model).cuda(), model.config.alphabet.items, mode)


def model_of(kind: str) -> HybridFans:
    return hybrid_model(**(SIZES | EVERY_KIND[kind]))


def check(engine: Engine, model: HybridFans, lists: Any, rules: Rules = NO_RULES, tolerance: Tolerance = FP32) -> None:
    inputs, counts = lists
    answers = engine.continue_lists(inputs, counts, rules)
    assert faults(copy.deepcopy(model).double(), engine.generation, inputs, counts, rules, answers, tolerance) == []


def some(where: str, many: int = 60) -> Any:
    return requests(many if where == "cuda" else 5)


@pytest.mark.parametrize(("where", "kind"), cases(EVERY_KIND))
def test_every_configuration_matches_float64(where: str, kind: str, patch: pytest.MonkeyPatch) -> None:
    model = model_of(kind)
    check(opened(model, where, patch), model, some(where))


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("where", [gpu, emulated])
def test_rules_are_applied(where: str, rules: Rules, patch: pytest.MonkeyPatch) -> None:
    model = model_of("as trained")
    check(opened(model, where, patch), model, some(where), rules)


@pytest.mark.parametrize(("where", "kind"), cases(["all", "memory alone", "linear alone"]))
def test_sums_that_do_not_fit_are_in_global_memory(where: str, kind: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HybridSizes, "sums_fit", lambda self, tiles: False)
    model = model_of(kind)
    engine = opened(model, where, patch)
    for _ in range(2):  # the sums of the first call must be cleared
        check(engine, model, some(where))


@pytest.mark.parametrize("where", [gpu, emulated])
def test_sums_of_long_lists_are_in_global_memory(where: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(HybridSizes, "sums_fit", lambda self, tiles: tiles < 2)
    model = model_of("all")
    engine, (given, *_) = opened(model, where, patch), requests(5)[0]
    for length in (3, 30, 3):
        check(engine, model, ([np.resize(given, length)], [5]))


@pytest.mark.parametrize("where", [gpu, emulated])
def test_one_list_gets_the_same_answer_as_in_a_batch_if_more_items_are_requested_than_there_are(
    where: str, patch: pytest.MonkeyPatch
) -> None:
    engine, given = opened(model_of("as trained"), where, patch), np.array([3, 7])
    alone = engine.continue_lists([given], ITEMS + 12, Rules())
    assert same(alone, engine.continue_lists([given, given], ITEMS + 12, Rules())[:1])


@pytest.mark.skipif(not EMULATED, reason="no C++ compiler for x86-64")
def test_buffers_stay_small_if_there_is_too_little_memory_for_larger_ones(patch: pytest.MonkeyPatch) -> None:
    model, lists = model_of("as trained"), requests(3)
    engine: Any = opened(model, "emulated", patch)
    new, left = engine._buffers._new, [1]

    def too_little(size: int, dtype: torch.dtype) -> torch.Tensor:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("CUDA out of memory")
        return new(size, dtype)  # type: ignore[no-any-return]

    with pytest.MonkeyPatch.context() as full:
        full.setattr(engine._buffers, "_new", too_little)
        with pytest.raises(RuntimeError, match="memory"):
            engine.continue_lists(*lists, Rules())
    assert engine._buffers._lists == 0
    check(engine, model, lists)


@pytest.mark.parametrize("where", [gpu, emulated])
def test_cluster_continues_list_after_list(where: str, patch: pytest.MonkeyPatch) -> None:
    patch.setattr("fansrec.engine.cuda.hybrid.buffers.MAX_CLUSTERS", 2)
    model = model_of("as trained")
    check(opened(model, where, patch), model, requests(20 if where == "cuda" else 7))


@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_rules_can_change_from_call_to_call(where: str, patch: pytest.MonkeyPatch) -> None:
    model = model_of("as trained")
    engine, lists = opened(model, where, patch), some(where, 20)
    for rules in (Rules(), RULES["few allowed"], RULES["groups"], Rules(keep_seen=True), RULES["excluded"], Rules()):
        check(engine, model, lists, rules)


@pytest.mark.parametrize("where", [gpu, emulated])
def test_recall_matches_float64(where: str, patch: pytest.MonkeyPatch) -> None:
    model = model_of("as trained")
    check(opened(model, where, patch, "recall"), model, some(where))


@pytest.mark.parametrize(("where", "kind"), cases(["as trained", "memory alone"]))
def test_list_gets_the_same_answer_alone_in_a_batch_and_again(where: str, kind: str, patch: pytest.MonkeyPatch) -> None:
    engine, (inputs, counts) = opened(model_of(kind), where, patch), requests(70 if where == "cuda" else 4)
    together = engine.continue_lists(inputs, counts, Rules())
    alone = [engine.continue_lists([given], count, Rules())[0] for given, count in zip(inputs, counts, strict=True)]
    assert same(together, alone)
    assert same(together, engine.continue_lists(inputs, counts, Rules()))


@pytest.mark.parametrize("where", [gpu, slowly_emulated])
@pytest.mark.parametrize("count", [1, 290, ITEMS])
def test_inputs_of_no_item_one_item_and_repeated_items(where: str, count: int, patch: pytest.MonkeyPatch) -> None:
    model = model_of("as trained")
    inputs = [np.array(given, dtype=np.int64) for given in ([], [7], [3, 3, 3, 3], [0, ITEMS - 1, 0])]
    engine = opened(model, where, patch)
    for given in inputs:
        check(engine, model, ([given], [count]))
    check(engine, model, (inputs, [count] * len(inputs)))


@pytest.mark.parametrize("where", [gpu, emulated])
def test_long_lists_are_within_fp16(where: str, patch: pytest.MonkeyPatch) -> None:
    model = model_of("as trained")
    engine: Any = opened(model, where, patch)
    sizes, random = engine._launcher.sizes, np.random.default_rng(3)
    long = random.integers(ITEMS, size=sizes.split_tokens + 30)
    longest = random.integers(ITEMS, size=sizes.most_tokens - 3 - 20)
    check(engine, model, ([longest], [20]), tolerance=FP16)
    check(engine, model, ([long, long[:40]], [20, 20]), tolerance=FP16)
    assert len(longest) > len(engine._buffers._inline)  # it is read from host memory
    short = engine.continue_lists([long[:40]], 20, Rules())
    assert same(short, engine.continue_lists([long, long[:40]], 20, Rules())[1:])


@pytest.mark.parametrize(("where", "kind"), cases(["as trained", "vanilla", "all"]))
def test_arranged_items_are_in_the_order_of_float64(where: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, (inputs, counts) = model_of(kind), some(where, 20)
    right = TorchEngine(copy.deepcopy(model).double(), ITEMS).continue_lists(inputs, counts, Rules(fill="arranged"))
    answers = opened(model, where, monkeypatch).continue_lists(inputs, counts, Rules(fill="arranged"))
    placed = sum(int((a.items == b.items).sum()) for a, b in zip(answers, right, strict=True))
    assert placed >= 0.995 * sum(len(answer.items) for answer in right)


def large_model(items: int = 6000) -> HybridFans:
    """Return a model of the memory alone: most items have the same score."""
    settings = {"category_starts": (0, items), "positions": 60, "network_weight": 0.0}
    model = HybridFans(from_settings(HybridConfig, settings)).eval()
    random = np.random.default_rng(0)
    lists = random.integers(items, size=(400, 20))
    lists[:, 0] = 5  # of these lists, all equally similar, the newest are neighbors
    model.memory = ListMemory.of(items, lists.astype(np.int32).ravel(), np.arange(0, 8001, 20))
    return model


@pytest.mark.parametrize("where", [gpu, emulated])
def test_equal_scores_and_similarities_are_ordered(where: str, patch: pytest.MonkeyPatch) -> None:
    model = large_model()
    lists = [np.array([], dtype=np.int64), np.array([5]), np.array([5, 6])], [500, 500, 1000]
    engine = opened(model, where, patch)
    check(engine, model, lists)
    assert engine.continue_lists(lists[0][:1], 3, Rules(exclude=[1]))[0].items.tolist() == [0, 2, 3]


@pytest.mark.parametrize("where", [gpu, emulated])
def test_groups_that_need_more_candidates_fall_back_to_torch(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = large_model()
    rules = Rules(groups=np.minimum(np.arange(6000) // 3000, 1), max_per_group=2)  # the second group begins late
    engine = opened(model, where, monkeypatch)
    check(engine, model, ([np.array([], dtype=np.int64)], [4]), rules)


@pytest.mark.parametrize("where", [gpu, emulated])
def test_invalid_index_is_refused(where: str, patch: pytest.MonkeyPatch) -> None:
    engine = opened(model_of("as trained"), where, patch)
    for inputs in ([np.array([ITEMS])], [np.array([1]), np.array([-1])]):
        with pytest.raises(BadSetting, match="index"):
            engine.continue_lists(inputs, 3, Rules())
    assert len(engine.continue_lists([np.array([1])], 3, Rules(groups=GROUPS, max_per_group=1))[0].items) == 3


def test_reason_is_given_for_models_that_the_kernels_cannot_run() -> None:
    assert why_not(model_of("as trained"), "one-pass") is None
    assert why_not(hybrid_model(**ALL, network_weight=0.0), "one-pass") is None  # any width: the network is not run
    assert "width" in str(why_not(hybrid_model(**ALL), "one-pass"))
    assert "masks" in str(why_not(hybrid_model(**SIZES, read_masks=15), "one-pass"))
    assert "float32" in str(why_not(model_of("as trained").half(), "one-pass"))


@pytest.mark.parametrize("where", [gpu])
def test_large_random_model_matches_float64(where: str, patch: pytest.MonkeyPatch) -> None:
    """Check the sizes of the Spotify workload, with the categories of the benchmarks."""
    from fansrec.experiments.speed.random_models import random_best

    model = random_best("spotify", 104_695, 100, 300, 0)
    with torch.no_grad():
        model.embed.items.weight.mul_(20)  # so that scores differ
    random = np.random.default_rng(0)
    inputs = [random.integers(104_695, size=n) for n in (0, 1, 10, 47, 100)]
    engine: Any = opened(model, where, patch)
    assert engine._launcher.sizes.sums_fit(10)  # of two parts
    check(engine, model, (inputs, [50, 50, 50, 47, 500]))
