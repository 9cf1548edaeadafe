"""Several processes give the same model as one."""

import csv
import os
import random
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fansrec.artifact import read_artifact
from training_runs import train
from worlds import SHORT

SCRIPT = """
import sys
from pathlib import Path
from accelerate import PartialState
from fansrec.training.__main__ import main
code = main()
state = PartialState()
Path(__file__).with_name(f"process {state.process_index} of {state.num_processes}").touch()
sys.exit(code)
"""
WITHOUT_DROPOUT = SHORT | {"dropout": 0.0}  # each process would draw its own


def free_port() -> int:
    """Return a free port outside the range of ephemeral ports."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port was found")


def launch(corpus: Path, run: Path, processes: int, values: Mapping[str, Any] = WITHOUT_DROPOUT) -> str:
    """Run `accelerate launch` and return its output; on a CPU it starts several processes only with --multi_gpu."""
    script = run.parent / "script.py"
    script.write_text(SCRIPT)
    options = ["--multi_gpu", f"--num_processes={processes}", "--num_machines=1", "--mixed_precision=no"]
    port = ["--dynamo_backend=no", f"--main_process_port={free_port()}"]
    settings = [f"{name}={value}" for name, value in values.items()]
    done = subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *options, *port]
        + [str(script), str(corpus), "--out", str(run), "--set", *settings],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def column(run: Path, name: str) -> list[float]:
    with (run / "metrics.csv").open(newline="") as file:
        return [float(row[name]) for row in csv.DictReader(file)]


def test_two_processes_give_the_same_losses_as_one(corpus: Path, tmp_path: Path) -> None:
    launch(corpus, tmp_path / "two", processes=2)
    assert sorted(path.name for path in tmp_path.glob("process *")) == ["process 0 of 2", "process 1 of 2"]
    train(corpus, tmp_path / "one", "fans", WITHOUT_DROPOUT)
    read_artifact(tmp_path / "two")
    for name in ("loss", "category_accuracy", "valid NDCG@5"):
        assert column(tmp_path / "two", name) == pytest.approx(column(tmp_path / "one", name), rel=1e-4)


def test_two_processes_train_the_network_of_the_hybrid_model_twice(corpus: Path, tmp_path: Path) -> None:
    small = {"width": 8, "heads": 2, "layers": 1, "feedforward": 8, "batch_size": 48, "epochs": 2}
    given = {"network_weight": 0.5, "memory_weight": 1.0, "linear_weight": 0.0}
    output = launch(corpus, tmp_path / "run", 2, small | given | {"recipe": "best"})
    assert "2 processes train together" in output and "again, with the validation lists" in output
    assert len(read_artifact(tmp_path / "run").model.memory) > 0
    assert not (tmp_path / "run" / "checkpoints").exists()
