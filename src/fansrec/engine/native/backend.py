"""The fast CPU engine: one call of the compiled kernel continues all lists of a request."""

import ctypes
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import (
    CategoryLookup,
    Continuation,
    Engine,
    Inputs,
    check_not_empty,
    check_rules,
    invalid_index,
    requested_counts,
)
from fansrec.engine.modes import AUTOREGRESSIVE, ONE_PASS, RECALL, generation_mode
from fansrec.engine.native.hybrid import HybridWeights
from fansrec.engine.native.library import UNKNOWN_ITEM, check_outcome, library
from fansrec.engine.native.library import missing as missing
from fansrec.engine.native.linear import LinearWeights
from fansrec.engine.native.structures import Call
from fansrec.engine.native.vstan import VstanWeights
from fansrec.engine.native.weights import Weights
from fansrec.engine.reference import torch_engine
from fansrec.engine.reranking import rerank
from fansrec.engine.rules import Rules
from fansrec.engine.threads import thread_count
from fansrec.models.registry import entry
from fansrec.models.stored import StoredModel, stored_model

MODES = {ONE_PASS: 0, AUTOREGRESSIVE: 1, RECALL: 2}
# The class that opens a model, by the name of the model.
OPEN = {name: kind for kind in (Weights, HybridWeights, LinearWeights, VstanWeights) for name in kind.kinds}


def why_not(model: Any, generation: str) -> str | None:
    """Return why the kernel cannot run a model in this generation mode, in one line, or None if it can."""
    if model.name not in OPEN:
        return f"the kernel does not know {model.title}"
    if isinstance(model, StoredModel):
        return None
    if type(model) is not entry(model.name).model:  # a class of another package
        return f"the kernel does not know {model.title}"
    weights = model.state_dict().values()
    if any(tensor.device.type != "cpu" for tensor in weights):
        return "its weights are not in the CPU's memory"
    if any(tensor.is_floating_point() and str(tensor.dtype) != "torch.float32" for tensor in weights):
        return "its weights are not float32"
    return None


class NativeEngine:
    """Continues lists with the kernel. It copies some weights, so a changed model needs a new engine."""

    backend = "native"
    device = "cpu"

    def __init__(
        self,
        model: Any,
        items: int,
        generation: str | None = None,
        threads: int | None = None,  # the default is torch's number of threads
    ) -> None:
        self.model = model
        self.generation = generation_mode(model, generation)
        self.items = items
        stored = stored_model(model)
        self._weights = OPEN[stored.name](stored)
        self._categories = CategoryLookup(stored.config.category_starts)
        self._longest = stored.longest_sequence()
        self._threads = threads or thread_count()
        self._continue = library().fans_continue
        self._rules = PreparedRules(Rules())
        self._reference: Engine | None = None

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        if rules.reranks:
            return rerank(self, inputs, k, rules)
        if rules.fill != "by-position":
            if self._reference is None:
                self._reference = torch_engine(self.model, self.items, "cpu", self.generation, f"fill {rules.fill}")
            return self._reference.continue_lists(inputs, k, rules)
        wanted = requested_counts(inputs, k, self.items, self._longest)
        if not wanted:
            return []
        prepared = self._rules  # a local reference, since another thread may replace it
        if prepared.rules is not rules:
            check_rules(rules, self.items)
            prepared = self._rules = PreparedRules(rules)
        items, scores, lengths = self._call_kernel(inputs, wanted, prepared)
        categories = self._categories[items]
        answers, start = [], 0
        for given, count, length in zip(inputs, wanted, lengths.tolist(), strict=True):
            here = slice(start, start + length)
            answers.append(Continuation(items[here], scores[here], categories[here]))
            if not length:
                check_not_empty(given, answers[-1], count, rules, self.items)
            start += count
        return answers

    def _call_kernel(
        self, inputs: Inputs, wanted: list[int], rules: "PreparedRules"
    ) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
        """Return items and scores, shape (sum of `wanted`,), list after list, and how many items each list received."""
        lists, total = len(inputs), sum(wanted)
        flat = np.ascontiguousarray(inputs[0] if lists == 1 else np.concatenate(inputs), dtype=np.int64)
        scores = np.empty(total, dtype=np.float32)
        # One array for all integers, since asking numpy for an address takes as long as filling a short array:
        # offsets (lists + 1), counts (lists), lengths of the answers (lists), items of the answers (total).
        integers = np.zeros(1 + 3 * lists + total, dtype=np.int64)
        integers[1 : 1 + lists] = list(accumulate(map(len, inputs)))
        integers[1 + lists : 1 + 2 * lists] = wanted
        offsets = address(integers)
        counts, lengths, items = (offsets + 8 * (1 + part * lists) for part in (1, 2, 3))
        call = Call(
            MODES[self.generation], self._threads, lists, address(flat), offsets, counts,
            *rules.fields, items, address(scores), lengths,
        )  # fmt: skip
        outcome = self._continue(self._weights.handle, ctypes.addressof(call))
        if outcome == UNKNOWN_ITEM:
            raise invalid_index(self.items)
        check_outcome(outcome)
        return integers[1 + 3 * lists :], scores, integers[1 + 2 * lists : 1 + 3 * lists]


open_backend = NativeEngine


class PreparedRules:
    """Rules as the kernel takes them: arrays that are built once and used as long as the rules stay the same."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._excluded = _int64_array(rules.exclude)
        self._allowed = _int64_array(() if rules.allow is None else rules.allow)
        self._groups = _int64_array(() if rules.groups is None else rules.groups)
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


def _int64_array(values: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values if isinstance(values, np.ndarray) else list(values), dtype=np.int64)


def address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])
