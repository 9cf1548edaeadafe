import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import typer

from fansrec import __version__
from fansrec.cli import main

Fans = Callable[..., tuple[int, str, str]]


def commands() -> list[str]:
    """Return every command, such as `train` or `bench latency`."""
    found = []
    waiting = list(typer.main.get_command(main.app).commands.items())  # type: ignore[attr-defined]
    for name, command in waiting:
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(name)
        else:
            waiting += [(f"{name} {one}", each) for one, each in inner.items()]
    return found


def test_version_is_printed(fans: Fans) -> None:
    assert fans("--version")[:2] == (0, __version__ + "\n")


@pytest.mark.parametrize("command", commands())
def test_help_has_an_example(fans: Fans, command: str) -> None:
    code, out, _ = fans(*command.split(), "--help")
    assert code == 0
    assert "Usage: fans " + command in out
    assert f"Example: fans {command}" in out


@pytest.mark.parametrize(
    ("typed", "completed"), [("fans tra", "train"), ("fans train --rec", "--recipe"), ("fans data f", "fetch")]
)
def test_shell_completes_commands_and_options(typed: str, completed: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" ")), "_FANS_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", "from fansrec.cli.main import run; run()"]
    done = subprocess.run(command, env=os.environ | words, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, [completed])


@pytest.mark.parametrize("arguments", ["bogus", "train --splot", "train", "prepare x.csv --out y --split sideways"])
def test_unknown_arguments_are_refused_in_one_line(fans: Fans, arguments: str) -> None:
    code, _, err = fans(*arguments.split())
    assert code == 2
    assert err.startswith("fans: ") and err.count("\n") == 1


def test_missing_extra_is_reported_with_what_to_install(fans: Fans, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'polars'", name="polars")

    monkeypatch.setattr(main, "app", missing)
    code, _, err = fans("prepare")
    assert code == 2
    assert "pip install 'fansrec[train]'" in err


def test_other_missing_modules_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'fansrec.nowhere'", name="fansrec.nowhere")

    monkeypatch.setattr(main, "app", broken)
    with pytest.raises(ModuleNotFoundError):
        main.run()
