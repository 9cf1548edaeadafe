from dataclasses import replace

import numpy as np
import pytest
import torch

from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.random_models import random_best, random_engine, random_linear, random_memory
from fansrec.experiments.speed.workloads import WORKLOADS, make_corpus, questions_of
from fansrec.training.plan import make_plan


def test_positions_choose_different_categories() -> None:
    engine = random_engine("fans", 1_000, 10, 303, "cpu", 0)
    question = questions_of("long", 1_000, 1, seed=0)[0]
    answer = engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0]
    assert len(np.unique(answer.categories)) >= 4


def test_memory_has_as_many_lists_as_the_data_set_trains_on() -> None:
    assert len(random_memory("aotm", 200, 0)) == WORKLOADS["aotm"].remembered == 10_353
    assert random_memory("aotm", 200, 0) is random_memory("aotm", 200, 0)


def test_recipe_best_uses_its_memory() -> None:
    model = random_best("aotm", 200, 4, 62, 0)
    given = questions_of("aotm", 200, 1, seed=0)[0].input
    with torch.inference_mode():
        scores = model.score_lists([given], [5])
        assert not torch.equal(scores, model.config.weights.network * torch.log1p(model.probabilities([given], [5])))
    assert len(TorchEngine(model, 200).continue_lists([given], 5, Rules())[0].items) == 5


def test_recipe_best_has_the_network_that_training_builds() -> None:
    plan = make_plan(
        "fans", {"recipe": "best"}, make_corpus(replace(WORKLOADS["small"], lists=50), np.random.default_rng(0))
    )
    built, network = plan.build().config.network, random_best("small", 200, 4, 62, 0).config.network
    assert (network.causal, network.transform, network.next_share) == (built.causal, built.transform, built.next_share)


@pytest.mark.parametrize("items", [100, 16_000])
@pytest.mark.parametrize("name", ["ease", "item-knn"])
def test_linear_models_are_pruned_if_they_are_large(name: str, items: int) -> None:
    model = random_linear(name, items, 0)
    assert hasattr(model.weights, "matrix") == (items == 100)
    answer = TorchEngine(model, items).continue_lists([np.arange(5)], 7, Rules())[0]
    assert len(answer.items) == 7 and np.isfinite(answer.scores).all()
