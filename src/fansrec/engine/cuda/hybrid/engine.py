"""The hybrid model on the GPU: the same engine with other kernels.

`look_up` computes the scores of list memory and linear part for every item, `encode` runs the network at the same time,
and `blend` adds up all parts and selects the best items. The encoder multiplies sums of two fp16 numbers, which have 22
bits, and adds up in fp32; everything after it is fp32.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.cuda.batches import Batch, batches
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.engine import CudaEngine
from fansrec.engine.cuda.hybrid.buffers import HybridBuffers
from fansrec.engine.cuda.hybrid.launcher import HybridLauncher
from fansrec.engine.cuda.hybrid.packing import PackedHybrid, runs_network
from fansrec.engine.cuda.hybrid.sizes import HybridSizes
from fansrec.engine.cuda.support import why_not_encoder
from fansrec.engine.cuda.transfer import Transfer
from fansrec.engine.interface import Continuation, Inputs
from fansrec.engine.modes import ONE_PASS, RECALL
from fansrec.engine.rules import Rules
from fansrec.models.alphabet import SPECIALS
from fansrec.models.hybrid.model import HybridFans

MAX_READ_MASKS = 14  # with the state after the input, the rows of one half warp
MAX_PLACES = 1 << 16  # positions of a list in the memory


def why_not(model: HybridFans, generation: str) -> str | None:
    """Return why these kernels cannot run a model, in one line, or None if they can."""
    config = model.config
    if generation not in (ONE_PASS, RECALL):
        return f"it does not run {generation}"
    if model.memory is not None and int(model.memory.places.numpy().max(initial=0)) >= MAX_PLACES:
        return f"a list in its memory has more than {MAX_PLACES:,} items"
    if not runs_network(model):
        return None
    if (
        reason := why_not_encoder(model, config.network, config.category_starts, model.tied.category is not None)
    ) is not None:
        return reason
    if config.network.read_masks > MAX_READ_MASKS:
        return f"it reads at most {MAX_READ_MASKS} masks"
    if HybridSizes(model).blending > SHARED_MEMORY:
        return "its categories do not fit into shared memory"
    return None


class HybridEngine(CudaEngine):
    """Continues lists with the kernels of the hybrid model; what these do not support falls back to torch."""

    slower = "arranged answers of a model whose network has no weight, or in recall mode, run on torch, which is slower"

    def _load(self, model: Any, items: int, stream: torch.cuda.Stream) -> None:
        packed = PackedHybrid(model, torch.device(self.device))
        sizes = HybridSizes(model)
        self._buffers: Any = HybridBuffers(packed, sizes, self.generation, stream)
        self._launcher: Any = HybridLauncher(model, packed, sizes, self._buffers)

    def _supports(self, rules: Rules) -> bool:
        return rules.fill != "arranged" or (self.generation == ONE_PASS and runs_network(self.model))

    def _continue_one(self, given: NDArray[np.int64], k: int, rules: Rules) -> Continuation | None:
        """Continue a single list, unless its items are arranged: the GPU reads these again before they are final."""
        return None if rules.fill == "arranged" else super()._continue_one(given, k, rules)

    def _start(self, batch: Batch, rules: Rules) -> Transfer:
        if rules.fill == "arranged":
            self._buffers.reserve_arrangement(batch.positions, int(batch.counts.max()))
        return super()._start(batch, rules)

    def _batches(self, inputs: Inputs, counts: Sequence[int]) -> Iterator[Batch]:
        """Yield long lists apart from the others, whose numbers are exact to more bits."""
        most, positions = self._max_count, self._buffers.max_positions
        split = min(self._launcher.sizes.split_tokens - SPECIALS, self._max_length)
        yield from batches(inputs, counts, self._max_length, most, positions, split + 1)
        yield from batches(inputs, counts, split, most, positions)

    def _answer(self, unfilled: int, answer: Continuation) -> Continuation | None:
        return without_empty_positions(unfilled, answer)


def without_empty_positions(unfilled: int, answer: Continuation) -> Continuation | None:
    """Return an answer without its empty positions; None if groups need more candidates than the kernels sort."""
    if unfilled:
        return None
    if len(answer.items) and answer.items[-1] < 0:  # the empty positions are the last ones
        filled = int((answer.items >= 0).sum())
        return Continuation(answer.items[:filled], answer.scores[:filled], answer.categories[:filled])
    return answer
