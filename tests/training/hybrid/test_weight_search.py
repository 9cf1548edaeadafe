"""What `--recipe best` of FANS finds out when its network is trained, on walks, where the next item is always known."""

import json
from dataclasses import dataclass, replace
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
from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, evaluation_lists, list_metrics, predict
from fansrec.models.hybrid.list_memory import Kernel, ListMemory
from fansrec.models.linear.slist import Slist, SlistConfig
from fansrec.training.hybrid import weight_search as blending
from fansrec.training.hybrid.coordinate_search import FEWEST
from fansrec.training.hybrid.weight_search import (
    HOW,
    KERNELS,
    SURE,
    WEIGHTS,
    Blended,
    blend,
    compared,
    figures_of,
    fitted_linear,
    halved,
    parts_of,
)
from fansrec.training.plan import Plan, make_plan
from fansrec.training.reporting import NullReporter
from fansrec.training.trainer import train
from worlds import corpus_of, vocabulary_of, walks, write_walks

SMALL = {"width": 8, "heads": 2, "layers": 1, "feedforward": 8, "batch_size": 48, "epochs": 2}
BEST = SMALL | {"recipe": "best", "checkpoint_seconds": 1e9}
WALKS = walks()
A_KERNEL = {name: values[0] for name, values in KERNELS.items()}  # given, so that none is looked for
NAMES = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")


def plan_of(corpus: Corpus = WALKS, **given: Any) -> Plan:
    return make_plan("fans", {"recipe": "best"} | SMALL | given, corpus)


