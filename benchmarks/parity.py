"""Compare the answers of a trained model with the float64 reference, on all test lists.

    python benchmarks/parity.py RUN --corpus CORPUS [--device cuda] [--backend auto]

Three cases: as many items as the target has, input items allowed; ten items and fifty items, both with input items
excluded. "same position" compares position by position, "same items" compares sets.
"""

import argparse
import copy
from pathlib import Path

import numpy as np
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.engine.backends import open_engine
from fansrec.engine.interface import Continuation
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.protocol import evaluation_lists


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend", default="auto")
    options = parser.parse_args()
    model, corpus = read_artifact(options.run).model.to(options.device), read_corpus(options.corpus)
    items = len(corpus.vocabulary)
    engine = open_engine(model, items, options.device, backend=options.backend)
    reference = TorchEngine(copy.deepcopy(model).double(), items, options.device)
    lists = evaluation_lists(corpus, "test")
    print(f"{engine.backend}, {len(lists.inputs):,} lists")
    for name, rules, counts in (
        ("as many as the target has", Rules(keep_seen=True), [len(target) for target in lists.targets]),
        ("ten", Rules(), [10] * len(lists.inputs)),
        ("fifty", Rules(), [50] * len(lists.inputs)),
    ):
        answers, right = (one.continue_lists(lists.inputs, counts, rules) for one in (engine, reference))
        total = sum(len(answer.items) for answer in right)
        placed, there = (sum(map(count, answers, right)) / total for count in (same_positions, same_items))
        print(f"{name}: {total:,} items, same position {placed:.3%}, same items {there:.3%}")


def same_positions(one: Continuation, other: Continuation) -> int:
    common = min(len(one.items), len(other.items))
    return int((one.items[:common] == other.items[:common]).sum())


def same_items(one: Continuation, other: Continuation) -> int:
    return len(np.intersect1d(one.items, other.items))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
