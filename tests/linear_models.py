"""Linear models fitted to small lists."""

from typing import Any

import numpy as np

from fansrec.models.registry import build
from worlds import walks

CORPUS = walks()
LISTS = [[0, 1], [1, 0, 0, 2], [2, 3]]
KEPT = "neighbours"  # words: keep; the setting of the weights that are kept for each item
EMPTY = np.array([], dtype=np.int64)
INPUTS = [np.array([3, 4, 5, 3]), EMPTY, np.arange(20, 30), np.array([59])]


def fitted(name: str, **settings: Any) -> Any:
    """Return a model that was fitted to the walks."""
    model = build(name, {"category_starts": (0, 60), **settings})
    model.fit(CORPUS.items, CORPUS.offsets)
    return model


def fitted_to(lists: list[list[int]], items: int, name: str, **settings: Any) -> Any:
    """Return a model of this number of items that was fitted to these lists."""
    model = build(name, {"category_starts": (0, items), **settings})
    model.fit(np.concatenate(lists).astype(np.int32), np.cumsum([0, *map(len, lists)]))
    return model


def scores(model: Any, *items: int) -> list[float]:
    """Return the scores after these items."""
    return model.score_next([np.array(items, dtype=np.int64)])[0].tolist()
