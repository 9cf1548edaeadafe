"""Models of this project, in the environment that runs `python -m benchmarks.peers`."""

from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.files import Lists
from numpy.typing import NDArray

from fansrec.artifact import read_artifact
from fansrec.engine.backends import open_engine
from fansrec.engine.rules import Rules
from fansrec.evaluation.protocol import first_items
from fansrec.training.trainer import train


def open_model(name: str) -> "FansrecModel":
    return FansrecModel(name)


class FansrecModel:
    """A model as `fans train` trains it; the settings are the corpus, and the run unless it is already trained."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, settings: dict[str, Any], lists: Lists, items: int) -> None:
        run = Path(settings["run"])
        if not settings["trained"]:
            train(settings["corpus"], run, self.name, compare=False)
        self.engine = open_engine(read_artifact(run).model, items)

    def answer(self, inputs: Lists, k: int) -> NDArray[np.int64]:
        return first_items([answer.items for answer in self.engine.continue_lists(inputs, [k] * len(inputs), Rules())])
