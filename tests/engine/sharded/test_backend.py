"""A sharded model returns the answers of the whole model."""

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.parity import faults
from engine.random_models import ITEMS, SIZES, lists, random_model
from engine.random_models import RULES as engine_rules
from fansrec.api.continuer import load
from fansrec.artifact import WEIGHTS, seal, write_artifact
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.sharded import backend, shard
from fansrec.engine.sharded.loading import describe, in_process, read_shard
from fansrec.engine.sharded.shards import divide
from fansrec.engine.torch.backend import TorchEngine
from fansrec.engine.traits import ItemTraits
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.config import nested_settings
from fansrec.models.registry import entry, model_name
from fansrec.training.trainer import train
from worlds import SHORT, vocabulary_of, write_walks

RULES = engine_rules | {"one of a group": Rules(groups=np.arange(ITEMS) % 5, max_per_group=1, min_score=-20.0)}


def model_of(name: str = "fans", recipe: str = "paper", **values: Any) -> Any:
    config = nested_settings(entry(model_name(name, recipe)).config, SIZES | values)
    return random_model(model_name(name, recipe), config)


def write(folder: Path, model: Any, name: str = "fans", recipe: str = "paper") -> Path:
    folder.mkdir(exist_ok=True)
    vocabulary = vocabulary_of(np.diff(model.config.category_starts).tolist())
    config = {"model": model_name(name, recipe), "config": asdict(model.config), "training": {"recipe": recipe}}
    write_artifact(folder, model, vocabulary, config, "# made up\n")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("run"), model_of())


@cache
def opened(run: Path, shards: int) -> backend.ShardedEngine:
    return in_process(run, ["cpu"] * shards)[1]


@cache
def whole() -> TorchEngine:
    return TorchEngine(model_of(), ITEMS)


def assert_same(given: list[Continuation], right: list[Continuation]) -> None:
    for one, other in zip(given, right, strict=True):
        assert one.items.tolist() == other.items.tolist()
        assert one.categories.tolist() == other.categories.tolist()
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-5)


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_any_number_of_shards_gives_the_answers_of_the_whole_model(run: Path, shards: int, rules: Rules) -> None:
    inputs, counts = lists(25)
    answers = opened(run, shards).continue_lists(inputs, counts, rules)
    assert_same(answers, whole().continue_lists(inputs, counts, rules))


INDICES = st.lists(st.integers(0, ITEMS - 1), max_size=30)


@settings(max_examples=40, deadline=None)
@given(
    given=st.lists(INDICES, min_size=1, max_size=4),
    counts=st.lists(st.integers(1, ITEMS + 3), min_size=4, max_size=4),
    exclude=INDICES,
    allow=st.none() | INDICES,
    groups=st.lists(st.integers(0, 6), min_size=ITEMS, max_size=ITEMS),
    most=st.none() | st.integers(1, 4),
    floor=st.none() | st.floats(-12, -1),
    keep_seen=st.booleans(),
    shards=st.integers(1, 4),
)
def test_shards_equal_the_whole_model_for_any_rules_and_lists(
    run: Path, given: Any, counts: Any, exclude: Any, allow: Any, groups: Any, most: Any, floor: Any,
    keep_seen: bool, shards: int,
) -> None:  # fmt: skip
    rules = Rules(exclude, allow, keep_seen, most, floor, groups=np.array(groups))
    inputs = [np.array(items, dtype=np.int64) for items in given]
    answers = opened(run, shards).continue_lists(inputs, counts[: len(inputs)], rules)
    assert_same(answers, whole().continue_lists(inputs, counts[: len(inputs)], rules))


def test_shards_rerank_like_the_whole_model(run: Path) -> None:
    inputs, counts = lists(5, most=9)
    vocabulary = vocabulary_of(np.diff(whole().model.config.category_starts).tolist())
    traits = ItemTraits(whole().model, vocabulary, np.arange(ITEMS))
    rules = Rules(traits=traits, diversity=0.5, popularity=0.3)
    assert_same(opened(run, 2).continue_lists(inputs, counts, rules), whole().continue_lists(inputs, counts, rules))


def test_trained_model_gives_the_same_answers_in_shards(tmp_path: Path) -> None:
    train(write_walks(tmp_path / "corpus"), tmp_path / "run", "fans", SHORT | {"recipe": "paper"}, compare=False)
    right = load(tmp_path / "run", backend="torch").engine
    inputs, counts = lists(20, right.items)
    answers = opened(tmp_path / "run", 3).continue_lists(inputs, counts, Rules())
    assert_same(answers, right.continue_lists(inputs, counts, Rules()))


