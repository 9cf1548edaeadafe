"""The search of the hybrid model's settings after its network is trained, on walks, where the next item is known."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from fansrec.artifact import read_artifact
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, cut_lists, evaluation_lists, list_metrics, predict
from fansrec.models.config import flat_settings, from_settings, with_settings
from fansrec.models.hybrid.config import MemoryConfig
from fansrec.models.hybrid.list_memory import ListMemory
from fansrec.models.hybrid.model import mix
from fansrec.models.linear.slist import Slist, SlistConfig
from fansrec.training.hybrid import weight_search
from fansrec.training.hybrid.coordinate_search import FEWEST
from fansrec.training.hybrid.weight_search import (
    MEMORY_GRID,
    PROTOCOL,
    STANDARD_ERRORS,
    WEIGHT_GRID,
    complete_hybrid,
    fit_linear,
    metrics_per_list,
    parts_of,
    search_memory,
)
from fansrec.training.plan import Plan, Trained, make_plan
from fansrec.training.reporting import Reporter
from training_runs import train
from worlds import corpus_of, vocabulary_of, walks, write_walks

SMALL = {"width": 8, "heads": 2, "layers": 1, "feedforward": 8, "batch_size": 48, "epochs": 2}
BEST = SMALL | {"recipe": "best", "checkpoint_seconds": 1e9}
WALKS = walks()
GIVEN_MEMORY = {name: values[0] for name, values in MEMORY_GRID.items()}  # given, so that none is searched
NAMES = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")


def plan_of(corpus: Corpus = WALKS, **given: Any) -> Plan:
    return make_plan("fans", {"recipe": "best"} | SMALL | given, corpus)


def completed(corpus: Corpus = WALKS, start: dict[str, float] | None = None, **given: Any) -> Trained:
    """Complete an untrained network; the search starts from `start`."""
    plan = plan_of(corpus, **given)
    plan = replace(plan, config=asdict(with_settings(plan.build().config, start or {})))
    torch.manual_seed(0)
    network = plan.build()
    network.start(*corpus.flat("train"))
    return complete_hybrid(plan, network, corpus, corpus.flat("train"), Reporter())


def memory_of(corpus: Corpus) -> ListMemory:
    return ListMemory.of(len(corpus.vocabulary), *corpus.flat("train"))


@pytest.fixture(scope="module")
def made() -> Trained:
    return completed()


def test_memory_has_the_training_lists_only(made: Trained) -> None:
    distinct = sum(len({*WALKS.list(number).tolist()}) for number in WALKS.part("train"))
    assert made.plan.settings["memory_lists"] == len(made.network.memory) == len(WALKS.part("train"))
    assert made.plan.settings["memory_items"] == len(made.network.memory.items) == distinct


def test_search_finds_that_earlier_items_of_walks_count_less(made: Trained) -> None:
    assert made.plan.settings["before"] < MemoryConfig.before
    assert made.plan.settings["before"] == made.network.config.memory.before


def test_plan_describes_the_returned_network(made: Trained) -> None:
    assert made.plan.build().config == made.network.config
    again = made.plan.build()
    again.load_state_dict(made.network.state_dict())


def test_figures_are_those_of_the_returned_network(made: Trained) -> None:
    asked = evaluation_lists(WALKS, "valid")
    judged = list_metrics(predict(TorchEngine(made.network, 60), asked, PROTOCOL), asked, PROTOCOL)
    assert made.figures == pytest.approx({f"valid {name}": judged[name].mean() for name in NAMES})


@torch.inference_mode()
def test_parts_of_the_search_add_up_to_the_scores() -> None:
    made = completed(**GIVEN_MEMORY, network_weight=0.3, memory_weight=0.7, linear_weight=0.2, linear_decay=3.0)
    asked = evaluation_lists(WALKS, "valid")
    network = made.network
    total = mix(parts_of(network, asked), {"network": 0.3, "memory": 0.7, "linear": 0.2})
    torch.testing.assert_close(network.score_lists(asked.inputs, [MAX_CUTOFF] * len(asked.inputs)), total)


def figures_of_memories(rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """Judge the training lists, each by all others, with the settings of each tried row."""
    items, offsets = WALKS.flat("train")
    chosen = np.arange(len(offsets) - 1)
    asked, memory = cut_lists(items, offsets, chosen), memory_of(WALKS)
    configs = [from_settings(MemoryConfig, {name: row[name] for name in MEMORY_GRID}) for row in rows]
    return [metrics_per_list(memory.votes(asked.inputs, config, without=chosen), asked) for config in configs]


@torch.inference_mode()
def figures_of_weights(made: Trained, rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """Judge the validation lists with the mixture weights of each tried row."""
    asked = evaluation_lists(WALKS, "valid")
    linear = fit_linear(plan_of(), WALKS.flat("train"))
    parts = parts_of(made.network.with_parts(made.network.config, memory_of(WALKS), linear), asked)
    return [metrics_per_list(mix(parts, {name: row[f"{name}_weight"] for name in parts}), asked) for row in rows]


def standard_errors_gained(figures: np.ndarray, over: np.ndarray) -> float:
    """Return the mean gain per list, as a share of each figure's mean, in standard errors."""
    gains = ((figures - over) / over.mean(0)).mean(1)
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return float(gains.mean() / error) if error else float(np.sign(gains.mean())) * np.inf if gains.any() else 0.0


