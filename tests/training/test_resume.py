"""A training run that is interrupted anywhere and resumed gives the same bytes as an uninterrupted one."""

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fansrec.artifact import read_artifact
from fansrec.errors import BadArtifact, BadSetting, FansError, Interrupted, Unfinished
from fansrec.training import checkpoint, loop
from fansrec.training.reporting import Reporter
from training_runs import train
from worlds import SHORT

SAVING = SHORT | {"checkpoint_seconds": 0.0}  # after every batch
Weights = Callable[..., bytes]
Action = Callable[[], object]


class Killed(Exception):
    """Stands for a killed process."""


def kill() -> None:
    raise Killed


class At(Reporter):
    """Calls `action` at one moment of a run: ("batch", epoch, batch) or ("epoch", epoch, 0)."""

    def __init__(self, moment: tuple[str, int, int], action: Action) -> None:
        self.moment, self.action = moment, action

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if self.moment == ("batch", epoch, batch):
            self.action()

    def epoch(self, row: dict[str, Any]) -> None:
        if self.moment == ("epoch", row["epoch"], 0):
            self.action()


MOMENTS = [
    ("batch", 1, 1),  # nothing saved yet
    ("batch", 1, 2),  # the last batch of an epoch
    ("epoch", 1, 0),  # between two epochs of a curriculum step
    ("batch", 2, 1),
    ("epoch", 2, 0),  # at the boundary of two curriculum steps
    ("batch", 3, 1),  # the first batch of the next
    ("batch", 4, 2),
    ("epoch", 4, 0),  # all epochs done, no artifact yet
]


def weights_of(run: Path) -> bytes:
    read_artifact(run)
    return (run / "model.safetensors").read_bytes()


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: "-".join(map(str, moment)))
def test_killed_run_is_resumed_with_the_same_bytes(
    corpus: Path, tmp_path: Path, weights: Weights, moment: tuple[str, int, int]
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Killed):
        train(corpus, run, "fans", SAVING, At(moment, kill))
    train(corpus, run, "fans", {}, Reporter(), resume=True)
    assert weights_of(run) == weights()
    assert not (run / "checkpoints").exists()


@pytest.mark.parametrize("classifier", ["vanilla", "two-stage"])
def test_repeatedly_killed_run_is_resumed_with_the_same_bytes(
    corpus: Path, tmp_path: Path, weights: Weights, classifier: str
) -> None:
    run = tmp_path / "run"
    settings = SAVING | {"classifier": classifier}
    for number, moment in enumerate(MOMENTS[1:]):
        with pytest.raises(Killed):
            train(corpus, run, "fans", settings, At(moment, kill), resume=number > 0)
    train(corpus, run, "fans", settings, Reporter(), resume=True)
    assert weights_of(run) == weights(classifier=classifier)


