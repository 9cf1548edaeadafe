"""Time of `fans update` for many new lists, the whole command, with a model of generated lists and random weights.

    python -m benchmarks.updates.speed [--lists 100000] [--items 60000] [--new 10000] [--neighbors 200] [--repeats 5]

Lists have 20 items on average. The linear part has `--neighbors` weights for each item: 200 if it is item-kNN, 1000 if
it is a regression. Items have names and groups. One item in 100 of the new lists is new to the model, and
an items file has its name and group. The times include the start of Python, reading two Parquet files, the update, and
writing the model, which is not on a disk if the temporary folder ($TMPDIR) is in memory.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from benchmarks.updates.generated import GROUP_SIZE, generated_corpus, item_name, write_model

from fansrec.data.corpus import Corpus
from fansrec.files import write_json

NEW_SHARE = 0.01  # of the items in new lists
NEW_ITEMS = 1_000
TARGET = 5.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=60_000)
    parser.add_argument("--new", type=int, default=10_000)
    parser.add_argument("--neighbors", type=int, default=200, help="of each item in the linear part")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="file to write the row to")
    options = parser.parse_args()
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        corpus = generated_corpus(options.lists + options.new, options.items, random)
        write_model(folder / "run", corpus, options.lists, options.neighbors)
        _write_new(folder, corpus, options.lists, random)
        runs = [_measure(folder, number) for number in range(options.repeats)]
    wall, cpu = (sorted(times) for times in zip(*runs, strict=True))
    middle = options.repeats // 2
    print(f"wall time: median {wall[middle]:.2f} s ({wall[0]:.2f} to {wall[-1]:.2f}), target {TARGET} s")
    print(f"CPU time: median {cpu[middle]:.2f} s ({cpu[0]:.2f} to {cpu[-1]:.2f})")
    if options.json:
        sizes = {name: getattr(options, name) for name in ("lists", "items", "new", "neighbors")}
        write_json(options.json, sizes | {"runs": runs})


def _write_new(folder: Path, corpus: Corpus, lists: int, random: np.random.Generator) -> None:
    """Write the lists after the first ones, with some new items, and the names and groups of these."""
    known = len(corpus.vocabulary)
    start = corpus.offsets[lists]
    items = corpus.items[start:].astype(np.int64)
    new = random.random(len(items)) < NEW_SHARE
    items[new] = known + random.integers(NEW_ITEMS, size=int(new.sum()))
    numbers = np.repeat(np.arange(lists, len(corpus)), np.diff(corpus.offsets[lists:]))
    ids = pl.Series("list_id", numbers).cast(pl.String)
    pl.DataFrame([ids, pl.Series("item_id", items).cast(pl.String)]).write_parquet(folder / "lists.parquet")
    added = range(known, known + NEW_ITEMS)
    details = {
        "item_id": [str(item) for item in added],
        "name": [item_name(item) for item in added],
        "artist": [f"Artist {random.integers(known // GROUP_SIZE)}" for _ in added],
    }
    pl.DataFrame(details).write_parquet(folder / "items.parquet")


def _measure(folder: Path, number: int) -> tuple[float, float]:
    """Return the wall time and the CPU time of the command in seconds."""
    command = [sys.executable, "-c", "from fansrec.cli.main import run; run()", "update", folder / "run"]
    options = ["--lists", folder / "lists.parquet", "--items", folder / "items.parquet"]
    began = time.perf_counter()
    child = subprocess.Popen([*command, *options, "--out", folder / f"new-{number}"])
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit("the command failed")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
