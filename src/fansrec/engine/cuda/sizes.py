"""The sizes of the kernels for a model: macros to compile them with, and the shared memory of every launch."""

from typing import Any

from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.source import KernelConstants
from fansrec.models.fans import Fans
from fansrec.models.tokens import SPECIALS

_FIXED = KernelConstants({})
CLUSTER, WARPS, THREADS, TILE, BLOCK, INLINE = map(
    _FIXED.constant, ("CLUSTER", "WARPS", "THREADS", "TILE", "BLOCK", "INLINE")
)
DECIDE_MEMORY = SHARED_MEMORY - _FIXED.constant("DECIDE_STATIC_BYTES")
LONGEST_ANSWER = 256  # positions; no more than THREADS


def macros(model: Any, two_stage: bool, categories: int) -> dict[str, int]:
    """Return the macros that the kernels are compiled with; `categories` is the number that the model knows."""
    config = model.config
    return {
        "WIDTH": config.width,
        "HEADS": config.heads,
        "FEEDFORWARD": config.feedforward,
        "LAYERS": config.layers,
        "CATEGORIES": categories,
        "TWO_STAGE": int(two_stage),
        "EMBED_CATEGORIES": int(model.embed.categories is not None),
        "SEGMENTED": int(isinstance(model, Fans)),
    }


class Sizes:
    """Bytes of shared memory for every number of tiles and every length of an answer that fits."""

    def __init__(self, macros: dict[str, int], blocks: int, items: int, longest_sequence: int) -> None:
        kernel = KernelConstants(macros)
        self.encoding = [0]  # by tiles
        while (size := kernel.call("encode_bytes", len(self.encoding))) <= SHARED_MEMORY:
            self.encoding.append(size)
        self.most_tokens = min((len(self.encoding) - 1) * TILE, longest_sequence + SPECIALS)
        sizes = [kernel.call("decide_bytes", blocks, k) for k in range(min(LONGEST_ANSWER, items) + 1)]
        self.deciding = [size for size in sizes if size <= DECIDE_MEMORY]  # by positions
        self.longest_answer = len(self.deciding) - 1


def tiles_of(items: int) -> int:
    """Return the number of tiles for a list with this many items, input and answer together."""
    return -(-(items + SPECIALS) // TILE)
