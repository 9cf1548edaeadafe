"""Peak memory, with systems that allocate a known amount. These tests need Linux, like the measurement."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fansrec.experiments.speed import memory
from fansrec.experiments.speed.measuring import Answer, Arm, in_calls, measure
from fansrec.experiments.speed.memory import watched
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.workloads import Question

LARGE = 80  # megabytes

needs_linux = pytest.mark.skipif(not memory.CLEAR.exists(), reason="the peak can be reset only on Linux")


def allocate(megabytes: int) -> int:
    return int(np.ones(megabytes * 10**6, dtype=np.uint8).sum())


def rows_of_systems(*works: Callable[[], Any]) -> list[Row]:
    def arm(work: Callable[[], Any]) -> Arm:
        def answer(inputs: Any, counts: Any) -> Any:
            work()
            return counts

        found = Arm("ours", "fans", "paper", 10, "torch", "cpu", answer, lambda counts: [])
        return found

    arms, calls = [arm(work) for work in works], in_calls([Question(np.arange(3), 2)] * 2, 1)
    measure(arms, calls, 0, 1)
    return rows_of(arms, calls, 100)


@needs_linux
def test_each_row_has_the_memory_of_its_own_calls() -> None:
    large, small = rows_of_systems(lambda: allocate(LARGE), lambda: None)
    assert LARGE * 0.9 < large["working_mb"] < LARGE * 1.5
    assert small["working_mb"] < LARGE / 4  # not the peak of the system before it
    assert small["peak_mb"] < large["peak_mb"] - LARGE / 2


@needs_linux
def test_peak_includes_what_was_held_before() -> None:
    held = np.ones(LARGE * 10**6, dtype=np.uint8)
    with watched("cpu") as found:
        pass
    assert found.peak is not None and found.peak > LARGE
    assert found.working is not None and found.working < LARGE / 4
    assert held.sum() == LARGE * 10**6


def test_memory_is_none_where_the_peak_cannot_be_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CLEAR", tmp_path / "missing" / "clear_refs")
    (row,) = rows_of_systems(lambda: None)
    assert row["peak_mb"] is None and row["working_mb"] is None


def test_fresh_arm_has_no_memory() -> None:
    arm = Arm("ours", "fans", "paper", 10, "torch", "cpu", lambda *_: [], lambda _: [Answer(np.arange(1))])
    arm.memory.peak = 5.0
    assert arm.fresh().memory.peak is None
