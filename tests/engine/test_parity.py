"""The check of answers accepts those of the reference engine and finds a wrong one."""

import copy

import numpy as np
import pytest
import torch

from engine.parity import faults
from fansrec.engine.generation import generation_modes
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.registry import build
from worlds import vocabulary_of

STARTS = tuple(vocabulary_of([20, 1, 12, 7]).starts.tolist())
ITEMS = STARTS[-1]
GROUPS = np.arange(ITEMS) % 5
SIZES = {"category_starts": STARTS, "positions": 30, "width": 16, "layers": 2, "heads": 2, "dropout": 0.0}
MODELS = {
    "two-stage": ("fans", {"feedforward": 32}),
    "vanilla": ("fans", {"feedforward": 32, "classifier": "vanilla"}),
    "bert4rec": ("bert4rec", {"feedforward": 32}),
    "sasrec": ("sasrec", {}),
}
RULES = {
    "none": Rules(),
    "seen kept": Rules(keep_seen=True),
    "groups": Rules(groups=GROUPS, max_per_group=2),
    "few allowed": Rules(allow=range(5, 24), exclude=[12, 13]),
    "a floor": Rules(min_score=-3.5),
}


def lists(count: int) -> tuple[list[np.ndarray], list[int]]:
    random = np.random.default_rng(1)
    inputs = [random.integers(ITEMS, size=random.integers(0, 12)) for _ in range(count)]
    return inputs, random.integers(1, 25, size=count).tolist()


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", MODELS)
def test_reference_has_no_faults_and_a_reversed_answer_has(name: str, rules: Rules) -> None:
    model_name, values = MODELS[name]
    torch.manual_seed(0)
    model = build(model_name, SIZES | values).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.4)
    double = copy.deepcopy(model).double()
    inputs, counts = lists(12)
    for mode in generation_modes(model):
        answers = TorchEngine(model, ITEMS, generation=mode).continue_lists(inputs, counts, rules)
        assert faults(double, mode, inputs, counts, rules, answers) == []
        longest = max(answers, key=lambda answer: len(answer.items))
        if len(longest.items) > 1:
            at = [answer is longest for answer in answers].index(True)
            wrong = list(answers)
            wrong[at] = longest._replace(items=longest.items[::-1].copy())
            assert faults(double, mode, inputs, counts, rules, wrong) != []
