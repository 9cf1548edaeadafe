"""How parallel jobs are followed: a line a job, and an eye on whoever started them."""

import os
import time
from typing import Protocol

from fansrec.errors import Interrupted
from fansrec.experiments.pool import DONE, Outcome
from fansrec.printable import printable_lines
from fansrec.training.reporting import NullReporter


class Watcher(Protocol):
    def begin(self, what: str, jobs: int) -> None:
        """So many jobs begin."""

    def ended(self, outcome: Outcome) -> None:
        """One of them is over."""


class Log:
    """A line a job."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.jobs, self.over = 0, 0

    def begin(self, what: str, jobs: int) -> None:
        self.jobs, self.over = jobs, 0
        print(f"{what}: {jobs} to do", flush=True)

    def ended(self, outcome: Outcome) -> None:
        self.over += 1
        report = printable_lines(told_of(outcome))
        print(f"[{self.over}/{self.jobs}] {time.monotonic() - self.began:,.0f} s  {report}", flush=True)


def told_of(outcome: Outcome) -> str:
    state = "" if outcome.state == DONE else f" {outcome.state}:"
    return f"{outcome.job.title}: {outcome.seconds:.0f} s{state} {outcome.word}".rstrip()


class Watchful(NullReporter):
    """Stops a training whose starter is gone; nobody would read its figures."""

    def __init__(self) -> None:
        self.starter = os.getppid()

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if os.getppid() != self.starter:
            raise Interrupted("whoever started this training is gone")
