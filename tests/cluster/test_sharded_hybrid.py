"""A hybrid model on several actors gives the same answers as one machine, even if an actor dies."""

from pathlib import Path

import ray

from engine.random_models import ITEMS, lists
from engine.sharded.test_backend import assert_same, write
from engine.sharded.test_hybrid import hybrid_model
from fansrec.cluster import sharded
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine


def test_two_shards_give_the_answers_of_the_whole_model(two_free_cores: None, tmp_path: Path) -> None:
    model = hybrid_model()
    inputs, counts = lists(12)
    right = TorchEngine(model, ITEMS).continue_lists(inputs, counts, Rules())
    engine = sharded.load(write(tmp_path, model, recipe="best"), 2).engine
    try:
        assert_same(engine.continue_lists(inputs, counts, Rules()), right)
        ray.kill(engine.shards.actors[1], no_restart=False)
        assert_same(engine.continue_lists(inputs, counts, Rules()), right)
    finally:
        for actor in engine.shards.actors:
            ray.kill(actor)
