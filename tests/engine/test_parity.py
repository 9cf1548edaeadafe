"""The check of answers accepts those of the reference engine and finds a wrong one."""

import copy

import pytest

from engine.parity import faults
from engine.random_models import ITEMS, RULES, SIZES, lists, random_model
from fansrec.engine.modes import generation_modes
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine

MODELS = {
    "two-stage": ("fans", {"feedforward": 32}),
    "vanilla": ("fans", {"feedforward": 32, "classifier": "vanilla"}),
    "bert4rec": ("bert4rec", {"feedforward": 32}),
    "sasrec": ("sasrec", {}),
}


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", MODELS)
def test_reference_has_no_faults_and_a_reversed_answer_has(name: str, rules: Rules) -> None:
    model_name, values = MODELS[name]
    model = random_model(model_name, SIZES | values)
    double = copy.deepcopy(model).double()
    inputs, counts = lists(12, most=25)
    for mode in generation_modes(model):
        answers = TorchEngine(model, ITEMS, generation=mode).continue_lists(inputs, counts, rules)
        assert faults(double, mode, inputs, counts, rules, answers) == []
        longest = max(answers, key=lambda answer: len(answer.items))
        if len(longest.items) > 1:
            at = [answer is longest for answer in answers].index(True)
            wrong = list(answers)
            wrong[at] = longest._replace(items=longest.items[::-1].copy())
            assert faults(double, mode, inputs, counts, rules, wrong) != []
