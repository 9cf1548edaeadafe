"""Compare three ways to turn the K positions of a network into a list.

    python benchmarks/pooling.py RUN --corpus CORPUS [--part valid]

RUN was trained with `--recipe best`; only its network is used, with ten masks and items of the input excluded. By
position: the best remaining item of each position (the paper). Mean of logarithms: items ranked by the mean of the
positions' log-probabilities. Mean of probabilities: what `--recipe best` does.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import evaluation_lists, list_metrics, mean, protocol
from fansrec.models.hybrid.model import HybridFans

MASKS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--part", choices=["valid", "test"], default="valid")
    options = parser.parse_args()
    network, lists = read_artifact(options.run).model, evaluation_lists(read_corpus(options.corpus), options.part)
    answers: dict[str, list[np.ndarray]] = {"by position": [], "mean of logarithms": [], "mean of probabilities": []}
    for given in lists.inputs:
        by_position = probabilities(network, given)
        by_position[:, torch.from_numpy(given)] = 0
        answers["by position"].append(best_remaining(by_position.clone()))
        answers["mean of logarithms"].append(by_position.log().mean(0).topk(MASKS).indices.numpy())
        answers["mean of probabilities"].append(by_position.mean(0).topk(MASKS).indices.numpy())
    for method, rows in answers.items():
        figures = list_metrics(np.array(rows), lists, protocol("standard"))
        print(f"{method:24s}" + "  ".join(f"{name} {mean(values):.4f}" for name, values in figures.items()))


@torch.no_grad()
def probabilities(network: HybridFans, given: np.ndarray) -> torch.Tensor:
    """Return the probability of every item at every position, over all categories, shape (K, M)."""
    hidden, _ = network.at_masks([given], [MASKS], MASKS)
    network.tied.requested = len(network.tied.starts) - 1
    return network.tied.probabilities(hidden.transpose(0, 1), torch.ones(MASKS, 1), network.vectors).clone()


def best_remaining(by_position: torch.Tensor) -> np.ndarray:
    chosen: list[int] = []
    for position in by_position:
        position[chosen] = 0
        chosen.append(int(position.argmax()))
    return np.array(chosen)


if __name__ == "__main__":
    main()
