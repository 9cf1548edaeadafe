"""The entry points of the native kernel refuse impossible sizes, pointers and offsets."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.native import test_backend, test_hybrid
from fansrec.engine.native.backend import NativeEngine
from fansrec.engine.native.hybrid import HybridWeights
from fansrec.engine.native.library import BAD_CALL, BAD_MODEL, DONE, check_outcome, library
from fansrec.engine.native.structures import Affine, Call, Hybrid, Model
from fansrec.engine.native.weights import Weights
from fansrec.engine.rules import Rules
from fansrec.errors import BadArtifact, FansError
from fansrec.models.stored import stored_model

pytestmark = pytest.mark.usefixtures("native_kernel")

ITEMS = test_backend.ITEMS
HUGE = 1 << 60

MODELS: dict[str, Callable[[Any], object]] = {
    "kind": lambda m: setattr(m, "kind", 7),
    "no hybrid part": lambda m: setattr(m, "kind", 3),
    "categories of tokens": lambda m: setattr(m, "categories_of", None),
    "no width": lambda m: setattr(m.encoder, "width", 0),
    "huge width": lambda m: setattr(m.encoder, "width", HUGE),
    "negative layers": lambda m: setattr(m.encoder, "layers", -1),
    "huge layers": lambda m: setattr(m.encoder, "layers", HUGE),
    "heads that do not divide the width": lambda m: setattr(m.encoder, "heads", 3),
    "no positions": lambda m: setattr(m.encoder, "positions", 0),
    "fewer embeddings than tokens": lambda m: setattr(m.encoder, "tokens", ITEMS),
    "fewer category embeddings than categories": lambda m: setattr(m.encoder, "category_rows", 1),
    "neither causal nor bidirectional": lambda m: setattr(m.encoder, "causal", 2),
    "no embeddings": lambda m: setattr(m.encoder, "item_embedding", None),
    "no layers": lambda m: setattr(m.encoder, "layer", None),
    "no items": lambda m: setattr(m.head, "items", 0),
    "more items than offsets say": lambda m: setattr(m.head, "items", ITEMS + 1),
    "huge items": lambda m: setattr(m.head, "items", HUGE),
    "no starts": lambda m: setattr(m.head, "starts", None),
    "fewer categories": lambda m: setattr(m.head, "categories", 2),
    "a head of another width": lambda m: setattr(m.head, "width", 8),
    "no item vectors": lambda m: setattr(m.head.item, "weight", None),
    "half a linear layer": lambda m: setattr(m.head.category, "bias", None),
    "rounded vectors without starts": lambda m: setattr(m.head.rounded, "starts", None),
}


@pytest.fixture(scope="module")
def network() -> Any:
    return test_backend.model_of(*test_backend.MODELS["two-stage"])


@pytest.mark.parametrize("change", MODELS.values(), ids=MODELS)
def test_model_with_impossible_parts_is_refused(change: Callable[[Any], object], network: Any) -> None:
    weights = Weights(stored_model(network))
    changed, handle = Model.from_buffer_copy(weights.model), ctypes.c_void_p()
    change(changed)
    assert library().fans_open(ctypes.addressof(changed), ctypes.byref(handle)) == BAD_MODEL
    assert handle.value is None


def test_missing_structures_are_refused(network: Any) -> None:
    weights, handle = Weights(stored_model(network)), ctypes.c_void_p()
    assert library().fans_open(None, ctypes.byref(handle)) == BAD_CALL
    assert library().fans_open(ctypes.addressof(weights.model), None) == BAD_CALL
    assert library().fans_continue(None, None) == BAD_CALL
    assert library().fans_continue(weights.handle, None) == BAD_CALL


CALLS: dict[str, dict[str, Any]] = {
    "mode": {"mode": 3},
    "no threads": {"threads": 0},
    "huge threads": {"threads": HUGE},
    "negative lists": {"lists": -1},
    "huge lists": {"lists": HUGE},
    "no items": {"items": None},
    "no offsets": {"offsets": None},
    "no counts": {"counts": None},
    "no space for items": {"answer_items": None},
    "no space for scores": {"answer_scores": None},
    "no space for lengths": {"answer_lengths": None},
    "negative exclusions": {"excluded_count": -1},
    "exclusions without items": {"excluded_count": 1, "excluded": None},
    "allowed without items": {"allowed_count": 1, "allowed": None},
    "groups without groups": {"max_per_group": 1, "groups": None},
    "negative groups": {"max_per_group": -1},
}
OFFSETS_AND_COUNTS = {
    "first offset": [1, 2, 3, 3],
    "falling offsets": [0, 5, 3, 3],
    "negative offsets": [0, -1, 3, 3],
    "a count of 0": [0, 2, 0, 3],
    "a count above the number of items": [0, 2, ITEMS + 1, 3],
}


def outcome(network: Any, offsets_and_counts: list[int] | None = None, **changes: Any) -> int:
    """Return the outcome of a call with two lists of two items, changed; `offsets_and_counts`: 2 offsets, 2 counts."""
    weights = Weights(stored_model(network))
    items, scores, out = np.array([1, 2, 3, 4]), np.zeros(6, dtype=np.float32), np.zeros(8, dtype=np.int64)
    first, middle, *counts = offsets_and_counts or [0, 2, 3, 3]
    offsets, count_array = np.array([first, middle, 4]), np.array(counts)
    call = Call(mode=0, threads=1, lists=2, items=items.ctypes.data, offsets=offsets.ctypes.data)
    call.counts, call.answer_items = count_array.ctypes.data, out.ctypes.data
    call.answer_lengths, call.answer_scores = out.ctypes.data + 6 * 8, scores.ctypes.data
    call.allowed_count, call.min_score = -1, -np.inf
    for name, value in changes.items():
        setattr(call, name, value)
    return int(library().fans_continue(weights.handle, ctypes.addressof(call)))


def test_valid_call_is_answered(network: Any) -> None:
    assert outcome(network) == DONE


@pytest.mark.parametrize("changes", CALLS.values(), ids=CALLS)
def test_call_with_impossible_sizes_or_pointers_is_refused(changes: dict[str, Any], network: Any) -> None:
    assert outcome(network, **changes) == BAD_CALL


@pytest.mark.parametrize("offsets_and_counts", OFFSETS_AND_COUNTS.values(), ids=OFFSETS_AND_COUNTS)
def test_call_with_impossible_offsets_or_counts_is_refused(offsets_and_counts: list[int], network: Any) -> None:
    assert outcome(network, offsets_and_counts) == BAD_CALL


def change_memory(model: Any, name: str, index: int, value: int) -> None:
    getattr(model.memory, name)[index] = value


HYBRIDS: dict[str, Callable[[Any], object]] = {
    "lists that do not begin at 0": lambda m: change_memory(m, "starts", 0, 5),
    "lists that end before they begin": lambda m: change_memory(m, "starts", 3, 1 << 40),
    "lists that end beyond the items": lambda m: change_memory(m, "starts", -1, 1 << 40),
    "lists of items that end elsewhere": lambda m: change_memory(m, "list_starts", -1, 7),
    "a huge position": lambda m: change_memory(m, "places", 4, (1 << 31) - 1),
    "another type": lambda m: setattr(m.memory, "lists", m.memory.lists.long()),
    "arrays of other lengths": lambda m: setattr(m.memory, "list_places", m.memory.list_places[:-1]),
    "linear weights of another type": lambda m: setattr(m.linear, "items", m.linear.items.long()),
}


@pytest.mark.parametrize("change", HYBRIDS.values(), ids=HYBRIDS)
def test_hybrid_model_with_impossible_arrays_is_refused(change: Callable[[Any], object]) -> None:
    model = test_hybrid.hybrid_model(**test_hybrid.ALL)
    change(model)
    with pytest.raises(BadArtifact):
        HybridWeights(stored_model(model))


NETWORKS: dict[str, Callable[[Any], object]] = {
    "half a transform": lambda h: setattr(h.tied.transform, "weight", None),
    "a transform without its norm": lambda h: setattr(h.tied, "transform_norm", Affine()),
    "a share above 1": lambda h: setattr(h, "next_share", 1.5),
    "a negative share": lambda h: setattr(h, "next_share", -0.1),
    "a share that is not a number": lambda h: setattr(h, "next_share", np.nan),
}


@pytest.mark.parametrize("change", NETWORKS.values(), ids=NETWORKS)
def test_hybrid_model_with_an_impossible_network_is_refused(change: Callable[[Any], object]) -> None:
    weights, handle = HybridWeights(stored_model(test_hybrid.hybrid_model())), ctypes.c_void_p()
    change(Hybrid.from_address(weights.model.hybrid))
    assert library().fans_open(ctypes.addressof(weights.model), ctypes.byref(handle)) == BAD_MODEL


def test_outcomes_become_errors() -> None:
    check_outcome(DONE)
    with pytest.raises(BadArtifact, match="sizes or offsets"):
        check_outcome(BAD_MODEL)
    with pytest.raises(FansError, match="refused the call"):
        check_outcome(BAD_CALL)


def test_scores_that_overflow_are_refused() -> None:
    model = test_backend.model_of("fans", {"feedforward": 32, "classifier": "vanilla"})
    model.classifier.items.bias.data[:] = 3e38
    model.classifier.items.weight.data[:] = 3e38
    with pytest.raises(BadArtifact, match="no score of the model is a finite number"):
        NativeEngine(model, ITEMS).continue_lists([np.array([1, 2])], 5, Rules())
