"""benchmarks/reliability/endurance.py: its checks of answers, reloads and memory find what is wrong."""

import argparse
import importlib
import os
from pathlib import Path
from typing import Any

import pytest

from fansrec.artifact import read_artifact
from fansrec.updating.changes import SetList

ROOT = Path(__file__).resolve().parents[2]
REQUESTS = [[["i1", "i2"], ["i3"]]]


@pytest.fixture
def endurance(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.reliability.endurance")


@pytest.fixture
def checks(endurance: Any) -> Any:
    return importlib.import_module("benchmarks.updates.kill_checks")


@pytest.fixture
def report(endurance: Any) -> Any:
    return endurance.Report("endurance", quick=False)


class Reader:
    """A reader as the checks see it."""

    name = "reader"

    def __init__(self, *states: str) -> None:
        self.states = [(state, 0) for state in states]
        self.answers: dict[tuple[str, int], Any] = {}


class Target:
    """A service that answers reloads with the given statuses; `disturbed` is what was killed before."""

    def __init__(self, *answers: Any, disturbed: str = "") -> None:
        self.answers, self.disturbed = [*answers], frozenset([disturbed] if disturbed else [])
        self.service = self

    def ask(self, *_: Any, **__: Any) -> Any:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def reloader(endurance: Any, folder: Path, target: Target, times: int) -> Any:
    models = [folder / "a", folder / "b"]
    run = argparse.Namespace(target=target, models=models, link=folder / "link")
    made = endurance.Reloader(run, 60.0)
    for number in range(1, times + 1):
        made.step()
        assert run.link.readlink() == models[number % 2]
    return made


def test_failed_reload_is_a_problem_only_if_nothing_was_killed(endurance: Any, tmp_path: Path) -> None:
    answers = (200, {"changed": ["m"]}), (200, {"changed": []}), (409, "busy"), ConnectionResetError()
    calm = reloader(endurance, tmp_path, Target(*answers), 4)
    assert calm.outcomes == {"changed": 1, "unchanged": 1, "failed (409)": 1, "failed (in doubt)": 1}
    assert len(calm.problems) == 2
    disturbed = reloader(endurance, tmp_path, Target(*answers, disturbed="worker"), 4)
    assert disturbed.outcomes == calm.outcomes and not disturbed.problems


def test_reloads_that_failed_are_reported(endurance: Any, report: Any, tmp_path: Path) -> None:
    endurance.report_reloads(report, reloader(endurance, tmp_path, Target((503, "no")), 1))
    assert [row["what"] for row in report.missed] == ["reloads that failed without a kill"]


@pytest.mark.parametrize(("per_minute", "missed"), [(0.2, 0), (3.0, 1)])
def test_memory_that_grows_is_reported(endurance: Any, report: Any, per_minute: float, missed: int) -> None:
    memory = endurance.Memory()
    memory.seconds = [2.0 * number for number in range(600)]
    memory.megabytes = [300 + second / 60 * per_minute for second in memory.seconds]
    endurance.report_memory(report, memory)
    assert len(report.missed) == missed


def test_answers_are_compared_with_the_model_that_they_came_from(checks: Any, songs: Path, best: Path) -> None:
    runs, other = [songs / "run", best], "0" * 64
    hashes = [read_artifact(run).hash for run in runs]
    reader = Reader(*hashes, hashes[0])
    for run, state in zip(runs, hashes, strict=True):
        alone = checks.Continuer(read_artifact(run))
        reader.answers[state, 0] = [answer.items for answer in alone.continue_lists(REQUESTS[0], checks.K)]
    assert not [*checks.check_answers(runs, [], [reader], REQUESTS)]
    assert reader.answers[hashes[0], 0] != reader.answers[hashes[1], 0]
    reader.answers[hashes[1], 0] = reader.answers[hashes[0], 0]  # of the other model
    reader.states.append((other, 0))
    found = [*checks.check_answers(runs, [], [reader], REQUESTS)]
    assert len(found) == 2 and "unknown state" in found[0] and "instead of" in found[1]


def test_writes_count_in_the_states_of_all_models(checks: Any, best: Path, songs: Path) -> None:
    runs, records = [best, songs / "run"], [(1, (SetList("p", ("i1", "i2")),))]
    states = [[state for _, state in checks.states_of(run, records)] for run in runs]
    assert len({state for some in states for state in some}) == 4
    back = Reader(states[0][1], states[1][1], states[0][0])  # the other model after the write, then none has it
    found = [*checks.check_answers(runs, records, [back], REQUESTS)]
    assert len(found) == 1 and "from record 0 after 1" in found[0]


@pytest.mark.long  # a minute
def test_half_a_minute_of_kills_and_reloads_has_no_wrong_answer(
    endurance: Any, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", os.environ.get("TMPDIR", "/tmp"))  # the script sets it; restored afterwards
    report.quick = True
    endurance.measure(report, argparse.Namespace(minutes=None, quick=True, seed=0))
    assert not report.missed
    rows = {row["what"]: row for row in report.rows}
    assert rows["groups of lists seen as a whole"]["measured"] > 0 and "changed" in rows["reloads"]["measured"]
