from typing import Any

import pytest

from fansrec.experiments.speed import stages as bench
from fansrec.experiments.speed.measuring import Arm
from fansrec.experiments.speed.options import StagesOptions
from fansrec.experiments.speed.stages import stages


def test_stages_add_up_to_the_total() -> None:
    rows = stages(StagesOptions("aotm", items=200, categories=(1, 4), lists=2, seconds=0, repeats=1))
    assert [row["categories"] for row in rows] == [1, 4]
    for row in rows:
        assert row["layers_ms"] + row["items_ms"] + row["rest_ms"] == pytest.approx(row["whole_ms"])


def test_stages_are_computed_from_differences() -> None:
    def arm(*seconds: float) -> Arm:
        nothing: Any = None
        made = Arm("ours", "fans", "paper", 10, "native", "cpu", nothing, nothing)
        made.seconds, made.calls = [list(seconds)], len(seconds)
        return made

    row = bench._row(whole=arm(0.010, 0.010), half=arm(0.007), deep=arm(0.004, 0.004), shallow=arm(0.002, 0.002))
    assert row["lists"] == 1
    assert (row["layers_ms"], row["items_ms"], row["rest_ms"]) == pytest.approx((3, 6, 1))
