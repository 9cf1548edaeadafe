"""Targets and measurements: the table that every script prints, its rows, and its exit code."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fansrec.experiments.speed.rows import Row, write_rows


class Report:
    """The measurements of a script, in order."""

    def __init__(self, script: str, quick: bool) -> None:
        self.script, self.quick = script, quick
        self.rows: list[Row] = []

    def require(self, what: str, target: str, measured: Any, passed: bool, **more: Any) -> None:
        """Add a measurement whose target must always be reached."""
        self._add(what, target, measured, bool(passed), more)

    def require_speed(self, what: str, target: str, measured: Any, passed: bool, **more: Any) -> None:
        """Add a measurement whose target must be reached, except in a quick run, which says nothing about speed."""
        self._add(what, target, measured, None if self.quick else bool(passed), more)

    def note(self, what: str, measured: Any, **more: Any) -> None:
        """Add a measurement without a target."""
        self._add(what, "", measured, None, more)

    def _add(self, what: str, target: str, measured: Any, passed: bool | None, more: Row) -> None:
        row = {"script": self.script, "quick": self.quick, "what": what, "target": target}
        self.rows.append(row | {"measured": measured, "passed": passed} | more)
        print(
            f"  {what}: {format_value(measured)}" + (" MISSED" if passed is False else ""), file=sys.stderr, flush=True
        )

    @property
    def missed(self) -> list[Row]:
        return [row for row in self.rows if row["passed"] is False]


def format_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def table(rows: list[Row]) -> str:
    cells = [("what", "target", "measured", "")]
    for row in rows:
        missed = "MISSED" if row["passed"] is False else ""
        cells.append((row["what"], row["target"], format_value(row["measured"]), missed))
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip(" |") for line in [lines[0], "-" * (sum(widths) + 9), *lines[1:]])


def argument_parser(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small model and a few seconds; speed is not judged")
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    return parser


def run(name: str, parser: argparse.ArgumentParser, measure: Callable[[Report, argparse.Namespace], None]) -> None:
    """Run a script, print its table, and exit with 1 if a target was missed."""
    options = parser.parse_args()
    report = Report(name, options.quick)
    measure(report, options)
    print(table(report.rows))
    if options.json:
        write_rows(options.json, report.rows)
    sys.exit(1 if report.missed else 0)
