"""Lists divided into batches that the kernels continue together."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.interface import Inputs

MAX_LISTS = 256  # while the GPU works on one batch, the host works on the ones before and after it


class Batch:
    """Several lists: their indices in the request, their inputs, and the counts of their continuations."""

    def __init__(
        self,
        indices: list[int],
        inputs: list[NDArray[np.int64]],
        lengths: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> None:
        self.indices, self.inputs, self.counts = indices, inputs, counts
        # (lists + 1,): where the items and the positions of every list begin
        self.offsets, self.first_positions = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (lengths, counts))
        self.most_tokens = int((lengths + counts).max())

    @property
    def lists(self) -> int:
        return len(self.inputs)

    @property
    def positions(self) -> int:
        return int(self.first_positions[-1])


def batches(
    inputs: Inputs, counts: Sequence[int], max_items: int, max_count: int, max_positions: int, min_items: int = 0
) -> Iterator[Batch]:
    """Yield batches of at most `max_positions` positions, long lists first, so that no cluster finishes late.

    Lists with less than `min_items` or more than `max_items` items, input and continuation together, or more than
    `max_count` positions are left out.
    """
    lengths, wanted = np.fromiter(map(len, inputs), np.int64, len(inputs)), np.array(counts)
    fits = (lengths + wanted >= min_items) & (lengths + wanted <= max_items) & (wanted <= max_count)
    order = np.argsort(-lengths - wanted, kind="stable")
    order = order[fits[order]]
    while len(order):
        size = np.searchsorted(np.cumsum(wanted[order[:MAX_LISTS]]), max_positions, "right")
        chosen, order = order[:size], order[size:]
        yield Batch(chosen.tolist(), [inputs[i] for i in chosen], lengths[chosen], wanted[chosen])
