"""SASRec in the CUDA kernels, on a GPU where there is one and emulated on the CPU, compared with float64."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.cuda.emulation import emulate_gpu
from engine.cuda.test_hybrid import emulated, gpu, slowly_emulated
from engine.parity import FP16, faults
from fansrec.engine.cuda import engine as cuda_engine
from fansrec.engine.cuda.backend import open_backend, why_not
from fansrec.engine.interface import Engine
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS, RECALL
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.registry import build

STARTS = (0, 70, 130, 200)
ITEMS = STARTS[-1]
KINDS: dict[str, dict[str, Any]] = {
    "usual": {},
    "no categories embedded": {"use_categories": False},
    "one layer, one head": {"layers": 1, "heads": 1},
    "four heads": {"heads": 4, "layers": 2},
    "wide": {"width": 128, "heads": 4, "layers": 2},
}
RULES = {
    "keep seen": Rules(keep_seen=True),
    "exclude": Rules(exclude=range(0, 190, 3)),
    "allow": Rules(allow=range(40, 180)),
    "low scores": Rules(min_score=-100.0),
}


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let nothing fall back to torch unnoticed."""

    def refuse(*_: Any) -> None:
        raise AssertionError("the kernels fell back to torch")

    monkeypatch.setattr(cuda_engine.TorchEngine, "continue_lists", refuse)
    return monkeypatch


def model_of(kind: str, name: str = "sasrec") -> Any:
    """Return a model with random weights, all of them: norms and biases have no effect as they are initialized."""
    torch.manual_seed(0)
    model = build(name, {"category_starts": STARTS, "positions": 40, "dropout": 0.0} | KINDS[kind]).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter), alpha=0.3)
        model.embed.items.weight.mul_(3)  # so that scores differ by much more than the tolerance
    return model


def opened(model: Any, where: str, patch: pytest.MonkeyPatch) -> Engine:
    assert why_not(model, AUTOREGRESSIVE) is None
    if where == "emulated":
        emulate_gpu(patch)
        return open_backend(model, ITEMS, AUTOREGRESSIVE)
    return open_backend(copy.deepcopy(model).cuda(), ITEMS, AUTOREGRESSIVE)


def lists(lengths: list[int]) -> list[NDArray[np.int64]]:
    random = np.random.default_rng(0)
    return [random.integers(ITEMS, size=length) for length in lengths]


def check(engine: Engine, model: Any, inputs: Any, counts: list[int], rules: Rules) -> list[list[int]]:
    answers = engine.continue_lists(inputs, counts, rules)
    assert [len(answer.items) for answer in answers] == counts
    assert faults(copy.deepcopy(model).double(), AUTOREGRESSIVE, inputs, counts, rules, answers, FP16) == []
    return [answer.items.tolist() for answer in answers]


@pytest.mark.parametrize("where", [gpu, emulated])
def test_items_match_float64(where: str, patch: pytest.MonkeyPatch) -> None:
    """Lists end before, at and after the end of a tile of 16 tokens, and grow beyond the trained positions."""
    model, inputs = model_of("usual"), lists([0, 1, 14, 15, 16, 38])
    engine = opened(model, where, patch)
    first = check(engine, model, inputs, [3, 4, 4, 2, 2, 4], Rules())
    assert check(engine, model, inputs, [3, 4, 4, 2, 2, 4], Rules()) == first


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_rules_are_applied(where: str, rules: Rules, patch: pytest.MonkeyPatch) -> None:
    model = model_of("usual")
    check(opened(model, where, patch), model, lists([0, 1, 13, 40]), [5, 20, 6, 8], rules)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_every_configuration_matches_float64(where: str, kind: str, patch: pytest.MonkeyPatch) -> None:
    """The longest list has more tiles than a cluster has blocks, so that a block owns two."""
    model = model_of(kind)
    check(opened(model, where, patch), model, lists([1, 5, 30, 140]), [20, 8, 5, 3], Rules())


@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_items_are_those_of_torch(where: str, patch: pytest.MonkeyPatch) -> None:
    model, inputs, counts = model_of("usual"), lists([1, 9, 25]), [10, 10, 10]
    engine = opened(model, where, patch)
    ours = [answer.items.tolist() for answer in engine.continue_lists(inputs, counts, Rules())]
    patch.undo()
    expected = TorchEngine(model.cpu(), ITEMS).continue_lists(inputs, counts, Rules())
    assert ours == [answer.items.tolist() for answer in expected]  # no score of these weights is within the tolerance


@pytest.mark.parametrize(("rules", "length"), [(Rules(allow=range(7), keep_seen=True), 7), (Rules(min_score=-6.0), 1)])
@pytest.mark.parametrize("where", [gpu, slowly_emulated])
def test_list_that_ends_early_is_left_to_torch(
    where: str, rules: Rules, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs = model_of("usual"), lists([5])
    answers = opened(model, where, monkeypatch).continue_lists(inputs, 20, rules)
    assert len(answers[0].items) == length
    assert faults(copy.deepcopy(model).double(), AUTOREGRESSIVE, inputs, [20], rules, answers, FP16) == []


def test_kernels_run_sasrec_item_by_item_only() -> None:
    model = model_of("usual")
    assert why_not(model, AUTOREGRESSIVE) is None
    assert "recall" in str(why_not(model, RECALL))
    assert "one-pass" in str(why_not(model, ONE_PASS))
    assert "sasrec" in str(why_not(model_of("usual", "car"), AUTOREGRESSIVE))
    narrow = build("sasrec", {"category_starts": STARTS, "positions": 40, "width": 32})
    assert "64" in str(why_not(narrow, AUTOREGRESSIVE))
