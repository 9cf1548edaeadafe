"""How running jobs are reported, and how a training run notices that its parent process is gone."""

import os
import time

from fansrec.errors import Interrupted
from fansrec.experiments.pool import DONE, Outcome
from fansrec.printable import printable, printable_lines
from fansrec.training.reporting import Reporter


class Log:
    """Prints one line per job."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.jobs, self.finished = 0, 0

    def begin(self, title: str, jobs: int) -> None:
        self.jobs, self.finished = jobs, 0
        print(f"{title}: {jobs} to do", flush=True)

    def ended(self, outcome: Outcome) -> None:
        self.finished += 1
        text = printable_lines(format_outcome(outcome))
        print(f"[{self.finished}/{self.jobs}] {time.monotonic() - self.started:,.0f} s  {text}", flush=True)

    def say(self, text: str) -> None:
        print(printable(text), flush=True)


def format_outcome(outcome: Outcome) -> str:
    """Return `title: 12 s message`, with the state if the job did not finish."""
    state = "" if outcome.state == DONE else f" {outcome.state}:"
    return f"{outcome.job.title}: {outcome.seconds:.0f} s{state} {outcome.message}".rstrip()


class OrphanGuard(Reporter):
    """A silent training reporter that stops the training run if the parent process has died."""

    def __init__(self) -> None:
        self.parent = os.getppid()

    def batch(self, epoch: int, batch: int, loss: float, category_accuracy: float | None) -> None:
        if os.getppid() != self.parent:
            raise Interrupted("the process that started this training run has died")
