from collections.abc import Callable
from typing import Any

import pytest

from fansrec.engine.rules import Rules
from fansrec.experiments.speed.random_models import random_engine
from fansrec.experiments.speed.shares import TimedFans, encoder_and_classifier
from fansrec.experiments.speed.workloads import questions_of


def test_every_classifier_and_depth_has_a_row() -> None:
    rows = encoder_and_classifier(200, [1, 3], "cpu", 2, workload="aotm")
    assert [(row["classifier"], row["layers"]) for row in rows] == [
        *[("vanilla", 1), ("vanilla", 3), ("two-stage", 1), ("two-stage", 3)],
    ]
    assert all(row["encoder_ms"] > 0 and row["classifier_ms"] > 0 for row in rows)


def test_time_is_assigned_to_the_encoder_or_the_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def slowed(work: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            nonlocal now
            now += seconds
            return work(*given)

        return call

    question = questions_of("small", 200, 1, seed=0)[0]
    engine: Any = random_engine("fans", 200, 5, 30, "cpu", 0)
    timed = TimedFans(engine)
    monkeypatch.setattr(timed, "_now", lambda: now)
    monkeypatch.setattr(engine.model, "encode", slowed(engine.model.encode, 3.0))
    monkeypatch.setattr(engine, "continue_lists", slowed(engine.continue_lists, 5.0))  # everything but the encoder
    assert timed.answer(question, 3) == (3.0, 5.0)


def test_depth_uses_the_first_layers_only() -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    timed = TimedFans(random_engine("fans", 200, 5, 30, "cpu", 0, layers=3))
    used: list[int] = []
    for number, layer in enumerate(timed.layers):
        layer.register_forward_hook(lambda *_, number=number: used.append(number))
    timed.answer(question, 2)
    assert used == [0, 1]


def test_timing_does_not_change_the_answer() -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    engine = random_engine("fans", 200, 5, 30, "cpu", 0)
    plain = engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0].items
    TimedFans(engine)
    assert (engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0].items == plain).all()
