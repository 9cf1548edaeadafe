"""Searches of settings: within the time, the same for the same seed, resumed in the same folder."""

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fansrec
from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus, write_corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadArtifact, BadSetting, Interrupted
from fansrec.evaluation.protocol import evaluation_lists, list_metrics, mean, predict, protocol
from fansrec.experiments.tune import running, spaces, trials, tuning
from fansrec.experiments.tune.spaces import CLOSED_FORM, Choice, Range, space_of
from fansrec.experiments.tune.trials import Trial, next_settings
from fansrec.models.registry import build, names
from fansrec.training.reporting import Reporter
from training_runs import Recorder, train
from worlds import walks, write_walks

SMALL = {"width": Choice((8,)), "layers": Choice((1,)), "epochs": Choice((2, 3)), "learning_rate": Range(0.001, 0.03)}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("tune") / "corpus")


def logged(folder: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_same_seed_tries_the_same_and_a_resumed_search_goes_on(corpus: Path, tmp_path: Path) -> None:
    whole = fansrec.tune(corpus, tmp_path / "whole", "slist", trials=14)
    fansrec.tune(corpus, tmp_path / "parts", "slist", trials=5)
    recorder = Recorder()
    parts = fansrec.tune(corpus, tmp_path / "parts", "slist", trials=14, reporter=recorder)
    assert recorder.messages[0] == "5 trials were done before" and len(recorder.messages) == 10
    assert logged(tmp_path / "whole") == logged(tmp_path / "parts") and len(whole.trials) == 14
    other = fansrec.tune(corpus, tmp_path / "other", "slist", trials=3, seed=1)
    assert logged(tmp_path / "other")[0] == logged(tmp_path / "whole")[0]  # the defaults
    assert other.trials[1].settings != whole.trials[1].settings
    assert parts.figure == max(one.figure for one in parts.trials if one.figure is not None)


def test_figures_are_those_of_the_validation_lists_and_the_best_model_is_fitted_to_them_too(
    corpus: Path, tmp_path: Path
) -> None:
    found = fansrec.tune(corpus, tmp_path / "out", "ease", trials=6)
    lists, prepared = evaluation_lists(read_corpus(corpus), "valid"), read_corpus(corpus)
    for one in found.trials:
        network = build("ease", {"category_starts": tuple(prepared.vocabulary.starts.tolist()), **one.settings})
        network.fit(*prepared.flat("train"))
        standard = protocol("standard")
        figures = list_metrics(predict(TorchEngine(network, 60), lists, standard), lists, standard)
        assert one.figure == mean(figures["NDCG@5"])
    assert found.run is not None and found.lists == len(lists.inputs)
    best = build("ease", {"category_starts": tuple(prepared.vocabulary.starts.tolist()), **found.settings})
    best.fit(*prepared.flat("train", "valid"))
    assert np.array_equal(best.weights.matrix, read_artifact(found.run).model.weights.matrix)


def test_best_settings_can_be_given_to_training(corpus: Path, tmp_path: Path) -> None:
    found = fansrec.tune(corpus, tmp_path / "out", "item-knn", trials=4)
    values = tomllib.loads(found.config.read_text())
    assert (values.pop("model"), values.pop("recipe")) == ("item-knn", "paper")
    assert values == found.settings
    plan = train(corpus, tmp_path / "run", "item-knn", values)
    assert {name: plan.settings[name] for name in values} == values


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spaces, "NETWORK", SMALL)


@pytest.mark.parametrize(("model", "recipe"), [("fans", "paper"), ("fans", None), ("gru4rec", None)])
def test_trained_models_are_searched_and_the_best_is_kept(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, recipe: str | None
) -> None:
    small(monkeypatch)
    monkeypatch.setattr(tuning, "next_settings", quick_settings)
    found = fansrec.tune(corpus, tmp_path / "out", model, recipe=recipe, trials=2)
    assert found.run == tmp_path / "out" / "model" and found.best is not None
    config = read_artifact(found.run).config
    assert config["validation"]["valid NDCG@5"] == found.figure == found.best.figure
    assert config["training"]["epochs"] == found.settings["epochs"]
    assert not (tmp_path / "out" / "training").exists()


def quick_settings(space: Any, defaults: Any, done: Any, seed: int) -> Any:
    """As `next_settings`, but the first trial is random too: the defaults take long."""
    return next_settings(space, defaults, done or [Trial(0, {}, None, 0.0, "time")], seed)


