"""Explains the items of answers: shares of the parts, the input items that speak for them, similar lists."""

from collections.abc import Callable, Sequence
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
from fansrec.models.neighbors.list_votes import Lookup
from fansrec.models.neighbors.vstan_votes import Votes
from fansrec.models.stored import StoredModel

LINEAR = ("item-knn", "ease", "rp3beta", "slist")
EXPLAINED = ("fans-hybrid", "vstan", *LINEAR)

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
        shares = self._shares(evidence, answer.scores.astype(np.float64))
        return [
            Explanation(
                {name: float(share[row]) for name, share in shares.items()},
                because[row] if because else [],
                [found for one in evidence for found in one.lists[row]],
            )
            for row in range(len(answer.items))
        ]

    def _shares(self, evidence: Sequence[Evidence], scores: Floats) -> dict[str, Floats]:
        """Return the share (K,) of each part in the scores; all are 0 where no part speaks for an item."""
        terms = {name: term for one in evidence for name, term in one.terms.items()}
        if self.has_network:  # what the other parts leave of the score
            rest = scores - sum(terms.values(), start=np.zeros(len(scores)))
            terms = {"network": np.maximum(rest, 0)} | terms
        totals = sum(terms.values(), start=np.zeros(len(scores)))
        return {name: term / np.where(totals > 0, totals, 1) for name, term in terms.items()}


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


def _named(arrays: Any, prefix: str) -> dict[str, Any]:
    """Return the arrays of a part by their names in it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
