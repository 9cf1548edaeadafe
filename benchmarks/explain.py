"""Compare the latency of answers with explanations with that of answers without, in turns.

    python benchmarks/explain.py RUN --corpus CORPUS [--k 10] [--lists 200] [--repeats 5] [--cpu | --url http://HOST:PORT]

The test lists of the corpus are continued one at a time, each without and with explanations before the next one: in
this process, or, with --url, by a service of the same model. Prints medians over all lists, the ratio of the medians
of each repeat, and how many of the answered items have a reason. With the model in this process, every first reason is
checked: without it, the item must have a lower score.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.api.continuer import load
from fansrec.client import Client
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import evaluation_lists

Continue = Callable[..., list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--url", help="of a service of the same model, instead of the model in this process")
    parser.add_argument("--cpu", action="store_true", help="measure the CPU time of this process, for busy machines")
    options = parser.parse_args()
    corpus = read_corpus(options.corpus)
    inputs = evaluation_lists(corpus, "test", options.lists).inputs
    lists = [[corpus.vocabulary.id(item) for item in given.tolist()] for given in inputs]
    clock = time.process_time if options.cpu else time.perf_counter
    continue_lists: Continue = (Client(options.url) if options.url else load(options.run)).continue_lists
    measure(continue_lists, lists[: 1 + len(lists) // 4], options.k, clock)  # warm-up
    repeats = [measure(continue_lists, lists, options.k, clock) for _ in range(options.repeats)]
    plain, explained = (1e3 * np.median([times[arm] for times in repeats]) for arm in (0, 1))
    ratios = [float(np.median(times[1]) / np.median(times[0])) for times in repeats]
    print(f"without: p50 {plain:.3f} ms per list; with explanations: p50 {explained:.3f} ms per list")
    print(f"ratio: {np.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f} over {len(ratios)} repeats)")
    if not options.url:
        print(f"first reasons without which the score is lower: {faithful(continue_lists, lists, options.k):.2%}")
    found = [p.explanation for one in lists for p in continue_lists([one], options.k, explain=True)[0].positions]
    print(f"items with a reason: {np.mean([bool(one.because) for one in found]):.1%} of {len(found):,}")
    print(f"items with a list: {np.mean([bool(one.lists) for one in found]):.1%}")


def measure(
    continue_lists: Continue, lists: list[list[Any]], k: int, clock: Callable[[], float]
) -> tuple[list[float], list[float]]:
    """Return the seconds for each list without and with explanations."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for one in lists:
        for explain in (False, True):
            began = clock()
            continue_lists([one], k, explain=explain)
            seconds[explain].append(clock() - began)
    return seconds


def faithful(continue_lists: Continue, lists: list[list[Any]], k: int) -> float:
    """Return the share of items with reasons whose score is lower in the list without the first reason."""
    lower = []
    for one in lists:
        for position in continue_lists([one], k, explain=True)[0].positions:
            if not position.explanation.because:
                continue
            rest = [item for item in one if item != position.explanation.because[0].item]
            (without,) = continue_lists([rest], k, allow=[position.item], keep_seen=True)
            lower.append(not without.positions or without.positions[0].score < position.score)
    return float(np.mean(lower))


if __name__ == "__main__":
    main()
