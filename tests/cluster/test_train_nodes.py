"""Training on a cluster that loses a machine or is stopped."""

import csv
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training_runs import train
from worlds import SHORT, write_walks

SETTINGS = SHORT | {"epochs": 24, "dropout": 0.0, "recipe": "paper", "checkpoint_seconds": 0, "batch_size": 8}


def losses(run: Path) -> list[float]:
    if not (run / "metrics.csv").is_file():
        return []
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.long
def test_remaining_machine_finishes_with_the_losses_of_one_process(
    two_nodes: Any, fans: Callable[..., Any], tmp_path: Path
) -> None:
    corpus, out = write_walks(tmp_path / "corpus"), tmp_path / "run"
    # Ray waits a minute for another machine before it continues with the remaining ones; here some seconds.
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    command = fans("train", corpus, "--out", out, "--no-compare", "--engine", "ray", "--address", two_nodes.address,
                   "--set", *settings, RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S="5", **two_nodes.environment)  # fmt: skip
    train(corpus, tmp_path / "alone", "fans", SETTINGS)
    while len(losses(out)) < 3:
        assert command.poll() is None, command.communicate()
        time.sleep(0.05)
    two_nodes.kill_one()
    output, errors = command.communicate(timeout=1800)
    assert command.returncode == 0, errors
    assert "2 processes train together" in output and "resuming in epoch" in output
    assert losses(out) == pytest.approx(losses(tmp_path / "alone"), rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_training_is_resumed(number: int, fans: Callable[..., Any], tmp_path: Path) -> None:
    corpus, out = write_walks(tmp_path / "corpus"), tmp_path / "run"
    settings = [f"{name}={value}" for name, value in (SETTINGS | {"epochs": 400, "patience": 1000}).items()]
    arguments = ("train", corpus, "--out", out, "--no-compare", "--engine", "ray", "--workers", 2)
    command = fans(*arguments, "--set", *settings)
    while len(losses(out)) < 3:
        assert command.poll() is None, command.communicate()
        time.sleep(0.05)
    command.send_signal(number)
    _, errors = command.communicate(timeout=1800)
    assert (command.returncode, errors) == (130, "fans: stopped; continue with the same command and --resume\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "run"]
    command = fans(*arguments, "--resume")
    output, errors = command.communicate(timeout=1800)
    assert command.returncode == 0 and "resuming in epoch" in output and len(losses(out)) == 400, errors
