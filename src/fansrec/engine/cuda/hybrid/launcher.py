"""The kernels of the hybrid model, with the structures that they are launched with."""

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.hybrid.buffers import MOST_THREADS, HybridBuffers
from fansrec.engine.cuda.hybrid.packing import PackedHybrid, hybrid_macros, runs_network
from fansrec.engine.cuda.launcher import CLUSTERS
from fansrec.engine.cuda.sizes import CLUSTER, THREADS, TILE, KernelConstants, encoding_sizes
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.tokens import SPECIALS


class HybridSizes:
    """What fits into the shared memory of a block: the longest list and the longest answer."""

    def __init__(self, model: HybridFans, kernel: KernelConstants) -> None:
        self._kernel = kernel
        self.encoding = encoding_sizes(kernel)
        self.blending = kernel.constant("BLEND_BYTES")
        self.most_tokens = model.longest_sequence() + SPECIALS
        if runs_network(model):
            self.most_tokens = min(self.most_tokens, (len(self.encoding) - 1) * TILE)
        while self.lookup(-(-self.most_tokens // TILE)) > SHARED_MEMORY:
            self.most_tokens //= 2
        self.longest_answer = kernel.constant("CANDIDATES")

    def lookup(self, tiles: int) -> int:
        return self._kernel.call("lookup_bytes", tiles * TILE)


class HybridLauncher:
    """Starts the kernels; what changes from call to call is written into the structures of `buffers`."""

    def __init__(self, model: HybridFans, packed: PackedHybrid, buffers: HybridBuffers) -> None:
        macros = hybrid_macros(model)
        self.program = driver.Program(macros, packed.device, driver.HYBRID_SOURCES)
        kernel = KernelConstants(macros)
        self.sizes = HybridSizes(model, kernel)
        self._buffers, self._runs_network = buffers, runs_network(model)
        b, request, inline = buffers, buffers.request, buffers.inline_items
        looking_up = [packed.memory, packed.linear, b.mixture, b.rules, request, b.lookup_scratch, b.sparse, inline]
        encoding = [packed.encoder, request, b.states, inline]
        blending = [packed.tied, b.mixture, b.rules, request, b.sparse, b.states, b.blend_scratch, b.answer]
        make = self.program.kernel
        # One list: as many threads as possible. Many: the lists of several clusters share a multiprocessor.
        self._look_up = [make("look_up", looking_up, threads, SHARED_MEMORY) for threads in (MOST_THREADS, THREADS)]
        self._encode = [make(name, encoding, THREADS, SHARED_MEMORY) for name in ("encode_one", "encode_many")]
        most = kernel.constant("BLEND_THREADS")
        self._blend = [make("blend", blending, threads, self.sizes.blending) for threads in (most, THREADS)]
        for started in (*self._look_up, *self._encode, *self._blend):
            started.launch.stream = buffers.stream.cuda_stream

    def start(self, lists: int, positions: int, longest: int, tiles: int) -> None:
        """Start all kernels; `tiles` are those of the longest list."""
        self.start_encoding(lists, tiles)
        self.start_selection(positions, longest)

    def start_encoding(self, lists: int, tiles: int) -> None:
        """Start the lookup and the encoder, which run at the same time."""
        buffers, many = self._buffers, lists > CLUSTERS
        buffers.request.tiles = tiles
        self._look_up[many].start(min(lists, buffers.clusters) * CLUSTER, 1, self.sizes.lookup(tiles))
        if self._runs_network:
            self._encode[many].start(min(lists, 2 * CLUSTERS) * CLUSTER, 1, self.sizes.encoding[tiles])

    def start_selection(self, positions: int, longest: int) -> None:
        buffers = self._buffers
        lists = buffers.request.lists
        self._blend[lists > CLUSTERS].start(min(lists, buffers.clusters) * CLUSTER, 1, self.sizes.blending)
