"""The kernels of one model, with the structures that they are launched with."""

from typing import Any

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.buffers import Buffers
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.packing import Packed
from fansrec.engine.cuda.sizes import CLUSTER, DECIDE_MEMORY, THREADS, WARPS, Sizes, macros
from fansrec.engine.cuda.structures import Catalog, ItemTable, Weights, address

CLUSTERS = 16  # that an H100 or H200 runs at once
MAX_COLUMNS = 1056  # blocks of threads of `compare`: eight for each multiprocessor of an H100 or H200
MAX_ROWS = 16
COMPARE_BLOCKS = 264  # of threads, of `compare_many`: two for each multiprocessor


class Launcher:
    """Starts the kernels; what changes from call to call is written into the structures of `buffers`."""

    def __init__(self, model: Any, items: int, packed: Packed, buffers: Buffers) -> None:
        defined = macros(model, packed.two_stage, packed.categories_known)
        self.program = driver.Program(defined, packed.device)
        self.sizes = Sizes(defined, packed.blocks.count, items, model.longest_sequence())
        self._request = buffers.request
        self._columns = min(-(-packed.blocks.count // WARPS), MAX_COLUMNS)
        self._positions_per_row = 64 * (len(packed.blocks.first_block) - 1)  # four tiles of positions per category
        names = [field[0] for field in Weights._fields_[:-2]]
        weights = Weights(*(address(getattr(packed, name)) for name in names), items, model.config.positions)
        bias, first = address(packed.item_bias), address(packed.first_block)
        blocks = (address(packed.item_blocks), bias, address(packed.category_of_block), first, packed.blocks.count)
        catalog = Catalog(*blocks)
        table = ItemTable(address(packed.item_weights), bias, address(packed.item_at), packed.longest)
        request, queries, best = buffers.request, buffers.queries, buffers.block_best
        encoding = [weights, request, queries, buffers.inline_items]
        self._encode_one = self.program.kernel("encode_one", encoding, THREADS, SHARED_MEMORY)
        self._encode_many = self.program.kernel("encode_many", encoding, THREADS, SHARED_MEMORY)
        comparing = [catalog, request, queries, best]
        self._compare = self.program.kernel("compare", comparing, THREADS, 0)
        self._compare_many = self.program.kernel("compare_many", comparing, THREADS, 0)
        deciding = [catalog, table, request, queries, best, buffers.answer]
        self._decide = self.program.kernel("decide", deciding, THREADS, DECIDE_MEMORY)
        self._decide_candidates = self.program.kernel("decide_candidates", deciding, THREADS, 0)
        selecting = [catalog, table, request, queries, buffers.answer]
        self._decide_items = self.program.kernel("decide_items", selecting, THREADS, DECIDE_MEMORY)
        for kernel in (
            *(self._encode_one, self._encode_many, self._compare, self._compare_many),
            *(self._decide, self._decide_candidates, self._decide_items),
        ):
            kernel.launch.stream = buffers.stream.cuda_stream

    def start(self, lists: int, positions: int, longest: int, tiles: int) -> None:
        """Start all kernels; `longest` is the longest answer, `tiles` the tiles of the longest list."""
        self.start_encoding(lists, tiles)
        self.start_selection(positions, longest)

    def start_encoding(self, lists: int, tiles: int) -> None:
        self._request.tiles = tiles
        encode = self._encode_one if lists <= CLUSTERS else self._encode_many
        encode.start(min(lists, 2 * CLUSTERS) * CLUSTER, 1, self.sizes.encoding[tiles])

    def start_selection(self, positions: int, longest: int) -> None:
        lists, size = self._request.lists, self.sizes.deciding[longest]
        if lists <= CLUSTERS:
            rows = positions // self._positions_per_row
            self._compare.start(self._columns, 1 if rows < 2 else min(MAX_ROWS, rows), 0)
            self._decide.start(positions, 1, size)
        else:
            self._compare_many.start(COMPARE_BLOCKS, 1, 0)
            self._decide_candidates.start(positions, 1, 0)
            self._decide_items.start(lists, 1, size)
