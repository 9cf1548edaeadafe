"""The command `fans demo`; the demo itself is tested in tests/experiments/test_demo.py."""

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Fans
from fansrec.errors import FansError, Interrupted, Unfinished


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Replaces the demo and the service, and records their arguments."""
    calls: list[Any] = []
    monkeypatch.setattr("fansrec.experiments.demo.run_demo", lambda folder, *_: calls.append(folder))
    monkeypatch.setattr("fansrec.cli.demo.serve_models", lambda models, **more: calls.append((models, more)))
    return calls


def test_demo_ends_with_the_command_that_serves_the_models(fans: Fans, served: list[Any], tmp_path: Path) -> None:
    code, out, _ = fans("demo", "--out", tmp_path / "demo")
    assert code == 0 and served == [tmp_path / "demo"]
    assert f"serve fans={tmp_path / 'demo' / 'fans'} ease={tmp_path / 'demo' / 'ease'}\n" in out


def test_demo_with_serve_starts_the_service(fans: Fans, served: list[Any], tmp_path: Path) -> None:
    fans("demo", "--serve", "--port", 0)
    folder, (models, more) = served
    assert models == [f"fans={folder / 'fans'}", f"ease={folder / 'ease'}"]
    assert more["port"] == 0


@pytest.mark.parametrize(
    ("error", "out", "code", "message"),
    [
        (Interrupted("stopped; continue with --resume"), True, 130, "stopped; {} with --force"),
        (Interrupted("stopped; continue with --resume"), False, 130, "stopped; {}"),
        (Unfinished("full; continue with --resume"), True, 2, "full; {} with --force"),
    ],
)
def test_interrupted_demo_says_how_to_start_it_again(
    fans: Fans, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: FansError, out: bool, code: int, message: str
) -> None:
    def interrupted(*_: object) -> None:
        raise error

    monkeypatch.setattr("fansrec.experiments.demo.run_demo", interrupted)
    found, _, err = fans("demo", *(["--out", tmp_path / "demo"] if out else []))
    assert (found, err) == (code, f"fans: {message.format('the demo cannot be resumed, start it again')}\n")
