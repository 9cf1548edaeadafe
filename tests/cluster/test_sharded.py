"""A catalog on several actors gives the same answers as one machine, even if actors die."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray

from fansrec.api.continuer import Continuer
from fansrec.artifact import write_artifact
from fansrec.cluster import sharded
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting, Unfinished
from fansrec.experiments.speed.random_models import random_model
from fansrec.vocabulary import Vocabulary

ITEMS, CATEGORIES = 100_000, 50
SIZES = {"positions": 60, "width": 16, "layers": 1, "heads": 2, "feedforward": 32}
GROUPS = np.arange(ITEMS) % 7


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    model = random_model("fans", ITEMS, CATEGORIES, seed=0, **SIZES)
    starts = np.array(model.config.category_starts)
    names = [f"c{n}" for n in range(CATEGORIES)]
    vocabulary = Vocabulary([str(item) for item in range(ITEMS)], starts, category_names=names, integer_ids=True)
    write_artifact(folder, model, vocabulary, {"model": "fans", "config": vars(model.config)}, "# made up\n")
    return folder


@pytest.fixture(scope="module")
def whole() -> TorchEngine:
    return TorchEngine(random_model("fans", ITEMS, CATEGORIES, seed=0, **SIZES), ITEMS)


@pytest.fixture(scope="module")
def in_shards(two_free_cores: None, run: Path) -> Iterator[Continuer]:
    continuer = sharded.load(run, 2)
    yield continuer
    for actor in continuer.engine.shards.actors:
        ray.kill(actor)


def lists(count: int = 5) -> tuple[list[np.ndarray], list[int]]:
    random = np.random.default_rng(3)
    inputs = [random.integers(ITEMS, size=random.integers(0, 40)) for _ in range(count)]
    return inputs, random.integers(1, 30, size=count).tolist()


def assert_same(given: list[Continuation], expected: list[Continuation]) -> None:
    for one, other in zip(given, expected, strict=True):
        assert one.items.tolist() == other.items.tolist()
        np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(keep_seen=True, exclude=range(0, ITEMS, 3)),
        Rules(groups=GROUPS, max_per_group=3, min_score=-16.0),
        Rules(allow=range(1990, 2010)),
    ],
    ids=["none", "a third excluded", "groups and a floor", "few allowed"],
)
def test_two_shards_give_the_answers_of_the_whole_model(in_shards: Continuer, whole: TorchEngine, rules: Rules) -> None:
    inputs, counts = lists()
    answers = in_shards.engine.continue_lists(inputs, counts, rules)
    assert_same(answers, whole.continue_lists(inputs, counts, rules))


def test_items_have_the_ids_of_the_vocabulary(in_shards: Continuer, whole: TorchEngine) -> None:
    (answer,) = in_shards.continue_lists([[5, 77_777, "nobody"]], k=8)
    (right,) = whole.continue_lists([np.array([5, 77_777])], 8, Rules())
    assert answer.items == right.items.tolist() and answer.unknown == ["nobody"]


def test_killed_actors_are_restarted_and_no_answer_is_lost(in_shards: Continuer, whole: TorchEngine) -> None:
    inputs, counts = lists()
    right = whole.continue_lists(inputs, counts, Rules())
    one, other = in_shards.engine.shards.actors
    ray.kill(one, no_restart=False)
    assert_same(in_shards.engine.continue_lists(inputs, counts, Rules()), right)
    midway = threading.Timer(0.02, lambda: ray.kill(other, no_restart=False))
    midway.start()
    while midway.is_alive():
        assert_same(in_shards.engine.continue_lists(inputs, counts, Rules()), right)
    assert_same(in_shards.engine.continue_lists(inputs, counts, Rules()), right)


def test_more_shards_than_cores_are_refused(ray_local: None, run: Path) -> None:
    with pytest.raises(BadSetting, match="3 shards need a CPU each, and the cluster has 2"):
        sharded.load(run, 3)


def test_unreadable_model_is_reported_in_one_line(ray_local: None, run: Path, tmp_path: Path) -> None:
    described = sharded.describe(run)
    elsewhere = sharded.Described(tmp_path, described.settings, {}, described.hash)
    shards = sharded.RayShards(elsewhere, described.plan(1), cpus=0)
    with pytest.raises(BadArtifact, match="does not hold a model .*train it again"):
        shards.ask("ready", {0: ()})


def test_shard_without_resources_times_out(ray_local: None, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded, "CALL_SECONDS", 0.2)
    described = sharded.describe(run)
    shards = sharded.RayShards(described, described.plan(1), cpus=99)
    with pytest.raises(Unfinished, match="did not answer within 0 s; check that the cluster has room"):
        shards.ask("ready", {0: ()})
