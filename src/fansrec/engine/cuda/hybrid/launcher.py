"""The kernels of the hybrid model, with the structures that they are launched with."""

import ctypes
from collections.abc import Sequence
from functools import cached_property

import torch

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.hybrid.buffers import HybridBuffers
from fansrec.engine.cuda.hybrid.packing import DeviceArrays, PackedHybrid, hybrid_macros, runs_network
from fansrec.engine.cuda.hybrid.sizes import HybridSizes, SparseSizes
from fansrec.engine.cuda.launcher import CLUSTERS
from fansrec.engine.cuda.sizes import CLUSTER, THREADS
from fansrec.models.hybrid.model import HybridFans

MOST_THREADS = 1024  # of a block of `look_up`
GRID = 32  # blocks that share a single list: barriers take longer with more, and the encoder runs at the same time
MIN_MULTIPROCESSORS = 64  # of a GPU for that


def grid_blocks(device: torch.device) -> int:
    """Return how many blocks share a single list: on a small GPU, or a part of one, a cluster as in batches."""
    enough = torch.cuda.get_device_properties(device).multi_processor_count >= MIN_MULTIPROCESSORS
    return GRID if enough else CLUSTER


class SparseLauncher:
    """Starts `look_up` and `blend`; what changes from call to call is written into the structures of `buffers`."""

    def __init__(
        self,
        macros: dict[str, int],
        sources: Sequence[str],
        packed: DeviceArrays,
        sizes: SparseSizes,
        buffers: HybridBuffers,
    ) -> None:
        self.program = driver.Program(macros, packed.device, sources)
        self._buffers, self.sizes, self._grid = buffers, sizes, grid_blocks(packed.device)
        b, request, inline = buffers, buffers.request, buffers.inline_items
        looking_up = [packed.memory, packed.linear, b.mixture, b.rules, request, b.lookup_scratch, b.sparse, inline]
        blending = [packed.tied, b.mixture, b.rules, request, b.sparse, b.states, b.blend_scratch, b.answer]
        # Few lists: as many threads as possible. Many: the lists of several clusters share a multiprocessor.
        most = sizes.kernel.constant("BLEND_THREADS")
        self._look_up = [self._kernel("look_up", looking_up, threads) for threads in (MOST_THREADS, THREADS)]
        self._blend = [self._kernel("blend", blending, threads) for threads in (most, THREADS)]
        if self._grid > CLUSTER:
            one = self._grid_program = driver.Program(
                macros | {"TEAM": self._grid}, packed.device, driver.SPARSE_SOURCES
            )
            self._look_up_one = self._kernel("look_up", looking_up, MOST_THREADS, one, together=True)
            self._blend_one = self._kernel("blend", blending, most, one, together=True)

    def _kernel(
        self,
        name: str,
        arguments: list[ctypes.Structure],
        threads: int,
        program: driver.Program | None = None,
        together: bool = False,
    ) -> driver.Kernel:
        kernel = (program or self.program).kernel(name, arguments, threads, SHARED_MEMORY, together)
        kernel.launch.stream = self._buffers.stream.cuda_stream
        return kernel

    def start(self, lists: int, positions: int, longest: int, tiles: int) -> None:
        """Start all kernels; `tiles` are those of the longest list."""
        self.start_encoding(lists, tiles)
        self.start_selection(positions, longest)

    def start_encoding(self, lists: int, tiles: int) -> None:
        """Start the lookup."""
        buffers, size = self._buffers, self.sizes.lookup[tiles]
        buffers.request.tiles = tiles
        if self._shares_grid(lists):
            buffers.place_sums(False)
            self._look_up_one.start(self._grid, 1, size)
            return
        in_shared = self.sizes.sums_fit(tiles)  # then a block has a multiprocessor to itself
        buffers.place_sums(in_shared)
        kernel = self._look_up[lists > CLUSTERS and not in_shared]
        kernel.start(min(lists, buffers.clusters) * CLUSTER, 1, size + (self.sizes.sums if in_shared else 0))

    def _shares_grid(self, lists: int) -> bool:
        """Return whether the blocks of a whole grid share the list: where there is only one."""
        return lists == 1 and self._grid > CLUSTER

    def start_selection(self, positions: int, longest: int) -> None:
        """Start the mixture and the selection."""
        lists = self._buffers.request.lists
        if self._shares_grid(lists):
            self._blend_one.start(self._grid, 1, self.sizes.blending)
        else:
            clusters = min(lists, self._buffers.clusters)
            self._blend[lists > CLUSTERS].start(clusters * CLUSTER, 1, self.sizes.blending)


class HybridLauncher(SparseLauncher):
    """Starts all kernels of the hybrid model."""

    sizes: HybridSizes

    def __init__(self, model: HybridFans, packed: PackedHybrid, sizes: HybridSizes, buffers: HybridBuffers) -> None:
        self._model, self._packed = model, packed
        super().__init__(hybrid_macros(model), driver.HYBRID_SOURCES, packed, sizes, buffers)
        arranging = [packed.tied, buffers.request, buffers.states, buffers.arrangement, buffers.answer]
        self._arrange = self._kernel("arrange", arranging, THREADS)
        self._split_encoders = self._encoders(self.program)

    def _encoders(self, program: driver.Program) -> list[driver.Kernel]:
        """Return the encoder for few lists and the one for many."""
        buffers = self._buffers
        arguments = [self._packed.encoder, buffers.request, buffers.states, buffers.inline_items]
        return [self._kernel(name, arguments, THREADS, program) for name in ("encode_one", "encode_many")]

    @cached_property
    def _plain_encoders(self) -> list[driver.Kernel]:
        """The encoders of long lists, compiled when the first one comes."""
        macros = hybrid_macros(self._model, halves=1)
        self._plain_program = driver.Program(macros, self._packed.device, driver.HYBRID_SOURCES)
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
