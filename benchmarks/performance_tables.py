"""Generate the tables of docs/explanation/performance.md from measured rows.

    python benchmarks/performance_tables.py benchmarks/rows --write docs/explanation/performance.md

The folder contains MACHINE-KIND.json, where MACHINE is cpu or h200 and KIND is latency, throughput, sweep or stages. A
table is in the document between <!-- NAME --> and <!-- /NAME -->; if its rows are missing, the command that measures
them is written instead. Without --write all tables are printed.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fansrec.files import write_text

Row = dict[str, Any]
MACHINES = {"cpu": "2 CPU cores", "h200": "one H200"}
DEVICES = {"cpu": "cpu", "h200": "cuda"}
COMMANDS = {
    "latency": "python -m fansrec.experiments speed latency --categories 1 10 100 316 --device {device}",
    "throughput": "python -m fansrec.experiments speed throughput --categories 1 10 100 --device {device}",
    "sweep": "python -m fansrec.experiments speed sweep --device {device}",
    "stages": "python -m fansrec.experiments speed stages --categories 1 10 100 316 --device {device}",
}


class Rows:
    """The rows measured on one machine."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.machine = machine
        self.kinds = {kind: read(folder / f"{machine}-{kind}.json") for kind in COMMANDS}

    def todo(self, kind: str) -> str:
        command = COMMANDS[kind].format(device=DEVICES[self.machine])
        return f"TODO: `{command} --json benchmarks/rows/{self.machine}-{kind}.json`"

    def select(self, kind: str, **values: Any) -> list[Row]:
        return [row for row in self.kinds[kind] if all(row.get(name) == value for name, value in values.items())]


def read(file: Path) -> list[Row]:
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return rows


def ours(rows: Rows, kind: str, **values: Any) -> list[Row]:
    return rows.select(kind, **({"arm": "ours", "model": "fans", "variant": "paper"} | values))


def latency(column: str, **values: Any) -> Callable[[Rows], float | None]:
    """Return a function that reads a column of the first matching latency row."""
    return lambda rows: next((row[column] for row in ours(rows, "latency", **values)), None)


def best_over_paper(rows: Rows) -> float | None:
    ratios = [1 / row["times_paper"] for row in ours(rows, "latency", variant="best") if row["times_paper"]]
    return max(ratios, default=None)


def highest_throughput(categories: int) -> Callable[[Rows], float | None]:
    return lambda rows: max(
        (row["lists_per_s"] for row in ours(rows, "throughput", categories=categories)), default=None
    )


def gain_over_padding(rows: Rows) -> float | None:
    return max((row["times_padded"] or 0 for row in ours(rows, "throughput", categories=100)), default=None)


def growth(rows: Rows) -> float | None:
    """Return the latency at a million items divided by that at 100,000."""
    times = {row["items"]: row["p50_ms"] for row in ours(rows, "sweep", varies="items")}
    return times[1_000_000] / times[100_000] if {100_000, 1_000_000} <= times.keys() else None


# Label, machine, kind of rows, target, whether it is a lower (1) or an upper (-1) bound, how to get the measured value.
TARGETS: list[tuple[str, str, str, float, int, Callable[[Rows], float | None]]] = [
    ("p50 per list, spotify, N = 10, ms", "h200", "latency", 0.06, -1, latency("p50_ms", categories=10)),
    ("p99 of the same, ms", "h200", "latency", 0.15, -1, latency("p99_ms", categories=10)),
    ("times as fast as the authors' FANS, N = 10", "h200", "latency", 1000, 1, latency("times_authors", categories=10)),
    (
        "slowdown of autoregressive BERT4Rec on our engine, divided by K",
        "h200",
        "latency",
        0.6,
        1,
        latency("times_bert4rec_over_k", categories=10),
    ),
    ("lists/s, N = 100", "h200", "throughput", 200_000, 1, highest_throughput(100)),
    ("lists/s, vanilla classifier", "h200", "throughput", 50_000, 1, highest_throughput(1)),
    ("time at 1,000,000 items divided by time at 100,000, N near the square root", "h200", "sweep", 1.3, -1, growth),
    ("throughput divided by that of padding to the longest", "h200", "throughput", 2, 1, gain_over_padding),
    ("time of `--recipe best` divided by `--recipe paper`", "h200", "latency", 1.25, -1, best_over_paper),
    ("times as fast as the authors' FANS, N = 10", "cpu", "latency", 80, 1, latency("times_authors", categories=10)),
    (
        "times as fast as the authors' FANS as published (N = 10), N = 100",
        "cpu",
        "latency",
        120,
        1,
        latency("times_authors_10", categories=100),
    ),
    (
        "times as fast as the authors' FANS, both N = 100",
        "cpu",
        "latency",
        120,
        1,
        latency("times_authors", categories=100),
    ),
    (
        "times as fast as autoregressive BERT4Rec on our engine, N = 10",
        "cpu",
        "latency",
        25,
        1,
        latency("times_bert4rec", categories=10),
    ),
    ("lists/s, N = 100", "cpu", "throughput", 3_000, 1, highest_throughput(100)),
    ("time at 1,000,000 items divided by time at 100,000, N near the square root", "cpu", "sweep", 1.5, -1, growth),
    ("throughput divided by that of padding to the longest", "cpu", "throughput", 2, 1, gain_over_padding),
    ("time of `--recipe best` divided by `--recipe paper`", "cpu", "latency", 1.25, -1, best_over_paper),
]


