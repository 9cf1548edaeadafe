"""examples/nightly_batch: a night's results, and what is left when it is killed, fails or runs twice."""

import fcntl
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fansrec
from artifacts import song_lists, write_songs
from examples.conftest import Shop
from serving.service import DEADLINE_S

FOLDER = Path(__file__).parents[2] / "examples" / "nightly_batch"
PROGRAM = FOLDER / "nightly.py"
ARGUMENTS = ["--models", "models", "--new-lists", "new", "--users", "users.parquet", "--out", "out.parquet", "-k", "3"]
USERS = {f"u{number}": [f"i{number % 50}", f"i{number % 50 + 1}"] for number in range(1000)} | {
    "new": ["x"],
    "none": [],
}
RELOADING = re.compile("^# (LoadCredential|ExecStartPost)=", re.MULTILINE)  # what an operator switches on
# Runs the program and kills it when it writes the second part of the answers.
KILLED = """
import os, runpy, signal, sys
from fansrec.api.continuer import Continuer
calls, real = [], Continuer.continue_lists
def continue_lists(*given, **more):
    calls.append(1)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*given, **more)
Continuer.continue_lists = continue_lists
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def write_users(path: Path, users: dict[str, Any]) -> None:
    pq.write_table(pa.table({"user": [*users], "items": [*users.values()]}), path)


@pytest.fixture
def night(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, which is the current one, with a model of the 16th, new lists of two days, and users."""
    shutil.copytree(model, tmp_path / "models" / "2026-11-16")
    (tmp_path / "models" / "current").symlink_to("2026-11-16")
    (tmp_path / "new").mkdir()
    rows = [("a", "i3"), ("a", "new-1"), ("b", "i3"), ("b", "new-1"), ("b", "i4")]
    (tmp_path / "new" / "2026-11-18.csv").write_text("list_id,item_id\n" + "".join(f"{a},{b}\n" for a, b in rows))
    lists = {"list_id": ["a", "c"], "items": [["i5", "i6"], ["i6", "i7"]]}
    pq.write_table(pa.table(lists), tmp_path / "new" / "2026-11-17.parquet")
    write_users(tmp_path / "users.parquet", USERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch) -> object:
    """Run the program in this process and return what it exits with."""
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), *ARGUMENTS])
    try:
        runpy.run_path(str(PROGRAM), run_name="__main__")
    except SystemExit as error:
        return error.code
    return 0


