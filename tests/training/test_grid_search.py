import csv
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting, Interrupted
from fansrec.evaluation.protocol import evaluation_lists, list_metrics, mean, predict
from fansrec.models.linear.ease import Ease
from fansrec.models.linear.slist import Slist
from fansrec.models.registry import build
from fansrec.training import grid_search
from fansrec.training.grid_search import PROTOCOL, candidates
from fansrec.training.plan import make_plan
from fansrec.training.reporting import Reporter
from training_runs import Recorder, train
from worlds import corpus_of, vocabulary_of, walks

BEST = {"recipe": "best"}
GRID = Ease.search["regularization"]


def hubs(valid: bool = True) -> Corpus:
    """Return lists with a pair of related items and, between the two, most of five items that occur everywhere.

    Counts are dominated by those five; only a regression with little regularization finds the pairs.
    """
    random = np.random.default_rng(0)
    lists = []
    for _ in range(200):
        pair, everywhere = int(random.integers(10)), [20 + n for n in range(5) if random.random() < 0.8]
        lists.append([pair, *everywhere, 10 + pair])
    parts = [(0, 0, 0, 0, 0, 0, 0, 0, 1 if valid else 0, 2)[n % 10] for n in range(200)]
    return corpus_of(lists, vocabulary_of([25]), parts)


def searched(corpus: Corpus, folder: Path, reporter: Reporter | None = None, **values: Any) -> dict[str, Any]:
    """Return the stored configuration of a model found by search."""
    write_corpus(folder / "corpus", corpus)
    train(folder / "corpus", folder / "run", "ease", BEST | values, reporter or Reporter())
    config: dict[str, Any] = json.loads((folder / "run" / "config.json").read_text())
    return config


def test_little_regularization_is_chosen_where_counts_mislead(tmp_path: Path) -> None:
    assert searched(hubs(), tmp_path)["config"]["regularization"] == GRID[0]


def test_much_regularization_is_chosen_where_counts_suffice(tmp_path: Path) -> None:
    assert searched(walks(), tmp_path)["config"]["regularization"] >= 1000


def test_best_candidate_is_kept_and_all_are_reported(tmp_path: Path) -> None:
    reporter = Recorder()
    config = searched(hubs(), tmp_path, reporter)
    tried = config["search"]
    assert [row["regularization"] for row in tried] == list(GRID)
    best = max(tried, key=lambda row: row["valid NDCG@5"])
    assert config["validation"] == {name: best[name] for name in ("regularization", "valid HR@5", "valid NDCG@5")}
    assert read_artifact(tmp_path / "run").model.config.regularization == best["regularization"]
    with (tmp_path / "run" / "metrics.csv").open(newline="") as file:
        assert [float(row["valid NDCG@5"]) for row in csv.DictReader(file)] == [row["valid NDCG@5"] for row in tried]
    assert reporter.messages[0] == "fitting EASE (best) to 160 lists"
    assert [line.split()[:2] for line in reporter.messages[1:]] == [["regularization", f"{value:g}"] for value in GRID]


@pytest.mark.parametrize("model", ["ease", "vstan"])
def test_chosen_model_is_fitted_again_with_the_validation_lists(model: str, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", hubs())
    plan = train(tmp_path / "corpus", tmp_path / "run", model, BEST)
    again = build(model, plan.config)
    again.fit(*hubs().flat("train", "valid"))
    kept = read_artifact(tmp_path / "run").model
    for name, tensor in again.state_dict().items():
        assert torch.equal(kept.state_dict()[name], tensor)
    assert kept.config == again.config  # with the sizes that follow from all these lists


def test_other_settings_apply_to_every_candidate(tmp_path: Path) -> None:
    searched(hubs(), tmp_path, neighbours=3)
    assert read_artifact(tmp_path / "run").model.config.neighbours == 3


def test_a_searched_setting_cannot_be_given_as_well(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="recipe best chooses regularization itself"):
        searched(hubs(), tmp_path, regularization=3)
    assert not (tmp_path / "run").exists()


def test_search_without_validation_lists_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="no validation lists"):
        searched(hubs(valid=False), tmp_path)


