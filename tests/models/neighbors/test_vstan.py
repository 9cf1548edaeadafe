from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact
from fansrec.errors import BadSetting
from fansrec.models.neighbors.config import VstanConfig
from linear_models import CORPUS, EMPTY, INPUTS, fitted, fitted_to, scores
from training_runs import train
from worlds import write_walks

PLAIN: dict[str, Any] = {"input_decay": 0, "item_decay": 0, "shared_decay": 0, "list_decay": 0, "idf_weight": 0}
EVERYTHING = {"input_decay": 0.5, "item_decay": 0.3, "shared_decay": 0.2, "list_decay": 0.7, "idf_weight": 2.0}


def small(lists: list[list[int]], items: int, **settings: Any) -> Any:
    """Return a model in which only the given settings have an effect."""
    return fitted_to(lists, items, "vstan", **PLAIN | settings)


def expected(given: list[int], config: VstanConfig) -> list[float]:
    """Return the votes after `given` for the walks, list by list and item by item."""
    lists = [list(dict.fromkeys(CORPUS.list(number).tolist())) for number in range(len(CORPUS.offsets) - 1)]
    unit = sum(map(len, lists)) / len(lists)
    age = {item: len(given) - 1 - place for place, item in enumerate(given)}
    similarity = {}
    for number, items in enumerate(lists):
        if shared := set(items) & set(given):
            weights = sum(exp(-age[item] / (config.input_decay * unit)) for item in shared)
            newer = (len(lists) - 1 - number) / len(lists)
            similarity[number] = weights / sqrt(len(items)) * exp(-newer / config.list_decay)
    votes = [0.0] * 60
    for number in sorted(similarity, key=lambda n: (-similarity[n], -n))[: config.neighbors]:
        shared = [place for place, item in enumerate(lists[number]) if item in age]
        last_age = min(age[lists[number][place]] for place in shared)
        for place, item in enumerate(lists[number]):
            position = exp(-abs(place - shared[-1]) / (config.item_decay * unit))
            idf = log(len(lists) / sum(item in items for items in lists))
            recent = exp(-last_age / (config.shared_decay * unit))
            votes[item] += similarity[number] * position * recent * (1 + config.idf_weight * idf)
    return [vote / max(votes) for vote in votes]


@pytest.mark.parametrize("given", [[3], [3, 4, 20, 5], [31, 17, 3, 4, 20, 5, 3]])
@pytest.mark.parametrize("neighbors", [3, 500])
def test_votes_equal_a_computation_list_by_list(given: list[int], neighbors: int) -> None:
    model = fitted("vstan", neighbors=neighbors, **EVERYTHING)
    assert scores(model, *given) == pytest.approx(expected(given, model.config), abs=1e-6)


def test_longer_lists_are_less_similar() -> None:
    assert scores(small([[0, 1], [0, 2, 3, 4, 5, 6, 7, 8]], 9), 0) == pytest.approx([1, 2 / 3, *[1 / 3] * 7])


def test_last_items_of_the_input_count_more() -> None:
    model = small([[0, 2], [1, 3]], 4, input_decay=0.5)  # of lists of two items: one position
    assert scores(model, 0, 1) == pytest.approx([exp(-1), 1, exp(-1), 1])
    assert scores(model, 0, 1, 0) == pytest.approx([1, exp(-1), 1, exp(-1)])  # at its last position


def test_items_near_the_last_shared_item_count_more() -> None:
    model = small([[0, 1, 2, 3]], 4, item_decay=0.5)
    assert scores(model, 2, 1) == pytest.approx([exp(-1), exp(-0.5), 1, exp(-0.5)])


def test_lists_with_recent_items_of_the_input_count_more() -> None:
    model = small([[0, 1, 3, 4], [0, 2, 5, 6]], 7, shared_decay=0.25)
    assert scores(model, 0, 1, 2) == pytest.approx([1 + exp(-1), exp(-1), 1, exp(-1), exp(-1), 1, 1] / (1 + np.exp(-1)))


def test_rare_items_count_more() -> None:
    model = small([[0, 1, 2], [1], [1, 3]], 4, idf_weight=2)
    assert scores(model, 0) == pytest.approx([1, 1 / (1 + 2 * log(3)), 1, 0], abs=1e-6)


def test_newer_lists_count_more() -> None:
    assert scores(small([[0, 1], [0, 2]], 3, list_decay=0.5), 0) == pytest.approx(
        [1, 1 / (1 + exp(1)), exp(1) / (1 + exp(1))]
    )


def test_only_the_newest_lists_are_sampled_and_the_nearest_vote() -> None:
    lists = [[0, 1, 4], [0, 2], [0, 3], [5, 6]]
    assert np.flatnonzero(np.array(scores(small(lists, 7, sample_size=2), 0)) > 0.1).tolist() == [0, 2, 3]
    assert np.flatnonzero(np.array(scores(small(lists, 7, neighbors=1), 0)) > 0.1).tolist() == [0, 3]  # the newest
    assert np.flatnonzero(np.array(scores(small(lists, 7, neighbors=1), 0, 1)) > 0.1).tolist() == [0, 1, 4]


def test_popularity_answers_where_no_list_shares_an_item() -> None:
    model = small([[0, 1], [1, 2, 3], [3, 1]], 5)
    for given in ([], [4]):
        assert torch.tensor(scores(model, *given)).argsort(descending=True, stable=True).tolist() == [1, 3, 0, 2, 4]


def test_lists_of_a_batch_do_not_affect_each_other() -> None:
    model = fitted("vstan", **EVERYTHING)
    for row, items in zip(model.score_next([*INPUTS, EMPTY]), [*INPUTS, EMPTY], strict=True):
        assert torch.equal(row, model.score_next([items])[0])


@pytest.mark.parametrize(("recipe", "lists"), [("paper", 96), ("best", 108)])  # best: with the validation lists
def test_trained_model_is_read_with_its_lists(tmp_path: Path, recipe: str, lists: int) -> None:
    corpus = write_walks(tmp_path / "corpus")
    plan = train(corpus, tmp_path / "run", "vstan", {"recipe": recipe})
    model = read_artifact(tmp_path / "run").model
    assert plan.config["memory_lists"] == model.config.memory_lists == len(model.memory) == lists
    assert plan.config["memory_items"] == len(model.memory.items)
    assert model.score_next(INPUTS).argmax(1).tolist()[3] in range(45, 60)  # the walks stay in their category


def test_smallest_decay_is_no_overflow() -> None:
    tiny = dict.fromkeys(("input_decay", "item_decay", "shared_decay", "list_decay"), 1e-320)
    assert fitted("vstan", **tiny).score_next(INPUTS).isfinite().all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("neighbors", 0), ("sample_size", -1), *((name, -0.1) for name in PLAIN), ("memory_lists", -1)],
)
def test_invalid_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(BadSetting, match=f"{name} is {value}"):
        VstanConfig((0, 4), **{name: value})
