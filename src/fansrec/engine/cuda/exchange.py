"""What host and GPU exchange for a request: the lists in one direction, the answers in the other."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.cuda.batches import Batch
from fansrec.engine.cuda.structures import InlineItems, Request
from fansrec.engine.cuda.transfer import Transfer, pinned, split_answers
from fansrec.engine.rules import Rules

MAX_LENGTH = 1 << 15  # items of one list that the host can pass
POLLS = 4096  # a few hundred microseconds
ALL_MASKS = (1 << 31) - 1


class Exchange:
    """Pinned memory on the host, memory on the GPU, and the structures that point to them.

    `answer` is a structure with the pointers items, scores and unfilled.
    """

    def __init__(self, answer: Any, device: torch.device, stream: torch.cuda.Stream) -> None:
        self.device, self.stream, self.answer = device, stream, answer
        self.request, self.inline_items = Request(most_masks=ALL_MASKS), InlineItems()
        self._inline = np.frombuffer(self.inline_items, dtype=np.int32)  # type: ignore[call-overload]
        self._pinned_items = pinned(MAX_LENGTH)
        self._host_items, self._items_at = self._pinned_items.numpy(), self._pinned_items.data_ptr()
        self._host_out = np.empty(0, dtype=np.int32)
        self._transfers = [Transfer(device, stream), Transfer(device, stream)]
        self._groups: tuple[object, Tensor] | None = None

    def _new(self, size: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(size, dtype=dtype, device=self.device)

    def _copied(self, tensor: Tensor) -> Tensor:
        """Return a copy on the GPU that later kernels can use; earlier ones have finished with what it replaces."""
        torch.cuda.synchronize(self.device)
        copied = tensor.to(self.device)
        torch.cuda.synchronize(self.device)
        return copied

    def _groups_of_items(self, rules: Rules) -> int | None:
        """Return the address of the groups of all items on the GPU, None if groups have no limit."""
        if rules.max_per_group is None or rules.groups is None:
            return None
        if self._groups is None or self._groups[0] is not rules.groups:
            numbers = np.unique(rules.groups, return_inverse=True)[1].astype(np.int32)
            self._groups = rules.groups, self._copied(torch.from_numpy(numbers))
        return self._groups[1].data_ptr()

    def reserve_answer(self, positions: int) -> None:
        """Make room for the answer to one list; nothing may be using the memory."""
        size = 1 + 2 * positions  # unfilled positions, items, bits of their scores
        if size <= len(self._host_out):
            return
        self._pinned_out = pinned(size)
        self._host_out, self._out_at = self._pinned_out.numpy(), self._pinned_out.data_ptr()
        self._first_out = self._host_out.data

    def request_one(self, given: NDArray[np.int64], k: int) -> None:
        """Write a request for one list: a short one is a kernel argument, a long one stays in host memory."""
        request, length = self.request, len(given)
        inline = length <= len(self._inline)
        (self._inline if inline else self._host_items)[:length] = given
        request.items, request.lists, request.length, request.k = None if inline else self._items_at, 1, length, k

    def expect_one(self, k: int) -> None:
        """Let the answer to one list be written to host memory."""
        answer, at = self.answer, self._out_at
        self._first_out[0] = -1  # until the GPU has finished
        answer.unfilled, answer.items, answer.scores = at, at + 4, at + 4 + 4 * k

    def request_many(self, batch: Batch) -> Transfer:
        """Write a request for a batch, with a single copy to the device; return where its answers will be."""
        request, answer, positions = self.request, self.answer, batch.positions
        self._transfers.reverse()  # the other one may still hold the answers of the batch before
        transfer = self._transfers[0]
        size = len(batch.offsets) + len(batch.first_positions) + int(batch.offsets[-1])
        request.offsets = transfer.send([batch.offsets, batch.first_positions, *batch.inputs], size)
        request.first_positions = request.offsets + 4 * len(batch.offsets)
        request.items, request.lists = request.first_positions + 4 * len(batch.first_positions), batch.lists
        request.length, request.k = len(batch.inputs[0]), positions  # read only if the batch is a single list
        answer.unfilled = transfer.reserve_answers(batch.lists, positions)
        answer.items = answer.unfilled + 4 * batch.lists
        answer.scores = answer.items + 4 * positions
        return transfer

    def poll(self) -> bool:
        """Poll for the answer to one list for a while, which is faster than being woken; return whether it is there."""
        first = self._first_out
        for _ in range(POLLS):  # noqa: SIM110 (a generator takes three times as long)
            if first[0] >= 0:
                return True
        return False

    def answer_to_one(self, k: int) -> tuple[int, NDArray[np.int64], NDArray[np.float32]]:
        """Return the unfilled positions, items and scores of one list, once the GPU has finished."""
        [unfilled], items, scores = split_answers(self._host_out, 1, k)
        return unfilled, items, scores
