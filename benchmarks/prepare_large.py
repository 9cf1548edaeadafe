"""Measure time and memory of preparing generated lists.

    python benchmarks/prepare_large.py 5000000

The lists are written as Parquet with one row per item, piece by piece, then prepared in a child process, whose peak
memory is read when it ends.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ITEMS = 1_000_000
NEIGHBORHOOD = 1_000  # a list stays within this many items, so that there are categories to learn
LENGTHS = (20, 180)
PIECE = 2_000_000  # interactions generated at a time

CHILD = """
import sys
from pathlib import Path
from fansrec.data.prepare import Preparation, prepare
prepare(Path(sys.argv[1]), Path(sys.argv[2]), Preparation(), report=lambda line: print("  " + line, flush=True))
"""


def piece(first_list: int, random: np.random.Generator) -> pa.Table:
    lengths = random.integers(*LENGTHS, PIECE // (sum(LENGTHS) // 2))
    lists = np.repeat(np.arange(first_list, first_list + len(lengths)), lengths)
    position = np.arange(len(lists)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    center = np.repeat(ITEMS * random.random(len(lengths)) ** 3, lengths)  # some neighborhoods are much more popular
    items = (center + NEIGHBORHOOD * random.standard_exponential(len(lists))).astype(np.int64) % ITEMS
    ids = pa.array(np.char.mod("track-%07d", np.arange(ITEMS))).take(pa.array(items))
    return pa.table({"playlist_id": lists, "position": position.astype(np.int32), "track_id": ids})


def generate(path: Path, interactions: int) -> None:
    random = np.random.default_rng(0)
    written = lists = 0
    writer: pq.ParquetWriter | None = None
    while written < interactions:
        table = piece(lists, random).slice(0, interactions - written)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
        written += len(table)
        lists = int(table["playlist_id"][-1].as_py()) + 1
    if writer is not None:
        writer.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interactions", type=int, nargs="?", default=100_000_000)
    interactions = parser.parse_args().interactions
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "lists.parquet"
        generate(source, interactions)
        print(f"{interactions:,} interactions, {source.stat().st_size / 1e6:,.0f} MB of Parquet", flush=True)
        began = time.perf_counter()
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(source), str(Path(folder) / "corpus")])
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
    print(f"prepared in {seconds:,.1f} s, peak memory {usage.ru_maxrss / 1024**2:.2f} GB")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