def targets_table(machines: dict[str, Rows]) -> Iterator[list[str]]:
    yield ["", "machine", "target", "measured", ""]
    for label, machine, kind, target, sign, measured in TARGETS:
        value = measured(machines[machine])
        bound = f"at {'least' if sign > 0 else 'most'} {format_number(target)}"
        if value is None:
            yield [label, MACHINES[machine], bound, f"TODO ({kind})", ""]
        else:
            missed = "" if sign * (value - target) >= 0 else "**missed**"
            yield [label, MACHINES[machine], bound, format_number(value), missed]


def latency_table(rows: Rows) -> Iterator[list[str]]:
    yield [
        "",
        "backend",
        "N",
        "p50 ms (range of five repeats)",
        "p99 ms",
        "work MB",
        "lists",
        "authors / this",
        "BERT4Rec / this",
        "same or tied items",
    ]
    for row in rows.kinds["latency"]:
        p50, low, high = (format_number(row[name]) for name in ("p50_ms", "p50_low_ms", "p50_high_ms"))
        ratios = [format_number(row["times_authors"]), format_number(row["times_bert4rec"])]
        same = "" if row["same_items"] is None else f"{row['same_or_tied_items']:.2%} of {row['same_items_of']:,}"
        yield [
            system(row),
            row["backend"],
            str(row["categories"]),
            f"{p50} ({low} to {high})",
            format_number(row["p99_ms"]),
            format_number(row.get("working_mb")),
            str(row["lists"]),
            *ratios,
            same,
        ]


def throughput_table(rows: Rows) -> Iterator[list[str]]:
    batches = sorted({row["batch"] for row in rows.kinds["throughput"]})
    yield ["lists/s by lists per call", "backend", "N", *map(str, batches)]
    lines: dict[tuple[str, str, str], dict[int, str]] = {}
    for row in rows.kinds["throughput"]:
        line = lines.setdefault((system(row), row["backend"], str(row["categories"])), {})
        line[row["batch"]] = f"{row['lists_per_s']:,.0f}"
    for names, line in lines.items():
        yield [*names, *(line.get(batch, "") for batch in batches)]


def stages_table(rows: Rows) -> Iterator[list[str]]:
    yield [
        "model",
        "backend",
        "N",
        "layers, ms",
        "products over items, ms",
        "memory and linear part, ms",
        "rest, ms",
        "total, ms",
    ]
    for row in rows.kinds["stages"]:
        yield [
            "`--recipe best`" if row.get("variant") == "best" else "",
            row["backend"],
            str(row["categories"]),
            *(format_number(row.get(f"{part}_ms")) for part in ("layers", "items", "parts", "rest", "whole")),
        ]


def system(row: Row) -> str:
    run = f" ({row['run']})" if row.get("run") else ""
    return f"{row['arm']} {row['model']}" + (", `--recipe best`" if row["variant"] == "best" else "") + run


def format_number(number: float | None) -> str:
    if number is None:
        return ""
    size = abs(number)
    return f"{number:,.{0 if size >= 100 or number == round(number) else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def without_empty_columns(lines: Iterable[Sequence[str]]) -> list[list[str]]:
    """Return the table without named columns that are empty in all rows, as older rows lack some figures."""
    head, *rest = lines
    kept = [i for i, name in enumerate(head) if not name or any(row[i] for row in rest)]
    return [[row[i] for i in kept] for row in (head, *rest)]


def markdown(lines: Iterable[Sequence[str]]) -> str:
    head, *rest = lines
    rows = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def tables(folder: Path) -> dict[str, str]:
    machines = {machine: Rows(folder, machine) for machine in MACHINES}
    found = {"targets": markdown(targets_table(machines))}
    kinds = {"latency": latency_table, "throughput": throughput_table, "stages": stages_table}
    for machine, rows in machines.items():
        for kind, table in kinds.items():
            found[f"{machine}-{kind}"] = (
                markdown(without_empty_columns(table(rows))) if rows.kinds[kind] else rows.todo(kind)
            )
    return found


def filled(document: str, found: dict[str, str]) -> str:
    """Return the document with every table between its markers replaced."""
    for name, table in found.items():
        here = re.compile(f"(<!-- {name} -->).*?(<!-- /{name} -->)", re.DOTALL)
        document = here.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", document)
    return document


def print_or_write(found: dict[str, str], document: Path | None) -> None:
    """Replace the tables of a document, or print all if there is none."""
    if document is None:
        print("\n\n".join(f"{name}\n\n{table}" for name, table in found.items()))
    else:
        write_text(document, filled(document.read_text(encoding="utf-8"), found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the measured rows")
    parser.add_argument("--write", type=Path, help="document whose tables are replaced")
    options = parser.parse_args()
    print_or_write(tables(options.folder), options.write)


if __name__ == "__main__":
    main()
