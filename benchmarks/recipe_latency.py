"""Compare the latency of `--recipe best` with that of `--recipe paper` at the same width, in turns.

    python benchmarks/recipe_latency.py RUN --corpus CORPUS [--k 10] [--lists 200] [--repeats 5] [--threads 1]
    python benchmarks/recipe_latency.py --workload spotify --lists 60 --repeats 3 [--categories 100] [--batch 64]

RUN was trained with `--recipe best`. The paper's model has random weights, others in each repeat: they decide which one
or two categories it scores, and large categories take longer than small ones. With a workload both have random weights,
the list memory has as many generated lists as the paper's Spotify data set has for training, there is no linear part
(there are too many items), and the second half of each list is generated instead of k items. Both models process the
same test lists, one at a time or `--batch` per call, with the same `--backend`. Times are per list, and the ratio is
that of the medians of each repeat.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import Corpus, read_corpus
from fansrec.engine.backends import BACKENDS, open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.evaluation.protocol import evaluation_lists
from fansrec.experiments.speed.workloads import make_corpus, workload
from fansrec.models.fans import Fans
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.plan import make_plan

LISTS = 72_152  # of the paper's Spotify data set
PAPER_WIDTH = {"width": 64, "heads": 4, "feedforward": 256}
KERNEL = {"before": 0.4, "recency": 0.6, "near": 0.5}  # as searched on spotify-attlist


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--workload", help="generated lists instead of RUN and its corpus")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=1, help="lists per call")
    parser.add_argument("--categories", type=int, default=10, help="of a workload's items")
    parser.add_argument("--backend", default="auto", choices=BACKENDS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.workload is None and None in (options.run, options.corpus):
        parser.error("give RUN and --corpus, or --workload")
    if options.workload:
        corpus, best = generated(options.workload, options.categories)
    else:
        corpus, best = opened(options.run, options.corpus)
    engines = {"best": open_engine(best, len(corpus.vocabulary), backend=options.backend)}
    lists = evaluation_lists(corpus, "test", options.lists)
    counts = [len(target) if options.workload else options.k for target in lists.targets]
    calls = [slice(start, start + options.batch) for start in range(0, len(counts), options.batch)]
    repeats = []
    for seed in range(options.repeats):
        paper = paper_model(best.config.network.width, seed, corpus)
        engines["paper"] = open_engine(paper, len(corpus.vocabulary), backend=options.backend)
        medians(engines, lists.inputs, counts, calls[: 1 + len(calls) // 4])  # warm-up
        repeats.append(medians(engines, lists.inputs, counts, calls))
    for name, engine in engines.items():
        print(f"{name} ({engine.backend}): p50 {np.median([times[name] for times in repeats]):.3f} ms per list")
    ratios = [times["best"] / times["paper"] for times in repeats]
    print(f"best / paper: {np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} repeats)")


def opened(run: Path, corpus: Path) -> tuple[Corpus, HybridFans]:
    return read_corpus(corpus), read_artifact(run).model


def generated(name: str, categories: int = 10) -> tuple[Corpus, HybridFans]:
    """Return lists with the lengths of a workload, and a model with random weights and these lists as memory."""
    corpus = make_corpus(replace(workload(name), lists=LISTS, categories=categories), np.random.default_rng(0))
    offsets = corpus.offsets[: len(corpus.part("train")) + 1]
    items = corpus.items[: offsets[-1]]
    plan = make_plan("fans", {"recipe": "best", **PAPER_WIDTH, **KERNEL}, corpus)
    model = plan.build().eval()
    model.start(items, offsets)
    model.memory = ListMemory.of(len(corpus.vocabulary), items, offsets)
    return corpus, model


def paper_model(width: int, seed: int, corpus: Corpus) -> Fans:
    torch.manual_seed(seed)
    model: Fans = make_plan("fans", {"width": width}, corpus).build().eval()
    return model


def medians(
    engines: dict[str, Engine], inputs: list[np.ndarray], counts: list[int], calls: list[slice]
) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    rules = Rules()
    for call in calls:
        for name, engine in engines.items():
            began = time.perf_counter()
            answers = engine.continue_lists(inputs[call], counts[call], rules)
            seconds[name].append((time.perf_counter() - began) / len(answers))
    return {name: 1000 * float(np.median(values)) for name, values in seconds.items()}


if __name__ == "__main__":
    main()
