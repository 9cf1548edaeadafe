"""A sharded hybrid model returns the answers of the whole model."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.parity import faults
from engine.random_models import ITEMS, STARTS, lists
from engine.random_models import RULES as engine_rules
from engine.sharded.test_backend import assert_same, model_of, write
from fansrec.api.continuer import Continuer
from fansrec.artifact import WEIGHTS, seal
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.sharded.backend import ShardedEngine
from fansrec.engine.sharded.hybrid import backend, evidence
from fansrec.engine.sharded.loading import in_process
from fansrec.engine.torch.backend import TorchEngine
from fansrec.engine.traits import ItemTraits, traits_of
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.hybrid.model import HybridFans, LinearPart
from fansrec.models.linear.item_weights import Table
from fansrec.models.neighbors.list_memory import ListMemory

RULES = engine_rules | {
    "one of a group": Rules(groups=np.arange(ITEMS) % 5, max_per_group=1, min_score=0.5),
    "arranged": Rules(fill="arranged"),
    "depth first": Rules(fill="depth-first", exclude=[1, 30]),
}
KERNEL = {"before": 0.4, "recency": 0.6, "near": 0.5, "aligned": 0.3, "newer": 0.5, "neighbours": 20}  # words: keep
NETWORK = {"causal": True, "transform": False, "next_share": 0.5, "read_masks": 3, "asked_categories": 2}


def hybrid_model(memory: bool = True, linear: bool = True, **values: Any) -> HybridFans:
    """Return a hybrid model with random weights, some of them negative, and 60 random lists in its memory."""
    network = model_of(recipe="best", **KERNEL | NETWORK | values)
    random = np.random.default_rng(5)
    offsets = np.concatenate([[0], np.cumsum(random.integers(1, 12, size=60))])
    items = random.integers(ITEMS - 2, size=offsets[-1]).astype(np.int32)  # two items are in no list
    part = LinearPart(ITEMS, 6)
    to = torch.from_numpy(random.integers(ITEMS, size=(ITEMS, 6)).astype(np.int32))
    part.assign(Table(to, torch.from_numpy(random.normal(0.3, 1, size=(ITEMS, 6)).astype(np.float32))))
    with torch.no_grad():
        network.tied.prior.copy_(torch.from_numpy(random.random(ITEMS)))
    remembered = ListMemory.of(ITEMS, items, offsets) if memory else None
    return network.with_parts(network.config, remembered, part if linear else None)


@cache
def whole() -> TorchEngine:
    return TorchEngine(hybrid_model(), ITEMS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("run"), whole().model, recipe="best")


@cache
def opened(run: Path, shards: int) -> ShardedEngine:
    return in_process(run, ["cpu"] * shards)[1]


def answers(engine: Any, rules: Rules) -> list[Continuation]:
    inputs, counts = lists(25)
    found: list[Continuation] = engine.continue_lists(inputs, counts, rules)
    return found


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("shards", [1, 3])
def test_any_number_of_shards_gives_the_answers_of_the_whole_model(run: Path, shards: int, rules: Rules) -> None:
    assert_same(answers(opened(run, shards), rules), answers(whole(), rules))


@pytest.mark.parametrize("rules", engine_rules.values(), ids=engine_rules)
def test_answers_agree_with_scores_in_double_precision(run: Path, rules: Rules) -> None:
    inputs, counts = lists(10)
    found = opened(run, 2).continue_lists(inputs, counts, rules)
    assert faults(hybrid_model().double(), "one-pass", inputs, counts, rules, found) == []


INDICES = st.lists(st.integers(0, ITEMS - 1), max_size=20)


@settings(max_examples=30, deadline=None)
@given(
    given=st.lists(INDICES, min_size=1, max_size=4),
    counts=st.lists(st.integers(1, ITEMS + 3), min_size=4, max_size=4),
    exclude=INDICES,
    allow=st.none() | INDICES,
    groups=st.lists(st.integers(0, 6), min_size=ITEMS, max_size=ITEMS),
    most=st.none() | st.integers(1, 4),
    keep_seen=st.booleans(),
    shards=st.integers(1, 4),
)
def test_shards_equal_the_whole_model_for_any_rules_and_lists(
    run: Path, given: Any, counts: Any, exclude: Any, allow: Any, groups: Any, most: Any, keep_seen: bool, shards: int
) -> None:
    rules = Rules(exclude, allow, keep_seen, most, groups=np.array(groups))
    inputs = [np.array(items, dtype=np.int64) for items in given]
    found = opened(run, shards).continue_lists(inputs, counts[: len(inputs)], rules)
    assert_same(found, whole().continue_lists(inputs, counts[: len(inputs)], rules))


@pytest.mark.parametrize(
    "model",
    [
        hybrid_model(memory=False),
        hybrid_model(linear=False, transform=True, next_share=0.0),
        hybrid_model(memory=False, linear=False),
        hybrid_model(network_weight=0.0, before=1.0, near=0.0),
        hybrid_model(memory_weight=0.0, use_categories=False),
    ],
    ids=["no memory", "no linear part", "network alone", "network without weight", "memory without weight"],
)
def test_models_without_some_parts_can_be_sharded(tmp_path: Path, model: HybridFans) -> None:
    engine = in_process(write(tmp_path, model, recipe="best"), ["cpu"] * 2)[1]
    assert_same(answers(engine, Rules()), answers(TorchEngine(model, ITEMS), Rules()))


def test_answers_do_not_depend_on_batch_sizes(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = answers(opened(run, 2), RULES["groups"])
    monkeypatch.setattr(backend, "SCORES_AT_ONCE", 3 * ITEMS)
    monkeypatch.setattr(evidence, "CELLS_AT_ONCE", 1)
    assert_same(answers(in_process(run, ["cpu"] * 2)[1], RULES["groups"]), right)


def test_item_of_many_lists_is_compared_with_the_newest(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(whole(), Rules())
    monkeypatch.setattr("fansrec.models.neighbors.list_votes.MAX_LISTS_OF_ITEM", 2)
    right = answers(whole(), Rules())
    assert any(one.items.tolist() != other.items.tolist() for one, other in zip(before, right, strict=True))
    assert_same(answers(opened(run, 3), Rules()), right)


def test_shards_hold_only_what_belongs_to_their_items(run: Path) -> None:
    artifact, engine = in_process(run, ["cpu"] * 2)
    assert all(
        ITEMS not in weight.shape and ITEMS + 4 not in weight.shape for weight in artifact.model.state_dict().values()
    )
    weights = [shard.weights for shard in engine.shards.shards]
    sizes = [STARTS[1], ITEMS - STARTS[1]]
    assert [len(part.network.vectors) for part in weights] == [len(part.linear[0]) for part in weights] == sizes
    entries = whole().model.memory.items.numpy()
    assert [len(part.memory.arrays["lists"]) for part in weights] == [
        np.count_nonzero(entries < STARTS[1]),
        np.count_nonzero(entries >= STARTS[1]),
    ]


def test_shard_that_was_restarted_counts_the_votes_again(run: Path) -> None:
    engine = in_process(run, ["cpu"] * 2)[1]
    ask = engine.shards.ask

    def forgetful(method: str, questions: Any) -> list[Any]:
        for shard in engine.shards.shards:
            shard._votes = ("", None)
        return ask(method, questions)

    engine.shards.ask = forgetful
    assert_same(answers(engine, Rules()), answers(whole(), Rules()))


def test_shards_know_which_items_are_similar(run: Path) -> None:
    items = np.array([30, 2, 17])
    in_shards = in_process(run, ["cpu"] * 2)[0]
    vocabulary = in_shards.vocabulary
    for position in range(len(items)):
        right = ItemTraits(whole().model, vocabulary, None).similarities(items)(position)
        np.testing.assert_allclose(traits_of(in_shards).similarities(items)(position), right, atol=1e-6)


def test_explanations_are_refused(run: Path) -> None:
    artifact, engine = in_process(run, ["cpu"])
    with pytest.raises(BadSetting, match="sharded model cannot explain"):
        Continuer(artifact, engine=engine).continue_lists([["i3"]], explain=True)


def damaged(run: Path, folder: Path, name: str, values: Any) -> Path:
    """Write the model with another array."""
    from safetensors.numpy import load_file, save_file

    write(folder, whole().model, recipe="best")
    arrays = load_file(folder / WEIGHTS)
    arrays[name] = values(arrays[name])
    save_file(arrays, folder / WEIGHTS)
    seal(folder)
    return folder


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("linear.items", lambda array: array + ITEMS, "linear.items has an index outside"),
        ("memory.lists", lambda array: array + 60, "memory.lists has an index outside"),
        ("memory.list_starts", lambda array: array[::-1].copy(), "memory.list_starts"),
        ("memory.starts", lambda array: array + 1, "memory.starts does not increase"),
        ("memory.list_places", lambda array: array - 30, "memory.list_places has an index outside"),
        ("tied.prior", lambda array: -array, "probability below 0"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(
    run: Path, tmp_path: Path, name: str, values: Any, message: str
) -> None:
    with pytest.raises(BadArtifact, match=message):
        in_process(damaged(run, tmp_path / "run", name, values), ["cpu"] * 2)
