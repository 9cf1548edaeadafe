"""The key file on disk: its permissions after a change, and a service that cannot read it."""

import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fansrec.cli.keys import app
from fansrec.errors import BadSetting
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import new_key, read_key_file, remove_key
from fansrec.serving.http.problems import Problem

ROOT = os.geteuid() == 0
OTHER = 12345  # a user and group that do not exist


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def change(file: Path, how: str) -> None:
    if how == "add":
        new_key(file, "new", "use")
    else:
        remove_key(file, "web")


@pytest.mark.parametrize("how", ["add", "remove"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o660])
def test_changing_a_key_keeps_the_mode(file: Path, how: str, mode: int) -> None:
    new_key(file, "web", "use")
    file.chmod(mode)
    change(file, how)
    assert file.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(not ROOT, reason="only root can give a file to another user")
@pytest.mark.parametrize("how", ["add", "remove"])
def test_changing_a_key_as_root_keeps_the_owner(file: Path, how: str) -> None:
    new_key(file, "web", "use")
    file.chmod(0o640)
    os.chown(file, OTHER, OTHER + 1)
    change(file, how)
    state = file.stat()
    assert (state.st_uid, state.st_gid, state.st_mode & 0o777) == (OTHER, OTHER + 1, 0o640)


@pytest.mark.parametrize("how", ["add", "remove"])
def test_key_is_not_changed_where_the_owner_cannot_be_kept(
    file: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_key(file, "web", "use")
    before, stat, changed = file.read_bytes(), Path.stat, file.resolve()

    def owned_by_another(path: Path, **more: Any) -> Any:
        state = stat(path, **more)
        return os.stat_result((*state[:4], OTHER, OTHER, *state[6:])) if path == changed else state

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "stat", owned_by_another)
    monkeypatch.setattr(os, "chown", refused)
    with pytest.raises(BadSetting, match="was not changed.*as the file's owner or as root"):
        change(file, how)
    assert file.read_bytes() == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def ring_without_its_file(file: Path, clock: Clock, grace_s: float = 30) -> tuple[KeyRing, str]:
    """Return a ring whose file was moved away at 1 s, and a key of that file."""
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock, grace_s)
    clock.now = 1
    assert ring.entry_of(key)
    file.rename(file.with_name("away"))
    return ring, key


def test_unreadable_key_file_refuses_everyone_after_the_grace_period(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    ring, key = ring_without_its_file(file, clock)
    for clock.now in (2, 20, 31):
        assert ring.readable and ring.entry_of(key)
    for clock.now in (32, 33, 1000):
        assert not ring.readable
        with pytest.raises(Problem) as raised:
            ring.entry_of(key)
        assert (raised.value.status, raised.value.kind) == (503, "keys-unreadable")
    levels = [record.levelname for record in caplog.records]
    assert levels == ["WARNING", "ERROR"] and "every key is refused" in caplog.text and str(file) in caplog.text


def test_readable_key_file_accepts_keys_again(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    ring, key = ring_without_its_file(file, clock)
    clock.now = 100
    assert not ring.readable
    with caplog.at_level(logging.INFO):
        file.with_name("away").rename(file)  # the same file, as after a mount that came back
        clock.now = 102
        assert ring.readable and ring.entry_of(key)
    assert "1 keys" in caplog.text


def test_removed_key_stays_valid_no_longer_than_the_grace_period(file: Path) -> None:
    clock = Clock()
    ring, key = ring_without_its_file(file, clock, grace_s=5)
    clock.now = 3600  # the first request after an hour is refused as well
    with pytest.raises(Problem):
        ring.entry_of(key)


@pytest.mark.parametrize("content", [b"nonsense", b"\xff", b"#" * 2**21])
def test_broken_key_file_counts_as_unreadable(file: Path, content: bytes) -> None:
    clock = Clock()
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock, 30)
    file.write_bytes(content)
    clock.now = 2
    assert ring.entry_of(key)
    clock.now = 40
    assert not ring.readable


def as_another_user(work: Callable[[], bool]) -> bool:
    """Return the result of `work` in a child process without the rights of root."""
    child = os.fork()
    if child == 0:
        done = False
        try:
            os.seteuid(OTHER)
            done = work()
        finally:
            os._exit(0 if done else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not ROOT, reason="only root can become another user")
def test_key_removed_by_root_is_refused_by_a_service_of_another_user() -> None:
    with tempfile.TemporaryDirectory() as folder:  # tmp_path is closed to other users
        os.chmod(folder, 0o755)
        file, clock = Path(folder, "keys"), Clock()
        removed, kept = new_key(file, "web", "use"), new_key(file, "ops", "use")
        os.chown(file, OTHER, OTHER)
        ring = KeyRing(file, clock)
        remove_key(file, "web")
        clock.now = 2
        assert as_another_user(lambda: ring.entry_of(removed) is None and ring.entry_of(kept) is not None)


def test_command_creates_keys_that_only_read_metrics(file: Path) -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["add", str(file), "prometheus", "--metrics"]).exit_code == 0
    assert [(entry.name, entry.role) for entry in read_key_file(file)] == [("prometheus", "metrics")]
    both = runner.invoke(app, ["add", str(file), "both", "--metrics", "--admin"])
    assert isinstance(both.exception, BadSetting) and len(read_key_file(file)) == 1
