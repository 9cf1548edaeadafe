"""What was asked and what came: the table every script prints, its rows, and its exit code."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fansrec.experiments.speed.rows import Row, write_rows


class Promises:
    """Kept or broken, one after the other."""

    def __init__(self, script: str, quick: bool) -> None:
        self.script, self.quick = script, quick
        self.rows: list[Row] = []

    def hold(self, what: str, asked: str, got: Any, kept: bool, **more: Any) -> None:
        """Must be kept, always."""
        self._add(what, asked, got, bool(kept), more)

    def speed(self, what: str, asked: str, got: Any, kept: bool, **more: Any) -> None:
        """Must be kept, but a quick run on a busy machine says nothing about it."""
        self._add(what, asked, got, None if self.quick else bool(kept), more)

    def tell(self, what: str, got: Any, **more: Any) -> None:
        """Nothing was promised; it is good to know."""
        self._add(what, "", got, None, more)

    def _add(self, what: str, asked: str, got: Any, kept: bool | None, more: Row) -> None:
        row = {"script": self.script, "quick": self.quick, "what": what, "asked": asked, "got": got, "kept": kept}
        self.rows.append(row | more)
        print(f"  {what}: {shown(got)}" + (" BROKEN" if kept is False else ""), file=sys.stderr, flush=True)

    @property
    def broken(self) -> list[Row]:
        return [row for row in self.rows if row["kept"] is False]


def shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def table(rows: list[Row]) -> str:
    cells = [("what", "asked", "got", "")]
    cells += [(r["what"], r["asked"], shown(r["got"]), "BROKEN" if r["kept"] is False else "") for r in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(4)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip(" |") for line in [lines[0], "-" * (sum(widths) + 9), *lines[1:]])


def options(about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small model and some seconds; speed is not judged")
    parser.add_argument("--json", type=Path, help="file for the rows")
    return parser


def run(name: str, parser: argparse.ArgumentParser, measure: Callable[[Promises, argparse.Namespace], None]) -> None:
    """What every script does; exit code 1 if a promise was broken."""
    asked = parser.parse_args()
    promises = Promises(name, asked.quick)
    measure(promises, asked)
    print(table(promises.rows))
    if asked.json:
        write_rows(asked.json, promises.rows)
    sys.exit(1 if promises.broken else 0)
