"""The kernels of the hybrid model, with the structures that they are launched with."""

import ctypes
from functools import cached_property
from typing import Any

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.hybrid.buffers import HybridBuffers
from fansrec.engine.cuda.hybrid.packing import PackedHybrid, hybrid_macros, runs_network
from fansrec.engine.cuda.hybrid.sizes import HybridSizes, SparseSizes
from fansrec.engine.cuda.launcher import CLUSTERS
from fansrec.engine.cuda.sizes import CLUSTER, THREADS
from fansrec.models.hybrid.model import HybridFans

MOST_THREADS = 1024  # of a block of `look_up`


class SparseLauncher:
    """Starts `look_up` and `blend`; what changes from call to call is written into the structures of `buffers`."""

    def __init__(self, program: driver.Program, packed: Any, sizes: SparseSizes, buffers: HybridBuffers) -> None:
        self.program, self._buffers, self.sizes = program, buffers, sizes
        b, request, inline = buffers, buffers.request, buffers.inline_items
        looking_up = [packed.memory, packed.linear, b.mixture, b.rules, request, b.lookup_scratch, b.sparse, inline]
        blending = [packed.tied, b.mixture, b.rules, request, b.sparse, b.states, b.blend_scratch, b.answer]
        # One list: as many threads as possible. Many: the lists of several clusters share a multiprocessor.
        most = sizes.kernel.constant("BLEND_THREADS")
        self._look_up = [self._kernel("look_up", looking_up, threads) for threads in (MOST_THREADS, THREADS)]
        self._blend = [self._kernel("blend", blending, threads) for threads in (most, THREADS)]

    def _kernel(
        self, name: str, arguments: list[ctypes.Structure], threads: int, program: driver.Program | None = None
    ) -> driver.Kernel:
        kernel = (program or self.program).kernel(name, arguments, threads, SHARED_MEMORY)
        kernel.launch.stream = self._buffers.stream.cuda_stream
        return kernel

    def start(self, lists: int, positions: int, longest: int, tiles: int) -> None:
        """Start all kernels; `tiles` are those of the longest list."""
        self.start_encoding(lists, tiles)
        self.start_selection(positions, longest)

    def start_encoding(self, lists: int, tiles: int) -> None:
        """Start the lookup."""
        buffers, many = self._buffers, lists > CLUSTERS
        buffers.request.tiles = tiles
        in_shared = self.sizes.sums_fit(tiles)  # then a block has a multiprocessor to itself
        buffers.place_sums(in_shared)
        size = self.sizes.lookup(tiles) + (self.sizes.sums if in_shared else 0)
        self._look_up[many and not in_shared].start(min(lists, buffers.clusters) * CLUSTER, 1, size)

    def start_selection(self, positions: int, longest: int) -> None:
        """Start the mixture and the selection."""
        lists = self._buffers.request.lists
        self._blend[lists > CLUSTERS].start(min(lists, self._buffers.clusters) * CLUSTER, 1, self.sizes.blending)


class HybridLauncher(SparseLauncher):
    """Starts all kernels of the hybrid model."""

    sizes: HybridSizes

    def __init__(self, model: HybridFans, packed: PackedHybrid, sizes: HybridSizes, buffers: HybridBuffers) -> None:
        self._model, self._packed = model, packed
        super().__init__(self._program(2), packed, sizes, buffers)
        arranging = [packed.tied, buffers.request, buffers.states, buffers.arrangement, buffers.answer]
        self._arrange = self._kernel("arrange", arranging, THREADS)
        self._split_encoders = self._encoders(self.program)

    def _program(self, halves: int) -> driver.Program:
        return driver.Program(hybrid_macros(self._model, halves), self._packed.device, driver.HYBRID_SOURCES)

    def _encoders(self, program: driver.Program) -> list[driver.Kernel]:
        """Return the encoder for few lists and the one for many."""
        buffers = self._buffers
        arguments = [self._packed.encoder, buffers.request, buffers.states, buffers.inline_items]
        return [self._kernel(name, arguments, THREADS, program) for name in ("encode_one", "encode_many")]

    @cached_property
    def _plain_encoders(self) -> list[driver.Kernel]:
        """The encoders of long lists, compiled when the first one comes."""
        self._plain_program = self._program(1)
        return self._encoders(self._plain_program)

    def start_encoding(self, lists: int, tiles: int) -> None:
        """Start the lookup and the encoder, which run at the same time."""
        super().start_encoding(lists, tiles)
        if runs_network(self._model):
            halves = self.sizes.halves(tiles)
            encoder = (self._split_encoders if halves == 2 else self._plain_encoders)[lists > CLUSTERS]
            encoder.start(min(lists, 2 * CLUSTERS) * CLUSTER, 1, self.sizes.encoding[halves][tiles])

    def start_selection(self, positions: int, longest: int) -> None:
        """Start the mixture and, if the request is for arranged items, their arrangement."""
        super().start_selection(positions, longest)
        buffers = self._buffers
        if buffers.request.all_masks:
            clusters = min(buffers.request.lists, buffers.arranging)
            self._arrange.start(clusters * CLUSTER, 1, self.sizes.arranging(longest))
