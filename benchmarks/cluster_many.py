"""Measure lists/s and memory of continuing many lists with one process and with one and two Ray workers.

    python benchmarks/cluster_many.py [--lists 20000] [--items 20000] [--json FILE]

Each command runs on an input and on one four times as long, with one thread per worker. The rate is that of the
additional lists of the longer input, so that the start (Ray, torch, the model) is not counted; the time of the start is
reported separately. Memory is the peak of a process; it is flat if the longer input needs no more of it.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from loading import make

TIMES, LENGTH, SHARDS = 4, 20, 4
FANS = [sys.executable, "-c", "from fansrec.cli.main import run; run()"]
ARMS: dict[str, list[str]] = {
    "one process": [],
    "Ray, 1 worker": ["--engine", "ray", "--workers", "1"],
    "Ray, 2 workers": ["--engine", "ray", "--workers", "2"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=20_000, help="lists of the shorter input")
    parser.add_argument("--items", type=int, default=20_000, help="number of items")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--categories", type=int, default=10)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run").mkdir()
        make(folder / "run", options.items, options.width, options.categories, "paper")
        for lists in (options.lists, TIMES * options.lists):
            write_shards(folder / str(lists), lists, options.items)
        rows = [measure_arm(folder, title, flags, options.lists) for title, flags in ARMS.items()]
    for row in rows:
        row["efficiency"] = row["lists_per_s"] / rows[0]["lists_per_s"] / row["workers"]
        print_row(row)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


def write_shards(folder: Path, lists: int, items: int) -> None:
    """Write shards for Ray, and all of them in one file for a single process."""
    draw = random.Random(0)
    folder.mkdir()
    for shard in range(SHARDS):
        with (folder / f"{shard}.jsonl").open("w") as file:
            for number in range(lists // SHARDS):
                row = {"id": number, "items": [draw.randrange(items) for _ in range(LENGTH)]}
                file.write(json.dumps(row) + "\n")
    whole = b"".join((folder / f"{shard}.jsonl").read_bytes() for shard in range(SHARDS))
    (folder / "whole.txt").write_bytes(whole)


def measure_arm(folder: Path, title: str, flags: list[str], lists: int) -> dict[str, Any]:
    short, long = (run(folder, title, flags, n) for n in (lists, TIMES * lists))
    rate = (TIMES - 1) * lists / (long["seconds"] - short["seconds"])
    starting = short["seconds"] - lists / rate
    return {
        "arm": title,
        "workers": int(flags[-1]) if flags else 1,
        "lists": [lists, TIMES * lists],
        "seconds": [short["seconds"], long["seconds"]],
        "lists_per_s": rate,
        "starting_s": starting,
        "driver_mib": [short["driver"], long["driver"]],
        "worker_mib": [short["worker"], long["worker"]],
    }


def run(folder: Path, title: str, flags: list[str], lists: int) -> dict[str, float]:
    source = folder / str(lists) if flags else folder / str(lists) / "whole.txt"
    where = ["--input", str(source), "--output", str(folder / f"{title} {lists}"), *flags]
    began = time.monotonic()
    command = subprocess.Popen(
        [*FANS, "continue", str(folder / "run"), *where], env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    most = {"driver": 0.0, "worker": 0.0}
    while command.poll() is None:
        most["driver"] = max(most["driver"], peak_mib(command.pid))
        most["worker"] = max([most["worker"], *(peak_mib(pid) for pid in workers_of(command.pid))])
        time.sleep(0.2)
    if command.returncode:
        sys.exit(command.returncode)
    return most | {"seconds": time.monotonic() - began}


def peak_mib(pid: int) -> float:
    """Return the peak memory of a process, as Linux records it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has ended
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


def workers_of(driver: int) -> list[int]:
    """Return the actors of a driver's own local Ray."""
    parents: dict[int, int] = {}
    for process in Path("/proc").iterdir():
        try:
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # not a process, or one that has ended
            continue
    below = {driver}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return [pid for pid in below if title_of(pid).startswith("ray::MapWorker")]


def title_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def print_row(row: dict[str, Any]) -> None:
    memory = ", ".join(
        f"{who} {row[f'{who}_mib'][0]:.0f} and {row[f'{who}_mib'][1]:.0f} MiB"
        for who in ("driver", "worker")
        if row[f"{who}_mib"][1]
    )
    print(
        f"{row['arm']:<15} {row['lists_per_s']:8,.0f} lists/s  efficiency {row['efficiency']:4.0%}  "
        f"starting {row['starting_s']:4.1f} s  {memory}"
    )


if __name__ == "__main__":
    main()
