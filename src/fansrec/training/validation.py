"""The figures on the validation lists, which the processes of a training run share."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.evaluation.protocol import evaluation_lists, list_metrics, mean, predict, protocol
from fansrec.training.settings import TrainSettings


class EpochFigures(Protocol):
    """What the training loop validates with after each epoch."""

    def figures(self) -> dict[str, float]:
        """Return the figures of the network as it is now; those named `valid …` may decide which epoch is kept."""


class Validation:
    """The validation lists of a process, and the protocol that they are evaluated with."""

    def __init__(self, network: Any, corpus: Corpus, settings: TrainSettings, accelerator: Accelerator) -> None:
        self.network, self.accelerator = network, accelerator
        self.engine = TorchEngine(network, network.config.alphabet.items, accelerator.device)
        lists = evaluation_lists(corpus, "valid", settings.validation_lists)
        # The paper ignores lists with fewer than 5 targets in figures at 5; if there are no others, all count.
        as_paper = settings.recipe == "paper" and any(len(target) >= 5 for target in lists.targets)
        self.protocol = protocol("paper" if as_paper else "standard")
        self.lists = lists.every(accelerator.num_processes, accelerator.process_index)

    def figures(self) -> dict[str, float]:
        """Return the figures over all processes, with the whole target masked in every curriculum step."""
        self.network.eval()
        figures = list_metrics(predict(self.engine, self.lists, self.protocol), self.lists, self.protocol)
        return {f"valid {name}": mean_of_processes(figures[name], self.accelerator) for name in ("HR@5", "NDCG@5")}


def mean_of_processes(values: NDArray[np.float64], accelerator: Accelerator) -> float:
    """Return the mean over the lists of all processes."""
    if accelerator.num_processes == 1:
        return mean(values)
    own = torch.tensor([values.sum(), len(values)], dtype=torch.float64, device=accelerator.device)
    total, count = accelerator.reduce(own, "sum").tolist()
    return total / count if count else math.nan


def best_figures(history: Sequence[Mapping[str, Any]], watch: str) -> dict[str, Any]:
    """Return the validation figures and the number of the best epoch of the last curriculum step."""
    last = [row for row in history if row["curriculum_step"] == history[-1]["curriculum_step"]]
    best = max(last, key=lambda row: row[f"valid {watch}"])
    return {name: value for name, value in best.items() if name.startswith("valid")} | {"epoch": best["epoch"]}
