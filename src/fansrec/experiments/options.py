"""Options that several experiments share."""

import argparse
import os

from fansrec.errors import BadSetting


def add_job_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that run jobs in the process pool."""
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, help="parallel jobs, one thread each")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: a GPU if there is one")
    parser.add_argument("--time-limit", type=float, help="stop after this many seconds; resume with the same command")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise BadSetting(f"--workers {number} is too few; give at least 1")
    return number


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
