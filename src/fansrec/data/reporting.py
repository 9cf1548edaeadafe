"""Where the lines of a report go that a function in Python makes."""

import logging
from collections.abc import Callable

from fansrec.printable import is_interactive, printable

log = logging.getLogger("fansrec")


def default_report() -> Callable[[str], None]:
    """Return what prints lines of the report for people, and logs them for programs."""
    return _print_line if is_interactive() else _log_line


def _print_line(line: str) -> None:
    print(printable(line), flush=True)


def _log_line(line: str) -> None:
    log.log(logging.WARNING if line.startswith("skipped:") else logging.INFO, "%s", printable(line))
