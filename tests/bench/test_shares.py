import time

import pytest

from fansrec.bench.random_models import random_engine
from fansrec.bench.shares import TimedFans, encoder_and_classifier
from fansrec.bench.workloads import questions_of
from fansrec.engine.rules import Rules


def test_every_classifier_and_depth_has_a_row() -> None:
    rows = encoder_and_classifier(200, [1, 3], "cpu", 2, workload="aotm")
    assert [(row["classifier"], row["layers"]) for row in rows] == [
        *[("vanilla", 1), ("vanilla", 3), ("two-stage", 1), ("two-stage", 3)],
    ]
    assert all(row["encoder_ms"] > 0 and row["classifier_ms"] > 0 for row in rows)


def test_encoder_and_classifier_add_up_to_the_whole_answer() -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    timed = TimedFans(random_engine("fans", 200, 5, 30, "cpu", 0))
    began = time.perf_counter()
    encoder, classifier = timed.answer(question, 3)
    whole = time.perf_counter() - began
    assert 0.5 * whole < encoder + classifier <= whole


def test_a_slow_encoder_is_not_laid_to_the_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    engine = random_engine("fans", 200, 5, 30, "cpu", 0)
    encode = engine.model.encode  # type: ignore[attr-defined]
    monkeypatch.setattr(engine.model, "encode", lambda *given: (time.sleep(0.3), encode(*given))[1])
    encoder, classifier = TimedFans(engine).answer(question, 3)
    assert encoder >= 0.3 > classifier


def test_a_depth_uses_the_first_layers_only() -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    timed = TimedFans(random_engine("fans", 200, 5, 30, "cpu", 0, layers=3))
    used: list[int] = []
    for number, layer in enumerate(timed.layers):
        layer.register_forward_hook(lambda *_, number=number: used.append(number))
    timed.answer(question, 2)
    assert used == [0, 1]


def test_the_answer_is_the_model_s_own() -> None:
    question = questions_of("small", 200, 1, seed=0)[0]
    engine = random_engine("fans", 200, 5, 30, "cpu", 0)
    plain = engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0].items
    TimedFans(engine)
    assert (engine.continue_lists([question.input], question.k, Rules(keep_seen=True))[0].items == plain).all()
