import hashlib
import logging
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fansrec.cli.keys import app
from fansrec.errors import BadInput, BadSetting
from fansrec.serving.http.key_ring import KeyRing
from fansrec.serving.http.keys import MAX_FILE_BYTES, Entry, digest_of, new_key, read_key_file, read_keys, remove_key

ZEROS = "0" * 64


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def role_of(ring: KeyRing, key: str) -> str | None:
    entry = ring.entry_of(key)
    return entry.role if entry else None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def test_new_key_has_its_role(file: Path) -> None:
    user, admin = new_key(file, "web", "use"), new_key(file, "ops", "admin")
    writer = new_key(file, "catalog", "write")
    ring = KeyRing(file)
    assert role_of(ring, writer) == "write"
    assert ring.entry_of(user) == Entry("web", "use", digest_of(user)) and role_of(ring, admin) == "admin"


def test_key_is_long_random_and_has_a_prefix(file: Path) -> None:
    one, other = new_key(file, "a", "use"), new_key(file, "b", "use")
    assert one != other and one.startswith("fans_") and len(one) == len("fans_") + 43


def test_file_contains_the_hash_and_never_the_key(file: Path) -> None:
    key = new_key(file, "web", "use")
    text = file.read_text()
    assert key not in text and key[5:] not in text
    assert text.splitlines()[-1] == f"web use {hashlib.sha256(key.encode()).hexdigest()}"


def test_file_is_readable_by_its_owner_only(file: Path) -> None:
    new_key(file, "web", "use")
    assert file.stat().st_mode & 0o777 == 0o600
    remove_key(file, "web")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["", "fans_", "fans_" + "x" * 43, ZEROS, "é\ud800\0", "x" * 100_000])
def test_other_keys_are_refused(file: Path, key: str) -> None:
    new_key(file, "web", "use")
    assert KeyRing(file).entry_of(key) is None


def test_hash_is_not_accepted_as_a_key(file: Path) -> None:
    key = new_key(file, "web", "use")
    assert role_of(KeyRing(file), hashlib.sha256(key.encode()).hexdigest()) is None


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "#a", "é", "x" * 65])
def test_invalid_name_is_refused(file: Path, name: str) -> None:
    with pytest.raises(BadSetting, match="cannot name a key"):
        new_key(file, name, "use")
    assert not file.exists()


def test_name_can_be_used_once(file: Path) -> None:
    new_key(file, "web", "use")
    with pytest.raises(BadSetting, match="already has a key named web"):
        new_key(file, "web", "admin")
    assert len(read_key_file(file)) == 1


def test_removal_keeps_comments_and_other_keys(file: Path) -> None:
    file.write_text(f"# ours\n\nweb use {ZEROS}\n  # theirs\nops admin {ZEROS}")
    remove_key(file, "web")
    assert file.read_text() == f"# ours\n\n  # theirs\nops admin {ZEROS}"
    new_key(file, "new", "use")
    assert [entry.name for entry in read_key_file(file)] == ["ops", "new"]


def test_unknown_key_cannot_be_removed(file: Path) -> None:
    new_key(file, "web", "use")
    with pytest.raises(BadSetting, match="no key named ops"):
        remove_key(file, "ops")