def training_lists(corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    lists = [corpus.list(number) for number in corpus.part("train")]
    return np.concatenate(lists), np.cumsum([0, *map(len, lists)])


def blended(corpus: Corpus = WALKS, start: dict[str, float] | None = None, **given: Any) -> Blended:
    """A network that has learned nothing, with what is found to go with it; `start` is where the search begins."""
    plan = plan_of(corpus, **given)
    plan = replace(plan, config=plan.config | (start or {}))
    torch.manual_seed(0)
    network = plan.build()
    network.start(*training_lists(corpus))
    return blend(plan, network, corpus, training_lists(corpus), NullReporter())


def memory_of(corpus: Corpus) -> ListMemory:
    memory = ListMemory(len(corpus.vocabulary), 0, 0)
    memory.learn(*training_lists(corpus))
    return memory


@pytest.fixture(scope="module")
def made() -> Blended:
    return blended()


def test_the_memory_holds_the_training_lists_and_no_others(made: Blended) -> None:
    distinct = sum(len({*WALKS.list(number).tolist()}) for number in WALKS.part("train"))
    assert made.plan.config["memory_lists"] == len(made.network.memory) == len(WALKS.part("train"))
    assert made.plan.config["memory_items"] == len(made.network.memory.items) == distinct


def test_walks_go_on_so_what_stands_before_is_found_to_count_less(made: Blended) -> None:
    assert made.plan.config["before"] < Kernel.before
    assert made.plan.config["before"] == made.network.config.before


def test_the_plan_describes_the_network_that_is_given_back(made: Blended) -> None:
    assert made.plan.build().config == made.network.config
    again = made.plan.build()
    again.load_state_dict(made.network.state_dict())


def test_the_figures_are_those_of_the_network_that_is_given_back(made: Blended) -> None:
    asked = evaluation_lists(WALKS, "valid")
    judged = list_metrics(predict(TorchEngine(made.network, 60), asked, HOW), asked, HOW)
    assert made.figures == pytest.approx({f"valid {name}": judged[name].mean() for name in NAMES})


@torch.inference_mode()
def test_the_parts_that_are_weighed_add_up_to_the_scores_at_use() -> None:
    made = blended(**A_KERNEL, network_weight=0.3, memory_weight=0.7, linear_weight=0.2, linear_decay=3.0)
    asked = evaluation_lists(WALKS, "valid")
    network = made.network
    parts = parts_of(made.plan, network, network.memory, network.linear, network.config.kernel, asked)
    total = sum(made.plan.config[name] * part for name, part in parts.items())
    torch.testing.assert_close(network.score_lists(asked.inputs, [MAX_CUTOFF] * len(asked.inputs)), total)


def figures_of_kernels(rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """Judge the training lists, each by all others, as each tried row compares them."""
    items, offsets = training_lists(WALKS)
    chosen = np.arange(len(offsets) - 1)
    asked, memory = halved(items, offsets, chosen), memory_of(WALKS)
    kernels = [Kernel(**{name: row[name] for name in KERNELS}) for row in rows]
    return [figures_of(memory.strengths(asked.inputs, kernel, without=chosen), asked) for kernel in kernels]


@torch.inference_mode()
def figures_of_weights(made: Blended, rows: list[dict[str, Any]]) -> list[np.ndarray]:
    """Judge the validation lists with the mixture weights of each tried row."""
    asked = evaluation_lists(WALKS, "valid")
    linear = fitted_linear(plan_of(), training_lists(WALKS))
    parts = parts_of(made.plan, made.network, memory_of(WALKS), linear, made.network.config.kernel, asked)
    return [figures_of(sum(row[name] * part for name, part in parts.items()), asked) for row in rows]


def standard_errors_gained(figures: np.ndarray, over: np.ndarray) -> float:
    """Return the mean gain per list, as a share of each figure's mean, in standard errors."""
    gains = ((figures - over) / over.mean(0)).mean(1)
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return float(gains.mean() / error) if error else float(np.sign(gains.mean())) * np.inf if gains.any() else 0.0


def test_every_row_of_the_search_names_all_values_and_the_first_is_the_start(made: Blended) -> None:
    kernels = [row for row in made.tried if "sharpness" in row]
    weights = [row for row in made.tried if "network_weight" in row]
    assert kernels[0] == {name: plan_of().config[name] for name in KERNELS} | {"gain": 0.0}
    assert weights[0] == {name: plan_of().config[name] for name in WEIGHTS} | {"gain": 0.0}
    assert len(kernels) + len(weights) == len(made.tried)


def assert_best_of(rows: list[dict[str, Any]], figures: list[np.ndarray], kept: dict[str, Any]) -> None:
    """Assert that the kept values are surely better than the start, and no tried row surely better than them."""
    values = [{name: row[name] for name in kept} for row in rows]
    best = figures[values.index(kept)]
    assert standard_errors_gained(best, figures[0]) > SURE
    assert [row for row, judged in zip(rows, figures, strict=True) if standard_errors_gained(judged, best) > SURE] == []


def test_no_tried_kernel_is_surely_better_than_the_kept_one(made: Blended) -> None:
    rows = [row for row in made.tried if "sharpness" in row]
    kept = {name: made.plan.config[name] for name in KERNELS}
    assert_best_of(rows, figures_of_kernels(rows), kept)


def test_no_tried_weights_are_surely_better_than_the_kept_ones() -> None:
    made = blended(start={"memory_weight": 0.0, "linear_weight": 0.0}, **A_KERNEL)  # the network alone is a bad start
    rows = [row for row in made.tried if "network_weight" in row]
    kept = {name: made.plan.config[name] for name in WEIGHTS}
    assert_best_of(rows, figures_of_weights(made, rows), kept)


def test_a_network_that_has_learned_nothing_is_not_made_worse_by_blending(made: Blended) -> None:
    asked = evaluation_lists(WALKS, "valid")
    popular = figures_of(torch.from_numpy(np.bincount(WALKS.items, minlength=60)).float().expand(12, -1), asked)
    assert made.figures["valid NDCG@5"] > popular.mean(0)[0]


def test_where_no_part_may_have_a_say_nothing_is_begun() -> None:
    with pytest.raises(BadSetting, match="are all 0; one part at least"):
        plan_of(**dict.fromkeys(WEIGHTS, 0.0))


def test_what_so_few_validation_lists_say_changes_no_weight() -> None:
    few = np.flatnonzero(WALKS.parts == 1)[FEWEST - 1 :]
    parts = WALKS.parts.copy()
    parts[few] = 2
    corpus = Corpus(WALKS.items, WALKS.offsets, parts, WALKS.vocabulary, WALKS.summary)
    made = blended(corpus, **A_KERNEL)
    assert {name: made.plan.config[name] for name in WEIGHTS} == {name: plan_of().config[name] for name in WEIGHTS}
    assert any(row["gain"] > 0 for row in made.tried)  # though something else would have been better on them
    assert set(made.figures) == {f"valid {name}" for name in NAMES}


def test_a_list_never_votes_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    # No two lists share an item, so that whatever is said of a list it has said itself.
    alone = corpus_of([[4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(8)], vocabulary_of([16, 16]))
    said: list[torch.Tensor] = []

    def watched(scores: torch.Tensor, asked: EvaluationLists) -> np.ndarray:
        said.append(scores)
        return figures_of(scores, asked)

    monkeypatch.setattr(blending, "figures_of", watched)
    memory = memory_of(alone)
    compared(plan_of(alone), memory, training_lists(alone), 2000)
    assert said and not any(scores.any() for scores in said)
    assert memory.strengths([np.array([0])], Kernel()).any()  # asked without leaving a list out, it speaks


def test_training_lists_are_cut_where_validation_lists_are() -> None:
    as_valid = Corpus(WALKS.items, WALKS.offsets, np.ones_like(WALKS.parts), WALKS.vocabulary, WALKS.summary)
    asked, halves = evaluation_lists(as_valid, "valid"), halved(WALKS.items, WALKS.offsets, np.arange(120))
    for mine, theirs in ((halves.inputs, asked.inputs), (halves.targets, asked.targets)):
        assert [part.tolist() for part in mine] == [part.tolist() for part in theirs]


def test_only_so_many_lists_are_tried_and_none_that_cannot_be_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = [[n % 9] if n % 2 else [n % 9, (n + 1) % 9, (n + 2) % 9] for n in range(40)]
    corpus = corpus_of(lists, vocabulary_of([9]))
    tried: list[EvaluationLists] = []
    monkeypatch.setattr(blending, "figures_of", lambda scores, asked: tried.append(asked) or figures_of(scores, asked))
    compared(plan_of(corpus), memory_of(corpus), training_lists(corpus), 7)
    assert {len(asked.inputs) for asked in tried} == {7}
    assert {len(given) for asked in tried for given in asked.inputs} == {1}


def test_lists_of_one_item_leave_nothing_to_compare() -> None:
    corpus = corpus_of([[n % 9] for n in range(20)], vocabulary_of([9]))
    values, tried = compared(plan_of(corpus), memory_of(corpus), training_lists(corpus), 7)
    assert values == {name: plan_of().config[name] for name in KERNELS} and tried == []


@pytest.mark.parametrize("given", [
    {"before": 0.9},
    {"sharpness": 2.5, "recency": 0.1},
    A_KERNEL | {"network_weight": 0.0},
    A_KERNEL | {"memory_weight": 0.7, "linear_weight": 0.25},
], ids=["before", "sharpness and recency", "no network", "memory and linear"])  # fmt: skip
def test_settings_that_were_given_are_left_alone(given: dict[str, float]) -> None:
    made = blended(**given)
    for name, value in given.items():
        assert made.plan.config[name] == getattr(made.network.config, name) == value
        rows = [row for row in made.tried if name in row]
        assert rows and all(row[name] == value for row in rows)


def test_a_memory_that_is_not_wanted_is_neither_tried_nor_kept() -> None:
    made = blended(memory_weight=0.0)
    assert made.network.memory is None and made.plan.config["memory_lists"] == 0
    assert not any(name.startswith("memory") for name in made.network.state_dict())
    assert not any("sharpness" in row for row in made.tried)


def test_a_linear_part_has_weights_only_where_it_has_a_say() -> None:
    assert blended(**A_KERNEL, linear_weight=0.5).network.linear.width == 59  # every other item
    assert blended(**A_KERNEL, linear_weight=0.0).network.linear is None


def test_the_linear_part_is_slist() -> None:
    linear = fitted_linear(plan_of(), training_lists(WALKS))
    slist = Slist(SlistConfig((0, 60), alpha=0.2, regularization=30.0))
    slist.fit(*training_lists(WALKS))
    asked = evaluation_lists(WALKS, "valid").inputs
    assert linear is not None
    said = slist.score_next(asked).clamp(min=0)
    for row, given in zip(said, asked, strict=True):
        row[torch.from_numpy(given)] = 0
    expected = said / said.amax(1, keepdim=True)
    torch.testing.assert_close(linear.strengths(asked, SlistConfig.input_decay), expected, rtol=1e-3, atol=1e-5)


def test_the_linear_part_keeps_the_strongest_weights_of_each_item(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fitted_linear(plan_of(), training_lists(WALKS))
    monkeypatch.setattr(blending, "LINEAR_NEIGHBOURS", 7)
    some = fitted_linear(plan_of(), training_lists(WALKS))
    assert whole is not None and some is not None and some.width == 7
    torch.testing.assert_close(some.weights.abs(), whole.weights.abs().topk(7).values)


def test_slist_is_not_fitted_where_it_is_not_wanted_or_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = training_lists(WALKS)
    assert fitted_linear(plan_of(), lists) is not None
    assert fitted_linear(plan_of(linear_weight=0.0), lists) is None
    monkeypatch.setattr(SlistConfig, "dense_items", 59)
    assert fitted_linear(plan_of(), lists) is None


def test_the_linear_part_is_kept_where_it_is_what_helps() -> None:
    # Items 2n and 2n + 1 always come together, one in the first half and the other in the second, among noise.
    random = np.random.default_rng(0)
    pairs = [random.choice(20, 4, replace=False) for _ in range(300)]
    lists = [[*(2 * pair), *(2 * pair + 1)] for pair in pairs]
    corpus = corpus_of([list(map(int, one)) for one in lists], vocabulary_of([20, 20]), [0] * 200 + [1] * 100)
    made = blended(corpus, memory_weight=0.0)
    assert made.plan.config["linear_weight"] > 0 and made.network.linear is not None
    assert made.figures["valid NDCG@5"] > 0.9


def test_without_validation_lists_the_weights_stay_as_they_began() -> None:
    made = blended(walks_without("valid"))
    assert {name: made.plan.config[name] for name in WEIGHTS} == {name: plan_of().config[name] for name in WEIGHTS}
    assert made.plan.config["before"] < 1  # training lists are compared all the same
    assert made.figures == {}


def walks_without(part: str) -> Corpus:
    """The lists of a part made test lists."""
    parts = np.where(WALKS.parts == ("train", "valid", "test").index(part), 2, WALKS.parts)
    return Corpus(WALKS.items, WALKS.offsets, parts.astype(np.uint8), WALKS.vocabulary, WALKS.summary)


def test_figures_are_those_of_the_best_scores_without_the_inputs_items() -> None:
    asked = EvaluationLists([np.array([0, 1])], [np.array([3, 2], dtype=np.int32)])
    scores = torch.tensor([[9.0, 8, 7, 6, 5, 4, 3, 2, 1, 0, -1, -2, -3]])
    assert figures_of(scores, asked).tolist() == [[1.0, 1.0, 1.0, 1.0]]
    assert scores[0, 0] == 9  # and the scores are as they were


def test_the_inputs_items_are_no_answers_even_where_there_are_hardly_any_others() -> None:
    again = EvaluationLists([np.array([0, 1])], [np.array([1], dtype=np.int32)])
    assert figures_of(torch.tensor([[3.0, 2, 1]]), again).tolist() == [[0.0, 0.0, 0.0, 0.0]]


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


def test_a_trained_model_is_read_and_goes_on_with_the_walk(run: Path) -> None:
    forward, nothing, around = continued(run)
    assert forward[0] == 22 and set(forward) == set(range(22, 30))
    assert set(around) <= set(range(45, 60))
    assert len(set(nothing)) == 8


def test_the_artifact_tells_what_was_found(run: Path) -> None:
    config = json.loads((run / "config.json").read_text())
    assert config["config"]["memory_lists"] == 96 and config["config"]["before"] < 1
    assert set(config["validation"]) == {f"valid {name}" for name in NAMES}
    assert all("gain" in row for row in config["search"])
    assert (run / "metrics.csv").is_file()


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    corpus_folder: Path, run: Path, tmp_path: Path
) -> None:
    plan = train(corpus_folder, tmp_path / "again", "fans", BEST)
    assert plan.build().config == read_artifact(run).model.config
    train(corpus_folder, tmp_path / "other", "fans", BEST | A_KERNEL | {"seed": 1})
    assert weights_of(tmp_path / "again") == weights_of(run)
    mine, other = (load_file(folder / "model.safetensors") for folder in (run, tmp_path / "other"))
    assert not torch.equal(mine["embed.items.weight"], other["embed.items.weight"])


def test_the_weights_that_are_kept_are_the_averaged_ones(corpus_folder: Path, tmp_path: Path) -> None:
    kept = {}
    for average in (0.0, 0.99):  # learns the same either way
        run = tmp_path / str(average)
        train(corpus_folder, run, "fans", BEST | A_KERNEL | {"epochs": 1, "average": average})
        kept[average] = load_file(run / "model.safetensors")["embed.items.weight"]
    assert not torch.equal(kept[0.0], kept[0.99])
    torch.testing.assert_close(kept[0.0], kept[0.99], rtol=0.0, atol=0.01)  # two steps of at most 0.002


class Killed(Exception):
    """What a kill looks like from inside."""


@dataclass
class KilledAt(NullReporter):
    """Dies at ("batch", epoch, batch), ("epoch", epoch, 0), or when the lists are compared."""

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


MOMENTS = [("epoch", 0, 0), ("batch", 1, 1), "comparing"]


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
def test_a_killed_training_goes_on_to_the_same_bytes(
    corpus_folder: Path, run: Path, tmp_path: Path, moment: tuple[str, int, int] | str
) -> None:
    with pytest.raises(Killed):
        train(corpus_folder, tmp_path / "run", "fans", BEST | {"checkpoint_seconds": 0.0}, KilledAt(moment))
    train(corpus_folder, tmp_path / "run", "fans", {}, resume=True)
    assert weights_of(tmp_path / "run") == weights_of(run)


def test_an_artifact_without_memory_has_none_of_its_tensors(corpus_folder: Path, tmp_path: Path) -> None:
    train(corpus_folder, tmp_path / "run", "fans", BEST | {"memory_weight": "0", "linear_weight": "0"})
    assert not any(name.startswith(("memory", "linear")) for name in load_file(tmp_path / "run" / "model.safetensors"))
    assert len(continued(tmp_path / "run")) == 3


def random_lists() -> Corpus:
    random = np.random.default_rng(0)
    lists = [random.integers(60, size=random.integers(1, 12)).tolist() for _ in range(100)]
    return corpus_of(lists, vocabulary_of([59, 1]), [(0, 0, 0, 1, 2)[n % 5] for n in range(100)])


def tiny_lists() -> Corpus:
    """Fewer items than an answer is long."""
    return corpus_of([[n % 4, (n + 1) % 4, (n + 2) % 4] for n in range(30)], vocabulary_of([2, 2]), [0, 0, 1] * 10)


@pytest.mark.parametrize("kind", ["random", "tiny", "no valid"])
def test_whatever_the_lists_a_model_comes_out_that_answers(kind: str, tmp_path: Path) -> None:
    corpus = {"random": random_lists, "tiny": tiny_lists, "no valid": lambda: walks_without("valid")}[kind]()
    write_corpus(tmp_path / "corpus", corpus)
    train(tmp_path / "corpus", tmp_path / "run", "fans", BEST)
    engine = TorchEngine(read_artifact(tmp_path / "run").model, len(corpus.vocabulary))
    for given in ([], [0], [3, 1, 3]):
        (answer,) = engine.continue_lists([np.array(given, dtype=np.int64)], 10, Rules())
        assert len(answer.items) == min(10, len(corpus.vocabulary) - len(set(given)))
        assert np.isfinite(answer.scores).all()
