"""The native kernel returns the reference's answers for every model, mode and rule, in any batch or thread."""

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

from engine.parity import faults
from engine.random_models import ITEMS, RULES, SIZES, STARTS, lists, random_model
from fansrec.engine.interface import Continuation
from fansrec.engine.modes import generation_modes
from fansrec.engine.native import compile as native_compile
from fansrec.engine.native import library as native_library
from fansrec.engine.native.backend import NativeEngine, why_not
from fansrec.engine.native.library import CHOICES, missing, widest
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.registry import build
from skipping import skip_or_fail

pytestmark = pytest.mark.usefixtures("native_kernel")

# The instruction sets of this machine that its kernel does not use.
NARROWER = ["portable"] if missing() else [*CHOICES[CHOICES.index(widest()) + 1 : -1]]
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "two-stage": ("fans", {"feedforward": 32}),
    "vanilla": ("fans", {"feedforward": 32, "classifier": "vanilla"}),
    "odd sizes": ("fans", {"feedforward": 21, "width": 18, "heads": 1, "layers": 1, "use_categories": False}),
    "one category": ("fans", {"feedforward": 32, "category_starts": (0, ITEMS)}),
    "bert4rec": ("bert4rec", {"feedforward": 32}),
    "sasrec": ("sasrec", {"use_categories": False}),
    "sasrec with categories": ("sasrec", {"heads": 4}),
}


def model_of(name: str, values: dict[str, Any]) -> Any:
    return random_model(name, SIZES | values)


def same(one: list[Continuation], two: list[Continuation]) -> bool:
    """Return whether items and scores are equal to the last bit."""
    return all(
        a.items.tobytes() == b.items.tobytes() and a.scores.tobytes() == b.scores.tobytes()
        for a, b in zip(one, two, strict=True)
    )


def check(name: str, count: int = 15) -> None:
    """Check a model in every generation mode under every rule."""
    model = model_of(*MODELS[name])
    double = copy.deepcopy(model).double()
    inputs, counts = lists(count)
    for mode in generation_modes(model):
        engine = NativeEngine(model, ITEMS, mode)
        for rules in RULES.values():
            assert faults(double, mode, inputs, counts, rules, engine.continue_lists(inputs, counts, rules)) == []


@pytest.mark.parametrize("name", MODELS)
def test_every_model_matches_the_reference_in_every_generation_mode(name: str) -> None:
    check(name)


@pytest.mark.parametrize("categories", [1, 3, 25])
def test_default_sizes_match_the_reference(categories: int) -> None:
    items = 3000
    starts = tuple(np.linspace(0, items, categories + 1).astype(int).tolist())
    usual = {"category_starts": starts, "width": 64, "heads": 8, "feedforward": 256, "layers": 3}
    model = model_of("fans", usual)
    inputs, counts = lists(16, items, longest=60, most=60)
    for rules in (Rules(), Rules(exclude=range(0, items, 2), min_score=-9.0)):
        answers = NativeEngine(model, items).continue_lists(inputs, counts, rules)
        assert faults(copy.deepcopy(model).double(), "one-pass", inputs, counts, rules, answers) == []


def test_large_catalog_with_larger_blocks_matches_the_reference() -> None:
    items = 150_000  # enough for blocks of items to be larger than usual
    model = model_of("fans", {"category_starts": (0, items), "feedforward": 16, "width": 8, "classifier": "vanilla"})
    inputs, counts = lists(4, items)
    answers = NativeEngine(model, items).continue_lists(inputs, counts, Rules())
    assert faults(copy.deepcopy(model).double(), "one-pass", inputs, counts, Rules(), answers) == []


def test_first_of_items_with_equal_scores_is_selected() -> None:
    model = model_of("fans", {"classifier": "vanilla", "feedforward": 32})
    with torch.no_grad():
        model.classifier.items.weight.zero_()
        model.classifier.items.bias.zero_()
    (answer,) = NativeEngine(model, ITEMS).continue_lists([np.array([1, 3])], 5, Rules())
    assert answer.items.tolist() == [0, 2, 4, 5, 6]


@pytest.mark.parametrize("name", ["two-stage", "bert4rec", "sasrec"])
def test_list_gets_the_same_items_alone_and_in_a_batch(name: str) -> None:
    engine = NativeEngine(model_of(*MODELS[name]), ITEMS)
    inputs, counts = lists(30)
    together = engine.continue_lists(inputs, counts, Rules())
    for given, count, answer in zip(inputs, counts, together, strict=True):
        (alone,) = engine.continue_lists([given], count, Rules())
        assert alone.items.tolist() == answer.items.tolist()
        assert alone.scores == pytest.approx(answer.scores, abs=1e-5)
        assert alone.categories.tolist() == (np.searchsorted(STARTS, alone.items, side="right") - 1).tolist()


@pytest.mark.parametrize("name", ["two-stage", "vanilla", "bert4rec", "sasrec"])
def test_one_and_two_threads_agree_to_the_last_bit(name: str) -> None:
    model = model_of(*MODELS[name])
    inputs, counts = lists(30)
    one, two = (NativeEngine(model, ITEMS, threads=threads) for threads in (1, 2))
    assert same(one.continue_lists(inputs, counts, Rules()), two.continue_lists(inputs, counts, Rules()))
    for given, count in zip(inputs, counts, strict=True):
        assert same(one.continue_lists([given], count, Rules()), two.continue_lists([given], count, Rules()))


