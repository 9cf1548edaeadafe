from collections.abc import Callable

import pytest

from fansrec import __version__
from fansrec.cli import main

Fans = Callable[..., tuple[int, str, str]]
COMMANDS = [
    "demo",
    "prepare",
    "train",
    "evaluate",
    "continue",
    "export",
    "crossval",
    "data list",
    "data fetch",
    "data describe",
    "bench training",
    "bench latency",
    "bench throughput",
    "bench sweep",
    "reproduce",
]


def test_version_is_printed(fans: Fans) -> None:
    assert fans("--version")[:2] == (0, __version__ + "\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(fans: Fans, command: str) -> None:
    code, out, _ = fans(*command.split(), "--help")
    assert code == 0
    assert "Usage: fans " + command in out
    assert f"Example: fans {command}" in out


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