def test_tried_rows_have_all_values_and_begin_with_the_start(made: Trained) -> None:
    memories = [row for row in made.tried if "sharpness" in row]
    weights = [row for row in made.tried if "network_weight" in row]
    assert memories[0] == {name: plan_of().settings[name] for name in MEMORY_GRID} | {"gain": 0.0}
    assert weights[0] == {name: plan_of().settings[name] for name in WEIGHT_GRID} | {"gain": 0.0}
    assert len(memories) + len(weights) == len(made.tried)


def assert_best_of(rows: list[dict[str, Any]], figures: list[np.ndarray], kept: dict[str, Any]) -> None:
    """Assert that the kept values are significantly better than the start, and no tried row significantly better."""
    values = [{name: row[name] for name in kept} for row in rows]
    best = figures[values.index(kept)]
    assert standard_errors_gained(best, figures[0]) > STANDARD_ERRORS
    assert [
        row for row, judged in zip(rows, figures, strict=True) if standard_errors_gained(judged, best) > STANDARD_ERRORS
    ] == []


def test_no_tried_memory_is_significantly_better_than_the_kept_one(made: Trained) -> None:
    rows = [row for row in made.tried if "sharpness" in row]
    kept = {name: made.plan.settings[name] for name in MEMORY_GRID}
    assert_best_of(rows, figures_of_memories(rows), kept)


def test_no_tried_weights_are_significantly_better_than_the_kept_ones() -> None:
    made = completed(
        start={"memory_weight": 0.0, "linear_weight": 0.0}, **GIVEN_MEMORY
    )  # the network alone is a bad start
    rows = [row for row in made.tried if "network_weight" in row]
    kept = {name: made.plan.settings[name] for name in WEIGHT_GRID}
    assert_best_of(rows, figures_of_weights(made, rows), kept)


def test_mixture_with_an_untrained_network_beats_popularity(made: Trained) -> None:
    asked = evaluation_lists(WALKS, "valid")
    popular = metrics_per_list(torch.from_numpy(np.bincount(WALKS.items, minlength=60)).float().expand(12, -1), asked)
    assert made.figures["valid NDCG@5"] > popular.mean(0)[0]


def test_weights_that_are_all_0_are_refused() -> None:
    with pytest.raises(BadSetting, match="are all 0; at least one of them must be above 0"):
        plan_of(**dict.fromkeys(WEIGHT_GRID, 0.0))


def test_too_few_validation_lists_change_no_weight() -> None:
    few = np.flatnonzero(WALKS.parts == 1)[FEWEST - 1 :]
    parts = WALKS.parts.copy()
    parts[few] = 2
    corpus = Corpus(WALKS.items, WALKS.offsets, parts, WALKS.vocabulary, WALKS.summary)
    made = completed(corpus, **GIVEN_MEMORY)
    assert {name: made.plan.settings[name] for name in WEIGHT_GRID} == {
        name: plan_of().settings[name] for name in WEIGHT_GRID
    }
    assert any(row["gain"] > 0 for row in made.tried)  # although another candidate was better on them
    assert set(made.figures) == {f"valid {name}" for name in NAMES}