def test_concurrently_added_keys_are_all_kept(file: Path) -> None:
    makers = [threading.Thread(target=new_key, args=(file, f"n{number}", "use")) for number in range(12)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert len(read_key_file(file)) == 12


def test_link_to_the_file_stays_a_link(file: Path, tmp_path: Path) -> None:
    new_key(file, "web", "use")
    link = tmp_path / "link"
    link.symlink_to(file)
    new_key(link, "ops", "use")
    assert link.is_symlink() and len(read_key_file(file)) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("web use", "line 2"),
        ("web use abc", "line 2"),
        (f"web root {ZEROS}", "line 2: the role"),
        (f"first use {ZEROS}", "line 2: a key of this name already exists"),
        ("web use fans_" + "x" * 43, "line 2"),
    ],
)
def test_error_names_the_line_and_not_its_content(line: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as raised:
        read_keys(f"first use {ZEROS}\n{line}\n", "keys")
    assert ZEROS not in str(raised.value) and "xxx" not in str(raised.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_unreadable_file_is_refused_at_start(file: Path, content: bytes | None) -> None:
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadInput, match="fans keys add"):
        KeyRing(file)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        entries = read_keys(text, "keys")
    except BadInput:
        return
    assert all(entry.role in ("use", "write", "admin", "metrics") for entry in entries)


def test_added_and_removed_keys_take_effect_while_running(file: Path) -> None:
    clock = Clock()
    old = new_key(file, "old", "use")
    ring = KeyRing(file, clock)
    new = new_key(file, "new", "use")
    remove_key(file, "old")
    assert role_of(ring, new) is None and role_of(ring, old) == "use"  # checked once a second
    clock.now = 1.1
    assert role_of(ring, new) == "use" and role_of(ring, old) is None


def test_file_is_checked_at_most_once_a_second(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock)
    checks = []
    monkeypatch.setattr("fansrec.serving.http.key_ring._stamp", lambda path: checks.append(path))
    clock.now = 5
    for _ in range(100):
        role_of(ring, key)
    assert len(checks) == 1


@pytest.mark.parametrize("harm", ["broken", "gone"])
def test_broken_file_leaves_the_keys_unchanged(file: Path, harm: str, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock)
    if harm == "gone":
        file.unlink()
    else:
        file.write_text("a secret by mistake")
    for clock.now in (2, 4):
        with caplog.at_level(logging.INFO):
            assert role_of(ring, key) == "use"
    assert len(caplog.records) == 1 and "stay as they were" in caplog.text and "secret" not in caplog.text
    fresh = new_key(file.with_name("fresh"), "fresh", "use")
    os.replace(file.with_name("fresh"), file)
    clock.now = 6
    assert role_of(ring, fresh) == "use" and role_of(ring, key) is None


def test_missing_file_revokes_nothing_at_first_and_an_empty_one_everything(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock)
    file.unlink()
    for clock.now in range(2, 30, 2):
        assert role_of(ring, key) == "use"
    [warning] = caplog.records
    assert warning.levelname == "WARNING" and "none is revoked" in caplog.text and str(file) in caplog.text
    file.write_text("")
    clock.now = 30
    assert role_of(ring, key) is None


def large_file(file: Path, size: int) -> str:
    """Write a key file of this size; return its last key."""
    key = new_key(file, "last", "use")
    last = file.read_text().splitlines()[-1]
    file.write_text("#".ljust(size - len(last) - 2, "x") + f"\n{last}\n")
    assert file.stat().st_size == size
    return key


def test_file_up_to_the_limit_is_read(file: Path) -> None:
    key = large_file(file, MAX_FILE_BYTES)
    assert role_of(KeyRing(file), key) == "use"


def test_file_above_the_limit_is_refused_and_never_truncated(file: Path) -> None:
    large_file(file, MAX_FILE_BYTES + 1)
    before = file.read_bytes()
    for use in (KeyRing, read_key_file, lambda it: new_key(it, "new", "use"), lambda it: remove_key(it, "last")):
        with pytest.raises(BadInput, match=f"more than {MAX_FILE_BYTES} bytes"):
            use(file)
    assert file.read_bytes() == before


def test_key_that_would_exceed_the_limit_is_not_added(file: Path) -> None:
    key = large_file(file, MAX_FILE_BYTES)
    with pytest.raises(BadInput, match=f"more than {MAX_FILE_BYTES} bytes"):
        new_key(file, "new", "use")
    assert role_of(KeyRing(file), key) == "use"


def test_file_that_grows_above_the_limit_leaves_the_keys_unchanged(file: Path) -> None:
    clock = Clock()
    key = new_key(file, "web", "use")
    ring = KeyRing(file, clock)
    file.write_text("#" * (MAX_FILE_BYTES + 1))
    clock.now = 2
    assert role_of(ring, key) == "use"


def test_command_adds_lists_and_removes_keys(file: Path) -> None:
    runner = CliRunner()
    added = runner.invoke(app, ["add", str(file), "web"])
    assert added.exit_code == 0 and role_of(KeyRing(file), added.stdout.strip()) == "use"
    assert "cannot be shown again" in added.stderr
    admin = runner.invoke(app, ["add", str(file), "ops", "--admin"]).stdout.strip()
    assert role_of(KeyRing(file), admin) == "admin"
    assert runner.invoke(app, ["list", str(file)]).stdout == "web\tuse\nops\tadmin\n"
    assert runner.invoke(app, ["remove", str(file), "web"]).exit_code == 0
    assert runner.invoke(app, ["list", str(file)]).stdout == "ops\tadmin\n"
    refused = runner.invoke(app, ["remove", str(file), "web"])
    assert isinstance(refused.exception, BadSetting)
