"""Similar items by what a model has learned: its item vectors, item-item weights or lists. Needs numpy only."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadSetting
from fansrec.models.stored import StoredModel

Arrays = Mapping[str, NDArray[Any]]
Scores = NDArray[np.float32]

EMBEDDING = "embed.items.weight"  # of the items and, behind them, of the special tokens
MATRIX = "weights.matrix"
TABLES = (("weights.items", "weights.weights"), ("followers", "chances"))  # of linear models, and of Markov
MEMORY = "memory.list_starts"


class ItemSimilarity:
    """The similarity of the M items of a model."""

    def __init__(self, model: Any, items: int) -> None:
        self._model, self._items = model, items
        self._arrays = _arrays(model)

    @property
    def vectors(self) -> Scores | None:
        """The item vectors (M, D) of a model that has them; not a copy."""
        vectors = self._arrays.get(EMBEDDING)
        return None if vectors is None or len(vectors) < self._items else vectors[: self._items]

    @cached_property
    def scores(self) -> Callable[[int], Scores]:
        """A function from an item to the similarity (M,) of all items to it; those above 0 are similar.

        Raises BadSetting for a model that has learned nothing about pairs of items.
        """
        if self.vectors is not None:
            return self._by_vectors
        if MATRIX in self._arrays:
            return lambda item: np.array(self._arrays[MATRIX][item], dtype=np.float32)
        for items, weights in TABLES:
            if items in self._arrays:
                return lambda item: self._spread(self._arrays[items][item], self._arrays[weights][item])
        if MEMORY in self._arrays:
            return self._by_lists
        raise BadSetting(
            f"{self._model.title} has neither item vectors nor item-item weights, so it knows no similar items; "
            f"use another model"
        )

    def _by_vectors(self, item: int) -> Scores:
        """Return the cosine of the vector of every item and that of this one."""
        vectors = self.vectors
        assert vectors is not None
        length = max(float(self._lengths[item]), 1e-30)
        cosines: Scores = (vectors @ (vectors[item] / length)) / np.maximum(self._lengths, np.float32(1e-30))
        return cosines

    @cached_property
    def _lengths(self) -> Scores:
        """The length of every item vector, (M,)."""
        vectors = self.vectors
        assert vectors is not None
        lengths: Scores = np.sqrt(np.einsum("md,md->m", vectors, vectors))
        return lengths

    def _by_lists(self, item: int) -> Scores:
        """Return the cosine of the lists of every item and those of this one: common lists by the mean of both."""
        items, starts, lists, list_starts = (
            self._arrays[f"memory.{name}"] for name in ("items", "starts", "lists", "list_starts")
        )
        own = lists[list_starts[item] : list_starts[item + 1]]
        sizes = starts[own + 1] - starts[own]
        steps = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        common = np.bincount(items[np.repeat(starts[own], sizes) + steps], minlength=self._items)
        counts = np.diff(list_starts)
        cosines: Scores = (common / np.sqrt(np.maximum(1, counts * max(1, len(own))))).astype(np.float32)
        return cosines

    def _spread(self, others: NDArray[Any], weights: NDArray[Any]) -> Scores:
        """Return the weight of every item, (M,), from the strongest ones."""
        scores = np.zeros(self._items, dtype=np.float32)
        np.maximum.at(scores, others, weights)
        return scores


def most_similar(scores: Scores, item: int, k: int) -> NDArray[np.int64]:
    """Return the `k` items with the highest scores above 0 but for the item itself; equal ones by their index."""
    scores = scores.copy()
    scores[item] = 0
    similar = np.flatnonzero(scores > 0)
    if len(similar) > k:
        limit = np.partition(scores[similar], len(similar) - k)[len(similar) - k]
        similar = similar[scores[similar] >= limit]
    return similar[np.argsort(-scores[similar], kind="stable")[:k]]


def _arrays(model: Any) -> Arrays:
    """Return the arrays of a model by name: of a stored model, or of a torch module on any device."""
    if isinstance(model, StoredModel):
        return model.arrays
    return {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