def test_list_never_votes_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # No two lists share an item, so that any vote for a list's items is its own.
    alone = corpus_of([[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(8)], vocabulary_of([16, 16]))
    seen: list[torch.Tensor] = []

    def watched(scores: torch.Tensor, asked: EvaluationLists) -> np.ndarray:
        seen.append(scores)
        return metrics_per_list(scores, asked)

    monkeypatch.setattr(weight_search, "metrics_per_list", watched)
    memory = memory_of(alone)
    search_memory(plan_of(alone), memory, alone.flat("train"), 2000)
    assert seen and not any(scores.any() for scores in seen)
    assert memory.votes([np.array([0])], MemoryConfig()).any()  # it does if none is left out


def test_number_of_judged_lists_is_limited_and_short_ones_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [[n % 9] if n % 2 else [n % 9, (n + 1) % 9, (n + 2) % 9] for n in range(40)]
    corpus = corpus_of(lists, vocabulary_of([9]))
    tried: list[EvaluationLists] = []
    monkeypatch.setattr(
        weight_search, "metrics_per_list", lambda scores, asked: tried.append(asked) or metrics_per_list(scores, asked)
    )
    search_memory(plan_of(corpus), memory_of(corpus), corpus.flat("train"), 7)
    assert {len(asked.inputs) for asked in tried} == {7}
    assert {len(given) for asked in tried for given in asked.inputs} == {1}


def test_lists_of_one_item_are_not_searched() -> None:
    corpus = corpus_of([[n % 9] for n in range(20)], vocabulary_of([9]))
    values, tried = search_memory(plan_of(corpus), memory_of(corpus), corpus.flat("train"), 7)
    assert values == {name: plan_of().settings[name] for name in MEMORY_GRID} and tried == []


@pytest.mark.parametrize("given", [
    {"before": 0.9},
    {"sharpness": 2.5, "recency": 0.1},
    GIVEN_MEMORY | {"network_weight": 0.0},
    GIVEN_MEMORY | {"memory_weight": 0.7, "linear_weight": 0.25},
], ids=["before", "sharpness and recency", "no network", "memory and linear"])  # fmt: skip
def test_given_settings_stay(given: dict[str, float]) -> None:
    made = completed(**given)
    for name, value in given.items():
        assert made.plan.settings[name] == flat_settings(made.network.config)[name] == value
        rows = [row for row in made.tried if name in row]
        assert rows and all(row[name] == value for row in rows)


def test_disabled_memory_is_neither_searched_nor_kept() -> None:
    made = completed(memory_weight=0.0)
    assert made.network.memory is None and made.plan.settings["memory_lists"] == 0
    assert not any(name.startswith("memory") for name in made.network.state_dict())
    assert not any("sharpness" in row for row in made.tried)


def test_linear_part_is_kept_only_with_a_weight_above_0() -> None:
    assert completed(**GIVEN_MEMORY, linear_weight=0.5).network.linear.width == 59  # every other item
    assert completed(**GIVEN_MEMORY, linear_weight=0.0).network.linear is None


def test_linear_part_is_slist() -> None:
    linear = fit_linear(plan_of(), WALKS.flat("train"))
    slist = Slist(SlistConfig((0, 60), alpha=0.2, regularization=30.0))
    slist.fit(*WALKS.flat("train"))
    asked = evaluation_lists(WALKS, "valid").inputs
    assert linear is not None
    scores = slist.score_next(asked).clamp(min=0)
    for row, given in zip(scores, asked, strict=True):
        row[torch.from_numpy(given)] = 0
    expected = scores / scores.amax(1, keepdim=True)
    torch.testing.assert_close(linear.scores(asked, SlistConfig.input_decay), expected, rtol=1e-3, atol=1e-5)


def test_linear_part_keeps_the_strongest_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit_linear(plan_of(), WALKS.flat("train"))
    monkeypatch.setattr(weight_search, "LINEAR_NEIGHBORS", 7)
    some = fit_linear(plan_of(), WALKS.flat("train"))
    assert whole is not None and some is not None and some.width == 7
    torch.testing.assert_close(some.weights.abs(), whole.weights.abs().topk(7).values)


def test_disabled_or_too_large_slist_is_not_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = WALKS.flat("train")
    assert fit_linear(plan_of(), lists) is not None
    assert fit_linear(plan_of(linear_weight=0.0), lists) is None
    monkeypatch.setattr(SlistConfig, "dense_items", 59)
    assert fit_linear(plan_of(), lists) is None


def test_linear_part_is_kept_if_it_helps() -> None:
    # Items 2n and 2n + 1 always come together, one in the first half and the other in the second, among noise.
    random = np.random.default_rng(0)
    pairs = [random.choice(20, 4, replace=False) for _ in range(300)]
    lists = [[*(2 * pair), *(2 * pair + 1)] for pair in pairs]
    corpus = corpus_of([list(map(int, one)) for one in lists], vocabulary_of([20, 20]), [0] * 200 + [1] * 100)
    made = completed(corpus, memory_weight=0.0)
    assert made.plan.settings["linear_weight"] > 0 and made.network.linear is not None
    assert made.figures["valid NDCG@5"] > 0.9


def test_weights_stay_without_validation_lists() -> None:
    made = completed(walks_without("valid"))
    assert {name: made.plan.settings[name] for name in WEIGHT_GRID} == {
        name: plan_of().settings[name] for name in WEIGHT_GRID
    }
    assert made.plan.settings["before"] < 1  # the memory is searched on training lists
    assert made.figures == {}


def walks_without(part: str) -> Corpus:
    """Return the walks with the lists of a part turned into test lists."""
    parts = np.where(WALKS.parts == ("train", "valid", "test").index(part), 2, WALKS.parts)
    return Corpus(WALKS.items, WALKS.offsets, parts.astype(np.uint8), WALKS.vocabulary, WALKS.summary)


def test_figures_leave_out_items_of_the_input() -> None:
    asked = EvaluationLists([np.array([0, 1])], [np.array([3, 2], dtype=np.int32)])
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3]])
    assert metrics_per_list(scores, asked).tolist() == [[1.0, 1.0, 1.0, 1.0]]
    assert scores[0, 0] == 9  # the scores are not changed


