"""The hybrid model: its parts, their mixture, and how it is read from disk."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact, write_artifact
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.models.config import flat_settings, from_settings, with_settings
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.model import FLOOR, HybridFans, LinearPart
from fansrec.models.hybrid.starting_vectors import starting_vectors
from fansrec.models.linear.item_weights import Table
from fansrec.models.registry import build
from fansrec.models.tokens import with_masks
from fansrec.training.batches import BatchBuilder
from fansrec.training.masking import MaskingRates
from worlds import walks

CORPUS = walks()
ITEMS = len(CORPUS.vocabulary)
SIZES = {"width": 16, "layers": 2, "heads": 4, "feedforward": 24, "dropout": 0.0}
CONFIG = from_settings(HybridConfig, {"category_starts": (0, 15, 30, 45, 60), "positions": 19} | SIZES)
WEIGHTS = ("network_weight", "memory_weight", "linear_weight")
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
    "as trained": MEMORY | LINEAR | {"causal": True, "transform": False, "next_share": 0.5, "newer": 1.0},
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
EMPTY = np.array([], dtype=np.int64)
INPUTS = [np.array([3, 4, 5, 3]), EMPTY, np.array([59]), np.arange(20, 30)]
COUNTS = [4, 6, 1, 10]


def hybrid(**changes: Any) -> HybridFans:
    torch.manual_seed(0)
    model = HybridFans(with_settings(CONFIG, changes))
    model.start(CORPUS.items, CORPUS.offsets)
    if model.memory is not None:
        model.memory.fit(CORPUS.items, CORPUS.offsets)
    if model.linear is not None:
        assign_random(model.linear)
    return model.eval()


def assign_random(weights: LinearPart) -> None:
    """Assign random weights of both signs."""
    random = np.random.default_rng(3)
    items = np.stack([random.choice(ITEMS, weights.width, replace=False) for _ in range(ITEMS)])
    strong = random.normal(size=items.shape).astype(np.float32)
    weights.assign(Table(torch.from_numpy(items.astype(np.int32)), torch.from_numpy(strong)))


@torch.inference_mode()
def scores(model: HybridFans) -> torch.Tensor:
    return model.score_lists(INPUTS, COUNTS)


@EVERY_KIND
def test_scores_do_not_depend_on_other_lists_of_the_batch(kind: dict[str, Any]) -> None:
    model = hybrid(**kind)
    for row, given, count in zip(scores(model), INPUTS, COUNTS, strict=True):
        with torch.inference_mode():
            (alone,) = model.score_lists([given], [count])
        torch.testing.assert_close(row, alone, rtol=1e-5, atol=1e-5)


@EVERY_KIND
def test_answers_do_not_depend_on_other_lists_of_the_batch(kind: dict[str, Any]) -> None:
    engine = TorchEngine(hybrid(**kind), ITEMS)
    for given, count, answer in zip(INPUTS, COUNTS, engine.continue_lists(INPUTS, COUNTS, Rules()), strict=True):
        (alone,) = engine.continue_lists([given], count, Rules())
        assert alone.items.tolist() == answer.items.tolist()


@torch.inference_mode()
def test_scores_are_the_weighted_sum_of_log_parts() -> None:
    weights = {"network_weight": 0.3, "memory_weight": 0.7, "linear_weight": 0.2}
    model = hybrid(**MEMORY | LINEAR | weights)
    assert model.memory is not None and model.linear is not None
    votes = model.memory.votes(INPUTS, model.config.memory)
    linear = model.linear.scores(INPUTS, 3.0)
    expected = (
        0.3 * torch.log(1 + ITEMS * model.probabilities(INPUTS, COUNTS))
        + 0.7 * torch.log(1 + votes / FLOOR)
        + 0.2 * torch.log(1 + linear / FLOOR)
    )
    torch.testing.assert_close(scores(model), expected)
    assert votes[0].max() == 1 and linear[0].max() == 1


@torch.inference_mode()
def test_memory_uses_the_settings_of_the_config() -> None:
    # The walks differ in the items before and after, so that each of these settings changes the votes.
    plain = hybrid(**MEMORY, network_weight=0.0)
    others = {"sharpness": 5.0, "recency": 0.9, "before": 0.1, "near": 3.0, "aligned": 2.0, "newer": 2.0}
    others["neighbours"] = 2  # words: keep
    for name, value in others.items():
        other = hybrid(**MEMORY | {name: value}, network_weight=0.0)
        assert flat_settings(other.config)[name] == value
        assert not torch.equal(scores(other), scores(plain)), name


@torch.inference_mode()
def test_probabilities_come_from_one_pass_with_one_mask_per_position() -> None:
    model, given, count = hybrid(), np.array([7, 8, 9]), 3
    alphabet = model.config.alphabet
    tokens = with_masks([given], [count], model._categories, alphabet)
    assert tokens.items.tolist() == [[alphabet.cls, 7, 8, 9, alphabet.sep, *[alphabet.mask] * 3, alphabet.sep]]
    encoded = model.encode([tokens], torch.arange(5, 8))
    shares = torch.full((1, count), 1 / count)
    expected = model.tied.probabilities(encoded[None], shares, model.vectors)
    torch.testing.assert_close(model.probabilities([given], [count]), expected)


@torch.inference_mode()
def test_three_evenly_spread_masks_are_averaged() -> None:
    model, given, count = hybrid(read_masks=3), np.array([7, 8, 9]), 12
    tokens = with_masks([given], [count], model._categories, model.config.alphabet)
    encoded = model.encode([tokens], 5 + torch.tensor([2, 6, 10]))  # masks start at 5; the middle of each third
    expected = model.tied.probabilities(encoded[None], torch.full((1, 3), 1 / 3), model.vectors)
    torch.testing.assert_close(model.probabilities([given], [count]), expected)
    together = model.probabilities([given, given], [count, 3])
    torch.testing.assert_close(together[:1], expected)
    torch.testing.assert_close(together[1:], model.probabilities([given], [3]))


@torch.inference_mode()
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("causal", [False, True])
def test_share_of_the_state_after_the_input(share: float, causal: bool) -> None:
    """The state at the last item of the input, or at CLS, has the share; the masks have the rest evenly."""
    model = hybrid(causal=causal, next_share=share)
    probable = model.probabilities(INPUTS, COUNTS)
    for row, given, count in zip(probable, INPUTS, COUNTS, strict=True):
        tokens = with_masks([given], [count], model._categories, model.config.alphabet)
        read = min(count, model.config.network.read_masks)
        masks = [int((i + 0.5) * count / read) for i in range(read)]
        columns = [len(given), *(len(given) + 2 + mask for mask in masks)]  # CLS is column 0
        encoded = model.encode([tokens], torch.tensor(columns))
        shares = torch.tensor([[share, *[(1 - share) / read] * read]])
        (expected,) = model.tied.probabilities(encoded[None], shares, model.vectors)
        torch.testing.assert_close(row, expected)


@torch.inference_mode()
@pytest.mark.parametrize(("share", "states"), [(0.0, 10), (0.3, 11), (1.0, 11)])
def test_shares_of_a_list_sum_to_one(share: float, states: int) -> None:
    hidden, shares = hybrid().states(INPUTS, [4, 30, 1, 12], 10, share)
    assert hidden.shape == (4, states, 16) and shares.shape == (4, states)
    torch.testing.assert_close(shares.sum(1), torch.ones(4))
    assert (shares > 0).sum(1).tolist() == [
        (share > 0) + (share < 1) * masks for masks in (4, 10, 1, 10)
    ]  # fmt: skip
    if share:
        torch.testing.assert_close(shares[:, 0], torch.full((4,), share))


@torch.inference_mode()
def test_given_share_takes_precedence_over_the_setting() -> None:
    model, other = hybrid(next_share=0.5), hybrid(next_share=0.0)
    torch.testing.assert_close(model.network_scores(INPUTS, COUNTS, 0.0), other.network_scores(INPUTS, COUNTS))
    assert not torch.equal(model.network_scores(INPUTS, COUNTS), other.network_scores(INPUTS, COUNTS))


@torch.inference_mode()
@pytest.mark.parametrize("asked", [1, 3, 4])
def test_probabilities_sum_to_one(asked: int) -> None:
    torch.testing.assert_close(hybrid(asked_categories=asked).probabilities(INPUTS, COUNTS).sum(1), torch.ones(4))


@torch.inference_mode()
def test_best_items_come_first() -> None:
    model = hybrid(**MEMORY)
    answers = TorchEngine(model, ITEMS).continue_lists(INPUTS, COUNTS, Rules(keep_seen=True))
    for row, answer in zip(scores(model), answers, strict=True):
        np.testing.assert_allclose(answer.scores, row.topk(len(answer.items)).values.numpy(), rtol=1e-5)


@torch.inference_mode()
def test_arranged_answer_has_the_same_items_in_expected_order() -> None:
    model = hybrid(**MEMORY)
    engine = TorchEngine(model, ITEMS)
    plain = engine.continue_lists(INPUTS, COUNTS, Rules())
    for given, count, answer, other in zip(
        INPUTS, COUNTS, plain, engine.continue_lists(INPUTS, COUNTS, Rules(fill="arranged")), strict=True
    ):
        assert sorted(other.items.tolist()) == sorted(answer.items.tolist())
        positions = model.expected_positions([given], [count], torch.from_numpy(other.items)[None])[0]
        assert (positions.diff() > -1e-5).all()
        scores = dict(zip(answer.items.tolist(), answer.scores.tolist(), strict=True))
        assert [scores[item] for item in other.items.tolist()] == other.scores.tolist()


def test_items_are_scored_by_their_input_embeddings() -> None:
    model = hybrid()
    batch = BatchBuilder(CORPUS, model.config.alphabet, MaskingRates(), model.objective).build(np.arange(8), 1.0, [0])
    model(batch).total.backward()
    assert not any("items" in name for name, _ in model.tied.named_parameters())
    gradient = model.embed.items.weight.grad
    assert gradient is not None
    hidden = sorted({*range(ITEMS)} - {*torch.cat([chunk.items.flatten() for chunk in batch.chunks]).tolist()})
    labels = sorted({*batch.labels.tolist()} & {*hidden})
    assert labels and (gradient[labels].abs().sum(1) > 0).all()  # not in the input of this batch, only predicted


def test_linear_scores_are_positive_sums_divided_by_the_highest() -> None:
    weights = LinearPart(4, 2)
    items, strong = [[1, 2], [0, 3], [0, 1], [0, 1]], [[2.0, -1.0], [5.0, 4.0], [0.0, 0.0], [0.0, 0.0]]
    weights.assign(Table(torch.tensor(items).int(), torch.tensor(strong)))
    asked = [np.array([0]), np.array([0, 1]), np.array([1]), EMPTY]
    expected = [[0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0.8], [0, 0, 0, 0]]
    torch.testing.assert_close(weights.scores(asked, 1e9), torch.tensor(expected))


@pytest.mark.parametrize("decay", [0.5, 2.0, 20.0])
def test_older_items_of_the_input_weigh_less(decay: float) -> None:
    weights = LinearPart(5, 2)
    items, strong = [[3, 4], [3, 4], [0, 1], [0, 1], [0, 1]], [[5.0, 1.0], [1.0, 2.0], *[[0.0, 0.0]] * 3]
    weights.assign(Table(torch.tensor(items).int(), torch.tensor(strong)))
    one, two = math.exp(-1 / decay), math.exp(-2 / decay)
    sums = {  # of items 3 and 4
        (0, 1): (5 * one + 1, 1 * one + 2),
        (1, 0): (1 * one + 5, 2 * one + 1),
        (0, 1, 2): (5 * two + 1 * one, 1 * two + 2 * one),  # item 2 has no weights, but the others are older
        (0, 1, 0): (5 * two + 1 * one + 5, 1 * two + 2 * one + 1),  # a repeated item counts with both ages
    }
    made = weights.scores([np.array(given) for given in sums], decay)
    expected = [[0, 0, 0, third / max(third, fourth), fourth / max(third, fourth)] for third, fourth in sums.values()]
    torch.testing.assert_close(made, torch.tensor(expected))


def test_linear_part_stays_in_host_memory() -> None:
    around = torch.nn.ModuleDict({"linear": LinearPart(5, 2), "other": torch.nn.Linear(2, 2)}).to("meta")
    assert {tensor.device.type for tensor in around["linear"].state_dict().values()} == {"cpu"}
    assert {tensor.device.type for tensor in around["other"].state_dict().values()} == {"meta"}


@pytest.mark.parametrize(("name", "value"), [
    ("classifier", "three-stage"),
    ("asked_categories", 0),
    ("neighbours", 0),  # words: keep
    ("sharpness", -1.0),
    ("before", -0.1),
    ("near", -0.1),
    ("aligned", -0.1),
    ("newer", -0.1),
    ("next_share", -0.1),
    ("next_share", 1.1),
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
def test_invalid_settings_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(BadSetting, match=name):
        with_settings(CONFIG, {name: value})


def test_at_least_one_weight_must_be_above_0() -> None:
    zero = dict.fromkeys(WEIGHTS, 0.0)
    with pytest.raises(BadSetting, match="network_weight, memory_weight, linear_weight are all 0"):
        with_settings(CONFIG, zero)
    for name in WEIGHTS:
        assert flat_settings(with_settings(CONFIG, zero | {name: 0.1}))[name] == 0.1


@EVERY_KIND
def test_config_and_state_restore_the_model(kind: dict[str, Any]) -> None:
    model = hybrid(**kind)
    torch.manual_seed(1)
    again = build("fans-hybrid", asdict(model.config)).eval()
    again.load_state_dict(model.state_dict())
    assert again.config == model.config
    assert torch.equal(scores(again), scores(model))


@EVERY_KIND
def test_artifact_restores_the_model(kind: dict[str, Any], tmp_path: Path) -> None:
    model = hybrid(**kind)
    config = {"model": "fans-hybrid", "config": asdict(model.config), "training": {"recipe": "best"}}
    write_artifact(tmp_path, model, CORPUS.vocabulary, config, "a card")
    again = read_artifact(tmp_path).model
    assert isinstance(again, HybridFans) and again.config == model.config
    assert (again.memory is not None) == ("memory_lists" in kind)
    assert (again.linear is not None) == ("linear_neighbours" in kind)
    assert torch.equal(scores(again), scores(model))


@torch.inference_mode()
@EVERY_KIND
def test_parts_are_those_that_the_model_has(kind: dict[str, Any]) -> None:
    model = hybrid(**kind)
    present = {"network": True, "memory": model.memory is not None, "linear": model.linear is not None}
    assert [*model.parts(INPUTS, COUNTS)] == [name for name, there in present.items() if there]


def test_network_without_a_weight_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hybrid(**MEMORY | LINEAR, network_weight=0.0)
    monkeypatch.setattr(model, "encode", None)  # a call would fail
    assert [*model.parts(INPUTS, COUNTS)] == ["memory", "linear"]
    assert scores(model).shape == (4, ITEMS)


@pytest.mark.parametrize(("weight", "left"), [("memory_weight", "linear"), ("linear_weight", "memory")])
def test_other_parts_without_a_weight_are_not_computed(weight: str, left: str) -> None:
    model = hybrid(**MEMORY | LINEAR | {weight: 0.0})
    assert [*model.parts(INPUTS, COUNTS)] == ["network", left]
    other = hybrid(**{"memory": MEMORY, "linear": LINEAR}[left])
    torch.testing.assert_close(scores(model), scores(other))


@pytest.mark.parametrize("parts", [{}, MEMORY | {"memory_weight": 0.0}, LINEAR | {"linear_weight": 0.0}])
def test_model_without_any_part_that_has_a_weight_answers_equal_scores(parts: dict[str, Any]) -> None:
    assert not scores(hybrid(**parts, network_weight=0.0)).any()


def test_start_sets_item_vectors_and_leaves_special_tokens() -> None:
    torch.manual_seed(0)
    model = HybridFans(CONFIG)
    before = model.embed.items.weight.detach().clone()
    torch.manual_seed(1)
    model.start(CORPUS.items, CORPUS.offsets)
    torch.manual_seed(1)
    assert torch.equal(model.vectors, starting_vectors(CORPUS.items, CORPUS.offsets, ITEMS, 16))
    assert torch.equal(model.embed.items.weight[ITEMS:], before[ITEMS:])


def test_added_parts_are_those_given() -> None:
    model, whole = hybrid(), hybrid(**MEMORY | LINEAR)
    config = with_settings(CONFIG, MEMORY | LINEAR)
    again = model.with_parts(config, whole.memory, whole.linear)
    assert again.config == whole.config
    assert torch.equal(scores(again), scores(whole))
    assert torch.equal(scores(again.with_parts(CONFIG, None, None)), scores(model))


@EVERY_KIND
def test_artifact_of_format_1_is_read(kind: dict[str, Any], tmp_path: Path) -> None:
    """There the hybrid model is named `fans`, and its settings are flat."""
    model = hybrid(**kind)
    config = {"model": "fans", "config": flat_settings(model.config), "training": {"recipe": "best"}}
    write_artifact(tmp_path, model, CORPUS.vocabulary, config, "a card")
    again = read_artifact(tmp_path)
    assert again.config["model"] == "fans-hybrid" and again.model.config == model.config
    assert torch.equal(scores(again.model), scores(model))
