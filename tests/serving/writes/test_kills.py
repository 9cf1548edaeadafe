"""benchmarks/updates/kills.py: processes of a service are killed while clients write and read."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fansrec.updating.changes import RemoveList, SetList

ROOT = Path(__file__).resolve().parents[3]
OLD, NEW = SetList("p", ("a", "b"), "w.0.0"), SetList("p", ("c", "d"), "w.1.0")
OTHER = SetList("q", ("e", "f"), "w.1.1")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.updates.kill_checks")


def write(checks: Any, *changes: Any, seq: int = 0, outcome: str = "acknowledged") -> Any:
    return checks.Write(changes, outcome, seq)


def found(findings: Any) -> tuple[int, int, int]:
    return len(findings.lost), len(findings.half), len(findings.never_sent)


def test_log_with_what_was_acknowledged_or_in_doubt_is_right(checks: Any) -> None:
    writes = [
        write(checks, OLD, seq=1),
        write(checks, NEW, OTHER, outcome="in doubt"),
        write(checks, OLD, outcome="refused"),
    ]
    assert found(checks.check_log([(1, (OLD,))], writes)) == (0, 0, 0)
    assert found(checks.check_log([(1, (OLD,)), (2, (NEW, OTHER))], writes)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([], (1, 0, 0)),
        ([(1, (NEW,))], (1, 0, 1)),  # refused
        ([(1, (OLD, OTHER)), (2, (OLD, OTHER))], (0, 0, 1)),  # twice
        ([(1, (OLD,))], (1, 1, 0)),
        ([(1, (OLD, OTHER)), (2, (SetList("r", ("g",)),))], (0, 0, 1)),
    ],
)
def test_wrong_log_is_found(checks: Any, records: list[Any], expected: tuple[int, int, int]) -> None:
    writes = [write(checks, OLD, OTHER, seq=1), write(checks, NEW, outcome="refused")]
    assert found(checks.check_log(records, writes)) == expected


def test_list_may_be_as_it_was_acknowledged_or_as_a_later_request_in_doubt_left_it(checks: Any) -> None:
    removed = write(checks, RemoveList("p"), outcome="in doubt")
    writes = [write(checks, OLD, outcome="in doubt"), write(checks, NEW, OTHER, seq=4), removed]
    assert checks.possible_lists(writes) == {"p": {NEW, None}, "q": {OTHER}}
    assert checks.possible_lists([write(checks, OLD, outcome="refused")]) == {"p": {None}}


class Client:
    """A writer or a reader as the checks see it."""

    name, group = "w", "w-group-"

    def __init__(self, *writes: Any) -> None:
        self.writes = writes
        self.states: list[tuple[str, int]] = []


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([NEW, OTHER], (0, 0, 0)),
        ([OLD, OTHER], (1, 0, 0)),
        ([NEW], (1, 0, 0)),
        ([NEW, SetList("q", ("e",), "w.1.1")], (1, 1, 0)),
        ([NEW, OTHER, SetList("r", ("e", "f"))], (0, 0, 1)),
    ],
)
def test_lists_of_a_model_are_compared_with_what_was_acknowledged(
    checks: Any, lists: list[SetList], expected: tuple[int, int, int]
) -> None:
    base = SetList("before", ("x",))
    writer = Client(write(checks, OLD, seq=1), write(checks, NEW, OTHER, seq=2))
    there = {one.id: one for one in [base, *lists]}
    assert found(checks.check_lists(there, {"before": base}, [writer])) == expected
    assert found(checks.check_lists(there, {"before": SetList("before", ("y",))}, [writer]))[0] == expected[0] + 1


def test_group_of_which_a_part_is_there_is_found(checks: Any) -> None:
    lists = [SetList(f"w-group-{number}", ("a", "b"), f"w.0.{number}") for number in range(3)]
    writer = Client(write(checks, *lists, outcome="in doubt"))
    assert found(checks.check_lists({str(one.id): one for one in lists}, {}, [writer])) == (0, 0, 0)
    assert found(checks.check_lists({str(one.id): one for one in lists[:2]}, {}, [writer])) == (0, 1, 0)


def test_answers_that_go_back_or_lack_what_was_acknowledged_are_found(checks: Any) -> None:
    reader, states = Client(), {"a": 0, "b": 1, "c": 2}
    reader.states = [("a", 0), ("b", 0), ("b", 1), ("c", 2)]
    assert not [*checks.check_order(reader, states)]
    reader.states = [("c", 0), ("b", 0), ("a", 0), ("unknown", 0), ("c", 3)]
    assert len([*checks.check_order(reader, states)]) == 4


def test_records_are_compared_at_regular_intervals_if_there_are_many(checks: Any) -> None:
    assert checks.spread([*range(5)], 5) == [*range(5)]
    assert checks.spread([*range(0, 1001, 10)], 5) == [0, 250, 500, 750, 1000]


@pytest.mark.long  # half a minute
def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    script = [sys.executable, "-m", "benchmarks.updates.kills", "--kills", "12", "--json", str(file)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    ended = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr[-4000:]
    rows = {row["what"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    assert rows["acknowledged writes lost, the log"]["measured"] == 0
    assert rows["writes: acknowledged"]["requests"] > 0
    assert rows["groups of lists seen as a whole"]["measured"] > 0