def test_killed_night_is_finished_by_the_next_run(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, PROGRAM, *ARGUMENTS], capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (night / ".out.parquet.new").exists() and not (night / "out.parquet").exists()

    done = subprocess.run([sys.executable, PROGRAM, *ARGUMENTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "1002 lists continued" in done.stderr and "lists added" not in done.stderr  # that was done before
    assert {path.name for path in night.iterdir()} == {"models", "new", "users.parquet", "out.parquet"}
    assert os.readlink("models/current") == "2026-11-18"

    expected = fansrec.load("models/2026-11-18").continue_lists([*USERS.values()], k=3, fallback="popular")
    rows = pq.read_table("out.parquet").to_pylist()
    assert rows == [
        {"user": user, "items": answer.items, "fallback": answer.fallback is not None}
        for user, answer in zip(USERS, expected, strict=True)
    ]
    assert [row["user"] for row in rows if row["fallback"]] == ["new"]
    before = (night / "out.parquet").read_bytes()
    (night / "models" / "current").unlink()
    (night / "models" / "current").symlink_to("2026-11-17")  # as if it was killed before the link was set
    written = {path: path.stat().st_mtime_ns for path in night.glob("models/2026*/*")}
    assert run(monkeypatch) == 0
    assert os.readlink("models/current") == "2026-11-18"
    assert {path: path.stat().st_mtime_ns for path in night.glob("models/2026*/*")} == written
    assert (night / "out.parquet").read_bytes() == before


def test_days_that_the_model_lacks_are_added_in_order_and_old_models_removed(
    night: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for day in range(1, 9):
        (night / "models" / f"2026-10-0{day}").mkdir()
    with caplog.at_level("INFO", "nightly"):
        assert run(monkeypatch) == 0
    added = re.findall(r"models/(\S+): (\d+) lists added, (\d+) replaced", caplog.text)
    assert added == [("2026-11-17", "2", "0"), ("2026-11-18", "1", "1")]
    kept = ["2026-10-05", "2026-10-06", "2026-10-07", "2026-10-08", "2026-11-16", "2026-11-17", "2026-11-18"]
    assert sorted(path.name for path in night.glob("models/2*")) == kept
    [answer] = fansrec.load("models/current").continue_lists([["new-1"]], k=3)
    assert "i3" in answer.items


def test_ids_may_be_integers_and_lists_null(night: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (night / "new" / "2026-11-18.csv").unlink()
    pq.write_table(pa.table({"list_id": ["d"], "items": [[3, 4, 5]]}), night / "new" / "2026-11-17.parquet")
    (night / "new" / ".2026-11-19.parquet").write_text("half of a file that is still being written")
    shutil.rmtree(night / "models" / "2026-11-16")
    corpus = song_lists()
    numbered = replace(corpus, vocabulary=replace(corpus.vocabulary, ids=[str(n) for n in range(60)], integer_ids=True))
    write_songs(night / "models" / "2026-11-16", "best", numbered)
    write_users(night / "users.parquet", {1: [3, 4], 2: None, 3: [None, 3, None], 4: []})
    assert run(monkeypatch) == 0
    rows = pq.read_table("out.parquet").to_pylist()
    assert [row["user"] for row in rows] == ["1", "2", "3", "4"]
    [expected] = fansrec.load("models/2026-11-17").continue_lists([[3, 4]], k=3)
    assert all(isinstance(item, int) for item in expected.items)
    assert rows[0] == {"user": "1", "items": [*map(str, expected.items)], "fallback": False}
    assert [len(row["items"]) for row in rows] == [3, 3, 3, 3]


@pytest.mark.parametrize("broken", ["users", "column", "new lists", "current", "lock"])
def test_failure_is_reported_and_leaves_the_last_answers(
    night: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (night / "out.parquet").write_text("of yesterday")
    said = {"users": "Parquet", "column": "items", "new lists": "2026-11-18", "current": "current", "lock": "another"}
    if broken == "users":
        (night / "users.parquet").write_text("not a table")
    elif broken == "column":
        pq.write_table(pa.table({"user": ["u1"]}), night / "users.parquet")
    elif broken == "new lists":
        (night / "new" / "2026-11-18.csv").write_text("one,two\n1,2\n")
    elif broken == "current":
        (night / "models" / "current").unlink()
    with (night / "models" / "lock").open("w") as lock:
        if broken == "lock":
            fcntl.flock(lock, fcntl.LOCK_EX)
        code = run(monkeypatch)
    assert str(code).startswith("nightly: ") and said[broken] in str(code)
    assert (night / "out.parquet").read_text() == "of yesterday"


def test_code_of_the_readme_writes_what_the_job_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("runs/demo/world", "runs/nightly/new"):
        (tmp_path / folder).mkdir(parents=True)
    lists = "".join(f'{{"id": "l{n}", "items": ["i{n}"], "theme": "x"}}\n' for n in range(101))
    (tmp_path / "runs/demo/world/lists.jsonl").write_text(lists)
    [code] = re.findall(r"```python\n(.*?)```", (FOLDER.parent / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    subprocess.run([sys.executable, "-c", code], check=True)
    assert pq.read_table("runs/nightly/users.parquet").to_pylist()[0] == {"items": ["i0"], "user": "l0"}
    new = pq.read_table("runs/nightly/new/2026-11-17.parquet").to_pylist()
    assert len(new) == 100 and new[0] == {"items": ["i1"], "list_id": "l1-new"}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="this machine does not run systemd")
def test_systemd_accepts_the_timer_and_its_service(tmp_path: Path) -> None:
    for name in ("fans-nightly.service", "fans-nightly.timer"):
        text = (
            (FOLDER / name).read_text().replace("/opt/fans/bin/python", "/bin/true").replace("User=fans", "User=root")
        )
        text = re.sub(RELOADING, r"\1=", text)
        (tmp_path / name).write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not [line for line in done.stderr.splitlines() if str(tmp_path) in line or "fans" in line], done.stderr


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed (apt-get install curl)")
def test_key_of_the_reload_is_read_from_a_file(shop: Shop, tmp_path: Path) -> None:
    unit = (FOLDER / "fans-nightly.service").read_text()
    [command] = re.findall(r"^# ExecStartPost=(.*)$", unit, re.MULTILINE)
    assert "\n# LoadCredential=header:/etc/" in unit and "Authorization" not in command
    (tmp_path / "header").write_text(f"Authorization: Bearer {shop.keys['write']}\n")
    done = subprocess.run(
        ["sh", "-c", command.replace("http://127.0.0.1:8080", shop.url)],
        env=os.environ | {"CREDENTIALS_DIRECTORY": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )
    assert "403" in done.stderr  # the key is known, and is not that of an administrator
