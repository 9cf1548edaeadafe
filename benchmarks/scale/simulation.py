"""Many machines played through event by event: tasks that take unequally long, workers that die, requests that queue.

The plan multiplies and divides; here is what that leaves out.
"""

import heapq
from dataclasses import dataclass

import numpy as np

Random = np.random.Generator


@dataclass(frozen=True)
class Fate:
    """How machines fare."""

    spread: float = 0.3  # of a task's time, as a share of its mean
    days_between_deaths: float = 30  # of one machine, and so of every worker on it
    minutes_away: float = 5

    def times(self, mean: float, count: int, random: Random) -> np.ndarray:
        sigma = np.sqrt(np.log(1 + self.spread**2))
        return mean * random.lognormal(-(sigma**2) / 2, sigma, count)


def tasks(count: int, seconds: float, workers: int, fate: Fate, random: Random) -> tuple[float, int]:
    """Seconds until all are done, and how many had to be done again: a worker that dies takes its task along."""
    waiting = [*fate.times(seconds, count, random)]
    dies = random.exponential(fate.days_between_deaths * 86_400, workers)
    free = [(0.0, worker) for worker in range(workers)]
    heapq.heapify(free)
    done, again = 0.0, 0
    while waiting:
        now, worker = heapq.heappop(free)
        task = waiting.pop()
        if now + task > dies[worker]:
            waiting.append(task)
            again += 1
            back = max(now, dies[worker]) + fate.minutes_away * 60
            dies[worker] = back + random.exponential(fate.days_between_deaths * 86_400)
            heapq.heappush(free, (back, worker))
            continue
        done = max(done, now + task)
        heapq.heappush(free, (now + task, worker))
    return done, again


@dataclass(frozen=True)
class Steps:
    """A training in which all workers wait for each other after every batch."""

    count: int
    lists: int  # a batch, of all workers
    seconds_a_list: float  # of one worker
    seconds_a_step: float  # for what does not depend on lists: gradients, optimizer
    workers: int
    machines: int  # any of which may die
    checkpoint_seconds: float = 600
    restart_seconds: float = 120
    jitter: float = 0.03  # of a worker's time, from step to step


def training(steps: Steps, fate: Fate, random: Random, played: int = 2_000) -> float:
    """Seconds in all. `played` steps tell the mean; lists fall to workers by whose shards they lie in."""
    owned = random.multinomial(steps.lists, np.full(steps.workers, 1 / steps.workers), size=played)
    own = owned * steps.seconds_a_list * random.normal(1, steps.jitter, owned.shape).clip(0.5)
    work = steps.count * float(own.max(1).mean() + steps.seconds_a_step)
    a_death = fate.days_between_deaths * 86_400 / steps.machines
    now, kept = 0.0, 0.0  # time spent, and work that is saved
    while True:
        runs = random.exponential(a_death)
        if kept + runs >= work:
            return now + work - kept
        now += runs + steps.restart_seconds
        kept += runs - runs % steps.checkpoint_seconds


@dataclass(frozen=True)
class Queue:
    p50: float  # seconds from coming to being answered
    p99: float
    busy: float  # share of the replicas' time


def serving(rate: float, seconds: float, replicas: int, fate: Fate, random: Random, requests: int = 50_000) -> Queue:
    """Requests that come at random to replicas that take one at a time."""
    comes = np.cumsum(random.exponential(1 / rate, requests))
    takes = fate.times(seconds, requests, random)
    free = [0.0] * replicas
    took = np.empty(requests)
    for number, (now, work) in enumerate(zip(comes.tolist(), takes.tolist(), strict=True)):
        begins = max(now, heapq.heappop(free))
        heapq.heappush(free, begins + work)
        took[number] = begins + work - now
    settled = took[requests // 10 :]
    p50, p99 = np.percentile(settled, [50, 99])
    return Queue(float(p50), float(p99), float(takes.sum() / (replicas * comes[-1])))
