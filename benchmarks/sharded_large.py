"""Measure a catalog that is distributed over several workers: loading, memory of each shard, latency.

    python benchmarks/sharded_large.py [--items 10000000] [--width 64] [--categories 256] [--shards 2]
    python benchmarks/sharded_large.py --recipe best --items 1000000
    python benchmarks/sharded_large.py --arithmetic --items 100000000 --categories 10000 [--gigabytes 16]

A model with random weights is written first, a few rows at a time, into a temporary folder (`--folder`: it is kept
there and used again). Its shards are workers of a local Ray. Some answers are compared with those of the whole model,
loaded by another process. `--arithmetic` measures nothing and prints what a catalog of this size needs. With `--recipe
best` the model is the default one, with as many lists in its memory as the spotify workload has training lists.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

POSITIONS, LAYERS, FEEDFORWARD = 303, 3, 256  # defaults of FansConfig, and the longest lists of the spotify workload
ROWS_AT_ONCE = 1 << 16
TIMES = 30
COMPARED = 8  # lists whose answers are compared
GIB, MIB = 2**30, 2**20
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=10_000_000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--categories", type=int, default=256)
    parser.add_argument("--recipe", choices=("paper", "best"), default="paper")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--given", type=int, default=50)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--gigabytes", type=float, default=16, help="memory per shard")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--arithmetic", action="store_true")
    parser.add_argument("--whole", type=Path, help=argparse.SUPPRESS)  # the process that loads the model whole
    options = parser.parse_args()
    if options.whole is not None:
        answer_whole(options)
    elif options.arithmetic:
        print_arithmetic(options)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary) / "run"
            if not (folder / "manifest.json").exists():
                write = make if options.recipe == "paper" else make_hybrid
                timed("writing the model", lambda: write(folder, options.items, options.width, options.categories))
            measure(folder, options)


def measure(folder: Path, options: argparse.Namespace) -> None:
    import ray

    from fansrec.cluster import sharded
    from fansrec.cluster.connection import cluster

    with cluster(cpus=options.shards):
        timed("verifying checksums", lambda: sharded.describe(folder))  # part of loading, measured separately
        continuer = timed("loading", lambda: sharded.load(folder, options.shards))
        lists = some_lists(options, COMPARED)
        timed("finding items by id", lambda: continuer.indices(map(str, lists[0])))
        given = timed("the first answers", lambda: continuer.continue_lists(lists, options.k))
        for batch in (1, 16):
            print_latency(lambda some: continuer.continue_lists(some, options.k), options, batch)
        print_memory("coordinator", memory())
        for number, actor in enumerate(continuer.engine.shards.actors):
            print_memory(f"shard {number}", ray.get(actor.__ray_call__.remote(lambda _: memory())))
    compare([(answer.items, [p.score for p in answer.positions]) for answer in given], folder, options)
    if options.recipe == "paper":
        print_arithmetic(options)


def some_lists(options: argparse.Namespace, count: int, seed: int = 0) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return random.integers(options.items, size=(count, options.given)).tolist()


def print_latency(answer: Callable[[list[list[int]]], object], options: argparse.Namespace, batch: int) -> None:
    took = []
    for turn in range(TIMES):
        lists = some_lists(options, batch, seed=turn + 1)
        start = time.perf_counter()
        answer(lists)
        took.append(1000 * (time.perf_counter() - start))
    p50, p90 = np.percentile(took, [50, 90])
    print(f"batch {batch:<2} p50 {p50:8.1f} ms, p90 {p90:8.1f} ms, {1000 * batch / p50:6.1f} lists/s", flush=True)


def memory() -> dict[str, float]:
    """Return the memory of this process in GiB: private, mapped files, and the object store shared by all workers."""
    lines = Path("/proc/self/status").read_text().splitlines()  # Linux
    return {line.split(":")[0]: int(line.split()[1]) / MIB for line in lines if line.startswith("Rss")}


def print_memory(who: str, held: dict[str, float]) -> None:
    own, files, store = held["RssAnon"], held["RssFile"], held["RssShmem"]
    total = own + files + store
    print(
        f"{who:<12} {total:6.2f} GiB: {own:.2f} private, {files:.2f} mapped files, {store:.2f} object store", flush=True
    )


def compare(given: list[tuple[list[int], list[float]]], folder: Path, options: argparse.Namespace) -> None:
    sizes = ("--items", str(options.items), "--given", str(options.given), "-k", str(options.k))
    done = subprocess.run(
        [sys.executable, __file__, "--whole", str(folder), *sizes], check=False, capture_output=True, text=True
    )
    if done.returncode:
        print(f"the whole model could not be loaded for comparison: {done.stderr.strip().splitlines()[-1:]}")
        return
    whole = json.loads(done.stdout.splitlines()[-1])
    same = sum(items == right for (items, _), (right, _) in zip(given, whole["answers"], strict=True))
    apart = max(np.abs(np.subtract(one[1], two[1])).max() for one, two in zip(given, whole["answers"], strict=True))
    print(
        f"{same} of {len(given)} lists get the items of the whole model ({whole['backend']}), scores within {apart:.1e}"
    )
    print_memory("whole model", whole["memory"])


def answer_whole(options: argparse.Namespace) -> None:
    from fansrec.api.continuer import load

    continuer = load(options.whole)
    answers = continuer.continue_lists(some_lists(options, COMPARED), options.k)
    pairs = [(answer.items, [p.score for p in answer.positions]) for answer in answers]
    print(json.dumps({"answers": pairs, "backend": continuer.engine.backend, "memory": memory()}))


def timed(stage: str, work: Callable[[], T]) -> T:
    start = time.perf_counter()
    done = work()
    print(f"{stage:<22} {time.perf_counter() - start:7.2f} s", flush=True)
    return done


# The arithmetic


def print_arithmetic(options: argparse.Namespace) -> None:
    """Print what a catalog needs: M items of width D in N categories; a list of n items gets k more."""
    m, d, n = options.items, options.width, options.categories
    print(f"\n{m:,} items of width {d} in {n:,} categories")
    for name, size in (("fp32 (current)", 4), ("16 bits", 2), ("8 bits", 1)):
        held = m * (2 * d * size + 4) + 4 * n * d * (d + 3)  # biases and local transforms stay as they are
        shards = -(-held // int(options.gigabytes * 1e9))
        print(
            f"  table and head if kept in {name:<14} {held / 1e9:8.1f} GB: {shards} shards of {options.gigabytes:g} GB"
        )
    tokens, k = options.given + options.k + 3, options.k
    there = options.given * (8 + 4 * d) + k * (4 * d + 8 + 4)
    back = 12 * k * k
    wire = f"{there / 1e3:.1f} kB + {back / 1e3:.1f} kB, in 2 rounds"
    print(f"  over the network for {options.given} items and {k} more: {wire}")
    encoder = LAYERS * tokens * (2 * (4 * d * d + 2 * d * FEEDFORWARD) + 4 * tokens * d)
    first, second = k * 2 * d * (d + n), k * 2 * d * (d + m / n)
    print(f"  MFLOP: encoder {encoder / 1e6:.1f}, categories {first / 1e6:.1f}, items {second / 1e6:.1f}")
    print(f"  a shard reads {4 * d * m / n / 1e6:.1f} MB (fp32) for every category that a batch needs")


# The model


def make(folder: Path, items: int, width: int, categories: int) -> None:
    """Write an artifact of this size with only a few of its rows in memory at a time."""
    from fansrec.artifact import CONFIG, WEIGHTS, seal
    from fansrec.experiments.speed.random_models import random_model
    from fansrec.experiments.speed.workloads import even_categories
    from fansrec.files import write_json
    from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE

    folder.mkdir(parents=True, exist_ok=True)
    small = random_model(
        "fans", categories, categories, POSITIONS, seed=0, width=width
    )  # only the item tensors are replaced
    starts = even_categories(items, categories)
    write_weights(folder / WEIGHTS, small.state_dict(), items)
    with (folder / ITEMS_FILE).open("w") as file:
        for first in range(0, items, ROWS_AT_ONCE):
            file.writelines(f'{{"id": "{item}"}}\n' for item in range(first, min(first + ROWS_AT_ONCE, items)))
    names = [f"category {c}" for c in range(categories)]
    write_json(folder / CATEGORIES_FILE, {"names": names, "starts": list(starts), "integer_ids": True})
    config = asdict(replace(small.config, category_starts=tuple(starts)))
    write_json(folder / CONFIG, {"model": "fans", "config": config, "training": {"recipe": "paper"}})
    seal(folder)


def make_hybrid(folder: Path, items: int, width: int, categories: int) -> None:
    """Write an artifact of the default model with random weights and random lists."""
    from fansrec.artifact import write_artifact
    from fansrec.experiments.speed.random_models import random_best
    from fansrec.vocabulary import Vocabulary

    folder.mkdir(parents=True, exist_ok=True)
    model = random_best("spotify", items, categories, POSITIONS, seed=0, width=width)
    model = model.with_parts(model.config, model.memory, model.linear)  # its configuration gets the sizes
    print(f"{model.config.memory.lists:,} lists with {model.config.memory.items:,} items, "
          f"{model.config.linear.neighbors} linear weights for each item")  # fmt: skip
    names = [f"category {c}" for c in range(categories)]
    starts = np.array(model.config.category_starts)
    vocabulary = Vocabulary([str(item) for item in range(items)], starts, category_names=names, integer_ids=True)
    config = {"model": "fans-hybrid", "config": asdict(model.config), "training": {"recipe": "best"}}
    write_artifact(folder, model, vocabulary, config, "# random weights\n")


def write_weights(path: Path, small: dict[str, Any], items: int) -> None:
    """Write a safetensors file: the size of its header, the header, the data."""
    rows = {"embed.items.weight": items + 4, "classifier.items.weight": items, "classifier.items.bias": items}
    spread = {"embed.items.weight": 1.0, "classifier.items.weight": 0.1, "classifier.items.bias": 0.0}
    header, end = {}, 0
    for name, tensor in small.items():
        shape = [rows.get(name, len(tensor)), *tensor.shape[1:]]
        start, end = end, end + 4 * int(np.prod(shape))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        random = np.random.default_rng(0)
        for name, tensor in small.items():
            if name in rows:
                write_normal(file, random, (rows[name], *tensor.shape[1:]), spread[name])
            else:
                file.write(tensor.float().numpy().tobytes())


def write_normal(file: BinaryIO, random: np.random.Generator, shape: tuple[int, ...], spread: float) -> None:
    for count in pieces(shape[0]):
        file.write((random.standard_normal((count, *shape[1:]), dtype=np.float32) * np.float32(spread)).tobytes())


def pieces(rows: int) -> Iterator[int]:
    for first in range(0, rows, ROWS_AT_ONCE):
        yield min(ROWS_AT_ONCE, rows - first)


if __name__ == "__main__":
    main()
