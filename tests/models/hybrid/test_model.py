"""The network of `--recipe best`: its parts, how they add up, and how it comes back from disk."""

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact, write_artifact
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.hybrid.linear_part import LinearPart
from fansrec.models.hybrid.model import FLOOR, WEIGHTS, FansBest, FansBestConfig
from fansrec.models.linear.item_weights import Table
from fansrec.models.registry import build
from fansrec.models.tokens import fill, lay_out, tokens_of
from fansrec.training.batches import BatchBuilder
from fansrec.training.masking import MaskingRates
from worlds import walks

CORPUS = walks()
ITEMS = len(CORPUS.vocabulary)
CONFIG = FansBestConfig(
    category_starts=(0, 15, 30, 45, 60), positions=19, width=16, layers=2, heads=4, feedforward=24, dropout=0.0
)
DISTINCT = sum(len({*CORPUS.list(number).tolist()}) for number in range(len(CORPUS.parts)))
MEMORY: dict[str, Any] = {"memory_lists": len(CORPUS.parts), "memory_items": DISTINCT, "before": 0.5, "recency": 0.3}
LINEAR: dict[str, Any] = {"linear_neighbours": 7, "linear_weight": 0.4, "linear_decay": 3.0}
KINDS: dict[str, dict[str, Any]] = {
    "network": {},
    "vanilla": {"classifier": "vanilla"},
    "no categories": {"use_categories": False},
    "memory": MEMORY,
    "linear": LINEAR,
    "all": MEMORY | LINEAR,
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
EMPTY = np.array([], dtype=np.int64)
INPUTS = [np.array([3, 4, 5, 3]), EMPTY, np.array([59]), np.arange(20, 30)]
COUNTS = [4, 6, 1, 10]


def best(**changes: Any) -> FansBest:
    torch.manual_seed(0)
    model = FansBest(replace(CONFIG, **changes))
    model.start(CORPUS.items, CORPUS.offsets)
    if model.memory is not None:
        model.memory.learn(CORPUS.items, CORPUS.offsets)
    if model.linear is not None:
        learn_some(model.linear)
    return model.eval()


def learn_some(weights: LinearPart) -> None:
    """Random weights of both signs."""
    random = np.random.default_rng(3)
    items = np.stack([random.choice(ITEMS, weights.width, replace=False) for _ in range(ITEMS)])
    strong = random.normal(size=items.shape).astype(np.float32)
    weights.learn(Table(torch.from_numpy(items.astype(np.int32)), torch.from_numpy(strong)))


@torch.inference_mode()
def scores(model: FansBest) -> torch.Tensor:
    return model.score_lists(INPUTS, COUNTS)


@EVERY_KIND
def test_scores_do_not_depend_on_the_lists_asked_beside(kind: dict[str, Any]) -> None:
    model = best(**kind)
    for row, given, count in zip(scores(model), INPUTS, COUNTS, strict=True):
        with torch.inference_mode():
            (alone,) = model.score_lists([given], [count])
        torch.testing.assert_close(row, alone, rtol=1e-5, atol=1e-5)


@EVERY_KIND
def test_answers_do_not_depend_on_the_lists_asked_beside(kind: dict[str, Any]) -> None:
    engine = TorchEngine(best(**kind), ITEMS)
    for given, count, answer in zip(INPUTS, COUNTS, engine.continue_lists(INPUTS, COUNTS, Rules()), strict=True):
        (alone,) = engine.continue_lists([given], count, Rules())
        assert alone.items.tolist() == answer.items.tolist()


@torch.inference_mode()
def test_the_parts_are_added_up_as_logarithms() -> None:
    weights = {"network_weight": 0.3, "memory_weight": 0.7, "linear_weight": 0.2}
    model = best(**MEMORY | LINEAR | weights)
    assert model.memory is not None and model.linear is not None
    strengths = model.memory.strengths(INPUTS, model.config.kernel)
    linear = model.linear.strengths(INPUTS, 3.0)
    expected = (
        0.3 * torch.log(1 + ITEMS * model.probabilities(INPUTS, COUNTS))
        + 0.7 * torch.log(1 + strengths / FLOOR)
        + 0.2 * torch.log(1 + linear / FLOOR)
    )
    torch.testing.assert_close(scores(model), expected)
    assert strengths[0].max() == 1 and linear[0].max() == 1


@torch.inference_mode()
def test_the_memory_compares_lists_as_the_config_says() -> None:
    # The walks differ in what stands before and behind, so that any of these changes what is said.
    plain = best(**MEMORY, network_weight=0.0)
    others = {"sharpness": 5.0, "recency": 0.9, "before": 0.1, "near": 3.0, "neighbours": 2, "aligned": 2.0}
    for name, value in others.items():
        other = best(**MEMORY | {name: value}, network_weight=0.0)
        assert getattr(other.config.kernel, name) == value
        assert not torch.equal(scores(other), scores(plain)), name


@torch.inference_mode()
def test_probabilities_come_from_one_pass_with_as_many_masks_as_asked_for() -> None:
    model, given, count = best(), np.array([7, 8, 9]), 4
    alphabet = model.config.alphabet
    layout = lay_out(np.array([3]), np.array([count]))
    tokens = tokens_of(fill(layout, given, alphabet.mask, alphabet), layout, model._categories)
    assert tokens.items.tolist() == [[alphabet.cls, 7, 8, 9, alphabet.sep, *[alphabet.mask] * 4, alphabet.sep]]
    encoded = model.encode([tokens], torch.arange(5, 9))
    shares = torch.full((1, count), 1 / count)
    expected = model.tied.probabilities(encoded[None], shares, model.vectors)
    torch.testing.assert_close(model.probabilities([given], [count]), expected)


@torch.inference_mode()
def test_of_many_masks_ten_evenly_spread_ones_are_averaged() -> None:
    model, given, count = best(), np.array([7, 8, 9]), 20
    layout = lay_out(np.array([3]), np.array([count]))
    tokens = tokens_of(
        fill(layout, given, model.config.alphabet.mask, model.config.alphabet), layout, model._categories
    )
    encoded = model.encode([tokens], 5 + torch.arange(1, count, 2))  # masks begin at 5; every second one
    expected = model.tied.probabilities(encoded[None], torch.full((1, 10), 0.1), model.vectors)
    torch.testing.assert_close(model.probabilities([given], [count]), expected)
    together = model.probabilities([given, given], [count, 3])
    torch.testing.assert_close(together[:1], expected)
    torch.testing.assert_close(together[1:], model.probabilities([given], [3]))


@torch.inference_mode()
@pytest.mark.parametrize("asked", [1, 3, 4])
def test_probabilities_sum_to_one(asked: int) -> None:
    torch.testing.assert_close(best(asked_categories=asked).probabilities(INPUTS, COUNTS).sum(1), torch.ones(4))


@torch.inference_mode()
def test_the_best_items_come_first() -> None:
    model = best(**MEMORY)
    answers = TorchEngine(model, ITEMS).continue_lists(INPUTS, COUNTS, Rules(keep_seen=True))
    for row, answer in zip(scores(model), answers, strict=True):
        np.testing.assert_allclose(answer.scores, row.topk(len(answer.items)).values.numpy(), rtol=1e-5)


@torch.inference_mode()
def test_an_arranged_answer_has_the_same_items_in_the_order_they_are_expected_in() -> None:
    model = best(**MEMORY)
    engine = TorchEngine(model, ITEMS)
    plain = engine.continue_lists(INPUTS, COUNTS, Rules())
    for given, count, answer, other in zip(
        INPUTS, COUNTS, plain, engine.continue_lists(INPUTS, COUNTS, Rules(fill="arranged")), strict=True
    ):
        assert sorted(other.items.tolist()) == sorted(answer.items.tolist())
        places = model.expected_places([given], [count], torch.from_numpy(other.items)[None])[0]
        assert (places.diff() > -1e-5).all()
        scores = dict(zip(answer.items.tolist(), answer.scores.tolist(), strict=True))
        assert [scores[item] for item in other.items.tolist()] == other.scores.tolist()


def test_items_are_scored_by_the_vectors_they_are_read_with() -> None:
    model = best()
    batch = BatchBuilder(CORPUS, model.config.alphabet, MaskingRates(), model.objective).build(np.arange(8), 1.0, [0])
    model(batch).total.backward()
    assert not any("items" in name for name, _ in model.tied.named_parameters())
    gradient = model.embed.items.weight.grad
    assert gradient is not None
    hidden = sorted({*range(ITEMS)} - {*torch.cat([chunk.items.flatten() for chunk in batch.chunks]).tolist()})
    told = sorted({*batch.labels.tolist()} & {*hidden})
    assert told and (gradient[told].abs().sum(1) > 0).all()  # never read in this batch, only told


def test_linear_strengths_are_the_positive_weights_over_the_strongest() -> None:
    weights = LinearPart(4, 2)
    towards, strong = [[1, 2], [0, 3], [0, 1], [0, 1]], [[2.0, -1.0], [5.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    weights.learn(Table(torch.tensor(towards).int(), torch.tensor(strong)))
    asked = [np.array([0]), np.array([0, 1]), np.array([1]), EMPTY]
    expected = [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0.8], [0, 0, 0, 0]]
    torch.testing.assert_close(weights.strengths(asked, 1e9), torch.tensor(expected))


@pytest.mark.parametrize("decay", [0.5, 2.0, 20.0])
def test_an_older_item_of_the_input_says_less_by_its_age(decay: float) -> None:
    weights = LinearPart(5, 2)
    towards, strong = [[3, 4], [3, 4], [0, 1], [0, 1], [0, 1]], [[5.0, 1.0], [1.0, 2.0], *[[0.0, 0.0]] * 3]
    weights.learn(Table(torch.tensor(towards).int(), torch.tensor(strong)))
    one, two = math.exp(-1 / decay), math.exp(-2 / decay)
    said = {  # of items 3 and 4
        (0, 1): (5 * one + 1, 1 * one + 2),
        (1, 0): (1 * one + 5, 2 * one + 1),
        (0, 1, 2): (5 * two + 1 * one, 1 * two + 2 * one),  # item 2 says nothing, but the others are older for it
        (0, 1, 0): (5 * two + 1 * one + 5, 1 * two + 2 * one + 1),  # a repeated item has both its ages
    }
    made = weights.strengths([np.array(given) for given in said], decay)
    expected = [[0, 0, 0, third / max(third, fourth), fourth / max(third, fourth)] for third, fourth in said.values()]
    torch.testing.assert_close(made, torch.tensor(expected))


def test_the_linear_part_stays_on_the_host_when_the_model_around_it_moves() -> None:
    around = torch.nn.ModuleDict({"linear": LinearPart(5, 2), "other": torch.nn.Linear(2, 2)}).to("meta")
    assert {tensor.device.type for tensor in around["linear"].state_dict().values()} == {"cpu"}
    assert {tensor.device.type for tensor in around["other"].state_dict().values()} == {"meta"}


@pytest.mark.parametrize(("name", "value"), [
    ("classifier", "three-stage"),
    ("asked_categories", 0),
    ("neighbours", 0),
    ("sharpness", -1.0),
    ("before", -0.1),
    ("near", -0.1),
    ("aligned", -0.1),
    ("linear_decay", 0.0),
    ("linear_decay", -1.0),
    ("network_weight", -0.1),
    ("memory_weight", -1.0),
    ("linear_weight", -1.0),
    ("recency", -0.1),
    ("recency", 1.1),
    ("width", 0),
    ("heads", 3),
    ("dropout", 1.0),
])  # fmt: skip
def test_settings_that_make_no_sense_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=name):
        replace(CONFIG, **{name: value})


def test_one_part_at_least_must_have_a_say() -> None:
    silent = dict.fromkeys(WEIGHTS, 0.0)
    with pytest.raises(BadSetting, match="network_weight, memory_weight, linear_weight are all 0"):
        replace(CONFIG, **silent)
    for name in WEIGHTS:
        assert getattr(replace(CONFIG, **silent | {name: 0.1}), name) == 0.1


@EVERY_KIND
def test_config_and_state_make_the_same_model_again(kind: dict[str, Any]) -> None:
    model = best(**kind)
    torch.manual_seed(1)
    again = build("fans", asdict(model.config), "best").eval()
    again.load_state_dict(model.state_dict())
    assert again.config == model.config
    assert torch.equal(scores(again), scores(model))


@EVERY_KIND
def test_it_comes_back_from_an_artifact_as_it_was(kind: dict[str, Any], tmp_path: Path) -> None:
    model = best(**kind)
    config = {"model": "fans", "config": asdict(model.config), "training": {"recipe": "best"}}
    write_artifact(tmp_path, model, CORPUS.vocabulary, config, "a card")
    again = read_artifact(tmp_path).model
    assert isinstance(again, FansBest) and again.config == model.config
    assert (again.memory is not None) == ("memory_lists" in kind)
    assert (again.linear is not None) == ("linear_neighbours" in kind)
    assert torch.equal(scores(again), scores(model))
