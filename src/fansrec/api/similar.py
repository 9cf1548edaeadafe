"""Items that a model finds similar, and its item vectors."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fansrec.api.answers import Answer, Item
from fansrec.api.formatting import Details
from fansrec.api.unknown import DidYouMean, refuse_unknown
from fansrec.artifact import Artifact
from fansrec.errors import BadSetting
from fansrec.models.similarity import ItemSimilarity, most_similar

UNKNOWN_ITEM = "the item is not known to this model"


class ItemVectors(NamedTuple):
    """The items of a model and their vectors, one row for each item."""

    items: list[Item]
    vectors: NDArray[np.float32]  # (M, D)


class SimilarItems:
    """The similar items of an artifact's model; arrays are read when they are first needed."""

    def __init__(self, artifact: Artifact, details: Details) -> None:
        self._artifact, self._vocabulary, self._details = artifact, artifact.vocabulary, details

    def answers(self, items: Sequence[object], k: int) -> list[Answer]:
        """Return an answer for each item; that of an unknown one is empty, unless it is the only item."""
        if k < 1:
            raise BadSetting(f"k is {k}; ask for at least one item")
        self._similarity.scores  # noqa: B018 - refuses a model without similar items even if no item is known
        if len(items) == 1:
            known, unknown = self._vocabulary.indices(items)
            refuse_unknown(known, unknown, self._vocabulary, UNKNOWN_ITEM)
        did_you_mean = DidYouMean(self._vocabulary)
        return [
            Answer([], [item], UNKNOWN_ITEM + did_you_mean([item]))
            if index is None
            else Answer.from_fields(self.fields(index, k))
            for item, index in zip(items, map(self._vocabulary.find, items), strict=True)
        ]

    def fields(self, index: int, k: int, digits: int | None = None) -> dict[str, Any]:
        """Return the `k` items most similar to one as the fields of an `Answer`, with scores rounded to `digits`."""
        scores = self._similarity.scores(index)
        found = most_similar(scores, index, k)
        values = scores[found].astype(np.float64)
        values = values if digits is None else values.round(digits)
        rows = zip(found.tolist(), values.tolist(), strict=True)
        return {
            "positions": [{**self._details(item), "score": score} for item, score in rows],
            "unknown": [],
            "reason": None if len(found) == k else f"only {len(found)} of {k} items are similar to this one",
        }

    def vectors(self) -> ItemVectors:
        """Return a copy of the item vectors; raise BadSetting if the model has none."""
        if self._similarity.vectors is None:
            raise BadSetting(
                f"{self._artifact.stored.title} has no item vectors; use a model that has them, such as fans, "
                f"bert4rec or sasrec"
            )
        ids = [self._vocabulary.id(index) for index in range(len(self._vocabulary))]
        return ItemVectors(ids, np.array(self._similarity.vectors, dtype=np.float32))

    @cached_property
    def _similarity(self) -> ItemSimilarity:
        return ItemSimilarity(self._artifact.stored, len(self._vocabulary))