def test_history_of_a_resumed_run_is_complete(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        train(corpus, tmp_path / "run", "fans", SAVING, At(("batch", 3, 1), kill))
    train(corpus, tmp_path / "run", "fans", {}, Reporter(), resume=True)
    train(corpus, tmp_path / "whole", "fans", SHORT)

    def lines(run: Path) -> list[str]:
        return [line.rsplit(",", 1)[0] for line in (run / "metrics.csv").read_text().splitlines()]  # without seconds

    assert lines(tmp_path / "run") == lines(tmp_path / "whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_a_checkpoint_and_says_how_to_resume(
    corpus: Path, tmp_path: Path, weights: Weights, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    with pytest.raises(Interrupted, match="everything is saved, continue .*resume=True"):
        train(corpus, run, "fans", SHORT, At(("batch", 2, 1), lambda: os.kill(os.getpid(), number)))
    messages: list[str] = []
    reporter = Reporter()
    reporter.message = messages.append  # type: ignore[method-assign]
    train(corpus, run, "fans", {}, reporter, resume=True)
    assert messages == ["resuming in epoch 2, batch 2"]  # the batch was saved although no checkpoint was due
    assert weights_of(run) == weights()


# `python -m fansrec.training` that waits for a line after its second epoch, so that a signal arrives during training.
WAITING = """
import sys
from fansrec.training import __main__, reporting

epoch = reporting.PlainReporter.epoch

def waiting(self, row):
    epoch(self, row)
    if row["epoch"] == 2:
        sys.stdin.readline()

reporting.PlainReporter.epoch = waiting
sys.exit(__main__.main())
"""


@contextmanager
def started(corpus: Path, run: Path) -> Iterator[subprocess.Popen[str]]:
    """`python -m fansrec.training` in a process of its own, up to its second epoch."""
    settings = [f"{name}={value}" for name, value in SAVING.items()]
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, str(corpus), "--out", str(run), "--set", *settings],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    try:
        while not (line := process.stdout.readline()).startswith("epoch 2"):
            assert line, process.stderr and process.stderr.read()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_ctrl_c_ends_the_command_with_130_and_the_advice_to_resume(
    corpus: Path, tmp_path: Path, weights: Weights
) -> None:
    run = tmp_path / "run"
    with started(corpus, run) as process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == 130
    assert "--resume" in errors and "Traceback" not in errors and len(errors.strip().splitlines()) == 1
    with pytest.raises(BadArtifact, match="Its training is unfinished: resume it with `fans train … --resume`"):
        read_artifact(run)
    train(corpus, run, "fans", {}, Reporter(), resume=True)
    assert weights_of(run) == weights()


def test_killed_process_leaves_a_checkpoint(corpus: Path, tmp_path: Path, weights: Weights) -> None:
    run = tmp_path / "run"
    with started(corpus, run) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    train(corpus, run, "fans", {}, Reporter(), resume=True)
    assert weights_of(run) == weights()


@pytest.fixture
def interrupted(corpus: Path, tmp_path: Path) -> Path:
    """A run that was killed in its third epoch."""
    with pytest.raises(Killed):
        train(corpus, tmp_path / "run", "fans", SAVING, At(("batch", 3, 2), kill))
    return tmp_path / "run"


def test_starting_over_an_interrupted_run_is_refused(corpus: Path, interrupted: Path) -> None:
    before = (interrupted / "checkpoints" / "state.safetensors").read_bytes()
    with pytest.raises(BadSetting, match="interrupted training run; continue with resume=True"):
        train(corpus, interrupted, "fans", SAVING)
    assert (interrupted / "checkpoints" / "state.safetensors").read_bytes() == before


def test_resuming_with_other_settings_is_refused(corpus: Path, interrupted: Path) -> None:
    with pytest.raises(BadSetting, match="started with epochs=4; resume without epochs=5"):
        train(corpus, interrupted, "fans", {"epochs": 5}, Reporter(), resume=True)


def test_resuming_a_finished_run_is_refused(corpus: Path, interrupted: Path) -> None:
    train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    with pytest.raises(BadSetting, match="finished model; there is nothing to resume"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)


def test_resuming_a_run_that_does_not_exist_is_refused(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="not contain an interrupted training run; start one without resume=True"):
        train(corpus, tmp_path / "run", "fans", {}, Reporter(), resume=True)
    assert not (tmp_path / "run").exists()


def test_damaged_checkpoint_is_refused(corpus: Path, interrupted: Path) -> None:
    path = interrupted / "checkpoints" / "state.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BadArtifact, match=r"state.safetensors cannot be read .*start the training again"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)


@pytest.mark.parametrize("content", ["", "{", "{}"])
def test_a_damaged_plan_is_refused(corpus: Path, interrupted: Path, content: str) -> None:
    (interrupted / "checkpoints" / "plan.json").write_text(content)
    with pytest.raises(FansError, match=r"plan.json"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """Let writing of more than `size` bytes fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_failed_checkpoint_keeps_the_last_one(corpus: Path, interrupted: Path, weights: Weights) -> None:
    before = (interrupted / "checkpoints" / "state.safetensors").read_bytes()
    with no_file_over(20_000), pytest.raises(Unfinished, match="the last checkpoint is intact, so free some space"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert len(before) > 20_000
    assert (interrupted / "checkpoints" / "state.safetensors").read_bytes() == before
    assert sorted(path.name for path in (interrupted / "checkpoints").iterdir()) == ["plan.json", "state.safetensors"]
    train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert weights_of(interrupted) == weights()


def full_disk(*arguments: object, **more: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_full_disk_is_reported(
    corpus: Path, interrupted: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (interrupted / "checkpoints" / "state.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_file", full_disk)
        with pytest.raises(Unfinished, match="the disk is full; .*continue with resume=True"):
            train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert (interrupted / "checkpoints" / "state.safetensors").read_bytes() == before
    assert not list(interrupted.rglob(".*"))
    train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert weights_of(interrupted) == weights()


def test_full_disk_while_writing_metrics_is_reported(
    corpus: Path, interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "write_metrics", full_disk)
    with pytest.raises(FansError, match="resume=True"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)


def test_full_disk_while_writing_the_artifact_is_reported(
    corpus: Path, interrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("safetensors.torch.save_file", full_disk)
    with pytest.raises(FansError, match="resume=True"):
        train(corpus, interrupted, "fans", {}, Reporter(), resume=True)


def test_run_is_resumed_after_a_full_disk(
    corpus: Path, interrupted: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("safetensors.torch.save_file", full_disk)
        with pytest.raises((OSError, FansError)):
            train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert not (interrupted / "manifest.json").exists()
    train(corpus, interrupted, "fans", {}, Reporter(), resume=True)
    assert weights_of(interrupted) == weights()
