"""SASRec and BERT4Rec of RecTools, in its own environment."""

import logging
import warnings
from typing import Any

import numpy as np
import pandas as pd
import torch
from benchmarks.peers.files import Lists
from numpy.typing import NDArray
from rectools import Columns
from rectools.dataset import Dataset
from rectools.models import BERT4RecModel, SASRecModel

CLASSES = {"sasrec": SASRecModel, "bert4rec": BERT4RecModel}
SEED = 0


def open_model(name: str) -> "RectoolsModel":
    return RectoolsModel(name)


class RectoolsModel:
    """A transformer of RecTools; lists are its users, and new lists are the users of a dataset of known items.

    Candidates that differ only in a larger number of epochs continue the training of the one before.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings: dict[str, Any] = {}
        self.epochs = 0
        warnings.simplefilter("ignore")
        logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    def fit(self, settings: dict[str, Any], lists: Lists, items: int) -> None:
        epochs, others = settings["epochs"], {name: value for name, value in settings.items() if name != "epochs"}
        if others != self.settings or epochs <= self.epochs:
            torch.manual_seed(SEED)
            self.model, self.settings, self.epochs = CLASSES[self.name](**others), others, 0
        more = epochs - self.epochs
        self.model.fit_partial(Dataset.construct(interactions(lists)), min_epochs=more, max_epochs=more)
        self.epochs = epochs

    def answer(self, inputs: Lists, k: int) -> NDArray[np.int64]:
        dataset = Dataset.construct(interactions(inputs))
        rows = self.model.recommend(np.arange(len(inputs)), dataset, k, True, on_unsupported_targets="ignore")
        found = np.full((len(inputs), k), -1, dtype=np.int64)
        found[rows[Columns.User], rows[Columns.Rank] - 1] = rows[Columns.Item]
        return found


def interactions(lists: Lists) -> pd.DataFrame:
    """Return a row for each item of a list; its time is its position."""
    lengths = [len(one) for one in lists]
    seconds = np.concatenate([np.arange(length) for length in lengths])
    return pd.DataFrame(
        {
            Columns.User: np.repeat(np.arange(len(lists)), lengths),
            Columns.Item: np.concatenate(lists),
            Columns.Weight: 1.0,
            Columns.Datetime: pd.Timestamp(0) + pd.to_timedelta(seconds, unit="s"),
        }
    )
