import pytest

from fansrec.serving.http.problems import Problem
from fansrec.serving.http.rate import Rate


def test_as_much_as_the_rate_is_taken_in_the_long_run() -> None:
    now = 0.0
    rate = Rate(10, clock=lambda: now)
    rate.take(10)
    taken = 0
    for _ in range(1000):
        now += 0.01
        try:
            rate.take(1)
            taken += 1
        except Problem:
            continue
    assert 99 <= taken <= 100


def test_problem_says_when_to_try_again_and_takes_nothing() -> None:
    now = 0.0
    rate = Rate(10, burst=50, clock=lambda: now)
    rate.take(45)
    with pytest.raises(Problem) as error:
        rate.take(20)
    assert (error.value.status, error.value.kind, error.value.members["retry_after"]) == (429, "too-fast", 2)
    rate.take(5)
    now = 2.0
    rate.take(20)
    now = 1000.0  # a pause does not add up to more than the burst
    rate.take(50)
    with pytest.raises(Problem):
        rate.take(1)
