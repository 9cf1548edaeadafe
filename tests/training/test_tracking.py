"""Experiment trackers get settings, epochs and the result of a training run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import fansrec
from fansrec.errors import BadSetting, MissingExtra
from fansrec.training.reporting import Reporter
from fansrec.training.tracking import Tracking
from skipping import skip_or_fail
from worlds import MINUTE, write_walks

ROW = {"epoch": 1, "loss": 0.5, "valid NDCG@5": 0.25, "masked_share": None}


class Recorder:
    """A tracker that keeps what it gets."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.epochs: list[Any] = []
        self.ended: list[Any] = []

    def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
        self.started.append((run.name, dict(settings), id))
        return "run-1"

    def epoch(self, number: int, figures: Mapping[str, float]) -> None:
        self.epochs.append((number, dict(figures)))

    def end(self, figures: Mapping[str, float], finished: bool) -> None:
        self.ended.append((dict(figures), finished))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("tracked") / "corpus", lists=40)


def train(corpus: Path, out: Path, **more: Any) -> None:
    fansrec.train(corpus, out, "fans", {**MINUTE, "recipe": "paper", "steps": 1, "epochs": 2}, Reporter(), **more)


def test_tracker_gets_settings_epochs_and_result(corpus: Path, tmp_path: Path) -> None:
    recorder = Recorder()
    train(corpus, tmp_path / "run", track=recorder)
    ((name, settings, id),) = recorder.started
    assert (name, id, settings["model"], settings["epochs"]) == ("run", None, "fans", 2)
    assert [number for number, _ in recorder.epochs] == [1, 2]
    assert all({"loss", "valid NDCG@5", "seconds"} <= figures.keys() for _, figures in recorder.epochs)
    ((figures, finished),) = recorder.ended
    assert finished and "NDCG@5" in str(figures)
    assert [path.name for path in (tmp_path / "run/tensorboard").iterdir()] == ["events.out.tfevents.0"]


def test_interrupted_run_ends_and_is_continued_under_its_id(corpus: Path, tmp_path: Path) -> None:
    def stop(epoch: fansrec.Epoch) -> None:
        raise KeyboardInterrupt

    first, second = Recorder(), Recorder()
    with pytest.raises(fansrec.FansError, match="stopped"):
        train(corpus, tmp_path / "run", track=first, callbacks=[stop])
    assert [finished for _, finished in first.ended] == [False]
    train(corpus, tmp_path / "run", track=second, resume=True)
    assert [id for _, _, id in second.started] == ["run-1"]


def test_tracker_that_fails_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Recorder):
        def epoch(self, number: int, figures: Mapping[str, float]) -> None:
            super().epoch(number, figures)
            raise OSError("no route to host")

    failing, other = Failing(), Recorder()
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    tracking = Tracking(Reporter(), [failing, other])
    tracking.open(tmp_path / "run", {})
    tracking.epoch(ROW)
    tracking.epoch(ROW | {"epoch": 2})
    tracking.close({"NDCG@5": 0.5}, finished=True)
    assert len(failing.epochs) == 1 and not failing.ended
    assert other.epochs[0] == (1, {"loss": 0.5, "valid NDCG@5": 0.25}) and other.ended == [({"NDCG@5": 0.5}, True)]
    assert "Failing failed (no route to host); training continues without it" in caplog.text


def test_unknown_tracker_is_refused_before_training(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="track is 'guild'; it can be tensorboard, mlflow, wandb"):
        train(corpus, tmp_path / "run", track="guild")
    assert not (tmp_path / "run").exists()


def test_tracker_that_is_not_installed_names_its_extra(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises((MissingExtra, ModuleNotFoundError), match="wandb"):
        train(corpus, tmp_path / "run", track="wandb")
    assert not (tmp_path / "run").exists()


def test_tracker_that_cannot_start_is_refused(tmp_path: Path) -> None:
    class Unreachable(Recorder):
        def start(self, run: Path, settings: Mapping[str, Any], id: str | None) -> str | None:
            raise OSError("no route to host")

    with pytest.raises(BadSetting, match=r"track Unreachable cannot be started \(no route to host\)"):
        Tracking(Reporter(), Unreachable()).open(tmp_path, {})


def tracked(tmp_path: Path, track: Any, finished: bool = True) -> None:
    (tmp_path / "run" / "checkpoints").mkdir(parents=True, exist_ok=True)
    tracking = Tracking(Reporter(), track)
    tracking.open(tmp_path / "run", {"model": "fans", "epochs": 2})
    tracking.epoch(ROW)
    tracking.close({"NDCG@5": 0.5}, finished)


def test_mlflow_has_the_run_in_its_file_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import mlflow
    except ImportError:
        skip_or_fail("mlflow is not installed; run: pip install mlflow-skinny")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    tracked(tmp_path, "mlflow", finished=False)
    tracked(tmp_path, "mlflow")
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("fansrec")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.params == {"model": "fans", "epochs": "2"} and run.info.status == "FINISHED"
    assert run.data.metrics == {"loss": 0.5, "valid NDCG at 5": 0.25, "best NDCG at 5": 0.5}
    assert [point.step for point in client.get_metric_history(run.info.run_id, "loss")] == [1, 1]


def test_wandb_gets_config_steps_and_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the package, which is large."""
    calls: list[Any] = []
    run = SimpleNamespace(
        id="abc",
        log=lambda figures, step: calls.append((step, figures)),
        summary={},
        finish=lambda exit_code: calls.append(exit_code),
    )
    module: Any = ModuleType("wandb")
    module.init = lambda **options: calls.append(options) or run
    monkeypatch.setitem(sys.modules, "wandb", module)
    tracked(tmp_path, ["wandb"])
    options, epoch, code = calls
    assert (options["project"], options["name"], options["config"]["epochs"]) == ("fansrec", "run", 2)
    assert (epoch, code, run.summary) == ((1, {"loss": 0.5, "valid NDCG@5": 0.25}), 0, {"best NDCG@5": 0.5})
    tracked(tmp_path, "wandb")
    assert calls[3]["id"] == "abc"
