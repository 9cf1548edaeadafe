from typing import Any

import pytest

from fansrec.experiments.speed import stages as bench
from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.measuring import Arm
from fansrec.experiments.speed.options import StagesOptions
from fansrec.experiments.speed.stages import stages


def test_stages_add_up_to_the_total() -> None:
    rows = stages(StagesOptions("aotm", items=200, categories=(1, 4), lists=2, seconds=0, repeats=1))
    assert [(row["variant"], row["categories"]) for row in rows] == [("paper", 1), ("paper", 4), ("best", 4)]
    for row in rows:
        parts = sum(row[f"{part}_ms"] for part in ("layers", "items", "parts", "rest"))
        assert parts == pytest.approx(row["whole_ms"])


def test_stages_are_computed_from_differences() -> None:
    def arm(*seconds: float) -> Arm:
        nothing: Any = None
        made = Arm("ours", "fans", "paper", 10, "native", "cpu", nothing, nothing)
        made.seconds, made.calls = [list(seconds)], len(seconds)
        return made

    arms = {"network": arm(0.010, 0.010), "half": arm(0.007), "deep": arm(0.004), "shallow": arm(0.002, 0.002)}
    row = bench._row(3, **arms)
    assert row["lists"] == 1
    assert (row["layers_ms"], row["items_ms"], row["rest_ms"], row["parts_ms"]) == pytest.approx((3, 6, 1, 0))
    hybrid = bench._row(3, **arms, whole=arm(0.015))
    assert (hybrid["rest_ms"], hybrid["parts_ms"], hybrid["whole_ms"]) == pytest.approx((1, 5, 15))


def test_hybrid_model_has_all_parts_or_only_the_network() -> None:
    systems = Systems("aotm", 200, "cpu")
    whole, network = (bench._hybrid(systems, 4, 2, parts=parts) for parts in (True, False))
    assert whole.memory is not None and whole.linear is not None and min(vars(whole.config.weights).values()) > 0
    assert network.memory is None and network.linear is None
