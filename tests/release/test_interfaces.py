"""Nothing that programs rely on is removed or changed: Python names, command line and HTTP API (tests/golden)."""

import subprocess
import sys
from pathlib import Path

import pytest

from fansrec.cli import main
from release.interfaces import INTERFACES, breaks, read_snapshot


@pytest.fixture(scope="module", params=INTERFACES)
def tables(request: pytest.FixtureRequest) -> tuple[dict[str, str], dict[str, str]]:
    return read_snapshot(request.param), INTERFACES[request.param]()


def test_interface_has_everything_of_its_snapshot(tables: tuple[dict[str, str], dict[str, str]]) -> None:
    assert len(tables[0]) > 100
    assert not breaks(*tables)


def test_every_removal_is_noticed(tables: tuple[dict[str, str], dict[str, str]]) -> None:
    snapshot, current = tables
    for name in snapshot:
        assert breaks(snapshot, {key: value for key, value in current.items() if key != name}) == [f"{name} is gone"]


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("fansrec.load(seed)", "required, position 9", False),
        ("fansrec.load(seed)", "default None, position 9", True),
        ("fansrec.forget", "function", True),
        ("fansrec.forget(run)", "required, position 0", True),
    ],
)
def test_addition_is_fine_unless_it_is_required(name: str, value: str, fine: bool) -> None:
    snapshot = read_snapshot("python")
    assert (breaks(snapshot, snapshot | {name: value}) == []) is fine


def test_changed_default_and_choice_are_noticed() -> None:
    snapshot = read_snapshot("python")
    changed = snapshot | {"fansrec.load(device)": "default 'cuda', position 1"}
    assert breaks(snapshot, changed) and snapshot["fansrec.load(device)"].startswith("default 'cpu'")
    commands = read_snapshot("command-line")
    assert "fans train --recipe=best" in commands and "POST /v1/continue request.lists" in read_snapshot("http")


def test_exit_codes_of_the_command_line(tmp_path: Path) -> None:
    """0: done, 2: refused with one line on stderr; 130 after Ctrl-C."""
    command = [sys.executable, "-c", "from fansrec.cli.main import run; run()"]
    assert subprocess.run([*command, "--version"], capture_output=True).returncode == 0
    refused = subprocess.run([*command, "continue", tmp_path / "nowhere", "i1"], capture_output=True, text=True)
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert main.STOPPED == 130
