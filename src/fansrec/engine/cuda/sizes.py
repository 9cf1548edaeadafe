"""How much shared memory the kernels lay out, and so what fits: the arithmetic of question.cuh and choice.cuh."""

from typing import Any

from fansrec.engine.cuda.buffers import LONGEST_ANSWER
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.packing import Packed
from fansrec.models.fans import Fans
from fansrec.models.tokens import SPECIALS

CLUSTER, WARPS, TILE = 8, 8, 16  # as in primitives.cuh
THREADS = 32 * WARPS
DECIDING = SHARED_MEMORY - 26 * 1024  # the same, less what `decide` declares itself


def macros(model: Any, packed: Packed) -> dict[str, int]:
    """What the kernels are compiled for."""
    config = model.config
    return {
        "WIDTH": config.width,
        "HEADS": config.heads,
        "FEEDFORWARD": config.feedforward,
        "LAYERS": config.layers,
        "CATEGORIES": packed.categories_known,
        "TWO_STAGE": int(packed.two_stage),
        "EMBED_CATEGORIES": int(packed.categories is not None),
        "IN_PARTS": int(isinstance(model, Fans)),
    }


class Sizes:
    """Bytes of shared memory for every number of tiles and every length of an answer that fits."""

    def __init__(self, model: Any, packed: Packed, items: int) -> None:
        self._config, self._packed = model.config, packed
        self.encoding = [0]
        while (size := self._encoding(len(self.encoding))) <= SHARED_MEMORY:
            self.encoding.append(size)
        self.most_tokens = min((len(self.encoding) - 1) * TILE, model.longest_sequence() + SPECIALS)
        sizes = [self._deciding(k) for k in range(min(LONGEST_ANSWER, items) + 1)]
        self.deciding = [size for size in sizes if size <= DECIDING]
        self.longest_answer = len(self.deciding) - 1

    def _encoding(self, tiles: int) -> int:
        """`divide` of question.cuh."""
        config = self._config
        rows, slots, head = tiles * TILE, -(-tiles // CLUSTER), config.width // config.heads
        row, wide, logits = config.width + 8, config.feedforward + 8, -(-self._packed.categories_known // 8) * 8 + 4
        floats = self._packed.vectors.numel() + slots * TILE * row + TILE * logits + slots * TILE
        values = -(-rows // 64) * 64 + 8
        halves = rows * row + slots * TILE * row + TILE * row + TILE * wide + 2 * rows * head + head * values
        return int(4 * floats + 2 * halves)

    def _deciding(self, longest: int) -> int:
        """`lay_out` of choice.cuh."""
        further = max(0, longest - 32) * max(0, longest - 31) // 2
        return 4 * (self._packed.blocks.count + 1 + WARPS + (2 + WARPS + 32) * longest + further)


def tiles_of(items: int) -> int:
    """Of 16 tokens, for so many items given and wanted."""
    return -(-(items + SPECIALS) // TILE)
