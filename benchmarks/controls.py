"""Measure what `diversity` and `popularity` cost and bring: NDCG@10 against what the answers consist of.

    python -m benchmarks.controls RUN --corpus CORPUS --name aotm --json FILE [--part test] [--lists 1000] [--threads 1]

Answers have 10 items and none of the input (protocol `standard`). `similarity@10` is the mean over the pairs of items
of an answer of the cosine of the training lists of both: it does not come from the model, so re-ranking cannot reduce
it by its own definition. `popularity@10` is the mean share of training lists with an item. Each row also has the p50
of the time of a call with one list, measured in turns with the other settings.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus, read_corpus
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Engine
from fansrec.engine.rules import Rules
from fansrec.engine.traits import traits_of
from fansrec.evaluation.bootstrap import interval_list
from fansrec.evaluation.diversity import coverage, popularity, training_counts
from fansrec.evaluation.protocol import STANDARD, EvaluationLists, evaluation_lists, first_items, list_metrics, protocol
from fansrec.evaluation.rows import open_run
from fansrec.files import write_json

K = 10
DIVERSITY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
POPULARITY = (-1.0, -0.8, -0.6, -0.4, -0.2, 0.2, 0.4, 0.6, 0.8, 1.0)
TIMED_LISTS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--name", required=True, help="of the set, for the rows")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--part", default="test", choices=("valid", "test"))
    parser.add_argument("--lists", type=int, default=1000, help="at most that many, evenly spaced")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus = read_corpus(options.corpus)
    artifact = open_run(options.run, corpus)
    engine, traits = open_engine(artifact.stored, len(corpus.vocabulary)), traits_of(artifact)
    settings: list[tuple[str, float]] = [("none", 0.0)]
    settings += [("diversity", value) for value in DIVERSITY] + [("popularity", value) for value in POPULARITY]
    rules = [Rules(traits=traits, **({} if name == "none" else {name: value})) for name, value in settings]
    lists = evaluation_lists(corpus, options.part, options.lists)
    about = {"set": options.name, "model": artifact.stored.name, "part": options.part, "lists": len(lists.inputs)}
    rows = []
    milliseconds = median_milliseconds(engine, lists, rules)
    for (name, value), own, p50 in zip(settings, rules, milliseconds, strict=True):
        rows.append(about | {"control": name, "value": value} | measured(engine, lists, own, corpus) | {"p50_ms": p50})
        print(rows[-1], flush=True)
    write_json(options.json, rows)


def measured(engine: Engine, lists: EvaluationLists, rules: Rules, corpus: Corpus) -> dict[str, Any]:
    """Return the metrics of the answers under these rules."""
    answers = first_items([one.items for one in engine.continue_lists(lists.inputs, K, rules)])
    quality = list_metrics(answers, lists, protocol(STANDARD))["NDCG@10"]
    shares = training_counts(corpus) / max(1, len(corpus.part("train")))
    return {
        "NDCG@10": float(quality.mean()),
        "NDCG@10_ci": interval_list(quality),
        "coverage@10": coverage(answers, len(corpus.vocabulary)),
        "similarity@10": float(np.mean([*similarities(answers, lists_of_items(corpus))])),
        "popularity@10": float(np.nanmean(popularity(answers, shares))),
    }


def lists_of_items(corpus: Corpus) -> list[NDArray[np.int64]]:
    """Return the training lists of each item, in ascending order."""
    items, offsets = corpus.flat("train")
    lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    pairs = np.unique(np.stack([items, lists]), axis=1)
    return np.split(pairs[1], np.searchsorted(pairs[0], np.arange(1, len(corpus.vocabulary))))


def similarities(answers: NDArray[np.int64], lists: Sequence[NDArray[np.int64]]) -> Iterator[float]:
    """Yield the mean cosine of the training lists of the pairs of items of each answer."""
    for answer in answers:
        pairs = [(lists[a], lists[b]) for a, b in combinations(answer[answer >= 0].tolist(), 2)]
        common = [len(np.intersect1d(a, b, assume_unique=True)) / np.sqrt(max(1, len(a) * len(b))) for a, b in pairs]
        yield float(np.mean(common)) if common else 0.0


def median_milliseconds(engine: Engine, lists: EvaluationLists, settings: Sequence[Rules]) -> list[float]:
    """Return the p50 of a call with one list under each of the rules, which take turns."""
    seconds: list[list[float]] = [[] for _ in settings]
    for given in lists.inputs[:TIMED_LISTS]:
        for own, rules in zip(seconds, settings, strict=True):
            engine.continue_lists([given], K, rules)  # the second call has the prepared rules of the first
            started = time.perf_counter()
            engine.continue_lists([given], K, rules)
            own.append(time.perf_counter() - started)
    return [1000 * float(np.median(own)) for own in seconds]


if __name__ == "__main__":
    main()
