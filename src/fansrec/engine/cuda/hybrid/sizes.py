"""The sizes of the hybrid model's kernels in shared memory."""

from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.hybrid.packing import hybrid_macros, runs_network
from fansrec.engine.cuda.sizes import TILE, KernelConstants, encoding_sizes
from fansrec.models.alphabet import SPECIALS
from fansrec.models.hybrid.model import HybridFans


class HybridSizes:
    """What fits into the shared memory of a block: the longest list and the longest answer.

    Every number of the encoder is the sum of two fp16 numbers in lists of up to `split_tokens` tokens, and one fp16
    number in longer ones, of which twice as many fit.
    """

    def __init__(self, model: HybridFans) -> None:
        kernels = {halves: KernelConstants(hybrid_macros(model, halves)) for halves in (1, 2)}
        self.kernel = kernels[2]
        self.encoding = {halves: encoding_sizes(kernel) for halves, kernel in kernels.items()}
        self.blending = self.kernel.constant("BLEND_BYTES")
        self.most_tokens = self.split_tokens = (model.longest_sequence() or 0) + SPECIALS
        if runs_network(model):
            self.split_tokens, self.most_tokens = (
                min(self.most_tokens, (len(self.encoding[halves]) - 1) * TILE) for halves in (2, 1)
            )
        while self.kernel.call("lookup_bytes", self.most_tokens + TILE) > SHARED_MEMORY:
            self.most_tokens //= 2
        self.sums = self._sums(model)  # bytes for the sums of all items in a block; 0: they are in global memory
        self.longest_answer = self.kernel.constant("CANDIDATES")

    def _sums(self, model: HybridFans) -> int:
        parts = 2 if model.linear is not None and model.config.weights.linear else 1
        size = self.kernel.call("sum_bytes", model.config.alphabet.items, parts)
        fits = size + self.kernel.call("lookup_bytes", self.most_tokens + TILE) <= SHARED_MEMORY
        return size if fits else 0

    def lookup(self, tiles: int) -> int:
        return self.sums + self.kernel.call("lookup_bytes", tiles * TILE)

    def arranging(self, k: int) -> int:
        return self.kernel.call("arrange_bytes", k)

    def halves(self, tiles: int) -> int:
        """Return how many fp16 numbers stand for each number of a list of this many tiles."""
        return 2 if tiles < len(self.encoding[2]) else 1
