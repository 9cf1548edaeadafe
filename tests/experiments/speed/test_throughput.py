import numpy as np
import pytest

from fansrec.engine.rules import Rules
from fansrec.experiments.speed import throughput as bench
from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.engines import engine_arm
from fansrec.experiments.speed.options import ThroughputOptions
from fansrec.experiments.speed.random_models import random_engine
from fansrec.experiments.speed.throughput import PaddedEngine, lengthened, padded, throughput
from fansrec.experiments.speed.workloads import questions_of


def test_every_batch_size_has_rows() -> None:
    options = ThroughputOptions("aotm", items=200, categories=(4,), lists=12, batches=(1, 4), seconds=2, repeats=2)
    rows = throughput(options)
    assert {row["batch"] for row in rows} == {1, 4}
    assert {"eager", "ours", "padded"} <= {row["arm"] for row in rows if row["batch"] == 4}
    assert all(row["lists_per_s"] > 0 and row["lists"] % row["batch"] == 0 for row in rows)


def test_padding_does_not_change_items() -> None:
    options = ThroughputOptions(
        "aotm", items=200, categories=(4,), arms=("eager",), lists=8, batches=(8,), seconds=1, repeats=1
    )
    row = next(row for row in throughput(options) if row["arm"] == "padded")
    assert row["same_items"] == 1 and row["same_items_of"] > 8


def test_rows_compare_with_padding() -> None:
    options = ThroughputOptions(
        "aotm", items=200, categories=(4,), arms=("eager",), lists=8, batches=(8,), seconds=1, repeats=1
    )
    rows = {row["arm"]: row for row in throughput(options) if row["variant"] == "paper"}
    assert rows["padded"]["times_padded"] == 1 and rows["eager"]["times_padded"] > 0


def test_call_that_would_take_too_long_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "MAX_CALL_SECONDS", 1e-5)
    said: list[str] = []
    options = ThroughputOptions(
        "aotm", items=60, categories=(3,), arms=("eager",), lists=4, batches=(4, 1), seconds=0, repeats=1
    )
    rows = throughput(options, say=said.append)
    assert {row["batch"] for row in rows if row["arm"] == "eager"} == {1}
    assert any("4 lists would take" in line and "left out" in line for line in said)


def test_padded_batches_are_consecutive_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = random_engine("fans", 200, 4, 303, "cpu", 0)
    engine = PaddedEngine(plain.model, 200)
    inputs = [np.arange(length) for length in (5, 100, 7, 90)]
    monkeypatch.setattr("fansrec.engine.torch.backend.TOKENS_AT_ONCE", 230)
    assert list(engine._batches(inputs, [5, 5, 5, 5], Rules())) == [[0, 1], [2, 3]]


def test_fast_backend_gets_longer_inputs_instead_of_padding() -> None:
    arm = engine_arm("ours", random_engine("fans", 200, 4, 62, "cpu", 0), "paper", 4)
    arm.backend = "native"
    longer = next(padded(arm))
    assert (longer.arm, longer.backend) == ("padded", "native") and longer.to_answers(None) == []
    assert [len(given) for given in lengthened([np.arange(3), np.arange(9)], [2, 4])] == [11, 9]


def test_recipe_best_and_other_models_are_not_padded() -> None:
    systems = Systems("aotm", 60, "cpu")
    assert not [more for arm in systems.linear() + systems.best(("eager",), 3) for more in padded(arm)]


def test_list_lengths_follow_the_workload() -> None:
    questions = questions_of("spotify", 500, 200, seed=3)
    assert np.mean([len(question.input) + question.k for question in questions]) == pytest.approx(92.7, abs=0.5)
