"""Overload with a clock of its own: requests arrive and are answered at moments that the tests choose."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from fansrec.serving.processes.jobs import Job
from fansrec.serving.processes.load_limits import BURST, LoadLimits
from fansrec.serving.processes.queue import Queue, QueuedRequest
from fansrec.serving.processes.standing_delay import INTERVAL_S, StandingDelay
from fansrec.serving.settings import read_settings

TARGET = 0.3
STEP = 0.01  # seconds between two moments of a simulation
TOKENS = 50  # of a request
PER_STEP = 4  # requests that the worker answers in a step


class Simulation:
    """A service with one worker: in each step some requests arrive, then the worker takes and answers PER_STEP."""

    def __init__(self, known_pace: bool = True) -> None:
        self.known_pace = known_pace
        self.now = 100.0
        settings = read_settings({"models": ["m"], "workers": 1, "queue_ms": 1000 * TARGET}, None, {})
        self.queue = Queue(10_000, 10_000_000)
        self.load = LoadLimits(settings, self.queue, lambda: self.now)
        self.arrived = self.refused = self.answered = 0
        self.delays: list[float] = []

    def step(self, arrivals: int, capacity: int = PER_STEP) -> None:
        for _ in range(arrivals):
            self.arrive()
        for _ in range(capacity):
            for request in self.queue.take_batch(1, 1):
                self.delays.append(self.now - request.queued)
                self.load.observe_delay(self.delays[-1])
                if self.known_pace:
                    self.load.observe_pace(STEP / capacity, TOKENS)
                self.answered += 1
        self.now += STEP

    def arrive(self) -> None:
        self.arrived += 1
        if self.load.refusal(TOKENS):
            self.refused += 1
        else:
            job = Job(self.arrived, "m", [], 10, {}, self.now, self.now + 60)
            self.queue.put(QueuedRequest(job, TOKENS, cast(Any, None), self.now))

    def run(self, seconds: float, arrivals: Callable[[int], int], capacity: int = PER_STEP) -> None:
        for number in range(round(seconds / STEP)):
            self.step(arrivals(number), capacity)


def test_nothing_is_refused_below_capacity_although_the_worker_pauses() -> None:
    simulation = Simulation()
    for _ in range(5):
        simulation.run(3, lambda _: 3)
        simulation.run(BURST * TARGET * 0.6, lambda _: 3, capacity=0)
    assert simulation.refused == 0


@pytest.mark.parametrize("times", [2, 5])
def test_at_overload_the_worker_never_idles_and_the_delay_stays_at_the_target(times: int) -> None:
    simulation = Simulation()
    simulation.run(2, lambda _: PER_STEP // 2)
    simulation.run(3, lambda _: times * PER_STEP)  # time to notice
    before, delays = simulation.answered, len(simulation.delays)
    simulation.run(10, lambda _: times * PER_STEP)
    assert simulation.answered - before == 10 / STEP * PER_STEP
    settled = simulation.delays[delays:]
    assert max(settled) <= TARGET * 1.1
    assert min(settled) > TARGET / 2


@pytest.mark.parametrize("times", [2, 5])
def test_observed_delay_alone_limits_the_queue_where_the_pace_is_wrong(times: int) -> None:
    simulation = Simulation(known_pace=False)
    simulation.run(5, lambda _: times * PER_STEP)
    before, delays = simulation.answered, len(simulation.delays)
    simulation.run(20, lambda _: times * PER_STEP)
    assert simulation.answered - before == 20 / STEP * PER_STEP
    assert max(simulation.delays[delays:]) <= times * BURST * TARGET


def test_longest_delay_of_a_burst_is_limited() -> None:
    simulation = Simulation()
    simulation.run(1, lambda _: 1)
    simulation.run(5, lambda _: 10 * PER_STEP)
    assert max(simulation.delays) <= BURST * TARGET * 1.1


def test_slower_worker_gets_a_shorter_queue() -> None:
    simulation = Simulation()
    simulation.run(3, lambda _: 2 * PER_STEP)
    long = len(simulation.queue)
    simulation.run(5, lambda _: 2 * PER_STEP, capacity=PER_STEP // 2)
    assert len(simulation.queue) < 0.65 * long
    simulation.run(5, lambda _: 2 * PER_STEP)
    assert len(simulation.queue) > 0.9 * long * 0.75


def test_nothing_is_refused_after_an_overload() -> None:
    simulation = Simulation()
    simulation.run(3, lambda _: 5 * PER_STEP)
    assert simulation.refused
    simulation.run(1 + INTERVAL_S, lambda _: 3)
    refused = simulation.refused
    simulation.run(3, lambda number: 3 + 40 * (number % 100 == 0))
    assert simulation.refused == refused


def test_pace_is_the_time_of_all_tokens_not_the_mean_of_ratios() -> None:
    simulation = Simulation()
    for _ in range(200):
        simulation.load.observe_pace(0.01, 1)  # slow per token, but hardly any tokens
        simulation.load.observe_pace(0.01, 999)
    assert simulation.load._seconds / simulation.load._tokens == pytest.approx(0.02 / 1000, rel=0.05)


def test_delay_is_standing_after_an_interval_and_over_after_another() -> None:
    now = [0.0]
    delay = StandingDelay(TARGET, lambda: now[0])

    def observe(seconds: float, value: float) -> bool:
        now[0] += seconds
        delay.observe(value)
        return delay.standing

    assert not observe(1, 2 * TARGET)
    assert not observe(INTERVAL_S / 2, 2 * TARGET)
    assert not observe(INTERVAL_S / 4, 0)  # a short one between begins a new interval
    assert not observe(INTERVAL_S, 2 * TARGET)
    assert observe(INTERVAL_S, 2 * TARGET)
    assert observe(1, 0.6 * TARGET)
    assert observe(10, 0.4 * TARGET)
    assert not observe(INTERVAL_S, 0.4 * TARGET)
