"""Explains the items of answers: shares of the parts, the input items that speak for them, similar lists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fansrec.engine.interface import Continuation, Engine, Inputs
from fansrec.engine.modes import AUTOREGRESSIVE
from fansrec.errors import BadSetting
from fansrec.explaining.evidence import Evidence, Floats, Indices, Input, Lists
from fansrec.explaining.linear import LinearEvidence
from fansrec.explaining.memory import MemoryEvidence, VstanEvidence
from fansrec.explaining.removal import Removal
from fansrec.models.linear.config import TIE
from fansrec.models.neighbors.list_votes import Lookup
from fansrec.models.neighbors.vstan_votes import Votes
from fansrec.models.stored import StoredModel

LINEAR = ("item-knn", "ease", "rp3beta", "slist")
EXPLAINED = ("fans-hybrid", "vstan", *LINEAR)

POPULARITY, NOTHING = "popularity", "none"  # what a score comes from to which no part of the model adds anything
NEGLIGIBLE = 1e-6  # share of popularity in a score that is not named

Part = Callable[[Input, Indices], Evidence]  # of the explained items after an input


@dataclass(frozen=True)
class Explanation:
    """Why an item was selected, in item indices and list indices."""

    parts: dict[str, float]  # shares of the score that sum to 1
    because: list[tuple[int, float]]  # input items and their weights, the strongest first
    lists: Lists


class Explainer:
    """Explains the answers of an engine, from the arrays of its model."""

    def __init__(self, model: Any, engine: Engine) -> None:
        """Raise BadSetting if the model's answers cannot be explained."""
        self.engine = engine
        reason = why_not(model, engine.generation)
        if reason is not None:
            raise BadSetting(reason)
        self.parts = parts_of(model)
        self.has_network = model.name == "fans-hybrid" and bool(model.config.weights.network)
        self.ties = ties_of(model)

    def explain(
        self, inputs: Inputs, counts: Sequence[int], answers: Sequence[Continuation]
    ) -> list[list[Explanation]]:
        """Return the explanation of every item of the answers, for which `counts[i]` items were requested."""
        return [self._explain(*one) for one in zip(inputs, counts, answers, strict=True)]

    def _explain(self, given: Indices, count: int, answer: Continuation) -> list[Explanation]:
        if not len(answer.items):
            return []
        input = Input.of(given)
        evidence = [part(input, answer.items) for part in self.parts] if len(given) else []
        by_input = sum((one.by_input for one in evidence), start=np.zeros((len(answer.items), len(input.distinct))))
        because = Removal(self.engine, input, count, answer).named(by_input) if len(given) else []
        parts = shares_of(self._terms(evidence, answer), self.ties[answer.items])
        return [
            Explanation(
                parts[row],
                because[row] if because else [],
                [found for one in evidence for found in one.lists[row]],
            )
            for row in range(len(answer.items))
        ]

    def _terms(self, evidence: Sequence[Evidence], answer: Continuation) -> dict[str, Floats]:
        """Return the term (K,) of each part in the scores."""
        terms = {name: term for one in evidence for name, term in one.terms.items()}
        if self.has_network:  # what the other parts leave of the score
            rest = answer.scores - sum(terms.values(), start=np.zeros(len(answer.items)))
            terms = {"network": np.maximum(rest, 0)} | terms
        return terms


def shares_of(terms: Mapping[str, Floats], ties: Floats) -> list[dict[str, float]]:
    """Return for each of K items the shares of the parts in its score, which sum to 1.

    `ties` (K,) is what popularity adds to the scores. It is named where the terms are not much larger.
    """
    sizes = {name: np.abs(term) for name, term in terms.items()}  # a sum of weights may be below 0
    total = sum(sizes.values(), start=np.zeros(len(ties)))
    sizes[POPULARITY] = np.where(ties > NEGLIGIBLE * total, ties, 0)
    sizes[NOTHING] = np.where(total + ties == 0, 1.0, 0)
    total += sizes[POPULARITY] + sizes[NOTHING]
    return [
        {name: float(size[row] / total[row]) for name, size in sizes.items() if size[row] or name in terms}
        for row in range(len(ties))
    ]


def why_not(model: Any, generation: str) -> str | None:
    """Return why the answers of a model in this generation mode cannot be explained, or None if they can."""
    if not isinstance(model, StoredModel) or model.name not in EXPLAINED:
        return (
            f"{model.title} cannot explain its answers; leave out explain, or use the default model, V-STAN or a "
            "linear model (item-knn, ease, rp3beta, slist)"
        )
    if generation == AUTOREGRESSIVE:
        return "answers of the generation mode autoregressive cannot be explained; use recall"
    return None


def parts_of(model: StoredModel) -> list[Part]:
    """Return the parts of a model that give evidence from its arrays."""
    config, arrays = model.config, model.arrays
    items = config.category_starts[-1]
    if model.name == "vstan":
        return [VstanEvidence(Votes(_named(arrays, "memory."), config), items)]
    if model.name in LINEAR:
        decay = getattr(config, "input_decay", np.inf)
        return [LinearEvidence(_named(arrays, "weights."), items, decay)]
    parts: list[Part] = []
    weights = config.weights
    if "memory.items" in arrays and weights.memory:
        parts.append(MemoryEvidence(Lookup(_named(arrays, "memory.")), config.memory, weights.memory))
    if "linear.items" in arrays and weights.linear:
        parts.append(LinearEvidence(_named(arrays, "linear."), items, config.linear.decay, weights.linear))
    return parts


def ties_of(model: StoredModel) -> Floats:
    """Return what the popularity of each item (M,) adds to its score, so little that it only orders equal scores."""
    if model.name == "fans-hybrid":
        return np.zeros(model.config.category_starts[-1])
    popularity = model.arrays["popularity" if model.name == "vstan" else "weights.popularity"]
    return np.asarray(TIE * popularity, dtype=np.float64)


def _named(arrays: Any, prefix: str) -> dict[str, Any]:
    """Return the arrays of a part by their names in it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
