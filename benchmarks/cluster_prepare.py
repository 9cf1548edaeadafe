"""Measure preparation by one process and on Ray with one and two workers.

    python benchmarks/cluster_prepare.py 20000000

Generated lists are written as Parquet shards with one row per item (`--lines`: as JSON lines of whole lists, which need
no shuffling), then prepared in child processes. The vectors are learned by one task regardless of the number of
workers, so efficiency is printed with and without them. Workers are warmed up with a few lists.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prepare_large import PIECE, piece

CHILD = """
import json, sys, time
from pathlib import Path
from fansrec.data.prepare import Preparation, prepare

source, out, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
stages, summary, began = {}, {}, 0.0

def say(line):
    stages[line.split(":")[0]] = time.perf_counter() - began

if workers:
    from fansrec.cluster.connection import cluster
    from fansrec.cluster.preparing.run import prepare_on_cluster

    with cluster(cpus=workers):
        prepare_on_cluster(sys.argv[4], out.with_suffix(".warm"), Preparation(min_item_count=1))
        began = time.perf_counter()
        summary = prepare_on_cluster(source, out, Preparation(), report=say)
else:
    began = time.perf_counter()
    summary = prepare(source, out, Preparation(), report=say)
# Not getrusage, which includes the memory of the parent when it started this process.
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024**2
print(json.dumps({"stages": stages, "peak": peak, "fingerprint": summary["fingerprint"]}))
"""
STAGES = {"read": "read", "split": "filter", "categories": "number", "categorized": "categories", "written": "write"}


def generate(folder: Path, interactions: int, shards: int, lines: bool) -> Path:
    """Write shards, smaller ones for the warm-up, and one file for the single process; return the latter."""
    random, lists, rows = np.random.default_rng(0), 0, pl.DataFrame()
    while rows.height < interactions:
        table = pl.from_arrow(piece(lists, random).slice(0, min(PIECE, interactions - rows.height)))
        assert isinstance(table, pl.DataFrame)
        rows, lists = rows.vstack(table), int(table["playlist_id"][-1]) + 1
    if lines:
        rows = rows.group_by("playlist_id", maintain_order=True).agg(pl.col("track_id").alias("tracks"))
    for name, some in (("shards", rows), ("warm", rows[: rows.height // 20])):
        (folder / name).mkdir()
        size = -(-some.height // shards)
        for number in range(shards):
            _write(some[number * size : (number + 1) * size], folder / name / f"part-{number:05}", lines)
    return _write(rows, folder / "whole", lines)


def _write(rows: pl.DataFrame, path: Path, lines: bool) -> Path:
    path = path.with_suffix(".jsonl" if lines else ".parquet")
    rows.write_ndjson(path) if lines else rows.write_parquet(path)
    return path


def prepared(source: Path, out: Path, workers: int) -> dict[str, Any]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    child = [sys.executable, "-c", CHILD, str(source), str(out), str(workers), str(source.with_name("warm"))]
    done = subprocess.run(child, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(name: str, found: dict[str, Any], interactions: int) -> str:
    ends = [found["stages"][stage] for stage in STAGES]
    spans = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    stages = " | ".join(f"{seconds:,.1f}" for seconds in spans)
    return f"| {name} | {stages} | {ends[-1]:,.1f} | {interactions / ends[-1]:,.0f} | {found['peak']:.2f} |"


def efficiency(one: dict[str, Any], two: dict[str, Any]) -> str:
    def seconds(found: dict[str, Any], without: bool) -> float:
        stages = found["stages"]
        return float(stages["written"] - without * (stages["categorized"] - stages["categories"]))

    whole, rest = (seconds(one, without) / seconds(two, without) / 2 for without in (False, True))
    return f"efficiency of two workers: {whole:.0%}, without the one task that learns the categories {rest:.0%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interactions", type=int, nargs="?", default=20_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--lines", action="store_true", help="JSON lines with one list each instead of Parquet rows")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = generate(folder, options.interactions, options.shards, options.lines)
        print(f"{options.interactions:,} interactions in {options.shards} shards, {whole.stat().st_size / 1e6:,.0f} MB")
        print(f"| | {' | '.join(STAGES.values())} | total, s | interactions/s | driver, GB |\n|---{'|---' * 8}|")
        found = [prepared(whole, folder / "0", 0)]
        print(row("one process", found[0], options.interactions), flush=True)
        for workers in (1, 2):
            found.append(prepared(folder / "shards", folder / str(workers), workers))
            print(row(f"Ray, {workers} worker{'s' * (workers > 1)}", found[-1], options.interactions), flush=True)
    print(efficiency(found[1], found[2]))
    return int(len({one["fingerprint"] for one in found}) > 1)


if __name__ == "__main__":
    sys.exit(main())
