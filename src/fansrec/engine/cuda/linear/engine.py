"""Linear models alone and popularity on the GPU, with the kernels of the hybrid model's linear part.

`look_up` adds up the weights from the input's items to every item, as integers, and `blend` selects the best items
under all rules. The scores are the sums themselves, which may be negative.
"""

from typing import Any

import torch

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.engine import CudaEngine
from fansrec.engine.cuda.exchange import MAX_LENGTH
from fansrec.engine.cuda.hybrid.buffers import HybridBuffers
from fansrec.engine.cuda.hybrid.engine import without_empty_positions
from fansrec.engine.cuda.hybrid.launcher import SparseLauncher
from fansrec.engine.cuda.hybrid.sizes import SparseSizes
from fansrec.engine.cuda.hybrid.structures import Mixture
from fansrec.engine.cuda.linear.packing import MACROS, PackedLinear, largest, weights_of
from fansrec.engine.cuda.sizes import KernelConstants
from fansrec.engine.interface import Continuation
from fansrec.engine.modes import RECALL
from fansrec.engine.rules import Rules
from fansrec.models.linear.item_weights import ItemToItem
from fansrec.models.linear.popularity import Popularity

MAX_WEIGHT = 1e24  # the sums of the longest input are then far below the largest score of the kernels


def why_not(model: ItemToItem | Popularity, generation: str) -> str | None:
    """Return why these kernels cannot run a model, in one line, or None if they can."""
    if generation != RECALL:
        return f"it does not run {generation}"
    if isinstance(model, Popularity):
        return None
    weights = weights_of(model.weights)
    if weights.dtype != torch.float32:
        return "its weights are not float32"
    if not largest(weights) <= MAX_WEIGHT:  # also if it is not a number
        return f"a weight is above {MAX_WEIGHT:g} or is not a number"
    return None


class LinearBuffers(HybridBuffers):
    """The same buffers, of a model without network and list memory."""

    def _mixture(self) -> Any:
        return Mixture(network=0.0, memory=0.0, linear=1.0, bins_per_point=1.0, items=self.items)

    def _most_masks(self, generation: str) -> int:
        return 0


class LinearEngine(CudaEngine):
    """Continues lists with the kernels of the linear part; what these do not support falls back to torch."""

    slower = "linear models cannot arrange an answer; torch reports it"

    def _load(self, model: Any, items: int, stream: torch.cuda.Stream) -> None:
        device, parts = torch.device(self.device), 1 if isinstance(model, Popularity) else 2
        sizes = SparseSizes(KernelConstants(MACROS), items, parts, MAX_LENGTH)
        packed = PackedLinear(model, device, sizes.most_tokens)
        self._buffers: Any = LinearBuffers(packed, sizes, self.generation, stream)
        self._launcher: Any = SparseLauncher(MACROS, driver.SPARSE_SOURCES, packed, sizes, self._buffers)

    def _supports(self, rules: Rules) -> bool:
        return rules.fill != "arranged"

    def _answer(self, unfilled: int, answer: Continuation) -> Continuation | None:
        return without_empty_positions(unfilled, answer)
