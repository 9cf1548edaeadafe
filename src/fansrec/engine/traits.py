"""What re-ranking knows of the items of a model: how similar, how popular and how new they are. Needs numpy only."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import Artifact
from fansrec.errors import BadSetting
from fansrec.models.similarity import ItemSimilarity
from fansrec.models.stored import StoredModel
from fansrec.vocabulary import Vocabulary

Values = NDArray[np.float64]

MEMORY_LISTS = "memory.list_starts"  # the array of a list memory from which the number of lists of each item follows


class ItemTraits:
    """The similarity, popularity and age of the M items of a model; everything is computed when it is first used."""

    def __init__(self, stored: Any, vocabulary: Vocabulary, counts: NDArray[np.int64] | None) -> None:
        self.items = len(vocabulary)
        self._stored, self._vocabulary, self._counts = stored, vocabulary, counts

    @cached_property
    def popularity(self) -> Values | None:
        """The logarithm of one more than the number of training lists of each item, (M,); None if it is not known."""
        counts = self._counts
        if counts is None and isinstance(self._stored, StoredModel) and MEMORY_LISTS in self._stored.arrays:
            counts = np.diff(self._stored.arrays[MEMORY_LISTS])
        return None if counts is None else np.log1p(counts.astype(np.float64))

    @cached_property
    def days(self) -> Values | None:
        """The date of each item in days since 1970, (M,), NaN for an item without one; None if no item has a date."""
        return self._vocabulary.days if self._vocabulary.dates else None

    def similarities(self, items: NDArray[np.int64]) -> Callable[[int], Values]:
        """Return a function from a position in `items` (n,) to the similarity, 0 to 1, of all of them to that item.

        It is the cosine of the item vectors. A model without vectors has its weights between items instead, one that
        has learned nothing about pairs the common categories. Where groups are known, having the same one is half of
        the similarity.
        """
        learned = self._learned(items)
        if not self._vocabulary.groups:
            return learned
        groups = self._vocabulary.group_indices[items]
        return lambda position: (learned(position) + (groups == groups[position])) / 2

    def _learned(self, items: NDArray[np.int64]) -> Callable[[int], Values]:
        """Return what the model has learned about pairs of the items, as `similarities` does."""
        if (fetch := getattr(self._stored, "fetch_vectors", None)) is not None:  # the items are on shards
            order = np.argsort(items)
            return _cosines(fetch(items[order])[np.argsort(order)])
        similarity = self._similarity
        if similarity is None:
            categories = self._vocabulary.categories[items]
            return lambda position: (categories == categories[position]).astype(np.float64)
        if similarity.vectors is None:
            return lambda position: _scaled(similarity.scores(int(items[position]))[items], position)
        return _cosines(similarity.vectors[items])

    @cached_property
    def _similarity(self) -> ItemSimilarity | None:
        similarity = ItemSimilarity(self._stored, self.items)
        try:
            similarity.scores  # noqa: B018 - raises BadSetting if the model has learned nothing about pairs of items
        except BadSetting:
            return None
        return similarity


def traits_of(artifact: Artifact) -> ItemTraits:
    """Return the traits of the items of a trained model."""
    return ItemTraits(artifact.stored, artifact.vocabulary, artifact.counts)


def _cosines(rows: NDArray[np.float32]) -> Callable[[int], Values]:
    """Return a function from a row of `rows` (n, D) to the cosine of each of them with that row, at least 0."""
    vectors = rows.astype(np.float64)
    vectors /= np.maximum(np.sqrt(np.einsum("nd,nd->n", vectors, vectors)), 1e-30)[:, None]
    return lambda position: np.maximum(vectors @ vectors[position], 0)


def _scaled(weights: NDArray[Any], position: int) -> Values:
    """Return weights of items to one of them, (n,), as parts of the largest weight to another item."""
    similar = np.maximum(weights.astype(np.float64), 0)
    similar[position] = 0
    similar /= max(float(similar.max()), 1e-30)
    similar[position] = 1
    return similar
