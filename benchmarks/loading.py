"""Measure a cold start, from process start to the first answer, stage by stage, and how much memory it needs.

    python benchmarks/loading.py RUN [--backend auto] [--times 5]
    python benchmarks/loading.py --items 104695 [--recipe paper] [--categories 10]
    python benchmarks/loading.py --items 10000000 --width 64 --categories 3162
    python benchmarks/loading.py --items 104695 --keep FOLDER

The stages are those of `fansrec.load(RUN).continue_lists(...)`. With `--times`, as many new processes are measured one
after another, and the medians are printed after the stages of the last one. For the start of `fans serve` see
footprint.py.

Without RUN, a model with random weights is written to a temporary folder first; with `--recipe best` its list memory
has 57,000 generated lists. The file system's cache is warm. The system can reclaim memory of mapped files at any time,
and all processes that serve the same folder share it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

LISTS, LENGTH = 57_000, 90  # of the list memory
GIVEN, K = 50, 10
T = TypeVar("T")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--items", type=int, default=104_695)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--categories", type=int, default=10)
    parser.add_argument("--recipe", choices=("paper", "best"), default="paper")
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--times", type=int, default=1, help="number of new processes, at least 1")
    parser.add_argument("--figures", type=Path, help="write the figures of this process to a JSON file")
    parser.add_argument("--keep", type=Path, help="write the model to this folder and measure nothing")
    options = parser.parse_args()
    if options.times < 1:
        parser.error(f"--times {options.times} is too few; give at least 1")
    if options.figures is not None:
        measure(options.run, options.backend, options.figures)
        return
    if options.run is not None:
        repeat(options.run, options.backend, options.times)
        return
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
        make(options.keep, options.items, options.width, options.categories, options.recipe)
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.items, options.width, options.categories, options.recipe)
        repeat(Path(folder), options.backend, options.times)


def repeat(run: Path, backend: str, times: int) -> None:
    """Measure `times` new processes; print the stages of the last one, and the medians of all."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        command = [sys.executable, __file__, str(run), "--backend", backend, "--figures", str(figures)]
        for number in range(times):
            last = number == times - 1
            subprocess.run(command, check=True, stdout=None if last else subprocess.DEVNULL)
            found.append(json.loads(figures.read_text(encoding="utf-8")))
    for name, unit in (("start to first answer", "s"), ("CPU time of that", "s"), ("peak memory", "GiB")):
        values = [one[name] for one in found]
        print(f"{name:<22} {statistics.median(values):7.3f} {unit} (median of {times}: {min(values):.3f} to", end=" ")
        print(f"{max(values):.3f})")


def measure(run: Path, backend: str, figures: Path) -> None:
    start = time.perf_counter()
    from fansrec import artifact
    from fansrec.api.continuer import Continuer
    from fansrec.vocabulary import read_vocabulary

    print(f"imports                {time.perf_counter() - start:7.3f} s")
    begin, worked = time.perf_counter(), time.process_time()
    read = timed("read the folder", lambda: artifact.read_artifact(run))
    continuer = timed("open the engine", lambda: Continuer(read, "cpu", backend))
    every = max(1, len(read.vocabulary) // GIVEN)
    given = [read.vocabulary.ids[item] for item in range(0, len(read.vocabulary), every)][:GIVEN]
    timed("first answer", lambda: continuer.continue_lists([given], K))
    ready, busy = (
        time.perf_counter() - begin,
        time.process_time() - worked,
    )  # they differ if other processes use the cores
    whole, used = since_start(), time.process_time()
    print(f"ready after imports    {ready:7.3f} s, {busy:.3f} s of it CPU time ({len(read.vocabulary):,} items)")
    peak = print_memory()
    found = {"start to first answer": whole, "CPU time of that": used, "peak memory": peak}
    figures.write_text(json.dumps(found), encoding="utf-8")
    timed("second answer", lambda: continuer.continue_lists([given], K))
    timed("verify checksums", lambda: artifact.check(run))  # part of reading the folder, measured separately
    timed("read the vocabulary", lambda: read_vocabulary(run))


def timed(stage: str, work: Callable[[], T]) -> T:
    start, worked = time.perf_counter(), time.process_time()
    done = work()
    print(
        f"{stage:<22} {time.perf_counter() - start:7.3f} s, {time.process_time() - worked:.3f} s CPU time", flush=True
    )
    return done


def since_start() -> float:
    """Return the seconds since this process was started, to about 0.01 s (Linux)."""
    started = int(Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")


def print_memory() -> float:
    """Print the peak and, at this moment, private memory and mapped files of this process; return the peak in GiB."""
    lines = Path("/proc/self/status").read_text().splitlines()  # Linux; getrusage would count the parent's peak too
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("Rss", "VmHWM"))}
    for name, title in (("VmHWM", "peak memory"), ("RssAnon", "private memory"), ("RssFile", "mapped files")):
        print(f"{title:<22} {kilobytes[name] / 2**20:7.2f} GiB")
    return kilobytes["VmHWM"] / 2**20


def make(folder: Path, items: int, width: int, categories: int, recipe: str) -> None:
    """Write an artifact of this size with random weights."""
    import numpy as np

    from fansrec.artifact import write_artifact
    from fansrec.models.config import nested_settings
    from fansrec.models.hybrid.config import HybridConfig
    from fansrec.models.registry import build
    from fansrec.vocabulary import Vocabulary

    starts = np.linspace(0, items, categories + 1).astype(int)
    sizes: dict[str, Any] = {"category_starts": starts.tolist(), "positions": 303, "width": width}
    if recipe == "best":
        random = np.random.default_rng(0)
        held, offsets = random.integers(items, size=LISTS * LENGTH, dtype=np.int32), np.arange(LISTS + 1) * LENGTH
        distinct = len(np.unique(np.repeat(np.arange(LISTS), LENGTH) * items + held))
        memory = {"memory_lists": LISTS, "memory_items": distinct}
        model = build("fans-hybrid", nested_settings(HybridConfig, sizes | memory))
        model.start(held, offsets)
        model.memory.fit(held, offsets)
    else:
        model = build("fans", sizes)
    ids = [str(item) for item in range(items)]
    vocabulary = Vocabulary(ids, starts, category_names=[f"category {c}" for c in range(categories)], integer_ids=True)
    config = {"model": model.name, "config": asdict(model.config), "training": {"recipe": recipe}}
    write_artifact(folder, model, vocabulary, config, "# random weights\n")


if __name__ == "__main__":
    main()
