"""`tools/repeat_tests.py` with small programs in place of the suite."""

import subprocess
import sys
from pathlib import Path

REPEAT = Path(__file__).resolve().parents[2] / "tools" / "repeat_tests.py"
GREEN = "print('===== 3 passed, 1 skipped in 0.10s =====')"
# Fails on its second run: the first leaves a file behind.
RED_LATER = """
import pathlib, sys
if not pathlib.Path('ran').exists():
    pathlib.Path('ran').touch(); print('===== 2 passed in 0.10s ====='); sys.exit(0)
print('FAILED tests/test_a.py::test_b - AssertionError'); print('==== 1 failed, 1 passed in 61.2s (0:01:01) ====')
sys.exit(1)
"""


def repeated(folder: Path, program: str, *options: str) -> tuple[int, list[str]]:
    command = [sys.executable, str(REPEAT), *options, "--", sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()


def test_table_has_a_row_for_each_idle_and_busy_run(tmp_path: Path) -> None:
    code, lines = repeated(tmp_path, GREEN, "--idle", "2", "--busy", "1")
    rows = [line.split() for line in lines[1:4]]
    assert code == 0
    assert [row[:3] for row in rows] == [["1", "idle", "0"], ["2", "idle", "0"], ["3", "busy", "0"]]
    assert all(row[4:] == ["3", "0", "0", "1"] for row in rows)
    assert lines[4].startswith("3 of 3 runs passed")


def test_one_failed_run_fails_the_whole_and_is_named(tmp_path: Path) -> None:
    code, lines = repeated(tmp_path, RED_LATER, "--idle", "2")
    assert code == 1
    assert lines[2].split()[4:] == ["1", "1", "0", "0"]
    assert lines[3].startswith("1 of 2 runs passed") and lines[-1].strip() == "tests/test_a.py::test_b"


def test_output_of_each_run_is_kept(tmp_path: Path) -> None:
    repeated(tmp_path, GREEN, "--idle", "1", "--logs", str(tmp_path / "kept"))
    assert "3 passed" in (tmp_path / "kept" / "run-01-idle.log").read_text()
