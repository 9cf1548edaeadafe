"""FANS and the network of the hybrid model through `torch.compile`: what torch reaches without special kernels.

A compiled function has fixed shapes, so that lists are padded to one of a few lengths and numbers of lists. On a GPU it
is replayed as a CUDA graph. The selection of distinct items, list memory and mixture are those of the plain torch
engine.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch

from fansrec.engine.interface import Inputs, batches_by_length
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TOKENS_AT_ONCE, TorchEngine
from fansrec.experiments.speed.compiled_parts import CompiledEncoder, compiled_classifier, smallest
from fansrec.experiments.speed.measuring import Call
from fansrec.models.alphabet import SPECIALS
from fansrec.models.fans import Fans

MODELS = ("fans", "fans-hybrid")
LISTS = (1, 8, 64)  # numbers of lists that are compiled for
RECOMPILE_LIMIT = 256  # all models share it; beyond it, torch would run plain Python without a message
TIMES = 3  # the first call compiles, the second records a CUDA graph, the third replays it


@cache
def why_not(device: str) -> str | None:
    """Return why `torch.compile` cannot be used on a device, in one line, or None if it can."""
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.ones(8, device=device))
    except Exception as error:  # whatever a missing compiler, driver or package raises
        return next(iter(str(error).splitlines()), type(error).__name__)
    return None


class CompiledEngine(TorchEngine):
    """The plain torch engine with a compiled encoder and, for FANS, a compiled classifier."""

    def __init__(self, model: Any, items: int, device: str, longest: int) -> None:
        torch._dynamo.config.recompile_limit = RECOMPILE_LIMIT
        self.encoder = CompiledEncoder(model, longest, LISTS)
        compiled = copy.copy(model)  # with the same weights
        compiled.encode = self.encoder
        if isinstance(model, Fans):
            vars(compiled)["classifier"] = compiled_classifier(model.classifier)  # hides the child module
        super().__init__(compiled, items, device)

    def prepare(self, calls: Sequence[Call]) -> None:
        """Compile everything that the calls need: answer one call of every shape."""
        prepared: set[tuple[int, ...]] = set()
        for call in calls:
            inputs, counts = [question.input for question in call], [question.k for question in call]
            shapes = {*self._shapes(inputs, counts)}
            if not shapes <= prepared:
                prepared |= shapes
                for _ in range(TIMES):
                    self.continue_lists(inputs, counts, Rules(keep_seen=True))

    def _shapes(self, inputs: Inputs, counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
        for batch in self._batches(inputs, counts, Rules()):
            tokens = max(len(inputs[i]) + counts[i] for i in batch) + SPECIALS
            masks = max(counts[i] for i in batch)
            yield smallest(LISTS, len(batch)), smallest(self.encoder.lengths, tokens), masks.bit_length()

    def _batches(self, inputs: Inputs, counts: Sequence[int], rules: Rules) -> Iterator[list[int]]:
        lengths = [len(items) + count for items, count in zip(inputs, counts, strict=True)]
        return batches_by_length(lengths, TOKENS_AT_ONCE, LISTS[-1])
