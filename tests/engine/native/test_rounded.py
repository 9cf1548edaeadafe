"""The copy of the item vectors in 16 bits, and the scores that are computed with it."""

import ctypes
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.native.test_hybrid import ITEMS, faults_of, hybrid_model, requests, same
from engine.random_models import SIZES, random_model
from fansrec.engine.native import weights as weights_module
from fansrec.engine.native.backend import NativeEngine
from fansrec.engine.native.weights import Weights
from fansrec.engine.rules import Rules
from fansrec.models.stored import stored_model

pytestmark = pytest.mark.usefixtures("native_kernel")

STARTS, WIDTH = (0, 3, 20), 5  # padded to 16 and 32 rows


@pytest.fixture(scope="module")
def weights() -> Weights:
    return Weights(stored_model(random_model("fans", SIZES)))


def array_at(address: int, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), shape)


def test_rounded_vectors_are_within_half_a_step_of_the_vectors(weights: Weights) -> None:
    vectors = torch.randn(STARTS[-1], WIDTH) * torch.logspace(-6, 6, STARTS[-1])[:, None]
    rounded = weights.rounded(STARTS, vectors.numpy())
    assert array_at(rounded.starts, (3,), ctypes.c_int64).tolist() == [0, 16, 48]
    rows = [0, 1, 2, *range(16, 33)]
    steps = array_at(rounded.steps, (48,), ctypes.c_float)[rows, None]
    pairs = array_at(rounded.pairs, (3, 3, 16, 2), ctypes.c_int16)  # WIDTH is odd, so the last number is 0
    padded = pairs.transpose(0, 2, 1, 3).reshape(48, WIDTH + 1)[rows]
    numbers = padded[:, :WIDTH]
    assert not padded[:, WIDTH].any()
    assert (np.abs(numbers).max(1) == 32_767).all()
    assert (np.abs(numbers * steps.astype(np.float64) - vectors.numpy()) <= 0.501 * steps).all()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_not_rounded(weights: Weights, number: float) -> None:
    vectors = torch.zeros(STARTS[-1], WIDTH)
    assert weights.rounded(STARTS, vectors.numpy()).pairs is not None
    vectors[7, 2] = number
    assert weights.rounded(STARTS, vectors.numpy()).pairs is None


def test_probabilities_are_exact_where_one_item_with_coarse_steps_has_a_large_share() -> None:
    model = hybrid_model(network_weight=1.0, transform=False, classifier="vanilla")
    with torch.no_grad():
        model.vectors[10, 0] = 600.0  # makes the step of its other numbers coarse
    assert faults_of(model, Rules(), 60) == []


@pytest.mark.parametrize("number", [1e6, 1e12, 1e30])
def test_vectors_with_steps_too_coarse_to_correct_are_not_used(monkeypatch: pytest.MonkeyPatch, number: float) -> None:
    model = hybrid_model(network_weight=1.0, transform=False, classifier="vanilla")
    with torch.no_grad():
        model.vectors[10, 0] = number
    inputs, counts = requests(60)
    answers = NativeEngine(model, ITEMS, threads=2).continue_lists(inputs, counts, Rules())
    monkeypatch.setattr(weights_module, "MAX_ROUNDED_ITEMS", 0)
    assert same(answers, NativeEngine(model, ITEMS, threads=2).continue_lists(inputs, counts, Rules()))
