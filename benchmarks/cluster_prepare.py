"""Measure preparation by one process and on Ray with one and two workers.

    python benchmarks/cluster_prepare.py 20000000

Generated lists are written as Parquet shards with one row per item (`--lines`: as JSON lines of whole lists, which need
no shuffling), then prepared in child processes, `--turns` times in turns. The vectors are learned by one task
regardless of the number of workers, so speed-ups are printed with and without them; `--own` gives the items categories,
so that none are learned. Workers have one thread each and are warmed up with a few lists. Beside the seconds on the
clock are those of the processors: on a machine with other work these say what two idle processors could do.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from prepare_large import ITEMS, PIECE, piece

CHILD = """
import json, sys, time
from pathlib import Path
from fansrec.data.prepare import Preparation, prepare
from processor_time import worker_seconds

source, out, workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
items = sys.argv[5] or None
stages, busy, summary, began = {}, {}, {}, 0.0

def processors():
    return {0: time.process_time()} | (worker_seconds() if workers else {})

def say(line):
    stages[line.split(":")[0]] = time.perf_counter() - began
    busy[line.split(":")[0]] = processors()

if workers:
    from fansrec.cluster.connection import cluster
    from fansrec.cluster.preparing.run import prepare_on_cluster

    with cluster(cpus=workers):
        prepare_on_cluster(sys.argv[4], out.with_suffix(".warm"), Preparation(min_item_count=1), items)
        began, start = time.perf_counter(), processors()
        summary = prepare_on_cluster(source, out, Preparation(), items, report=say)
else:
    began, start = time.perf_counter(), processors()
    summary = prepare(source, out, Preparation(), items, report=say)
busy = {stage: {one: spent - start.get(one, 0) for one, spent in seconds.items()} for stage, seconds in busy.items()}
# Not getrusage, which includes the memory of the parent when it started this process.
peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024**2
print(json.dumps({"stages": stages, "busy": busy, "peak": peak, "fingerprint": summary["fingerprint"]}))
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


def prepared(source: Path, out: Path, workers: int, items: str) -> dict[str, Any]:
    """Prepare in a child process, whose workers have the priority of other processes: Ray would lower it."""
    one_thread = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAY_worker_niceness": "0"}
    environment = os.environ | one_thread | {"PYTHONPATH": str(Path(__file__).parent)}
    child = [sys.executable, "-c", CHILD, str(source), str(out), str(workers), str(source.with_name("warm")), items]
    done = subprocess.run(child, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    shutil.rmtree(out)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for ends in (found["stages"], found["busy"]):
        ends.setdefault("categorized", ends["categories"])  # not reported if no categories were learned
    return found


def spans(ends: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each stage from the times at which they ended."""
    return {
        stage: ends[stage] - start for stage, start in zip(STAGES, [0, *(ends[one] for one in STAGES)], strict=False)
    }


def busiest(found: dict[str, Any], without: bool) -> float:
    """Return the processor time of the busiest process, with or without the stage that learns the categories."""
    processes = found["busy"]["written"]
    seconds = {one: spans({stage: found["busy"][stage].get(one, 0.0) for stage in STAGES}) for one in processes}
    return max(sum(spent.values()) - without * spent["categorized"] for spent in seconds.values())


def row(name: str, found: dict[str, Any], interactions: int) -> str:
    total = found["stages"]["written"]
    stages = " | ".join(f"{seconds:,.1f}" for seconds in spans(found["stages"]).values())
    processors = " + ".join(f"{spent:,.1f}" for spent in sorted(found["busy"]["written"].values(), reverse=True)[:3])
    return f"| {name} | {stages} | {total:,.1f} | {processors} | {interactions / total:,.0f} | {found['peak']:.2f} |"


def speed_up(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> str:
    """Return by how much two workers are faster than one, by the fastest run of each."""

    def clock(found: dict[str, Any], without: bool) -> float:
        return sum(spans(found["stages"]).values()) - without * spans(found["stages"])["categorized"]

    parts = []
    for what, measure in (("on the clock", clock), ("by the processor time of the busiest process", busiest)):
        whole, rest = (
            min(measure(found, without) for found in one) / min(measure(found, without) for found in two)
            for without in (False, True)
        )
        parts.append(f"{what} {whole:.2f}, without learning the categories {rest:.2f}")
    return "two workers over one: " + "; ".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interactions", type=int, nargs="?", default=20_000_000)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="keep the generated lists there, and use them again")
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2], help="0: one process without Ray")
    parser.add_argument("--lines", action="store_true", help="JSON lines with one list each instead of Parquet rows")
    parser.add_argument("--own", action="store_true", help="categories of the items are given")
    options = parser.parse_args()
    found: dict[int, list[dict[str, Any]]] = {workers: [] for workers in options.workers}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        whole = folder / ("whole.jsonl" if options.lines else "whole.parquet")
        if not whole.exists():
            folder.mkdir(exist_ok=True)
            generate(folder, options.interactions, options.shards, options.lines)
        items = str(own_categories(folder / "items.parquet")) if options.own else ""
        print(f"{options.interactions:,} interactions in {options.shards} shards, {whole.stat().st_size / 1e6:,.0f} MB")
        heads = [*STAGES.values(), "total, s", "processors, s", "interactions/s", "driver, GB"]
        print(f"| | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
        for turn in range(options.turns):
            for workers in options.workers:
                source = folder / "shards" if workers else whole
                found[workers].append(prepared(source, Path(temporary) / f"{turn}-{workers}", workers, items))
                who = f"Ray, {workers} worker{'s' * (workers > 1)}" if workers else "one process"
                print(row(who, found[workers][-1], options.interactions), flush=True)
    if found.get(1) and found.get(2):
        print(speed_up(found[1], found[2]))
    return int(len({one["fingerprint"] for runs in found.values() for one in runs}) > 1)


def own_categories(path: Path) -> Path:
    """Write a file of items with 256 categories."""
    numbers = np.arange(ITEMS)
    columns = {"item": np.char.mod("track-%07d", numbers), "category": np.char.mod("c%d", numbers // (ITEMS // 256))}
    pl.DataFrame(columns).write_parquet(path)
    return path


if __name__ == "__main__":
    sys.exit(main())