def test_items_of_the_input_are_left_out_of_a_tiny_catalog() -> None:
    again = EvaluationLists([np.array([0, 1])], [np.array([1], dtype=np.int32)])
    assert metrics_per_list(torch.tensor([[3.0, 2, 1]]), again).tolist() == [[0.0, 0.0, 0.0, 0.0]]


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
    assert config["config"]["memory"]["lists"] == 96 and config["config"]["memory"]["before"] < 1
    assert set(config["validation"]) == {f"valid {name}" for name in NAMES}
    assert all("gain" in row for row in config["search"])
    assert (run / "metrics.csv").is_file()


def test_same_seed_gives_the_same_bytes(corpus_folder: Path, run: Path, tmp_path: Path) -> None:
    plan = train(corpus_folder, tmp_path / "again", "fans", BEST)
    assert plan.build().config == read_artifact(run).model.config
    train(corpus_folder, tmp_path / "other", "fans", BEST | GIVEN_MEMORY | {"seed": 1})
    assert weights_of(tmp_path / "again") == weights_of(run)
    mine, other = (load_file(folder / "model.safetensors") for folder in (run, tmp_path / "other"))
    assert not torch.equal(mine["embed.items.weight"], other["embed.items.weight"])


def test_averaged_weights_are_kept(corpus_folder: Path, tmp_path: Path) -> None:
    kept = {}
    for average in (0.0, 0.99):  # training is the same
        run = tmp_path / str(average)
        train(corpus_folder, run, "fans", BEST | GIVEN_MEMORY | {"epochs": 1, "average": average})
        kept[average] = load_file(run / "model.safetensors")["embed.items.weight"]
    assert not torch.equal(kept[0.0], kept[0.99])
    torch.testing.assert_close(kept[0.0], kept[0.99], rtol=0.0, atol=0.01)  # two steps of at most 0.002


class Killed(Exception):
    """Stands for a kill of the process."""


@dataclass
class KilledAt(Reporter):
    """Raises at ("batch", epoch, batch), ("epoch", epoch, 0), or when the settings of the memory are searched."""

    moment: tuple[str, int, int] | str

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        self._at(("batch", epoch, batch))

    def epoch(self, row: dict[str, Any]) -> None:
        self._at(("epoch", row["epoch"], 0))

    def message(self, text: str) -> None:
        self._at(text.split()[0])

    def _at(self, moment: tuple[str, int, int] | str) -> None:
        if moment == self.moment:
            raise Killed


MOMENTS = [("epoch", 0, 0), ("batch", 1, 1), "searching"]


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


@pytest.mark.parametrize("kind", ["random", "tiny", "no valid"])
def test_unusual_corpora_give_a_working_model(kind: str, tmp_path: Path) -> None:
    corpus = {"random": random_lists, "tiny": tiny_lists, "no valid": lambda: walks_without("valid")}[kind]()
    write_corpus(tmp_path / "corpus", corpus)
    train(tmp_path / "corpus", tmp_path / "run", "fans", BEST)
    engine = TorchEngine(read_artifact(tmp_path / "run").model, len(corpus.vocabulary))
    for given in ([], [0], [3, 1, 3]):
        (answer,) = engine.continue_lists([np.array(given, dtype=np.int64)], 10, Rules())
        assert len(answer.items) == min(10, len(corpus.vocabulary) - len(set(given)))
        assert np.isfinite(answer.scores).all()
