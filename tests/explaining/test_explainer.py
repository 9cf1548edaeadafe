"""Explanations of models with random weights: shares of the parts, input items, similar lists."""

import copy
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.native.test_hybrid import ALL, ITEMS, TRAINED, hybrid_model, requests
from fansrec.artifact import read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting
from fansrec.explaining.evidence import Input
from fansrec.explaining.explainer import Explainer, why_not
from fansrec.models.stored import StoredModel, stored_model
from linear_models import CORPUS, fitted, fitted_to
from linear_models import INPUTS as LINEAR_INPUTS

HYBRIDS: dict[str, dict[str, Any]] = {
    "as trained": TRAINED,
    "aligned and recent": ALL | {"aligned": 2.0, "recency": 0.9},
    "without a network": ALL | {"network_weight": 0.0},
    "network alone": {},
}
OTHERS = {
    "vstan": fitted("vstan"),
    "item-knn": fitted("item-knn"),
    "slist": fitted("slist", neighbours=8),  # words: keep
    "ease": fitted("ease"),
}
INPUTS, COUNTS = (part[:8] for part in requests(40))


def explained(model: Any, inputs: Any, counts: Any, rules: Rules, backend: str = "auto") -> tuple[Any, Any]:
    """Return the answers of an engine and their explanations."""
    engine = open_engine(stored_model(model), model.config.category_starts[-1], backend=backend)
    answers = engine.continue_lists(inputs, counts, rules)
    return answers, Explainer(stored_model(model), engine).explain(inputs, counts, answers)


