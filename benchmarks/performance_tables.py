"""The tables of docs/performance.md from measured rows; a table whose rows are not there says how to make them.

    python benchmarks/performance_tables.py benchmarks/rows --write docs/performance.md

The folder holds MACHINE-KIND.json, MACHINE being cpu or h200, KIND latency, throughput, sweep or stages. A table stands
in the document between <!-- NAME --> and <!-- /NAME -->; without --write all tables are printed.
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
    """What was measured on one machine."""

    def __init__(self, folder: Path, machine: str) -> None:
        self.machine = machine
        self.kinds = {kind: read(folder / f"{machine}-{kind}.json") for kind in COMMANDS}

    def todo(self, kind: str) -> str:
        command = COMMANDS[kind].format(device=DEVICES[self.machine])
        return f"TODO: `{command} --json benchmarks/rows/{self.machine}-{kind}.json`"

    def pick(self, kind: str, **wanted: Any) -> list[Row]:
        return [row for row in self.kinds[kind] if all(row.get(name) == value for name, value in wanted.items())]


def read(file: Path) -> list[Row]:
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else []
    return rows


def ours(rows: Rows, kind: str, **wanted: Any) -> list[Row]:
    return rows.pick(kind, **({"arm": "ours", "model": "fans", "variant": "paper"} | wanted))


def value(name: str, **wanted: Any) -> Callable[[Rows], float | None]:
    """A column of the one row of latency."""
    return lambda rows: next((row[name] for row in ours(rows, "latency", **wanted)), None)


def best_over_paper(rows: Rows) -> float | None:
    ratios = [1 / row["times_paper"] for row in ours(rows, "latency", variant="best") if row["times_paper"]]
    return max(ratios, default=None)


def most_lists(categories: int) -> Callable[[Rows], float | None]:
    return lambda rows: max(
        (row["lists_per_s"] for row in ours(rows, "throughput", categories=categories)), default=None
    )


def over_padding(rows: Rows) -> float | None:
    return max((row["times_padded"] or 0 for row in ours(rows, "throughput", categories=100)), default=None)


def growth(rows: Rows) -> float | None:
    """From 100,000 items to a million."""
    times = {row["items"]: row["p50_ms"] for row in ours(rows, "sweep", varies="items")}
    return times[1_000_000] / times[100_000] if {100_000, 1_000_000} <= times.keys() else None


# What, on which machine, from which rows, how much was asked for, at least (1) or at most (-1), how much it is.
ASKED: list[tuple[str, str, str, float, int, Callable[[Rows], float | None]]] = [
    ("p50 of an answer, spotify, N = 10, ms", "h200", "latency", 0.06, -1, value("p50_ms", categories=10)),
    ("p99 of the same, ms", "h200", "latency", 0.15, -1, value("p99_ms", categories=10)),
    ("times as fast as the authors' FANS, N = 10", "h200", "latency", 1000, 1, value("times_authors", categories=10)),
    (
        "BERT4Rec one by one on our engine: times slower, over K",
        "h200",
        "latency",
        0.6,
        1,
        value("times_bert4rec_over_k", categories=10),
    ),
    ("lists a second, N = 100", "h200", "throughput", 200_000, 1, most_lists(100)),
    ("lists a second, vanilla classifier", "h200", "throughput", 50_000, 1, most_lists(1)),
    ("a million items over 100,000, N near the root: times as long", "h200", "sweep", 1.3, -1, growth),
    ("times the throughput of padding to the longest", "h200", "throughput", 2, 1, over_padding),
    ("`--recipe best` over `--recipe paper`", "h200", "latency", 1.25, -1, best_over_paper),
    ("times as fast as the authors' FANS, N = 10", "cpu", "latency", 80, 1, value("times_authors", categories=10)),
    (
        "times as fast as the authors' FANS as published (N = 10), N = 100",
        "cpu",
        "latency",
        120,
        1,
        value("times_authors_10", categories=100),
    ),
    (
        "times as fast as the authors' FANS, both N = 100",
        "cpu",
        "latency",
        120,
        1,
        value("times_authors", categories=100),
    ),
    (
        "times as fast as BERT4Rec one by one on our engine, N = 10",
        "cpu",
        "latency",
        25,
        1,
        value("times_bert4rec", categories=10),
    ),
    ("lists a second, N = 100", "cpu", "throughput", 3_000, 1, most_lists(100)),
    ("a million items over 100,000, N near the root: times as long", "cpu", "sweep", 1.5, -1, growth),
    ("times the throughput of padding to the longest", "cpu", "throughput", 2, 1, over_padding),
    ("`--recipe best` over `--recipe paper`", "cpu", "latency", 1.25, -1, best_over_paper),
]


def asked_table(machines: dict[str, Rows]) -> Iterator[list[str]]:
    yield ["", "on", "asked for", "got", ""]
    for words, machine, kind, aim, sign, find in ASKED:
        found = find(machines[machine])
        bound = f"at {'least' if sign > 0 else 'most'} {short(aim)}"
        if found is None:
            yield [words, MACHINES[machine], bound, f"TODO ({kind})", ""]
        else:
            yield [words, MACHINES[machine], bound, short(found), "" if sign * (found - aim) >= 0 else "**missed**"]


def latency_table(rows: Rows) -> Iterator[list[str]]:
    yield [
        "",
        "backend",
        "N",
        "p50 ms (five repeats)",
        "p99",
        "lists",
        "authors / this",
        "BERT4Rec / this",
        "same items, or tied",
    ]
    for row in rows.kinds["latency"]:
        spread = f"{short(row['p50_ms'])} ({short(row['p50_low_ms'])} to {short(row['p50_high_ms'])})"
        ratios = [short(row["times_authors"]), short(row["times_bert4rec"])]
        same = "" if row["same_items"] is None else f"{row['same_or_tied_items']:.2%} of {row['same_items_of']:,}"
        yield [
            system(row),
            row["backend"],
            str(row["categories"]),
            spread,
            short(row["p99_ms"]),
            str(row["lists"]),
            *ratios,
            same,
        ]


def throughput_table(rows: Rows) -> Iterator[list[str]]:
    batches = sorted({row["batch"] for row in rows.kinds["throughput"]})
    yield ["lists a second by lists a call", "backend", "N", *map(str, batches)]
    lines: dict[tuple[str, str, str], dict[int, str]] = {}
    for row in rows.kinds["throughput"]:
        line = lines.setdefault((system(row), row["backend"], str(row["categories"])), {})
        line[row["batch"]] = f"{row['lists_per_s']:,.0f}"
    for names, line in lines.items():
        yield [*names, *(line.get(batch, "") for batch in batches)]


def stages_table(rows: Rows) -> Iterator[list[str]]:
    yield ["backend", "N", "layers, ms", "products over items, ms", "the rest, ms", "whole, ms"]
    for row in rows.kinds["stages"]:
        yield [
            row["backend"],
            str(row["categories"]),
            *(short(row[f"{part}_ms"]) for part in ("layers", "items", "rest", "whole")),
        ]


def system(row: Row) -> str:
    return f"{row['arm']} {row['model']}" + (", `--recipe best`" if row["variant"] == "best" else "")


def short(number: float | None) -> str:
    if number is None:
        return ""
    size = abs(number)
    return f"{number:,.{0 if size >= 100 or number == round(number) else 1 if size >= 10 else 2 if size >= 1 else 3}f}"


def markdown(lines: Iterable[Sequence[str]]) -> str:
    head, *rest = lines
    rows = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def tables(folder: Path) -> dict[str, str]:
    machines = {machine: Rows(folder, machine) for machine in MACHINES}
    found = {"asked": markdown(asked_table(machines))}
    kinds = {"latency": latency_table, "throughput": throughput_table, "stages": stages_table}
    for machine, rows in machines.items():
        for kind, table in kinds.items():
            found[f"{machine}-{kind}"] = markdown(table(rows)) if rows.kinds[kind] else rows.todo(kind)
    return found


def filled(document: str, found: dict[str, str]) -> str:
    for name, table in found.items():
        here = re.compile(f"(<!-- {name} -->).*?(<!-- /{name} -->)", re.DOTALL)
        document = here.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", document)
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", type=Path, help="the document to be filled")
    options = parser.parse_args()
    found = tables(options.folder)
    if options.write is None:
        print("\n\n".join(f"{name}\n\n{table}" for name, table in found.items()))
    else:
        write_text(options.write, filled(options.write.read_text(encoding="utf-8"), found))


if __name__ == "__main__":
    main()
