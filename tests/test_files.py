import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from fansrec.errors import BadSetting
from fansrec.files import new_folder, refuse_existing, sha256, write_atomically, write_bytes, write_json, write_text


def half_a_file(path: Path) -> None:
    path.write_bytes(b"half")
    raise OSError(errno.ENOSPC, "no space left")


def test_a_failing_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no space left"):
        write_atomically(tmp_path / "new", half_a_file)
    assert list(tmp_path.iterdir()) == []


def test_failing_write_keeps_the_old_file(tmp_path: Path) -> None:
    write_bytes(tmp_path / "old", b"whole")
    with pytest.raises(OSError, match="no space left"):
        write_atomically(tmp_path / "old", half_a_file)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"whole"


def test_file_appears_only_when_complete(tmp_path: Path) -> None:
    def look(path: Path) -> None:
        path.write_bytes(b"a part")
        assert not (tmp_path / "new").exists()

    write_atomically(tmp_path / "new", look)
    assert (tmp_path / "new").read_bytes() == b"a part"


def test_a_written_file_can_be_read_by_others(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "é\n")
    assert (tmp_path / "file").read_bytes() == "é\n".encode()
    assert os.stat(tmp_path / "file").st_mode & 0o777 == 0o644


def test_json_keeps_letters_readable_and_ends_in_a_newline(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"name": "Sigur Rós"})
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert "Sigur Rós" in text and text.endswith("}\n") and json.loads(text) == {"name": "Sigur Rós"}


def test_sha256(tmp_path: Path) -> None:
    write_bytes(tmp_path / "x", b"abc")
    assert sha256(tmp_path / "x") == hashlib.sha256(b"abc").hexdigest()


def test_new_folder_appears_only_when_complete(tmp_path: Path) -> None:
    with new_folder(tmp_path / "deep" / "folder") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "deep" / "folder").exists()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["folder"]
    assert (tmp_path / "deep" / "folder" / "file").read_text() == "x"
    assert os.stat(tmp_path / "deep" / "folder").st_mode & 0o777 == 0o755


def test_new_folder_is_removed_after_a_failure(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        (folder / "file").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "folder") as folder:
        interrupted(folder)
    assert list(tmp_path.iterdir()) == []


def test_new_folder_does_not_replace_an_existing_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("x")
    with pytest.raises(OSError, match="not empty|exists"), new_folder(tmp_path / "folder") as folder:
        (folder / "new").write_text("y")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "old"]


def test_new_folder_replaces_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with new_folder(tmp_path / "folder") as folder:
        (folder / "new").write_text("y")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "new"]


@pytest.mark.parametrize("marks", [[], ["mark"]])
def test_existing_result_is_refused_unless_force_is_given(tmp_path: Path, marks: list[str]) -> None:
    path = tmp_path / "there"
    if marks:
        path.mkdir()
    (path / "mark" if marks else path).write_text("old")
    with pytest.raises(BadSetting, match="there already exists; choose another path for the model, or give force=True"):
        refuse_existing(path, "the model", marks=marks)
    refuse_existing(path, "the model", force=True, marks=marks)
    refuse_existing(tmp_path / "not there", "the model", marks=marks)


@pytest.mark.parametrize("marks", [[], ["mark"]])
def test_path_of_something_else_is_refused_without_advice_that_does_not_help(tmp_path: Path, marks: list[str]) -> None:
    path = tmp_path / "there"
    path.mkdir()
    (path / "diary").write_text("mine")
    with pytest.raises(
        BadSetting, match="there exists and is not the model of an earlier run; choose another"
    ) as error:
        refuse_existing(path, "the model", marks=marks)
    assert "force" not in str(error.value)
    with pytest.raises(BadSetting, match="force=True does not replace it, so move it away"):
        refuse_existing(path, "the model", force=True, marks=marks)


@pytest.mark.parametrize("force", [False, True])
def test_empty_folder_may_be_replaced_by_a_folder_but_not_by_a_file(tmp_path: Path, force: bool) -> None:
    refuse_existing(tmp_path, "the corpus", force, marks=["summary.json"])
    with pytest.raises(BadSetting, match="is not the report of an earlier run"):
        refuse_existing(tmp_path, "the report", force)


def test_link_to_an_empty_folder_is_refused_because_it_cannot_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    with pytest.raises(BadSetting, match="is not the corpus of an earlier run"):
        refuse_existing(tmp_path / "link", "the corpus", marks=["summary.json"])


def test_empty_file_may_be_replaced_by_a_file_but_not_by_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "from mktemp"
    path.touch()
    refuse_existing(path, "the report")
    with pytest.raises(BadSetting, match="is not the corpus of an earlier run"):
        refuse_existing(path, "the corpus", marks=["summary.json"])
