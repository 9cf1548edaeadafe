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
        # Of a list by its tiles, without the sums of items: computed once, since evaluating takes longer than a launch.
        tiles = -(-self.most_tokens // TILE)
        self.lookup = [self.kernel.call("lookup_bytes", count * TILE) for count in range(tiles + 1)]
        parts = 2 if model.linear is not None and model.config.weights.linear else 1
        self.sums = self.kernel.call("sum_bytes", model.config.alphabet.items, parts)  # of all items, in a block
        self.longest_answer = min(self.kernel.constant("CANDIDATES"), model.config.alphabet.items)

    @property
    def may_need_global_sums(self) -> bool:
        return not self.sums_fit(len(self.lookup) - 1)

    def sums_fit(self, tiles: int) -> bool:
        """Return whether the sums of all items fit into shared memory beside a list of this many tiles."""
        return self.lookup[tiles] + self.sums <= SHARED_MEMORY

    def arranging(self, k: int) -> int:
        return self.kernel.call("arrange_bytes", k)

    def halves(self, tiles: int) -> int:
        """Return how many fp16 numbers stand for each number of a list of this many tiles."""
        return 2 if tiles < len(self.encoding[2]) else 1
