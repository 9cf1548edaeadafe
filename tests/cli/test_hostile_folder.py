"""A hostile model folder gives one line and exit code 2, in every command that reads one."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from artifacts import change_settings, change_weights, write_kind

Fans = Callable[..., tuple[int, str, str]]


def corrupt(folder: Path, what: str) -> None:
    if what == "index":
        change_weights(folder, lambda weights: weights["memory.items"].fill_(2**30))
    elif what == "number":
        change_weights(folder, lambda weights: weights["embed.items.weight"].fill_(torch.nan))
    else:
        change_settings(folder, layers=10**9)


@pytest.mark.parametrize("what", ["index", "number", "setting"])
@pytest.mark.parametrize("command", ["continue", "export"])
def test_hostile_folder_ends_a_command_with_exit_code_2(fans: Fans, tmp_path: Path, command: str, what: str) -> None:
    folder = write_kind(tmp_path / "run", "best")
    corrupt(folder, what)
    more = ["i1", "-k", "3"] if command == "continue" else ["--format", "onnx", "--out", tmp_path / "model.onnx"]
    code, out, err = fans(command, folder, *more)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert line.startswith("fans: ") and str(folder) in line
