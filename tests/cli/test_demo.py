"""What `fans demo` says and does around the demo itself, which tests/experiments/test_demo.py runs."""

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Fans


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The demo and the service replaced by notes of what they were asked."""
    calls: list[Any] = []
    monkeypatch.setattr("fansrec.experiments.demo.run_demo", lambda place, *_: calls.append(place))
    monkeypatch.setattr("fansrec.cli.demo.serve_models", lambda models, **more: calls.append((models, more)))
    return calls


def test_it_ends_with_the_command_that_opens_the_page(fans: Fans, served: list[Any], tmp_path: Path) -> None:
    code, out, _ = fans("demo", "--out", tmp_path / "demo")
    assert code == 0 and served == [tmp_path / "demo"]
    assert f"serve fans={tmp_path / 'demo' / 'fans'} ease={tmp_path / 'demo' / 'ease'}\n" in out


def test_with_serve_it_goes_straight_there(fans: Fans, served: list[Any], tmp_path: Path) -> None:
    fans("demo", "--serve", "--port", 0)
    place, (models, more) = served
    assert models == [f"fans={place / 'fans'}", f"ease={place / 'ease'}"]
    assert more["port"] == 0
