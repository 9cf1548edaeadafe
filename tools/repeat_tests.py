"""`make test-repeat`: run a test command many times, idle and with all cores busy, and print a table of the results.

    python tools/repeat_tests.py --idle 3 --busy 3 -- make test
    python tools/repeat_tests.py --idle 20 -- .venv/bin/pytest -n 2 --dist loadfile tests/serving tests/cluster

The output of each run goes to a file in --logs. The exit code is 1 if any run failed.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

BUSY_LOOP = [sys.executable, "-c", "while True: pass"]
OUTCOMES = ("passed", "failed", "error", "skipped")
HEADER = ("run", "load", "exit", "seconds", *OUTCOMES)


@dataclass(frozen=True)
class Run:
    """The result of one run of the command."""

    number: int
    load: str  # "idle" or "busy"
    exit_code: int
    seconds: float
    output: str

    def counts(self) -> dict[str, int]:
        """Return how many tests had each outcome, from the last summary line of pytest."""
        lines = [line for line in self.output.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)]
        found = re.findall(r"(\d+) (passed|failed|error|skipped)", lines[-1]) if lines else []
        return {outcome: int(count) for count, outcome in found}

    def failures(self) -> list[str]:
        """Return the names of the tests that failed, as pytest lists them."""
        return re.findall(r"^(?:FAILED|ERROR) (\S+)", self.output, re.MULTILINE)

    def row(self) -> tuple[str, ...]:
        counts = self.counts()
        outcomes = (str(counts.get(outcome, 0)) for outcome in OUTCOMES)
        return (str(self.number), self.load, str(self.exit_code), f"{self.seconds:.0f}", *outcomes)


@contextmanager
def busy_cores() -> Iterator[None]:
    """Occupy every core with one busy loop."""
    loops = [subprocess.Popen(BUSY_LOOP) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def run_once(number: int, load: str, command: list[str], logs: Path) -> Run:
    """Run the command and keep its output in a file of `logs`."""
    log = logs / f"run-{number:02d}-{load}.log"
    start = time.monotonic()
    with log.open("wb") as file:
        exit_code = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    return Run(number, load, exit_code, time.monotonic() - start, log.read_text(errors="replace"))


def repeat(command: list[str], idle: int, busy: int, logs: Path) -> list[Run]:
    """Run the command `idle` times, then `busy` times with busy cores; print each row when it is complete."""
    logs.mkdir(parents=True, exist_ok=True)
    print_row(HEADER)
    runs = []
    for number in range(1, idle + busy + 1):
        if number <= idle:
            runs.append(run_once(number, "idle", command, logs))
        else:
            with busy_cores():
                runs.append(run_once(number, "busy", command, logs))
        print_row(runs[-1].row())
    return runs


def print_row(cells: tuple[str, ...]) -> None:
    print("  ".join(f"{cell:>8}" for cell in cells), flush=True)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--idle", type=int, default=3, help="number of runs without other load (default: 3)")
    parser.add_argument("--busy", type=int, default=0, help="number of runs with all cores busy (default: 0)")
    parser.add_argument("--logs", type=Path, default=Path("build/repeat-tests"), help="folder of the outputs")
    parser.add_argument("command", nargs="+", help="the command, after --")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    runs = repeat(options.command, options.idle, options.busy, options.logs)
    failed = [run for run in runs if run.exit_code]
    print(f"{len(runs) - len(failed)} of {len(runs)} runs passed: {' '.join(options.command)}")
    for run in failed:
        print(f"  run {run.number} ({run.load}):", *(run.failures() or ["see the log"]), sep="\n    ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