@pytest.mark.parametrize("model", ["item-knn", "rp3beta", "slist", "vstan"])
def test_other_models_are_searched_including_text_settings(model: str, tmp_path: Path) -> None:
    reporter = Recorder()
    write_corpus(tmp_path / "corpus", hubs())
    train(tmp_path / "corpus", tmp_path / "run", model, BEST, reporter)
    tried = json.loads((tmp_path / "run" / "config.json").read_text())["search"]
    for row, values, line in zip(tried, candidates(model), reporter.messages[1:], strict=True):
        assert values.items() <= row.items()
        assert all(
            f"{name} {value if isinstance(value, str) else f'{value:g}'}" in line for name, value in values.items()
        )
    chosen = max(tried, key=lambda row: row["valid NDCG@5"])
    config = read_artifact(tmp_path / "run").model.config
    assert all(getattr(config, name) == chosen[name] for name in next(candidates(model)))


def test_interrupted_fit_leaves_no_artifact_and_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Ease, *lists: Any) -> None:
        raise KeyboardInterrupt

    write_corpus(tmp_path / "corpus", hubs())
    with monkeypatch.context() as patch:
        patch.setattr(Ease, "fit", interrupted)
        with pytest.raises(Interrupted, match="continue with the same command and resume=True"):
            train(tmp_path / "corpus", tmp_path / "run", "ease", BEST)
    with pytest.raises(BadArtifact, match="Its training is unfinished: resume it with `fans train … --resume`"):
        read_artifact(tmp_path / "run")
    train(tmp_path / "corpus", tmp_path / "run", resume=True)
    assert read_artifact(tmp_path / "run").model.config.regularization == GRID[0]


def test_settings_of_scoring_share_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit, fits = Slist.fit, []

    def counted(self: Slist, *lists: Any) -> None:
        fits.append((self.config.alpha, self.config.regularization))
        fit(self, *lists)

    monkeypatch.setattr(Slist, "fit", counted)
    monkeypatch.setattr(Slist, "search", {"alpha": (0.2, 0.5), "regularization": (1.0,), "input_decay": (20.0, 1.0)})
    write_corpus(tmp_path / "corpus", walks())
    plan = train(tmp_path / "corpus", tmp_path / "run", "slist", BEST)
    assert fits == [(0.2, 1.0), (0.5, 1.0), (plan.config["alpha"], 1.0)]  # the last one with the validation lists
    tried = json.loads((tmp_path / "run" / "config.json").read_text())["search"]
    lists = evaluation_lists(walks(), "valid")
    for row in tried:
        alone = build("slist", plan.config | {name: row[name] for name in Slist.search})
        fit(alone, *walks().flat("train"))
        figures = list_metrics(predict(TorchEngine(alone, 60), lists, PROTOCOL), lists, PROTOCOL)
        assert row["valid NDCG@5"] == mean(figures["NDCG@5"])
    assert len({row["valid NDCG@5"] for row in tried}) == 4


def test_candidates_are_all_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ease, "search", {"regularization": (1.0, 2.0), "predictors": (9, 5)})
    assert [tuple(values.values()) for values in candidates("ease")] == [(1, 9), (1, 5), (2, 9), (2, 5)]


@pytest.mark.parametrize("model", ["item-knn", "ease", "rp3beta", "slist", "vstan"])
def test_search_with_a_time_limit_begins_like_the_defaults_and_keeps_fits_together(model: str) -> None:
    plan, every = make_plan(model, BEST, walks()), list(candidates(model))
    order = grid_search._spread(plan, every)
    assert sorted(map(every.index, order)) == list(range(len(every)))
    assert order == grid_search._spread(plan, every)
    different = [sum(plan.config[name] != value for name, value in values.items()) for values in order]
    assert different[0] == min(different)
    fits = [json.dumps(grid_search._to_fit(plan, values)) for values in order]
    assert sum(one != other for one, other in pairwise(fits)) == len(set(fits)) - 1


def test_search_ends_at_the_time_limit_and_finds_the_same_with_enough_time() -> None:
    corpus = hubs()
    plan = make_plan("ease", BEST, corpus)
    lists = corpus.flat("train")
    whole, limited = (grid_search.search(plan, corpus, lists, Reporter(), seconds) for seconds in (None, 1e9))
    assert whole.figures == limited.figures
    assert [row["regularization"] for row in limited.tried] == list(GRID)
    assert len(grid_search.search(plan, corpus, lists, Reporter(), 0.0).tried) == 1
