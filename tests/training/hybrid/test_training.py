"""Training of the whole hybrid model: parts, network, weights, and what is stored."""

import csv
import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fansrec.artifact import read_artifact
from fansrec.data.corpus import Corpus, FlatLists, write_corpus
from fansrec.engine.backends import open_engine
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import METRICS, EvaluationLists
from fansrec.models.config import flat_settings
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.hybrid import linear_search, part_search, training
from fansrec.training.hybrid.linear_search import CANDIDATES, Parts, fit_linear
from fansrec.training.hybrid.part_search import MEMORY_GRID
from fansrec.training.hybrid.training import fit_parts, shuffling, train_hybrid
from fansrec.training.hybrid.weight_search import WEIGHT_GRID
from fansrec.training.plan import Plan, Trained, make_plan
from fansrec.training.reporting import Reporter
from training_runs import Recorder, train
from worlds import corpus_of, vocabulary_of, walks, write_walks

SMALL = {"width": 8, "heads": 2, "layers": 1, "feedforward": 8, "batch_size": 48, "epochs": 2}
BEST = SMALL | {"recipe": "best", "checkpoint_seconds": 1e9}
WALKS = walks()
GIVEN_MEMORY = {name: values[0] for name, values in MEMORY_GRID.items()}  # given, so that none is searched
GIVEN = GIVEN_MEMORY | {"linear_weight": 0.2, "memory_weight": 1.0}
QUICK = BEST | GIVEN


