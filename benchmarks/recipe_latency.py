"""How long an answer of `--recipe best` takes beside one of `--recipe paper` of the same width, lists in turns.

    python benchmarks/recipe_latency.py RUN --corpus CORPUS [--k 10] [--lists 200] [--repeats 5] [--threads 1]

RUN was trained by `--recipe best`. The paper's model has weights drawn at random, which do not change its time. Both
are asked about the same test lists, one at a time, by the same engine; the ratio is that of the medians of each repeat.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.engine.rules import Rules
from fansrec.engine.torch_backend import TorchEngine
from fansrec.evaluation.protocol import questions
from fansrec.training.plan import make_plan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus, best = read_corpus(options.corpus), read_artifact(options.run).model
    paper = make_plan("fans", {"width": best.config.width}, corpus).build().eval()
    engines = {"paper": TorchEngine(paper, len(corpus.vocabulary)), "best": TorchEngine(best, len(corpus.vocabulary))}
    inputs = questions(corpus, "test", options.lists).inputs
    repeats = [medians(engines, inputs, options.k) for _ in range(1 + options.repeats)][1:]  # the first warms up
    for name in engines:
        print(f"{name}: p50 {np.median([times[name] for times in repeats]):.2f} ms")
    ratios = [times["best"] / times["paper"] for times in repeats]
    print(f"best / paper: {np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} repeats)")


def medians(engines: dict[str, TorchEngine], inputs: list[np.ndarray], k: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    for given in inputs:
        for name, engine in engines.items():
            began = time.perf_counter()
            engine.continue_lists([given], k, Rules())
            seconds[name].append(time.perf_counter() - began)
    return {name: 1000 * float(np.median(values)) for name, values in seconds.items()}


if __name__ == "__main__":
    main()
