"""The fast CPU engine: a compiled kernel turns the item numbers of a call into its answers, no Python in between."""

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.generation import AUTOREGRESSIVE, ONE_PASS, RECALL, generation_mode
from fansrec.engine.interface import (
    CategoryLookup,
    Continuation,
    Inputs,
    check_not_empty,
    check_rules,
    invalid_index,
    requested_counts,
)
from fansrec.engine.native.hybrid import BestWeights
from fansrec.engine.native.library import UNKNOWN_ITEM, Call, check_outcome, library, missing
from fansrec.engine.native.weights import KINDS, Weights
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.contract import ContinuationModel
from fansrec.models.hybrid.model import HybridFans

__all__ = ["NativeEngine", "missing", "open_backend", "why_not"]

WAYS = {ONE_PASS: 0, AUTOREGRESSIVE: 1, RECALL: 2}


def why_not(model: Any, generation: str) -> str | None:
    """What keeps the kernel from running a model this way, in a line; None: nothing."""
    if type(model) not in KINDS and type(model) is not HybridFans:
        return f"the kernel does not know {model.title}"
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return "its weights are not float32"
    if any(tensor.device.type != "cpu" for tensor in model.parameters()):
        return "its weights are not in the CPU's memory"
    return None


def open_backend(model: ContinuationModel, items: int, generation: str) -> "NativeEngine":
    return NativeEngine(model, items, generation)


class NativeEngine:
    """Reads the weights where they lie, and items also as copies of its own: a changed model needs a new engine."""

    backend = "native"

    def __init__(
        self,
        model: Any,
        items: int,
        generation: str | None = None,
        threads: int | None = None,  # as many as torch would use
    ) -> None:
        self.model = model
        self.generation = generation_mode(model, generation)
        self.items = items
        self.device = torch.device("cpu")
        self._reference = TorchEngine(model, items, generation=self.generation)
        self._weights = BestWeights(model) if isinstance(model, HybridFans) else Weights(model)
        self._categories = CategoryLookup(model.config.category_starts)
        self._longest = model.longest_sequence()
        self._threads = threads or torch.get_num_threads()
        self._continue = getattr(library(), self._weights.entry)
        self._rules = PreparedRules(Rules())

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        if rules.fill != "by-position":
            return self._reference.continue_lists(inputs, k, rules)
        wanted = requested_counts(inputs, k, self.items, self._longest)
        if not wanted:
            return []
        prepared = self._rules  # another thread may put its own there
        if prepared.rules is not rules:
            check_rules(rules, self.items)
            prepared = self._rules = PreparedRules(rules)
        items, scores, answered = self._ask(inputs, wanted, prepared)
        categories = self._categories[items]
        answers, start = [], 0
        for own, count, given in zip(inputs, wanted, answered.tolist(), strict=True):
            here = slice(start, start + given)
            answers.append(Continuation(items[here], scores[here], categories[here]))
            if not given:
                check_not_empty(own, answers[-1], count, rules, self.items)
            start += count
        return answers

    def _ask(
        self, inputs: Inputs, wanted: list[int], rules: "PreparedRules"
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Items and scores, list after list with `wanted` places each, and how many of these each list fills."""
        lists, places = len(inputs), sum(wanted)
        flat = np.ascontiguousarray(inputs[0] if lists == 1 else np.concatenate(inputs), dtype=np.int64)
        scores = np.empty(places, dtype=np.float32)
        # One array for all other numbers: to ask numpy for an address takes as long as to fill a short array.
        numbers = np.zeros(1 + 3 * lists + places, dtype=np.int64)
        numbers[1 : 1 + lists] = list(accumulate(map(len, inputs)))
        numbers[1 + lists : 1 + 2 * lists] = wanted
        offsets = address(numbers)
        counts, answered, items = (offsets + 8 * (1 + part * lists) for part in (1, 2, 3))
        call = Call(
            WAYS[self.generation], self._threads, lists, address(flat), offsets, counts,
            *rules.fields, items, address(scores), answered,
        )  # fmt: skip
        outcome = self._continue(self._weights.address, ctypes.addressof(call))
        if outcome == UNKNOWN_ITEM:
            raise invalid_index(self.items)
        check_outcome(outcome)
        return numbers[1 + 3 * lists :], scores, numbers[1 + 2 * lists : 1 + 3 * lists]


class PreparedRules:
    """Rules as the kernel takes them: numbers in arrays, made once for as long as the rules stay the same."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._excluded = _numbers(rules.exclude)
        self._allowed = _numbers(() if rules.allow is None else rules.allow)
        self._groups = _numbers(() if rules.groups is None else rules.groups)
        self.fields = (
            len(self._excluded),
            -1 if rules.allow is None else len(self._allowed),
            address(self._excluded),
            address(self._allowed),
            address(self._groups),
            rules.max_per_group or 0,
            int(rules.keep_seen),
            -np.inf if rules.min_score is None else rules.min_score,
        )


def _numbers(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
