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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch

from fansrec.artifact import write_artifact
from fansrec.data.corpus import Corpus
from fansrec.experiments.speed.workloads import Workload, make_corpus
from fansrec.files import write_json
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.linear.popularity import list_counts
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.plan import make_plan
from fansrec.vocabulary import ListNames, Vocabulary

SHORTEST, LONGEST, MEAN = 5, 200, 20
CATEGORIES = 50
NEW_SHARE = 0.01  # of the items in new lists
NEW_ITEMS = 1_000
GROUP_SIZE = 10
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
        shape = Workload(options.lists + options.new, options.items, SHORTEST, LONGEST, MEAN, CATEGORIES)
        corpus = _with_names(make_corpus(shape, random))
        _write_model(folder / "run", corpus, options.lists, options.neighbors)
        _write_new(folder, corpus, options.lists, random)
        runs = [_measure(folder, number) for number in range(options.repeats)]
    wall, cpu = (sorted(times) for times in zip(*runs, strict=True))
    middle = options.repeats // 2
    print(f"wall time: median {wall[middle]:.2f} s ({wall[0]:.2f} to {wall[-1]:.2f}), target {TARGET} s")
    print(f"CPU time: median {cpu[middle]:.2f} s ({cpu[0]:.2f} to {cpu[-1]:.2f})")
    if options.json:
        sizes = {name: getattr(options, name) for name in ("lists", "items", "new", "neighbors")}
        write_json(options.json, sizes | {"runs": runs})


def _with_names(corpus: Corpus) -> Corpus:
    items = range(len(corpus.vocabulary))
    names, groups = [_name(item) for item in items], [f"Artist {item // GROUP_SIZE}" for item in items]
    return replace(corpus, vocabulary=replace(corpus.vocabulary, names=names, groups=groups))


def _name(item: int) -> str:
    return f"Song {item} of day {item % 365}"


def _write_model(folder: Path, corpus: Corpus, lists: int, neighbors: int) -> None:
    """Write a hybrid model whose memory has the first lists of a corpus, and whose other weights are random."""
    offsets = corpus.offsets[: lists + 1]
    items = corpus.items[: offsets[-1]]
    vocabulary: Vocabulary = corpus.vocabulary
    torch.manual_seed(0)
    plan = make_plan("fans", {"recipe": "best"}, corpus)
    network = plan.build()
    network.start(items, offsets)
    linear = LinearPart(len(vocabulary), neighbors)
    linear.items = torch.randint(len(vocabulary), linear.items.shape, dtype=torch.int32)
    linear.weights = torch.rand(linear.weights.shape).sort(descending=True).values
    model = network.with_parts(network.config, ListMemory.of(len(vocabulary), items, offsets), linear)
    folder.mkdir()
    config: dict[str, Any] = {"model": plan.model, "config": asdict(model.config), "training": {"recipe": "best"}}
    counts = list_counts(items, offsets, len(vocabulary))
    names = ListNames(
        [f"list-{number:06d}" for number in range(lists)], [f"My list {number}" for number in range(lists)]
    )
    write_artifact(folder, model, vocabulary, config, "# Random weights\n", counts, names)


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
        "name": [_name(item) for item in added],
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
