"""Serve for an hour with writes, a reload every minute and random kills: no wrong answer, memory that stays flat.

    python -m benchmarks.reliability.endurance [--minutes 60] [--seed 0] [--json FILE]

Two models are served in turns. Four clients write lists, three read, some of them with large bodies; workers, model
hosts, supervisors, the process that validates large bodies, the front process, or all processes at once get SIGKILL at
random moments. In the end the log, the model of `fans compact` and all
answers are compared with what was acknowledged, as in `benchmarks.updates.kills`.
"""

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.reliability.memory import Memory, memory_of
from benchmarks.reliability.reload import point
from benchmarks.reliability.report import Report, argument_parser
from benchmarks.reliability.report import run as run_script
from benchmarks.updates.kill_clients import Client
from benchmarks.updates.killed_service import ALL, FRONT, MODEL_HOST, SUPERVISOR, VALIDATOR, WORKER
from benchmarks.updates.kills import Pace, Run, disturb, none, report_run

PACE = Pace(writers=4, write_s=1.0, read_s=0.3, kill_s=40.0, share_large=0.1)
WEIGHTS = {WORKER: 12, MODEL_HOST: 4, SUPERVISOR: 2, VALIDATOR: 2, FRONT: 1, ALL: 1}
RELOAD_S, SAMPLE_S = 60.0, 2.0
MOST_SLOPE = 1.0  # megabytes per minute


class Reloader(Client):
    """Has the service read its model folder regularly, which is each time a link to the other model."""

    def __init__(self, run: Run, every: float) -> None:
        super().__init__(run.target, (), "reloader", every)
        self._run, self._number = run, 0
        self.outcomes: Counter[str] = Counter()
        self.problems: list[str] = []  # reloads that failed although no process was killed
        self.seconds: list[float] = []

    def pause_s(self) -> float:
        return self._pause

    def step(self) -> None:
        before, since = self.target.disturbed, time.monotonic()
        self._number += 1
        point(self._run.link, self._run.models[self._number % len(self._run.models)])
        status, answer = self.ask("/v1/models/reload", method="POST")
        disturbed = before | self.target.disturbed
        if status == 200:
            self.outcomes["changed" if answer["changed"] else "unchanged"] += 1
            self.seconds.append(time.monotonic() - since)
        else:
            self.outcomes[f"failed ({status})"] += 1
            self.problems += [] if disturbed else [f"reload {self._number}: {status} {answer}"]


def measure(report: Report, options: argparse.Namespace) -> None:
    seconds = 60 * (options.minutes or (0.5 if options.quick else 60))
    pace, every = (replace(PACE, write_s=0.2, kill_s=4.0), 5.0) if options.quick else (PACE, RELOAD_S)
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["TMPDIR"] = temporary  # of the service, which cannot remove its folder there if all of it is killed
        run = Run(Path(temporary), options.seed, models=2, pace=pace, weights=WEIGHTS)
        reloader = Reloader(run, every)
        with memory_of(run.target, SAMPLE_S) as memory:
            back, state = disturb(report, run, kinds(run, seconds), [reloader])
        report_run(report, run, back, state)
    report_reloads(report, reloader)
    report_memory(report, memory)


def kinds(run: Run, seconds: float) -> Iterator[str]:
    """Yield the kinds of kills until the time is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield run.draw()


def report_reloads(report: Report, reloader: Reloader) -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in reloader.outcomes.most_common())
    report.note("reloads", outcomes, outcomes=reloader.outcomes, seconds=reloader.seconds)
    none(report, "reloads that failed without a kill", reloader.problems)


def report_memory(report: Report, memory: Memory) -> None:
    """Report the memory of all processes; a page that several of them share counts once."""
    quarters = np.array_split(np.array(memory.megabytes), 4)
    medians = ", ".join(f"{np.median(some):.0f}" for some in quarters if len(some))
    report.note("memory in each quarter of the time, median", f"{medians} MB", memory=memory.row())
    slope = memory.slope()
    report.require_speed(
        "memory gained in the last half", f"< {MOST_SLOPE:.0f} MB per minute", f"{slope:.2f}", slope < MOST_SLOPE
    )


def main() -> None:
    parser = argument_parser(__doc__)
    parser.add_argument("--minutes", type=float, help="duration [60]")
    parser.add_argument("--seed", type=int, default=0, help="of the kinds and moments of kills")
    run_script("endurance", parser, measure)


if __name__ == "__main__":
    main()