def test_answers_do_not_depend_on_batch_sizes(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(run, 2)
    inputs, counts = lists(25)
    right = engine.continue_lists(inputs, counts, RULES["groups"])
    monkeypatch.setattr(shard, "SCORES_AT_ONCE", 24)
    monkeypatch.setattr(backend, "TOKENS_AT_ONCE", 64)
    monkeypatch.setattr("fansrec.engine.decoding.selection.SCORES_AT_ONCE", 200)
    assert_same(engine.continue_lists(inputs, counts, RULES["groups"]), right)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("devices", [["cuda", "cuda"], ["cuda", "cpu", "cuda"]])
def test_shards_on_several_devices(run: Path, devices: list[str]) -> None:
    model = model_of().double()
    inputs, counts = lists(25)
    for rules in RULES.values():
        answers = in_process(run, devices)[1].continue_lists(inputs, counts, rules)
        assert faults(model, "one-pass", inputs, counts, rules, answers) == []


def test_models_without_category_embeddings_can_be_sharded(tmp_path: Path) -> None:
    model = model_of(use_categories=False, layers=1)
    inputs, counts = lists(10)
    answers = in_process(write(tmp_path, model), ["cpu"] * 2)[1].continue_lists(inputs, counts, Rules())
    assert_same(answers, TorchEngine(model, ITEMS).continue_lists(inputs, counts, Rules()))


def test_coordinator_and_shards_hold_only_their_own_weights(run: Path) -> None:
    artifact, engine = in_process(run, ["cpu"] * 2)
    assert all(ITEMS not in weight.shape and ITEMS + 4 not in weight.shape for weight in artifact.model.parameters())
    weights = [part.weights for part in engine.shards.shards]
    assert [len(part.vectors) for part in weights] == [len(part.weight) for part in weights] == [20, 20]
    assert [len(part.local.weight) for part in weights] == [1, 3]


def test_empty_call_and_invalid_indices(run: Path) -> None:
    engine = opened(run, 2)
    assert engine.continue_lists([], 3, Rules()) == []
    for inputs, rules in (([ITEMS], Rules()), ([-1], Rules()), ([1], Rules(exclude=[ITEMS])), ([1], Rules(allow=[-1]))):
        with pytest.raises(BadSetting, match="from 0 to 39"):
            engine.continue_lists([np.array(inputs)], 3, rules)
    with pytest.raises(BadSetting, match="over this model's limit"):
        engine.continue_lists([np.arange(5)], 5000, Rules())


@pytest.mark.parametrize("fill", ["depth-first", "arranged"])
def test_fills_that_need_all_scores_are_refused(run: Path, fill: str) -> None:
    with pytest.raises(BadSetting, match=f"cannot fill {fill}; use by-position"):
        in_process(run, ["cpu"])[1].continue_lists([np.array([1])], 3, Rules(fill=fill))


@pytest.mark.parametrize(
    ("name", "recipe", "values", "description"),
    [
        ("fans", "paper", {"classifier": "vanilla"}, "fans with a vanilla classifier"),
        ("fans", "best", {"classifier": "vanilla"}, "fans with a vanilla classifier"),
        ("bert4rec", "paper", {}, "bert4rec by recipe paper"),
    ],
)
def test_models_without_local_classifiers_are_refused(
    tmp_path: Path, name: str, recipe: str, values: dict[str, Any], description: str
) -> None:
    with pytest.raises(BadSetting, match=f"is {description}, which cannot be sharded; only fans with"):
        describe(write(tmp_path, model_of(name, recipe, **values), name, recipe))


def test_more_shards_than_categories_are_refused(run: Path) -> None:
    with pytest.raises(BadSetting, match="5 shards cannot share 4 categories; ask for 1 to 4"):
        in_process(run, ["cpu"] * 5)


def test_damaged_file_and_replaced_model_are_refused(tmp_path: Path) -> None:
    run = write(tmp_path / "run", model_of())
    described = describe(run)
    write(run, model_of(layers=1))
    with pytest.raises(BadArtifact, match="was changed while it was loaded"):
        read_shard(run, described.hash, described.plan(2), 1, "cpu")
    content = bytearray((run / WEIGHTS).read_bytes())
    content[-3] ^= 1
    (run / WEIGHTS).write_bytes(content)
    with pytest.raises(BadArtifact, match="was changed or damaged"):
        in_process(run, ["cpu"])


def test_weights_that_do_not_match_the_config_are_refused(tmp_path: Path) -> None:
    run = write(tmp_path / "run", model_of())
    other = write(tmp_path / "other", model_of(width=8))
    (other / WEIGHTS).replace(run / WEIGHTS)
    seal(run)
    with pytest.raises(BadArtifact, match="does not hold a model this fansrec can build"):
        in_process(run, ["cpu"] * 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30).flatmap(
    lambda sizes: st.tuples(st.just(sizes), st.integers(1, len(sizes)))
))  # fmt: skip
def test_shards_divide_categories_in_order_and_evenly(divided: tuple[list[int], int]) -> None:
    sizes, shards = divided
    plan = divide(np.cumsum([0, *sizes]).tolist(), shards)
    assert plan.cuts[0] == 0 and plan.cuts[-1] == len(sizes) and plan.shards == shards
    assert all(first < last for first, last in zip(plan.cuts, plan.cuts[1:], strict=False))
    assert np.diff(plan.items).max() <= sum(sizes) / shards + max(sizes)
