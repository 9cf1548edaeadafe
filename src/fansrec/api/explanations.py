"""Formats the explanations of answers with the ids and names of items and lists: for Python, HTTP and files."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from fansrec.api.formatting import CACHED_ITEMS, Details
from fansrec.artifact import Artifact
from fansrec.engine.interface import Continuation, Engine, Inputs
from fansrec.explaining.explainer import Explainer, Explanation


class Explanations:
    """The explanations of a model's answers, as the fields of `answers.Explanation`."""

    def __init__(self, artifact: Artifact, engine: Engine, details: Details) -> None:
        """Raise BadSetting if the model's answers cannot be explained."""
        self._explainer = Explainer(artifact.stored, engine)
        self._artifact, self._details = artifact, details
        # Items that are in no list themselves (updating/borrowed.py).
        self._borrowing = frozenset(artifact.config.get("updates", {}).get("borrowed", ()))

        self._list_details = lru_cache(CACHED_ITEMS)(self._describe_list)

    def _describe_list(self, index: int) -> dict[str, str | None]:
        names = self._artifact.list_names
        return {"id": names.id(index), "title": names.title(index)} if names else {"id": None, "title": None}

    def prepare(self) -> None:
        """Read what explanations need beside the model, so that the first one takes no longer than others."""
        self._artifact.list_names  # noqa: B018

    def fields(
        self, inputs: Inputs, counts: Sequence[int], answers: Sequence[Continuation], digits: int | None = None
    ) -> list[list[dict[str, Any]]]:
        """Return the fields for every item of every answer; numbers are rounded to `digits` if given."""
        explained = self._explainer.explain(inputs, counts, answers)
        return [
            [self._fields(int(item), one, digits) for item, one in zip(answer.items, found, strict=True)]
            for answer, found in zip(answers, explained, strict=True)
        ]

    def _fields(self, item: int, explanation: Explanation, digits: int | None) -> dict[str, Any]:
        def rounded(number: float) -> float:
            return number if digits is None else round(number, digits)

        because = [(self._details(reason), weight) for reason, weight in explanation.because]
        lists = [] if str(self._details(item)["item"]) in self._borrowing else explanation.lists
        return {
            "parts": {name: rounded(share) for name, share in explanation.parts.items()},
            "because": [
                {"item": reason["item"], "name": reason["name"], "weight": rounded(weight)}
                for reason, weight in because
            ],
            "lists": [
                {**self._list_details(index), "similarity": rounded(similarity), "shared": shared}
                for index, similarity, shared in lists
            ],
        }
