"""Measure time and memory of item-kNN, EASE, SLIST and Markov on generated lists with 100,000 items.

    python benchmarks/linear_large.py [--items 100000] [--lists 72152] [--models item-knn ease slist markov]

The lists have the lengths of the paper's Spotify data set and Zipf-distributed items. Each model is trained in its own
process, then loaded and run in another; their peak memory is read when they end.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from fansrec.data.corpus import write_corpus
from fansrec.experiments.speed.workloads import make_corpus, workload

TRAIN = """
import sys
from fansrec.training.reporting import PlainReporter
from fansrec.training.trainer import train
train(sys.argv[1], sys.argv[2], sys.argv[3], {}, PlainReporter(), recipe="paper", compare=False)
"""
RUN = """
import sys, time
from pathlib import Path
from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.protocol import evaluation_lists
inputs = evaluation_lists(read_corpus(Path(sys.argv[1])), "test", 200).inputs
model = read_artifact(Path(sys.argv[2])).model
engine = TorchEngine(model, model.config.category_starts[-1])
began = time.perf_counter()
for items in inputs:
    engine.continue_lists([items], 10, Rules())
print(f"  {1000 * (time.perf_counter() - began) / len(inputs):.2f} ms per list, one at a time, 10 items each")
"""


def measured(code: str, *arguments: str) -> tuple[float, float]:
    """Run Python code in a process and return its seconds and peak memory in GB."""
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", code, *arguments])
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit("the process failed")
    return time.perf_counter() - began, usage.ru_maxrss / 1024**2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--lists", type=int, default=72_152)
    parser.add_argument("--models", nargs="+", default=["item-knn", "ease", "slist", "markov"])
    options = parser.parse_args()
    shape = replace(workload("spotify"), items=options.items, lists=options.lists)
    with tempfile.TemporaryDirectory() as folder:
        corpus = make_corpus(shape, np.random.default_rng(0))
        write_corpus(Path(folder) / "corpus", corpus)
        print(f"{options.lists:,} lists, {options.items:,} items, {len(corpus.items):,} interactions", flush=True)
        for model in options.models:
            run = Path(folder) / model
            seconds, memory = measured(TRAIN, f"{folder}/corpus", str(run), model)
            size = sum(path.stat().st_size for path in run.iterdir()) / 1e6
            print(f"  trained in {seconds:.0f} s, peak memory {memory:.2f} GB, {size:,.0f} MB on disk", flush=True)
            seconds, memory = measured(RUN, f"{folder}/corpus", str(run))
            print(f"  loaded and run in {seconds:.0f} s, peak memory {memory:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
