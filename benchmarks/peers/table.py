"""Print the Markdown tables of measured rows, or replace those of docs/explanation/peers.md.

    python -m benchmarks.peers.table benchmarks/rows/peers [--write docs/explanation/peers.md]

The folder contains CORPUS.json as `python -m benchmarks.peers --json` writes it. Its table is in the document between
<!-- CORPUS --> and <!-- /CORPUS -->.
"""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.performance_tables import markdown, print_or_write

HEAD = ["", "NDCG@5", "HR@5", "training", "of that the last fit", "ms per list", "lists/s", "peak memory", "settings"]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return one line per model, best NDCG@5 first, models that failed last with the reason."""
    measured = sorted((row for row in rows if "failure" not in row), key=lambda row: -row["NDCG@5"])
    failed = [row for row in rows if "failure" in row]
    return markdown([HEAD, *map(measured_line, measured), *map(failed_line, failed)])


def measured_line(row: dict[str, Any]) -> list[str]:
    return [
        f"{row['model']} {row['version']}",
        f"{row['NDCG@5']:.4f}",
        f"{row['HR@5']:.4f}",
        duration(row["train_s"]),
        duration(row["fit_s"] if row.get("tried") else None),
        f"{row['ms_per_list']:.2f}",
        f"{row['lists_per_s']:,.0f}",
        f"{row['peak_mb']:,.0f} MB",
        listed(row["settings"].items()),
    ]


def failed_line(row: dict[str, Any]) -> list[str]:
    return [row["model"], *["–"] * (len(HEAD) - 2), row["failure"].replace("|", "/")]


def duration(seconds: float | None) -> str:
    """Return seconds as text; – for what was not measured: a model that was already trained, a fit without a search."""
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"


def listed(settings: Iterable[tuple[str, Any]]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings) or "defaults"


def tables(folder: Path) -> dict[str, str]:
    """Return the tables of all stored rows by corpus."""
    files = sorted(folder.glob("*.json"))
    return {file.stem: table(json.loads(file.read_text(encoding="utf-8"))) for file in files}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the measured rows")
    parser.add_argument("--write", type=Path, help="document whose tables are replaced")
    options = parser.parse_args()
    print_or_write(tables(options.folder), options.write)


if __name__ == "__main__":
    main()
