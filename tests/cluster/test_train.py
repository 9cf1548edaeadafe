"""Training with Ray Train gives the same model as one process, even if workers die."""

import csv
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cluster.processes import workers_named
from fansrec.artifact import read_artifact
from fansrec.cluster.training import _missing_path, train_on_cluster
from fansrec.errors import BadSetting
from fansrec.training.reporting import Reporter
from training_runs import train
from worlds import SHORT, write_walks

WITHOUT_DROPOUT = SHORT | {"epochs": 24, "dropout": 0.0, "recipe": "paper"}  # each process would draw its own


class RecordingReporter(Reporter):
    """Records the messages, and kills a worker after the second epoch if `kill` is set."""

    def __init__(self, kill: bool = False) -> None:
        self.kill, self.workers, self.epochs, self.messages = kill, 0, 0, []

    def epoch(self, row: dict[str, Any]) -> None:
        self.epochs += 1
        if self.epochs == 2:
            workers = workers_named("ray::RayTrainWorker")
            self.workers = len(workers)
            if self.kill:
                os.kill(workers[-1], signal.SIGKILL)

    def message(self, text: str) -> None:
        self.messages.append(text)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("world") / "corpus")


@pytest.fixture(scope="module")
def alone(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("alone") / "run"
    train(corpus, out, "fans", WITHOUT_DROPOUT)
    return out


def column(run: Path, name: str) -> list[float]:
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def same_curve(run: Path, other: Path) -> None:
    for name in ("loss", "category_accuracy", "valid NDCG@5"):
        assert column(run, name) == pytest.approx(column(other, name), rel=1e-4)


@pytest.mark.usefixtures("two_free_cores")
def test_two_workers_of_which_one_dies_give_the_losses_of_one_process(
    corpus: Path, alone: Path, tmp_path: Path
) -> None:
    reporter, out = RecordingReporter(kill=True), tmp_path / "run"
    plan = train_on_cluster(corpus, out, "fans", WITHOUT_DROPOUT | {"checkpoint_seconds": 0}, reporter, compare=False)
    assert reporter.workers == 2
    assert any(message.startswith("resuming in epoch") for message in reporter.messages)
    assert plan.training.epochs == len(column(out, "loss")) == 24
    same_curve(out, alone)
    read_artifact(out)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_path_that_is_not_visible_to_all_machines_is_refused(corpus: Path, tmp_path: Path) -> None:
    assert _missing_path(corpus, tmp_path) is None
    refused = _missing_path(corpus, tmp_path / "elsewhere")
    assert isinstance(refused, BadSetting) and "elsewhere is not visible to all machines" in str(refused)


@pytest.mark.usefixtures("two_free_cores")
def test_errors_of_workers_are_reported_in_one_line(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"^the loss became .*; start again with a lower learning_rate$"):
        train_on_cluster(corpus, tmp_path / "run", "fans", WITHOUT_DROPOUT | {"learning_rate": 1e30}, workers=1)
    with pytest.raises(BadSetting, match="contains an interrupted training run"):
        train_on_cluster(corpus, tmp_path / "run", "fans", WITHOUT_DROPOUT)
