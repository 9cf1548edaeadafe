"""Discrete-event simulation: tasks of different durations, workers that fail, requests that queue.

These effects are not in the arithmetic of the plan.
"""

import heapq
from dataclasses import dataclass

import numpy as np

Random = np.random.Generator


@dataclass(frozen=True)
class Reliability:
    """Variation of durations, and failures of machines."""

    spread: float = 0.3  # standard deviation of a task's duration, relative to its mean
    days_between_failures: float = 30  # of one machine, and so of every worker on it
    minutes_down: float = 5

    def times(self, mean: float, count: int, random: Random) -> np.ndarray:
        sigma = np.sqrt(np.log(1 + self.spread**2))
        return mean * random.lognormal(-(sigma**2) / 2, sigma, count)


def tasks(count: int, seconds: float, workers: int, reliability: Reliability, random: Random) -> tuple[float, int]:
    """Return the seconds until all tasks are done, and how many had to be repeated after a failure."""
    waiting = [*reliability.times(seconds, count, random)]
    dies = random.exponential(reliability.days_between_failures * 86_400, workers)
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    done, again = 0.0, 0
    while waiting:
        now, worker = heapq.heappop(free)
        task = waiting.pop()
        if now + task > dies[worker]:
            waiting.append(task)
            again += 1
            back = max(now, dies[worker]) + reliability.minutes_down * 60
            dies[worker] = back + random.exponential(reliability.days_between_failures * 86_400)
            heapq.heappush(free, (back, worker))
            continue
        done = max(done, now + task)
        heapq.heappush(free, (now + task, worker))
    return done, again


@dataclass(frozen=True)
class Steps:
    """A training run in which all workers wait for each other after every batch."""

    count: int
    lists: int  # per batch, over all workers
    seconds_per_list: float  # of one worker
    seconds_per_step: float  # independent of the number of lists: gradient sums, optimizer
    workers: int
    machines: int  # any of which may fail
    checkpoint_seconds: float = 600
    restart_seconds: float = 120
    jitter: float = 0.03  # relative variation of a worker's time from step to step


def training(steps: Steps, reliability: Reliability, random: Random, simulated: int = 2_000) -> float:
    """Return the total seconds; the mean step is estimated from `simulated` steps with random shares of lists."""
    owned = random.multinomial(steps.lists, np.full(steps.workers, 1 / steps.workers), size=simulated)
    own = owned * steps.seconds_per_list * random.normal(1, steps.jitter, owned.shape).clip(0.5)
    work = steps.count * float(own.max(1).mean() + steps.seconds_per_step)
    between_failures = reliability.days_between_failures * 86_400 / steps.machines
    now, kept = 0.0, 0.0  # elapsed time, and work that is saved
    while True:
        runs = random.exponential(between_failures)
        if kept + runs >= work:
            return now + work - kept
        now += runs + steps.restart_seconds
        kept += runs - runs % steps.checkpoint_seconds


@dataclass(frozen=True)
class Queue:
    p50: float  # seconds from arrival to answer
    p99: float
    busy: float  # share of the workers' time


def serving(
    rate: float, seconds: float, workers: int, reliability: Reliability, random: Random, requests: int = 50_000
) -> Queue:
    """Simulate random arrivals at workers that process one request at a time."""
    comes = np.cumsum(random.exponential(1 / rate, requests))
    takes = reliability.times(seconds, requests, random)
    free = [0.0] * workers
    took = np.empty(requests)
    for number, (now, work) in enumerate(zip(comes.tolist(), takes.tolist(), strict=True)):
        begins = max(now, heapq.heappop(free))
        heapq.heappush(free, begins + work)
        took[number] = begins + work - now
    settled = took[requests // 10 :]
    p50, p99 = np.percentile(settled, [50, 99])
    return Queue(float(p50), float(p99), float(takes.sum() / (workers * comes[-1])))