def test_trial_is_stopped_when_the_time_is_over(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    recorder = Recorder()
    found = fansrec.tune(corpus, tmp_path / "out", "gru4rec", seconds=1e-9, reporter=recorder)
    assert [one.stopped for one in found.trials] == ["time"]
    assert found.run is None and found.best is None and found.config.is_file()
    assert not (tmp_path / "out" / "model").exists() and not (tmp_path / "out" / "training").exists()


def row(figure: float) -> dict[str, Any]:
    return {"valid NDCG@5": figure}


def test_clearly_worse_trials_are_stopped_halfway() -> None:
    best = Trial(1, {}, 0.5, 1.0, curve=[0.2, 0.3, 0.4, 0.42, 0.44, 0.46, 0.48, 0.5])
    watch = running.Watch(Reporter(), "NDCG@5", 1e18, best)
    for figure in (0.1, 0.2, 0.3):
        watch.epoch(row(figure))
    with pytest.raises(running.Stopped, match="worse"):
        watch.epoch(row(0.38))
    near = running.Watch(Reporter(), "NDCG@5", 1e18, best)
    for figure in (0.1, 0.2, 0.3, 0.41, 0.43):
        near.epoch(row(figure))


def test_closed_form_search_ends_at_the_time_limit(corpus: Path, tmp_path: Path) -> None:
    found = fansrec.tune(corpus, tmp_path / "out", "vstan", seconds=1e-9)
    assert len(found.trials) == 1 and found.run is not None


def test_search_ends_when_all_settings_were_tried(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLOSED_FORM, "ease", {"regularization": Choice((100.0, 200.0))})
    recorder = Recorder()
    found = fansrec.tune(corpus, tmp_path / "out", "ease", reporter=recorder)
    assert len(found.trials) == 2 and recorder.messages[-1] == "all settings were tried"


def test_later_trials_change_the_best_settings_a_little() -> None:
    space = space_of("slist", "paper")
    defaults = {"regularization": 50.0, "alpha": 0.5, "diagonal": 0.0, "decay": 30.0, "input_decay": 20.0}
    done = [Trial(n, defaults | {"alpha": n / 100}, n / 100, 1.0) for n in range(1, 11)]
    changed = next_settings(space, defaults, done, 0)
    assert changed is not None and 0 < sum(changed[name] != done[-1].settings[name] for name in space) < len(space)


@pytest.mark.parametrize("model", names())
def test_every_model_but_popularity_has_settings_to_search(model: str) -> None:
    space = space_of(model, "paper")
    assert bool(space) == (model != "popularity")
    random = np.random.default_rng(0)
    for values in space.values():
        drawn = values.draw(random)
        assert json.loads(json.dumps(drawn)) == drawn and values.near(drawn, random) is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "popularity"}, "popularity has no settings to search"),
        ({"seed": 5}, "has a search with another seed"),
        ({"model": "ease"}, "has a search with another model"),
    ],
)
def test_what_cannot_be_searched_is_refused(corpus: Path, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    fansrec.tune(corpus, tmp_path / "out", "slist", trials=1)
    with pytest.raises(BadSetting, match=message):
        fansrec.tune(corpus, tmp_path / "out", **{"model": "slist", **change})
    assert len(fansrec.tune(corpus, tmp_path / "out", "ease", trials=1, force=True).trials) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seconds": -1}, "seconds is -1; it must be a duration above 0"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"seconds": "10x"}, "seconds is '10x'"),
        ({"trials": 0}, "trials is 0; it must be at least 1"),
        ({"device": "abacus"}, "there is no device abacus here; leave out device"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    corpus: Path, tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadSetting, match=message):
        fansrec.tune(corpus, tmp_path / "out", "ease", **arguments)
    assert not (tmp_path / "out").exists()


def test_time_can_be_given_as_on_the_command_line(corpus: Path, tmp_path: Path) -> None:
    assert len(fansrec.tune(corpus, tmp_path / "out", "ease", "10m", trials=1, device="cpu").trials) == 1


def test_folder_of_something_else_and_missing_validation_lists_are_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="is not the folder of a search"):
        fansrec.tune(corpus, corpus, "slist")
    few = walks(lists=20)
    write_corpus(tmp_path / "few", replace(few, parts=np.zeros(20, dtype=np.uint8)))
    with pytest.raises(BadSetting, match="no validation lists"):
        fansrec.tune(tmp_path / "few", tmp_path / "out", "slist")


def test_force_removes_nothing_that_the_search_did_not_write(corpus: Path, tmp_path: Path) -> None:
    out, foreign = tmp_path / "out", tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "tune.json").write_text("{}")
    (foreign / "thesis.txt").write_text("x")
    with pytest.raises(BadSetting, match="is not the folder of a search"):
        fansrec.tune(corpus, foreign, "slist", trials=1, force=True)
    assert (foreign / "thesis.txt").read_text() == "x"
    fansrec.tune(corpus, out, "slist", trials=2)
    (out / "notes.txt").write_text("x")
    assert len(fansrec.tune(corpus, out, "slist", trials=1, force=True).trials) == 1
    assert (out / "notes.txt").read_text() == "x"


def test_damaged_log_is_refused(corpus: Path, tmp_path: Path) -> None:
    fansrec.tune(corpus, tmp_path / "out", "slist", trials=1)
    (tmp_path / "out" / trials.LOG).write_text("{")
    with pytest.raises(BadArtifact, match="is damaged"):
        fansrec.tune(corpus, tmp_path / "out", "slist")


def test_interrupted_search_says_how_to_go_on(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "run_trial", interrupted)
    with pytest.raises(Interrupted, match="continue with the same command"):
        fansrec.tune(corpus, tmp_path / "out", "slist")


@pytest.mark.parametrize("when", ["write_trials", "keep_best"])
def test_model_is_that_of_the_best_trial_in_the_log_after_an_interruption(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def interrupted(*arguments: Any) -> None:
        if len(arguments[1]) == 2:
            raise KeyboardInterrupt
        original(*arguments)

    monkeypatch.setattr(tuning, "next_settings", lambda *arguments: {"regularization": 300.0 if arguments[2] else 1.0})
    original = getattr(tuning, when)
    with monkeypatch.context() as patch:
        patch.setattr(tuning, when, interrupted)
        with pytest.raises(Interrupted):
            fansrec.tune(corpus, tmp_path / "out", "ease", trials=2)
    logged_before = len(logged(tmp_path / "out"))
    assert logged_before == (1 if when == "write_trials" else 2)
    found = fansrec.tune(corpus, tmp_path / "out", "ease", trials=logged_before)
    assert found.run is not None and found.best is found.trials[-1]
    assert read_artifact(found.run).config["config"]["regularization"] == found.settings["regularization"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "best.toml",
        "model",
        "trials.jsonl",
        "tune.json",
    ]