def test_concurrent_callers_with_different_rules_get_their_own_answers() -> None:
    engine = NativeEngine(model_of(*MODELS["two-stage"]), ITEMS, threads=2)
    inputs, counts = lists(20)
    calls = [Rules(), Rules(keep_seen=True), Rules(exclude=[3]), Rules(min_score=-3.0)] * 8
    expected = [engine.continue_lists(inputs, counts, rules) for rules in calls]
    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(lambda rules: engine.continue_lists(inputs, counts, rules), calls))
    assert all(same(one, two) for one, two in zip(expected, given, strict=True))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forked_process_gives_the_same_answers() -> None:
    engine = NativeEngine(model_of(*MODELS["two-stage"]), ITEMS, threads=2)
    inputs, counts = lists(20)
    expected = engine.continue_lists(inputs, counts, Rules())
    child = os.fork()
    if child == 0:
        os._exit(0 if same(expected, engine.continue_lists(inputs, counts, Rules())) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert same(expected, engine.continue_lists(inputs, counts, Rules()))


def test_other_fill_modes_are_left_to_torch() -> None:
    model = model_of(*MODELS["two-stage"])
    inputs, counts = lists(5)
    rules = Rules(fill="depth-first")
    expected = TorchEngine(model, ITEMS).continue_lists(inputs, counts, rules)
    assert same(expected, NativeEngine(model, ITEMS).continue_lists(inputs, counts, rules))
    with pytest.raises(BadSetting, match="cannot arrange"):
        NativeEngine(model, ITEMS).continue_lists(inputs, counts, Rules(fill="arranged"))


def test_empty_request_is_answered() -> None:
    assert NativeEngine(model_of(*MODELS["two-stage"]), ITEMS).continue_lists([], 3, Rules()) == []


@pytest.mark.parametrize("name", ["two-stage", "vanilla", "bert4rec", "sasrec"])
@pytest.mark.parametrize("engine", [NativeEngine, TorchEngine])
def test_model_with_nan_weights_is_refused(name: str, engine: Any) -> None:
    model = model_of(*MODELS[name])
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(torch.nan)
    with pytest.raises(BadArtifact, match="no score of the model is a finite number"):
        engine(model, ITEMS).continue_lists([np.array([1, 2])], 5, Rules())


@pytest.mark.parametrize("name", ["two-stage", "vanilla", "odd sizes"])
def test_items_of_thousands_of_lists_differ_only_in_ties(name: str) -> None:
    """Categories are large enough for fp16 vectors; lists are continued alone and in large batches."""
    model_name, values = MODELS[name]
    starts = (0, 900, 901, 2000, 3000)
    model = model_of(model_name, values | {"category_starts": starts})
    double = copy.deepcopy(model).double()
    inputs, counts = lists(2000, items=3000)
    answers = NativeEngine(model, 3000).continue_lists(inputs, counts, Rules())
    right = TorchEngine(double, 3000).continue_lists(inputs, counts, Rules())
    different = [i for i in range(2000) if answers[i].items.tolist() != right[i].items.tolist()]
    assert len(different) < 20
    some = ([x[i] for i in different] for x in (inputs, counts))
    assert faults(double, "one-pass", *some, Rules(), [answers[i] for i in different]) == []
    engine = NativeEngine(model, 3000)
    alone = [engine.continue_lists([inputs[i]], counts[i], Rules())[0].items.tolist() for i in range(50)]
    assert alone == [answer.items.tolist() for answer in answers[:50]]


def test_reason_is_given_for_models_that_the_kernel_cannot_run() -> None:
    assert why_not(model_of(*MODELS["two-stage"]), "one-pass") is None
    assert "does not know CAR" in str(why_not(build("car", SIZES), "autoregressive"))
    assert "float32" in str(why_not(model_of(*MODELS["two-stage"]).double(), "one-pass"))


def test_kernel_can_be_switched_off_and_unknown_instruction_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANS_NATIVE", "off")
    assert "switched off" in str(missing())
    monkeypatch.setenv("FANS_NATIVE", "mmx")
    with pytest.raises(BadSetting, match="mmx"):
        missing()


def test_build_and_engine_report_a_missing_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native_compile, "HERE", tmp_path)
    monkeypatch.setenv("CXX", str(tmp_path / "c++"))
    assert "failed" in str(native_compile.compile_kernel())
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert native_compile.compile_kernel() == "no C++ compiler"
    assert not list(tmp_path.iterdir())
    monkeypatch.delenv("FANS_NATIVE", raising=False)
    monkeypatch.setattr(native_library, "library_path", lambda name: tmp_path / name)
    assert missing() == "the fast CPU kernel was not built (no C++ compiler at install)"


@pytest.mark.parametrize("instructions", NARROWER)
def test_narrower_instruction_sets_match_the_reference(instructions: str) -> None:
    if not native_compile.library_path(instructions).exists():
        skip_or_fail(f"the {instructions} kernel is not built; `make install` builds it")
    tests = Path(__file__).parents[2]
    program = "from engine.native.test_backend import MODELS, check\nfor name in MODELS: check(name, 8)"
    forced = os.environ | {"FANS_NATIVE": instructions, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    ran = subprocess.run([sys.executable, "-c", program], env=forced, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
