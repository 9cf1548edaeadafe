"""Run a benchmark of `fans bench` on a bare accelerator machine.

python -m fansrec.experiments speed latency --categories 1 10 100 --device cuda --json rows.json
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from fansrec.experiments.speed.options import LatencyOptions, StagesOptions, SweepOptions, ThroughputOptions

SYSTEM = ("arm", "model", "variant", "backend", "categories")
THROUGHPUT = ("batch", *SYSTEM, "lists_per_s", "p50_ms", "lists", "times_padded")
STAGES = ("layers_ms", "items_ms", "rest_ms", "whole_ms")
# The options of each benchmark, and the columns of its rows that are printed.
BENCHMARKS: dict[str, tuple[type[Any], Sequence[str]]] = {
    "latency": (LatencyOptions, (*SYSTEM, "p50_ms", "p99_ms", "lists", "times_authors", "same_items")),
    "throughput": (ThroughputOptions, THROUGHPUT),
    "sweep": (SweepOptions, ("varies", "items", *THROUGHPUT)),
    "stages": (StagesOptions, ("backend", "device", "items", "categories", *STAGES, "lists")),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    benchmarks = parser.add_subparsers(dest="benchmark", required=True)
    for name, (options, _) in BENCHMARKS.items():
        own = benchmarks.add_parser(name, description=options.__doc__)
        for field in fields(options):
            default = field.default if field.default is not MISSING else None
            several = isinstance(default, tuple)
            kind = int if default is None else type(default[0] if several else default)
            own.add_argument(f"--{field.name}", type=kind, nargs="+" if several else None, default=default)
        own.add_argument("--json", type=Path, required=True, help="file for the rows")


def run(options: argparse.Namespace) -> int:
    """Write and print the rows; always return 0, as a benchmark leaves no unfinished jobs."""
    from fansrec.experiments.speed.rows import write_rows

    kind, columns = BENCHMARKS[options.benchmark]
    rows = _benchmark(options.benchmark)(
        kind(**{field.name: getattr(options, field.name) for field in fields(kind)}), say=print
    )
    write_rows(options.json, rows)
    print(*columns)
    for row in rows:
        print(*(f"{row[name]:.4g}" if isinstance(row[name], float) else f"{row[name]}" for name in columns))
    return 0


def _benchmark(name: str) -> Callable[..., list[dict[str, Any]]]:
    """Return a benchmark; they import torch, which `--help` does not need."""
    from fansrec.experiments.speed.latency import latency
    from fansrec.experiments.speed.stages import stages
    from fansrec.experiments.speed.sweep import sweep
    from fansrec.experiments.speed.throughput import throughput

    benchmarks: dict[str, Callable[..., list[dict[str, Any]]]]
    benchmarks = {"latency": latency, "throughput": throughput, "sweep": sweep, "stages": stages}
    return benchmarks[name]