@pytest.fixture(autouse=True, scope="module")
def few_candidates() -> Any:
    """Try two linear parts only, which are enough here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear_search, "CANDIDATES", CANDIDATES[:2])
        yield


def plan_of(corpus: Corpus = WALKS, **given: Any) -> Plan:
    return make_plan("fans", BEST | given, corpus)


def trained(folder: Path, corpus: Corpus = WALKS, reporter: Reporter | None = None, **given: Any) -> Trained:
    (folder / "checkpoints").mkdir()
    return train_hybrid(plan_of(corpus, **given), corpus, folder, reporter or Reporter())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp("made"))


def lists_of(memory: ListMemory) -> list[list[int]]:
    items, starts = memory.items.tolist(), memory.starts.tolist()
    return [items[first:last] for first, last in pairwise(starts)]


def test_memory_has_training_and_validation_lists(made: Trained) -> None:
    known = np.flatnonzero(WALKS.parts < 2)
    assert lists_of(made.network.memory) == [[*dict.fromkeys(WALKS.list(index).tolist())] for index in known]
    assert made.plan.settings["memory_lists"] == len(known) == 108


def test_final_parts_are_fitted_to_more_lists_than_the_evaluated_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[int] = []

    def counted(parts: Parts, lists: FlatLists, plan: Plan) -> Any:
        fitted.append(len(lists[1]) - 1)
        return fit_parts(parts, lists, plan)

    monkeypatch.setattr(training, "fit_parts", counted)
    made = trained(tmp_path, **GIVEN)
    assert fitted == [96, 108]
    expected = fit_linear(CANDIDATES[0], WALKS.flat("train", "valid"), made.plan)
    other = fit_linear(CANDIDATES[1], WALKS.flat("train", "valid"), made.plan)
    weights = made.network.linear.weights
    assert torch.equal(weights, expected.weights) or torch.equal(weights, other.weights)


def test_linear_model_is_reported_and_returned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_search, "CANDIDATES", CANDIDATES[1:2])
    recorder = Recorder()
    made = trained(tmp_path, reporter=recorder, **GIVEN, network_weight=0.0)
    assert made.linear == {"model": "item-knn", "settings": {"similarity": "cosine", "shrinkage": 10.0}}
    assert recorder.messages[-1].endswith("; linear part: item-knn, similarity cosine, shrinkage 10")


def test_linear_model_without_a_weight_is_not_reported(tmp_path: Path) -> None:
    recorder = Recorder()
    made = trained(tmp_path, reporter=recorder, **GIVEN_MEMORY, network_weight=0.0, linear_weight=0.0)
    assert made.linear is None and "linear part" not in recorder.messages[-1]


def test_linear_part_is_fitted_again_even_if_only_one_candidate_is_affordable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part_search, "affordable_fits", lambda plan, corpus: 1)
    made = trained(tmp_path, **GIVEN)
    candidates = [fit_linear(one, WALKS.flat("train", "valid"), made.plan).weights for one in CANDIDATES[:2]]
    assert any(torch.equal(made.network.linear.weights, weights) for weights in candidates)


def test_plan_describes_the_returned_network(made: Trained) -> None:
    again = made.plan.build()
    assert again.config == made.network.config
    again.load_state_dict(made.network.state_dict())
    assert made.plan.settings["before"] < 1  # found by the search: earlier items of walks count less


def test_tried_settings_of_all_searches_are_returned(made: Trained) -> None:
    assert any("sharpness" in row for row in made.tried)
    assert any("linear" in row for row in made.tried)
    assert any("next_share" in row for row in made.tried)
    assert all("gain" in row for row in made.tried)


def test_figures_are_those_of_the_mixture_and_name_the_epoch(made: Trained) -> None:
    assert made.figures.keys() == {f"valid {name}" for name in METRICS} | {"epoch"}
    assert len(made.history) == 2
    for row in made.history:
        assert {"valid HR@5", "valid NDCG@5", "network NDCG@5"} <= row.keys()


def test_parts_without_a_weight_are_not_fitted() -> None:
    lists, linear = WALKS.flat("train"), CANDIDATES[1]
    plan = plan_of(memory_weight=0.0, linear_weight=0.5)
    memory, part = fit_parts(Parts(linear=linear), lists, plan)
    assert memory is None and part is not None
    memory, part = fit_parts(Parts(linear=linear), lists, plan_of(memory_weight=0.5, linear_weight=0.0))
    assert memory is not None and part is None
    assert fit_parts(Parts(), lists, plan)[1] is None  # no linear part was found


def test_memory_without_a_weight_is_kept_for_updates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"network_weight": 0.0, "memory_weight": 0.0, "linear_weight": 1.0}
    monkeypatch.setattr(training, "search_weights", lambda *_: (found, {}, []))
    made = trained(tmp_path, epochs=1)
    assert made.network.config.weights.memory == 0
    assert len(lists_of(made.network.memory)) == len(WALKS.part("train")) + len(WALKS.part("valid"))
    (answer,) = open_engine(made.network, 60).continue_lists([np.array([1, 2, 3])], [3], Rules())
    assert len(answer.items) == 3


def test_part_that_is_fitted_already_is_used() -> None:
    part = LinearPart(60, 2)
    parts = Parts(linear=CANDIDATES[1], fitted=part)
    assert fit_parts(parts, WALKS.flat("train"), plan_of(linear_weight=0.5))[1] is part


@pytest.fixture(scope="module")
def without_network(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return trained(tmp_path_factory.mktemp("without"), **GIVEN_MEMORY, network_weight=0.0)


def test_given_network_weight_of_0_stays(without_network: Trained) -> None:
    made = without_network
    assert made.plan.settings["network_weight"] == made.network.config.weights.network == 0
    assert made.network.parts([np.arange(3)], [5]).keys() <= {"memory", "linear"}
    engine = TorchEngine(made.network, 60)
    (answer,) = engine.continue_lists([np.arange(15, 22)], 5, Rules())
    assert set(answer.items.tolist()) == set(range(22, 27))
    (arranged,) = engine.continue_lists([np.arange(15, 22)], 5, Rules(fill="arranged"))
    assert arranged.items.tolist() == answer.items.tolist()


def test_network_without_a_weight_is_not_trained(without_network: Trained) -> None:
    assert without_network.history == []
    assert without_network.figures.keys() == {f"valid {name}" for name in METRICS}
    assert not any(parameter.any() for parameter in without_network.network.parameters())
    weights = [row for row in without_network.tried if "network_weight" in row]
    assert {row["linear_weight"] for row in weights} >= {*WEIGHT_GRID["linear_weight"]}
    assert {row["network_weight"] for row in weights} == {0}


def test_given_settings_are_those_of_the_network(tmp_path: Path) -> None:
    given = {"before": 0.9, "network_weight": 0.3, "next_share": 0.25, "linear_decay": 7.0}
    made = trained(tmp_path, **given)
    for name, value in given.items():
        assert made.plan.settings[name] == flat_settings(made.network.config)[name] == value


def test_lists_are_shuffled_where_order_does_not_matter() -> None:
    in_order = {"before": 0.7, "recency": 0.0, "near": 0.0, "aligned": 0.0}
    parts, unordered = Parts(in_order, tried=[{}]), Parts(in_order | {"before": 1.0}, tried=[{}])
    assert shuffling(plan_of(), parts) == {} and shuffling(plan_of(), unordered) == {"shuffled_share": 0.5}
    assert shuffling(plan_of(shuffled_share=0.2), unordered) == {}


def test_shuffled_lists_train_another_network(tmp_path: Path) -> None:
    whole = []
    for share in (0.0, 1.0):
        (tmp_path / f"{share}").mkdir()
        whole.append(trained(tmp_path / f"{share}", **GIVEN, shuffled_share=share, epochs=1).network)
    assert not torch.equal(*(network.vectors for network in whole))


def test_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(BadSetting, match="are all 0; at least one of them must be above 0"):
        plan_of(**dict.fromkeys(WEIGHT_GRID, 0.0))


def test_number_of_validation_lists_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[int] = []
    real = training.search_weights

    def counted(plan: Plan, network: Any, parts: Any, lists: EvaluationLists) -> Any:
        evaluated.append(len(lists.inputs))
        return real(plan, network, parts, lists)

    monkeypatch.setattr(training, "search_weights", counted)
    trained(tmp_path, **GIVEN, validation_lists=5)
    assert evaluated == [5]


@pytest.fixture(scope="module")
def corpus_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("best") / "corpus")


@pytest.fixture(scope="module")
def run(corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("best") / "run"
    train(corpus_folder, out, "fans", BEST)
    return out


def weights_of(run: Path) -> bytes:
    read_artifact(run)
    return (run / "model.safetensors").read_bytes()


def continued(run: Path) -> list[list[int]]:
    engine = TorchEngine(read_artifact(run).model, 60)
    answers = engine.continue_lists([np.arange(15, 22), np.array([], dtype=np.int64), np.array([59, 45])], 8, Rules())
    return [answer.items.tolist() for answer in answers]


def test_trained_model_continues_the_walk(run: Path) -> None:
    forward, nothing, around = continued(run)
    assert forward[0] == 22 and set(forward) == set(range(22, 30))
    assert set(around) <= set(range(45, 60))
    assert len(set(nothing)) == 8


def test_artifact_has_the_found_settings(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["model"] == "fans-hybrid"
    assert config["config"]["memory"]["lists"] == 108 and config["config"]["memory"]["before"] < 1
    assert set(config["validation"]) == {f"valid {name}" for name in METRICS} | {"epoch"}
    assert all("gain" in row for row in config["search"])
    assert (run / "metrics.csv").is_file()


def test_same_seed_gives_the_same_bytes(corpus_folder: Path, run: Path, tmp_path: Path) -> None:
    torch.manual_seed(12345)  # earlier random draws must not matter
    plan = train(corpus_folder, tmp_path / "again", "fans", BEST)
    assert plan.build().config == read_artifact(run).model.config
    train(corpus_folder, tmp_path / "other", "fans", QUICK | {"seed": 1})
    assert weights_of(tmp_path / "again") == weights_of(run)
    mine, other = (load_file(folder / "model.safetensors") for folder in (run, tmp_path / "other"))
    assert not torch.equal(mine["embed.items.weight"], other["embed.items.weight"])


def test_averaged_weights_are_kept(corpus_folder: Path, tmp_path: Path) -> None:
    kept = {}
    for average in (0.0, 0.99):  # training is the same
        run = tmp_path / str(average)
        train(corpus_folder, run, "fans", QUICK | {"epochs": 1, "average": average})
        kept[average] = load_file(run / "model.safetensors")["embed.items.weight"]
    assert not torch.equal(kept[0.0], kept[0.99])
    torch.testing.assert_close(kept[0.0], kept[0.99], rtol=0.0, atol=0.05)  # two steps of at most 0.004


class Killed(Exception):
    """Stands for a kill of the process."""


@dataclass
class KilledAt(Reporter):
    """Raises at ("batch", epoch, batch), at ("epoch", epoch, 0), or at a message by its first word.

    Batches of the second training run are ("again", epoch, batch).
    """

    moment: tuple[str, int, int] | str
    run: str = "batch"

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        self._at((self.run, epoch, batch))

    def epoch(self, row: dict[str, Any]) -> None:
        self._at(("epoch", row["epoch"], 0))

    def message(self, text: str) -> None:
        self.run = "again" if "again" in text else self.run
        self._at(text.split()[0])

    def _at(self, moment: tuple[str, int, int] | str) -> None:
        if moment == self.moment:
            raise Killed


MOMENTS = ["searching", ("epoch", 1, 0), ("batch", 2, 1), "training", ("again", 1, 1), ("again", 1, 2), "found:"]


def test_run_without_a_network_is_resumed_and_stored(corpus_folder: Path, tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    values = BEST | {"network_weight": "0", "linear_weight": "0.2"}
    train(corpus_folder, whole, "fans", values)
    with pytest.raises(Killed):
        train(corpus_folder, resumed, "fans", values, KilledAt("network_weight"))
    assert [path.name for path in (resumed / "checkpoints").iterdir()] == ["plan.json"]
    train(corpus_folder, resumed, "fans", {}, resume=True)
    assert weights_of(resumed) == weights_of(whole)
    config = json.loads((whole / "config.json").read_text())
    rows = list(csv.DictReader((whole / "metrics.csv").open()))
    assert [row["gain"] for row in rows] == [str(row["gain"]) for row in config["search"]]
    assert {"sharpness", "linear", "network_weight"} <= rows[0].keys()
    assert f"| linear_model | {config['linear_model']['model']}, " in (whole / "README.md").read_text()
    assert not (whole / "checkpoints").exists()
    assert continued(whole)[0][0] == 22


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_resumed_training_gives_the_same_bytes(
    corpus_folder: Path, run: Path, tmp_path: Path, moment: tuple[str, int, int] | str
) -> None:
    with pytest.raises(Killed):
        train(corpus_folder, tmp_path / "run", "fans", BEST | {"checkpoint_seconds": 0.0}, KilledAt(moment))
    train(corpus_folder, tmp_path / "run", "fans", {}, resume=True)
    assert weights_of(tmp_path / "run") == weights_of(run)


def test_artifact_without_memory_has_none_of_its_tensors(corpus_folder: Path, tmp_path: Path) -> None:
    train(corpus_folder, tmp_path / "run", "fans", BEST | {"memory_weight": "0", "linear_weight": "0"})
    assert not any(name.startswith(("memory", "linear")) for name in load_file(tmp_path / "run" / "model.safetensors"))
    assert len(continued(tmp_path / "run")) == 3


def random_lists() -> Corpus:
    random = np.random.default_rng(0)
    lists = [random.integers(60, size=random.integers(1, 12)).tolist() for _ in range(100)]
    return corpus_of(lists, vocabulary_of([59, 1]), [(0, 0, 0, 1, 2)[n % 5] for n in range(100)])


def tiny_lists() -> Corpus:
    """Return lists with fewer items than an answer has."""
    return corpus_of([[n % 4, (n + 1) % 4, (n + 2) % 4] for n in range(30)], vocabulary_of([2, 2]), [0, 0, 1] * 10)


def no_validation_lists() -> Corpus:
    lists = [WALKS.list(index).tolist() for index in range(40)]
    return corpus_of(lists, WALKS.vocabulary, [0] * 30 + [2] * 10)


UNUSUAL = {
    "random": random_lists,
    "tiny": tiny_lists,
    "no validation lists": no_validation_lists,
    "three lists": lambda: corpus_of([[0, 1, 2], [3, 1], [2, 3, 0, 1]], vocabulary_of([4])),
    "one list": lambda: corpus_of([[0, 1, 2, 3]], vocabulary_of([4])),
    "lists of one item": lambda: corpus_of([[n % 4] for n in range(30)], vocabulary_of([4]), [0, 0, 1] * 10),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_unusual_corpora_give_a_working_model(kind: str, tmp_path: Path) -> None:
    corpus = UNUSUAL[kind]()
    write_corpus(tmp_path / "corpus", corpus)
    train(tmp_path / "corpus", tmp_path / "run", "fans", BEST)
    engine = TorchEngine(read_artifact(tmp_path / "run").model, len(corpus.vocabulary))
    for given in ([], [0], [3, 1, 3]):
        (answer,) = engine.continue_lists([np.array(given, dtype=np.int64)], 10, Rules())
        assert len(answer.items) == min(10, len(corpus.vocabulary) - len(set(given)))
        assert np.isfinite(answer.scores).all()


def test_linear_part_is_kept_if_it_is_the_only_one_that_may_have_a_weight(tmp_path: Path) -> None:
    few = corpus_of([[n % 4, (n + 1) % 4, (n + 2) % 4] for n in range(6)], vocabulary_of([4]))
    made = trained(tmp_path, few, network_weight=0.0, memory_weight=0.0)
    assert made.plan.settings["linear_weight"] > 0 and made.network.linear is not None