def scores(model: Any, given: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Return the scores (M,) in float64."""
    with torch.inference_mode():
        found = model.score_lists([given], [count]) if hasattr(model, "score_lists") else model.score_next([given])
    return found[0].double().numpy()


@pytest.mark.parametrize("backend", ["auto", "torch"])
@pytest.mark.parametrize("kind", HYBRIDS.values(), ids=HYBRIDS)
def test_shares_are_those_of_the_weighted_log_scores(kind: dict[str, Any], backend: str) -> None:
    model = hybrid_model(**kind)
    answers, explanations = explained(model, INPUTS, COUNTS, Rules(keep_seen=True), backend)
    for given, count, answer, found in zip(INPUTS, COUNTS, answers, explanations, strict=True):
        with torch.inference_mode():
            parts = model.parts([given], [count])
        terms = {name: vars(model.config.weights)[name] * part[0].numpy()[answer.items] for name, part in parts.items()}
        total = sum(terms.values())
        for name, term in terms.items():
            shares = [explanation.parts.get(name, 0) for explanation in found]
            assert shares == pytest.approx(term / np.where(total > 0, total, 1), abs=2e-4)


def assert_faithful(model: Any, inputs: Any, counts: Any, answers: Any, explanations: Any) -> int:
    """Assert that each first input item lowers the score in float64 when it is removed; return how many were named."""
    double, named = copy.deepcopy(model).double(), 0
    for given, count, answer, found in zip(inputs, counts, answers, explanations, strict=True):
        full = scores(double, given, count)
        for item, explanation in zip(answer.items.tolist(), found, strict=True):
            for top, _ in explanation.because[:1]:
                named += 1
                assert scores(double, given[given != top], count)[item] < full[item]
            weights = [weight for _, weight in explanation.because]
            assert weights == sorted(weights, reverse=True) and sum(weights) <= 1 + 1e-9
            assert {one for one, _ in explanation.because} <= {*given.tolist()}
    return named


@pytest.mark.parametrize("kind", HYBRIDS.values(), ids=HYBRIDS)
def test_score_of_hybrid_is_lower_without_the_first_input_item(kind: dict[str, Any]) -> None:
    model = hybrid_model(**kind)
    inputs, counts = INPUTS[1:], [10] * len(INPUTS[1:])
    assert assert_faithful(model, inputs, counts, *explained(model, inputs, counts, Rules())) > 20


def test_score_of_trained_model_is_lower_without_the_first_input_item(best: Path) -> None:
    model = read_artifact(best).model
    inputs = [np.array([3, 4, 5]), np.array([17, 18, 17]), np.array([59]), np.array([2, 31, 46, 47])]
    assert assert_faithful(model, inputs, [10] * 4, *explained(model, inputs, [10] * 4, Rules())) > 30


@pytest.mark.parametrize("name", OTHERS)
def test_score_of_other_models_is_lower_without_the_first_input_item(name: str) -> None:
    model = OTHERS[name]
    answers, explanations = explained(model, LINEAR_INPUTS, [5] * 4, Rules())
    assert assert_faithful(model, LINEAR_INPUTS, [5] * 4, answers, explanations) > 10
    part = "memory" if name == "vstan" else "linear"
    assert all(sum(one.parts.values()) == pytest.approx(1) for found in explanations for one in found)
    assert {*chain(*(one.parts for found in explanations for one in found))} <= {part, "popularity"}
    assert all(one.parts == {part: 1.0} for one in explanations[0])


NO_REASON = {
    "vstan": ("vstan", [0, 1], {"memory": 0.0, "popularity": 1.0}),
    "item-knn": ("item-knn", [0, 1], {"linear": 0.0, "popularity": 1.0}),
    "vstan without input": ("vstan", [], {"popularity": 1.0}),
    "ease without input": ("ease", [], {"popularity": 1.0}),
}


@pytest.mark.parametrize(("name", "given", "parts"), NO_REASON.values(), ids=NO_REASON)
def test_score_that_no_part_explains_comes_from_popularity(
    name: str, given: list[int], parts: dict[str, float]
) -> None:
    model = fitted_to([[0, 1], [2, 3], [2, 4]], 5, name)
    rules = Rules(allow=[2, 3, 4])
    ((answer,), (found,)) = explained(model, [np.array(given, dtype=np.int64)], [3], rules)
    assert answer.items[0] == 2 and (answer.scores > 0).all()  # the most popular of these items
    assert [one.parts for one in found] == [parts] * 3 and not any(one.because or one.lists for one in found)


def test_score_below_zero_comes_from_the_weights() -> None:
    model = fitted_to([[0, 1, 2], [0, 1], [2, 3], [0, 3]], 4, "ease", regularization=0.1)
    ((answer,), (found,)) = explained(model, [np.array([0])], [3], Rules())
    assert answer.scores[-1] < -0.01
    assert [one.parts for one in found] == [{"linear": 1.0}] * 3 and not found[-1].because


def test_popularity_has_the_rest_of_a_tiny_score() -> None:
    model = OTHERS["ease"]
    ((answer,), (found,)) = explained(model, [np.array([3, 4, 5])], [57], Rules())
    shares = np.array([one.parts.get("popularity", 0) for one in found])
    assert (
        (shares[answer.scores > 1e-3] == 0).all() and (shares[answer.scores < 1e-10] > 0.5).all() and shares.max() > 0.5
    )


def test_score_of_zero_has_no_part() -> None:
    model = hybrid_model(**HYBRIDS["without a network"])
    ((answer,), (found,)) = explained(model, [np.zeros(0, dtype=np.int64)], [2], Rules())
    assert (answer.scores == 0).all() and [one.parts for one in found] == [{"none": 1.0}] * 2
    for given, count, one in zip(INPUTS, COUNTS, explained(model, INPUTS, COUNTS, Rules())[1], strict=True):
        assert all(sum(item.parts.values()) == pytest.approx(1) for item in one), (given, count)


@pytest.mark.parametrize("model", [hybrid_model(**TRAINED), OTHERS["vstan"]], ids=["hybrid", "vstan"])
def test_lists_contain_the_item_and_share_input_items(model: Any) -> None:
    inputs = LINEAR_INPUTS if model.name == "vstan" else INPUTS
    answers, explanations = explained(model, inputs, [10] * len(inputs), Rules())
    memory, shown = model.memory, 0
    for given, answer, found in zip(inputs, answers, explanations, strict=True):
        for item, explanation in zip(answer.items.tolist(), found, strict=True):
            similarities = [similarity for _, similarity, _ in explanation.lists]
            assert similarities == sorted(similarities, reverse=True)
            for index, similarity, shared in explanation.lists:
                members = memory.items[memory.starts[index] : memory.starts[index + 1]].tolist()
                assert item in members and 0 < similarity <= 1
                assert shared == len({*members} & {*given.tolist()}) > 0
                shown += 1
    assert shown > 20


def test_evidence_adds_up_to_the_terms() -> None:
    model = stored_model(hybrid_model(**TRAINED))
    engine = open_engine(model, ITEMS)
    given = INPUTS[2]
    items = engine.continue_lists([given], 10, Rules())[0].items
    for part in Explainer(model, engine).parts:
        evidence = part(Input.of(given), items)
        (terms,) = evidence.terms.values()
        assert terms.any() and evidence.by_input.sum(1) == pytest.approx(terms)


def test_empty_input_has_no_reasons() -> None:
    _, ((explanation,),) = explained(hybrid_model(**TRAINED), [np.zeros(0, dtype=np.int64)], [1], Rules())
    assert explanation.parts["network"] == pytest.approx(1) and not explanation.because and not explanation.lists


def test_other_models_are_refused() -> None:
    model = stored_model(fitted("popularity"))
    with pytest.raises(BadSetting, match="popularity cannot explain its answers"):
        Explainer(model, open_engine(model, 60))
    assert "Markov" in str(why_not(fitted("markov"), "recall"))  # a model that only torch reads


def test_autoregressive_answers_are_refused() -> None:
    model = stored_model(OTHERS["item-knn"])
    assert isinstance(model, StoredModel) and len(CORPUS.items)
    with pytest.raises(BadSetting, match="autoregressive cannot be explained"):
        Explainer(model, open_engine(model, 60, generation="autoregressive"))
