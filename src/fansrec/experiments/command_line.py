"""What the commands of several experiments share: their options, and a log of their jobs."""

import argparse
import time

from fansrec.cores import usable_cores
from fansrec.errors import BadSetting
from fansrec.experiments.pool import Outcome
from fansrec.printable import printable, printable_lines


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
        text = printable_lines(str(outcome))
        print(f"[{self.finished}/{self.jobs}] {time.monotonic() - self.started:,.0f} s  {text}", flush=True)

    def say(self, text: str) -> None:
        print(printable(text), flush=True)


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run jobs in the process pool."""
    parser.add_argument("--workers", type=_positive, default=usable_cores(), help="parallel jobs, one thread each")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: a GPU if there is one")
    parser.add_argument("--time-limit", type=float, help="stop after this many seconds; resume with the same command")


def _positive(text: str) -> int:
    if int(text) < 1:
        raise BadSetting(f"--workers {int(text)} is too few; give at least 1")
    return int(text)


def parse_integers(option: str, text: str, minimum: int = 0) -> list[int]:
    """Return the distinct integers of a comma-separated list; refuse numbers below `minimum` and other text."""
    try:
        found = list(dict.fromkeys(int(number) for number in text.split(",")))
    except ValueError:
        found = []
    if not found or min(found) < minimum:
        example = f"{minimum},{minimum + 1},{minimum + 2}"
        raise BadSetting(f"{option} {text} is not a comma-separated list of integers >= {minimum}, such as {example}")
    return found
