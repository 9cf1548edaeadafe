"""How many items of a trained model's answers are those of the float64 reference, on all test lists.

    python benchmarks/parity.py RUN --corpus CORPUS [--device cuda] [--backend auto]

In three ways of asking: as many items as the list goes on for with the input kept, ten items, and fifty, both without
the input's. Same place: position by position. Same items: wherever they stand.
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
    asked = evaluation_lists(corpus, "test")
    print(f"{engine.backend}, {len(asked.inputs):,} lists")
    for name, rules, counts in (
        ("as many as the list goes on for", Rules(keep_seen=True), [len(target) for target in asked.targets]),
        ("ten", Rules(), [10] * len(asked.inputs)),
        ("fifty", Rules(), [50] * len(asked.inputs)),
    ):
        told, right = (one.continue_lists(asked.inputs, counts, rules) for one in (engine, reference))
        total = sum(len(answer.items) for answer in right)
        placed, there = (sum(map(count, told, right)) / total for count in (same_place, same_items))
        print(f"{name}: {total:,} items, same place {placed:.3%}, same items {there:.3%}")


def same_place(one: Continuation, other: Continuation) -> int:
    common = min(len(one.items), len(other.items))
    return int((one.items[:common] == other.items[:common]).sum())


def same_items(one: Continuation, other: Continuation) -> int:
    return len(np.intersect1d(one.items, other.items))


if __name__ == "__main__":
    with torch.inference_mode():
        main()
