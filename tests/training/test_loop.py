import pytest

from fansrec.training.loop import warmth


def test_the_learning_rate_rises_over_the_warm_up_and_falls_to_zero_at_the_end() -> None:
    shares = [warmth(step, warmup=4, total=12) for step in range(13)]
    assert shares[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert shares[4:] == pytest.approx([1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0])


def test_without_a_warm_up_it_begins_full() -> None:
    assert [warmth(step, warmup=0, total=4) for step in range(5)] == pytest.approx([1.0, 0.75, 0.5, 0.25, 0.0])


def test_a_warm_up_longer_than_training_never_gets_to_the_full_rate() -> None:
    shares = [warmth(step, warmup=100, total=10) for step in range(10)]
    assert shares == pytest.approx([0.01 * (step + 1) for step in range(10)])
