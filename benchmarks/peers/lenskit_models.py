"""Item-kNN of LensKit, in its own environment."""

from typing import Any

import numpy as np
import pandas as pd
from benchmarks.peers.files import Lists
from lenskit.batch import recommend as recommend_all
from lenskit.data import ItemList, RecQuery, from_interactions_df
from lenskit.knn import ItemKNNScorer
from lenskit.operations import recommend
from lenskit.pipeline import topn_pipeline
from numpy.typing import NDArray


def open_model(name: str) -> "LenskitModel":
    if name != "item-knn":
        raise ValueError(f"{name} is not a model of this module; it has item-knn")
    return LenskitModel()


class LenskitModel:
    """A top-N pipeline of LensKit; lists are its users, and the items of a new list are given with the query."""

    def fit(self, settings: dict[str, Any], lists: Lists, items: int) -> None:
        self.pipeline = topn_pipeline(ItemKNNScorer(feedback="implicit", **settings))
        self.known = np.zeros(items, dtype=bool)
        self.known[np.concatenate(lists)] = True
        self.pipeline.train(from_interactions_df(interactions(lists)))

    def answer(self, inputs: Lists, k: int) -> NDArray[np.int64]:
        inputs = [one[self.known[one]] for one in inputs]  # items that no list had are refused
        found = np.full((len(inputs), k), -1, dtype=np.int64)
        if len(inputs) == 1:
            answers = [recommend(self.pipeline, query(0, inputs[0]), n=k)]
        else:
            queries = [query(number, one) for number, one in enumerate(inputs)]
            collection = recommend_all(self.pipeline, queries, n=k, n_jobs=1)  # starting processes takes longer
            answers = [collection.lookup(number) for number in range(len(inputs))]
        for row, answer in zip(found, answers, strict=True):
            row[: len(answer)] = answer.ids()
        return found


def query(number: int, items: NDArray[np.int64]) -> RecQuery:
    return RecQuery(query_id=number, history_items=ItemList(np.unique(items)))


def interactions(lists: Lists) -> pd.DataFrame:
    """Return a row for each item of a list; items that a list repeats have one row."""
    rows = [np.unique(one) for one in lists]
    users = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return pd.DataFrame({"user_id": users, "item_id": np.concatenate(rows)})
