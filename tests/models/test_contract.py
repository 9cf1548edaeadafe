"""Every registered model implements the contract of `fansrec.models.contract`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from fansrec.engine.generation import RecomputedSteps
from fansrec.engine.modes import generation_modes
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.engine.traits import ItemTraits
from fansrec.errors import BadSetting
from fansrec.models.contract import KeepsState, ScoresLists, ScoresNext, ScoresPositions
from fansrec.models.registry import build, entry, model_name, names
from fansrec.training.plan import make_plan
from fansrec.training.settings import known_names
from worlds import SMALL, walks

CORPUS = walks()
ITEMS = len(CORPUS.vocabulary)
EMPTY = np.array([], dtype=np.int64)
INPUTS = [np.array([3, 4, 5, 3]), EMPTY, np.array([59]), np.arange(20, 30)]
COUNTS = [4, 6, 1, 3]
STARRED = [name for name in names() if "use_categories" in known_names(name)]
KINDS: list[tuple[str, dict[str, Any]]] = [
    *[(name, {}) for name in names()],
    *[(name, {"use_categories": False}) for name in STARRED],
    ("fans", {"classifier": "vanilla"}),
    ("fans", {"recipe": "best"}),
]


def made(name: str, settings: dict[str, Any]) -> Any:
    """Return a small model of a kind, fitted if it has `fit`."""
    torch.manual_seed(0)
    known = known_names(name, settings.get("recipe", "paper"))
    small = {setting: value for setting, value in SMALL.items() if setting in known}
    model = make_plan(name, small | settings, CORPUS).build()
    if hasattr(model, "fit"):
        model.fit(CORPUS.items, CORPUS.offsets)
    return model.eval()


def kind_id(kind: tuple[str, dict[str, Any]]) -> str:
    return "-".join([kind[0], *map(str, kind[1].values())])


def kinds_of(protocol: type) -> list[tuple[str, dict[str, Any]]]:
    """Return the kinds whose class implements an optional protocol of the contract."""
    names = [model_name(model, settings.get("recipe", "paper")) for model, settings in KINDS]
    kinds = [kind for kind, name in zip(KINDS, names, strict=True) if issubclass(entry(name).model, protocol)]
    assert kinds, f"no model implements {protocol.__name__}; was a method renamed?"
    return kinds


@pytest.fixture(scope="module", params=KINDS, ids=kind_id)
def model(request: pytest.FixtureRequest) -> Any:
    return made(*request.param)


@torch.inference_mode()
def scores(model: Any, first: int = 0, last: int = max(COUNTS), rank: int = 0) -> torch.Tensor:
    """Return the scores of positions, (B, last - first, M), all equal if the model does not distinguish positions."""
    if isinstance(model, ScoresPositions):
        return model.score_positions(INPUTS, COUNTS)(first, last, rank)
    score = model.score_lists(INPUTS, COUNTS) if isinstance(model, ScoresLists) else model.score_next(INPUTS)
    return score[:, None].expand(-1, last - first, -1)


def requested() -> torch.Tensor:
    """Return which positions are requested, (lists, positions)."""
    return torch.arange(max(COUNTS)) < torch.tensor(COUNTS)[:, None]


def test_model_has_a_name_a_mode_and_limits(model: Any) -> None:
    assert entry(model.name).model is type(model)
    assert model.generation in generation_modes(model)
    assert model.ranks >= 1
    limit = model.longest_sequence()
    assert limit is None or limit >= int(CORPUS.lengths.max())


def test_config_and_state_restore_the_model(model: Any, tmp_path: Path) -> None:
    save_file(model.state_dict(), tmp_path / "weights.safetensors")
    torch.manual_seed(1)  # the initial weights of a new model must not matter
    again = build(model.name, asdict(model.config)).eval()
    again.load_state_dict(load_file(tmp_path / "weights.safetensors"))
    assert again.config == model.config
    for rank in range(model.ranks):
        assert torch.equal(scores(again, rank=rank), scores(model, rank=rank))


def test_scores_have_the_expected_shape(model: Any) -> None:
    for rank in range(model.ranks):
        assert scores(model, rank=rank).shape == (len(INPUTS), max(COUNTS), ITEMS)


def test_scores_are_finite_or_minus_infinity(model: Any) -> None:
    for rank in range(model.ranks):
        given = scores(model, rank=rank)[requested()]
        assert not given.isnan().any() and not given.isposinf().any()
        assert given.isfinite().any(1).all()


def test_the_ranks_together_score_every_item_once(model: Any) -> None:
    finite = sum(scores(model, rank=rank)[requested()].isfinite().int() for rank in range(model.ranks))
    assert (finite == 1).all()


def test_scores_of_a_run_equal_those_of_all_positions(model: Any) -> None:
    everything = scores(model)
    for first, last in ((0, 1), (1, 3), (2, 6)):
        torch.testing.assert_close(scores(model, first, last), everything[:, first:last], rtol=1e-5, atol=1e-6)


def test_scoring_is_repeatable(model: Any) -> None:
    assert torch.equal(scores(model), scores(model))


@pytest.mark.parametrize("fill", ["by-position", "depth-first"])
def test_answers_are_distinct_items_that_are_not_in_the_input(model: Any, fill: str) -> None:
    for mode in generation_modes(model):
        answers = TorchEngine(model, ITEMS, generation=mode).continue_lists(INPUTS, COUNTS, Rules(fill=fill))
        for items, k, answer in zip(INPUTS, COUNTS, answers, strict=True):
            assert len(answer.items) == len(set(answer.items.tolist())) == k
            assert answer.items.min() >= 0 and answer.items.max() < ITEMS
            assert not set(answer.items.tolist()) & set(items.tolist())
            assert np.isfinite(answer.scores).all()


def test_all_items_can_be_requested(model: Any) -> None:
    for mode in generation_modes(model):
        engine = TorchEngine(model, ITEMS, generation=mode)
        (answer,) = engine.continue_lists([np.array([7])], ITEMS, Rules(keep_seen=True))
        assert sorted(answer.items.tolist()) == list(range(ITEMS))


def test_answers_do_not_depend_on_the_batch(model: Any) -> None:
    for mode in generation_modes(model):
        engine = TorchEngine(model, ITEMS, generation=mode)
        together = engine.continue_lists(INPUTS, COUNTS, Rules())
        for items, k, answer in zip(INPUTS, COUNTS, together, strict=True):
            (alone,) = engine.continue_lists([items], k, Rules())
            assert alone.items.tolist() == answer.items.tolist()
            np.testing.assert_allclose(alone.scores, answer.scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("model", kinds_of(KeepsState), indirect=True, ids=kind_id)
@torch.inference_mode()
def test_incremental_steps_equal_full_recomputation(model: Any) -> None:
    kept, recomputed = model.begin(INPUTS, 8), RecomputedSteps(model, INPUTS)
    for step in range(9):
        torch.testing.assert_close(kept.scores(), recomputed.scores(), rtol=1e-4, atol=1e-5)
        if step < 8:  # whatever is appended: the best, the worst, anything
            items = torch.randint(ITEMS, (len(INPUTS),), generator=torch.Generator().manual_seed(step))
            kept.append(items)
            recomputed.append(items)


@pytest.mark.parametrize("name", ["sasrec", "car", "gru4rec"])
def test_causal_models_keep_their_state(name: str) -> None:
    assert issubclass(entry(name).model, KeepsState)


def next_scores(model: Any) -> torch.Tensor:
    """Return the scores of the next item, (lists, M), by the method that the model has."""
    if isinstance(model, ScoresNext):
        return model.score_next(INPUTS)
    ones = [1] * len(INPUTS)
    if isinstance(model, ScoresLists):
        return model.score_lists(INPUTS, ones)
    return model.score_positions(INPUTS, ones)(0, 1, 0)[:, 0]  # the first category has enough items for COUNTS


@torch.inference_mode()
def test_recall_is_the_best_k_of_one_prediction(model: Any) -> None:
    recall = TorchEngine(model, ITEMS, generation="recall").continue_lists(INPUTS, COUNTS, Rules(keep_seen=True))
    for row, answer in zip(next_scores(model), recall, strict=True):
        np.testing.assert_allclose(answer.scores, row.topk(len(answer.items)).values.numpy())


def test_unsupported_generation_mode_is_refused() -> None:
    with pytest.raises(BadSetting, match="sasrec cannot be run one-pass; it can be run autoregressive or recall"):
        TorchEngine(made("sasrec", {}), ITEMS, generation="one-pass")


def test_unknown_model_is_refused() -> None:
    with pytest.raises(BadSetting, match="there is no model 'fanz'; choose one of .*fans"):
        entry("fanz")


def test_popularity_counts_lists_not_occurrences() -> None:
    model = build("popularity", {"category_starts": [0, 3]})
    model.fit(np.array([0, 0, 0, 1, 1, 2]), np.array([0, 4, 6]))
    assert model.counts.tolist() == [1, 2, 1]


def test_reranked_answers_have_as_many_distinct_items(model: Any) -> None:
    counts = np.bincount(CORPUS.items, minlength=ITEMS)
    rules = Rules(traits=ItemTraits(model, CORPUS.vocabulary, counts), diversity=0.5, popularity=-0.3)
    for mode in generation_modes(model):
        answers = TorchEngine(model, ITEMS, generation=mode).continue_lists(INPUTS, COUNTS, rules)
        for items, k, answer in zip(INPUTS, COUNTS, answers, strict=True):
            assert len(answer.items) == len(set(answer.items.tolist())) == k
            assert not set(answer.items.tolist()) & set(items.tolist())
