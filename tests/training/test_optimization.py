import pytest

from fansrec.training.optimization import learning_rate_factor


def test_learning_rate_has_linear_warmup_and_decay() -> None:
    factors = [learning_rate_factor(step, warmup=4, total=12) for step in range(13)]
    assert factors[:4] == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert factors[4:] == pytest.approx([1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0])


def test_learning_rate_without_warmup_starts_full() -> None:
    assert [learning_rate_factor(step, warmup=0, total=4) for step in range(5)] == pytest.approx(
        [1.0, 0.75, 0.5, 0.25, 0.0]
    )


def test_warmup_longer_than_training() -> None:
    factors = [learning_rate_factor(step, warmup=100, total=10) for step in range(10)]
    assert factors == pytest.approx([0.01 * (step + 1) for step in range(10)])
