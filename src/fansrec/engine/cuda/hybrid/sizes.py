"""The sizes of the hybrid model's kernels in shared memory, and of those that linear models use, too."""

from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.hybrid.packing import hybrid_macros, runs_network
from fansrec.engine.cuda.sizes import TILE, KernelConstants, encoding_sizes
from fansrec.models.alphabet import SPECIALS
from fansrec.models.hybrid.model import HybridFans


class SparseSizes:
    """The shared memory of `look_up` and `blend`; a subclass sets how many parts have sums of all `items`."""

    def __init__(self, kernel: KernelConstants, items: int, parts: int, most_tokens: int) -> None:
        self.kernel, self.most_tokens = kernel, most_tokens
        self.blending = kernel.constant("BLEND_BYTES")
        self.sums = kernel.call("sum_bytes", items, parts)  # of all items, in a block
        self.longest_answer = min(kernel.constant("CANDIDATES"), items)
        while kernel.call("lookup_bytes", self.most_tokens + TILE) > SHARED_MEMORY:
            self.most_tokens //= 2
        # Of a list by its tiles, without the sums of items: computed once, since evaluating takes longer than a launch.
        tiles = -(-self.most_tokens // TILE)
        self.lookup = [kernel.call("lookup_bytes", count * TILE) for count in range(tiles + 1)]

    @property
    def may_need_global_sums(self) -> bool:
        return not self.sums_fit(len(self.lookup) - 1)

    def sums_fit(self, tiles: int) -> bool:
        """Return whether the sums of all items fit into shared memory beside a list of this many tiles."""
        return self.lookup[tiles] + self.sums <= SHARED_MEMORY


class HybridSizes(SparseSizes):
    """What fits into the shared memory of a block: the longest list and the longest answer.

    Every number of the encoder is the sum of two fp16 numbers in lists of up to `split_tokens` tokens, and one fp16
    number in longer ones, of which twice as many fit.
    """

    def __init__(self, model: HybridFans) -> None:
        kernels = {halves: KernelConstants(hybrid_macros(model, halves)) for halves in (1, 2)}
        self.encoding = {halves: encoding_sizes(kernel) for halves, kernel in kernels.items()}
        most_tokens = self.split_tokens = (model.longest_sequence() or 0) + SPECIALS
        if runs_network(model):
            self.split_tokens, most_tokens = (
                min(most_tokens, (len(self.encoding[halves]) - 1) * TILE) for halves in (2, 1)
            )
        parts = 2 if model.linear is not None and model.config.weights.linear else 1
        super().__init__(kernels[2], model.config.alphabet.items, parts, most_tokens)

    def arranging(self, k: int) -> int:
        return self.kernel.call("arrange_bytes", k)

    def halves(self, tiles: int) -> int:
        """Return how many fp16 numbers stand for each number of a list of this many tiles."""
        return 2 if tiles < len(self.encoding[2]) else 1
