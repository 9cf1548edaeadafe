"""Thousands of bad requests of every kind against a running service: none gets a 5xx, and no process dies.

The long version is `python -m benchmarks.reliability.bad_input`; this is the quick one.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long  # half a minute; other tests of the service try one of each kind

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("changed bodies", "made by hypothesis", "broken HTTP", "by schemathesis")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the rows of the script, which starts a service itself and removes it."""
    file = tmp_path_factory.mktemp("bad-input") / "rows.json"
    script = [sys.executable, "-m", "benchmarks.reliability.bad_input", "--quick", "--json", str(file)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1200, check=False)
    assert file.is_file(), ended.stderr[-4000:]
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def named(rows: list[dict[str, Any]], words: str) -> dict[str, Any]:
    return next(row for row in rows if words in row["what"])


@pytest.mark.parametrize("kind", KINDS)
def test_bad_requests_get_no_5xx_and_no_wrong_answer(rows: list[dict[str, Any]], kind: str) -> None:
    row = next(row for row in rows if row.get("kind") == kind)
    assert row["measured"] == 0 and row["passed"], row


@pytest.mark.parametrize(
    ("kind", "least"), [("changed bodies", 2000), ("made by hypothesis", 500), ("broken HTTP", 1000)]
)
def test_enough_requests_of_each_kind_are_sent(rows: list[dict[str, Any]], kind: str, least: int) -> None:
    row = next(row for row in rows if row.get("kind") == kind)
    assert sum(row["statuses"].values()) >= least


def test_some_requests_are_valid_and_answered(rows: list[dict[str, Any]]) -> None:
    for kind in KINDS:
        row = next(row for row in rows if row.get("kind") == kind)
        assert row["statuses"].get("200", 0) > 0, row


def test_no_process_dies(rows: list[dict[str, Any]]) -> None:
    assert named(rows, "processes that died")["measured"] == 0
    assert named(rows, "workers lost")["measured"] == 0


def test_service_answers_as_before_afterwards(rows: list[dict[str, Any]]) -> None:
    assert named(rows, "a good request is answered as before")["passed"]
