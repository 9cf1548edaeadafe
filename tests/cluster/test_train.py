"""Training by Ray Train gives what one process gives, however many workers there are and whoever of them dies."""

import csv
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from cluster.processes import workers_named
from fansrec.artifact import read_artifact
from fansrec.cluster.training import _out_of_sight, train_on_cluster
from fansrec.errors import BadSetting
from fansrec.training.reporting import Silence
from fansrec.training.trainer import train
from worlds import SHORT, write_walks

WITHOUT_DROPOUT = SHORT | {"epochs": 24, "dropout": 0.0, "recipe": "paper"}  # each process would draw its own


class Heard(Silence):
    """Remembers what was said, and after the second epoch kills a worker if asked to."""

    def __init__(self, kill: bool = False) -> None:
        self.kill, self.workers, self.epochs, self.words = kill, 0, 0, []

    def epoch(self, row: dict[str, Any]) -> None:
        self.epochs += 1
        if self.epochs == 2:
            workers = workers_named("ray::RayTrainWorker")
            self.workers = len(workers)
            if self.kill:
                os.kill(workers[-1], signal.SIGKILL)

    def say(self, text: str) -> None:
        self.words.append(text)


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


@pytest.mark.usefixtures("ray_local")
def test_two_workers_of_which_one_dies_give_the_loss_curve_of_one_process(
    corpus: Path, alone: Path, tmp_path: Path
) -> None:
    heard, out = Heard(kill=True), tmp_path / "run"
    plan = train_on_cluster(corpus, out, "fans", WITHOUT_DROPOUT | {"checkpoint_seconds": 0}, heard, compare=False)
    assert heard.workers == 2
    assert any(word.startswith("going on in epoch") for word in heard.words)
    assert plan.training.epochs == len(column(out, "loss")) == 24
    same_curve(out, alone)
    read_artifact(out)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_corpus_that_some_machine_does_not_see_is_refused_by_all(corpus: Path, tmp_path: Path) -> None:
    assert _out_of_sight(corpus, tmp_path) is None
    refused = _out_of_sight(corpus, tmp_path / "elsewhere")
    assert isinstance(refused, BadSetting) and "elsewhere is not there for all machines" in str(refused)


@pytest.mark.usefixtures("ray_local")
def test_what_cannot_be_trained_is_refused_in_one_line(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"^the loss became .*; begin anew with a lower learning_rate$"):
        train_on_cluster(corpus, tmp_path / "run", "fans", WITHOUT_DROPOUT | {"learning_rate": 1e30}, workers=1)
    with pytest.raises(BadSetting, match="holds an interrupted training"):
        train_on_cluster(corpus, tmp_path / "run", "fans", WITHOUT_DROPOUT)
