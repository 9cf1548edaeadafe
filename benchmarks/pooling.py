"""What ranking globally is worth: one network, its K positions made into a list in three ways.

    python benchmarks/pooling.py RUN --corpus CORPUS [--part valid]

RUN was trained by `--recipe best`; only its network is asked, with ten masks and the input's items excluded.
By position: the best item of each position that is not taken yet (the paper). Mean of logarithms: the positions'
log-probabilities averaged, then ranked. Mean of probabilities: what `--recipe best` does.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from fansrec.artifact import read_artifact
from fansrec.data.corpus import read_corpus
from fansrec.evaluation.protocol import judge, mean, protocol, questions
from fansrec.models.hybrid.model import HybridFans

MASKS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--part", choices=["valid", "test"], default="valid")
    options = parser.parse_args()
    network, asked = read_artifact(options.run).model, questions(read_corpus(options.corpus), options.part)
    answers: dict[str, list[np.ndarray]] = {"by position": [], "mean of logarithms": [], "mean of probabilities": []}
    for given in asked.inputs:
        by_position = probabilities(network, given)
        by_position[:, torch.from_numpy(given)] = 0
        answers["by position"].append(one_each(by_position.clone()))
        answers["mean of logarithms"].append(by_position.log().mean(0).topk(MASKS).indices.numpy())
        answers["mean of probabilities"].append(by_position.mean(0).topk(MASKS).indices.numpy())
    for way, rows in answers.items():
        figures = judge(np.array(rows), asked, protocol("standard"))
        print(f"{way:24s}" + "  ".join(f"{name} {mean(values):.4f}" for name, values in figures.items()))


@torch.no_grad()
def probabilities(network: HybridFans, given: np.ndarray) -> torch.Tensor:
    """(K, M): of every item at every position, all categories looked into."""
    hidden, _ = network.at_masks([given], [MASKS], MASKS)
    network.tied.asked = len(network.tied.starts) - 1
    return network.tied.probabilities(hidden.transpose(0, 1), torch.ones(MASKS, 1), network.vectors).clone()


def one_each(by_position: torch.Tensor) -> np.ndarray:
    chosen: list[int] = []
    for position in by_position:
        position[chosen] = 0
        chosen.append(int(position.argmax()))
    return np.array(chosen)


if __name__ == "__main__":
    main()
