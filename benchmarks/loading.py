"""How long a trained model takes to be ready in a fresh process, stage by stage, and how much memory it needs.

    python benchmarks/loading.py RUN [--backend auto]
    python benchmarks/loading.py --items 104695 [--recipe paper] [--categories 10]
    python benchmarks/loading.py --items 10000000 --width 64 --categories 3162

Without RUN a model is made up first, with weights drawn at random, in a temporary folder; one of `--recipe best`
remembers 57,000 made-up lists. The file system's cache is warm. Memory that is a mapped file can be taken back by the
system at any time, and is held once for all processes that serve the same folder.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

LISTS, LENGTH = 57_000, 90  # in the memory
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
    options = parser.parse_args()
    if options.run is not None:
        measure(options.run, options.backend)
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), options.items, options.width, options.categories, options.recipe)
        subprocess.run([sys.executable, __file__, folder, "--backend", options.backend], check=True)


def measure(run: Path, backend: str) -> None:
    start = time.perf_counter()
    from fansrec import artifact
    from fansrec.api.continuer import Continuer
    from fansrec.vocabulary import read_vocabulary

    print(f"imports                {time.perf_counter() - start:7.3f} s")
    begin, worked = time.perf_counter(), time.process_time()
    read = timed("reading the folder", lambda: artifact.read_artifact(run))
    continuer = timed("making the engine", lambda: Continuer(read, "cpu", backend))
    every = max(1, len(read.vocabulary) // GIVEN)
    given = [read.vocabulary.ids[item] for item in range(0, len(read.vocabulary), every)][:GIVEN]
    timed("the first answer", lambda: continuer.continue_lists([given], K))
    ready, busy = time.perf_counter() - begin, time.process_time() - worked  # they differ where others use the cores
    print(f"ready after imports    {ready:7.3f} s, {busy:.3f} s of them at work ({len(read.vocabulary):,} items)")
    tell_memory()
    timed("another answer", lambda: continuer.continue_lists([given], K))
    timed("checking all sums", lambda: artifact.check(run))  # part of reading the folder, once more by itself
    timed("the vocabulary", lambda: read_vocabulary(run))


def timed(stage: str, work: Callable[[], T]) -> T:
    start, worked = time.perf_counter(), time.process_time()
    done = work()
    print(f"{stage:<22} {time.perf_counter() - start:7.3f} s, {time.process_time() - worked:.3f} at work", flush=True)
    return done


def tell_memory() -> None:
    """The most at once and, now, what this process has for itself and what of it are mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()  # Linux; getrusage would count the parent's peak too
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("Rss", "VmHWM"))}
    for name, words in (("VmHWM", "most memory at once"), ("RssAnon", "of its own"), ("RssFile", "mapped files")):
        print(f"{words:<22} {kilobytes[name] / 2**20:7.2f} GiB")


def make(folder: Path, items: int, width: int, categories: int, recipe: str) -> None:
    """An artifact of this size; all its weights are drawn at random."""
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
    write_artifact(folder, model, vocabulary, config, "# made up\n")


if __name__ == "__main__":
    main()
