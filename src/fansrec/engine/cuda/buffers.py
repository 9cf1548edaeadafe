"""The memory that the kernels read and write for a request, allocated once and enlarged when needed."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.cuda.batches import Batch
from fansrec.engine.cuda.packing import Packed
from fansrec.engine.cuda.sizes import BLOCK, LONGEST_ANSWER
from fansrec.engine.cuda.structures import Answer, BlockBest, InlineItems, Queries, Request
from fansrec.engine.interface import check_rules
from fansrec.engine.rules import Rules

MAX_BYTES = 1 << 29  # for the best of every block
MAX_POSITIONS = 1 << 16
MAX_LENGTH = 1 << 15  # items of one list that the host can pass
POLLS = 4096  # a few hundred microseconds
ALL_SCORES = float(np.finfo(np.float32).min)


class Buffers:
    """Pinned memory on the host, memory on the GPU, and the structures that point to them."""

    def __init__(self, packed: Packed, stream: torch.cuda.Stream) -> None:
        self.packed, self.blocks, self.stream = packed, packed.blocks, stream
        self.categories, self.width = len(packed.blocks.first_block) - 1, packed.items.shape[1]
        self.max_positions = max(LONGEST_ANSWER, min(MAX_POSITIONS, MAX_BYTES // (8 * self.blocks.most)))
        self.request, self.queries, self.block_best, self.answer = Request(), Queries(), BlockBest(), Answer()
        self.inline_items = InlineItems()
        self._inline = np.frombuffer(self.inline_items, dtype=np.int32)  # type: ignore[call-overload]
        self._pinned_items = torch.zeros(MAX_LENGTH, dtype=torch.int32, pin_memory=True)
        self._host_items = self._pinned_items.numpy()
        self._growing_items = self._new(MAX_LENGTH, torch.int32)
        self._counts = torch.zeros(self.categories, dtype=torch.int32, device=packed.device)
        self._base_blocked = torch.zeros(self.blocks.count, dtype=torch.int32, device=packed.device)
        self._lists = self._positions = self._shortlisted = 0
        self._host_out = np.empty(0, dtype=np.int32)
        self._rules: Rules | None = None
        self._growing = False
        self._restrictions: tuple[Sequence[int], Sequence[int] | None] = ((), None)
        self._seen = self._new(MAX_LENGTH, torch.int32)
        self._sent = self._new(0, torch.int32)
        self.reserve(1, LONGEST_ANSWER, LONGEST_ANSWER, 0)

    def _new(self, size: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(size, dtype=dtype, device=self.packed.device)

    def reserve(self, lists: int, positions: int, longest: int, given: int) -> None:
        """Make the buffers large enough for lists with `given` items in all, whose longest answer is `longest`."""
        enough = lists <= self._lists and positions <= self._positions and given <= len(self._seen)
        if enough and positions * longest <= self._shortlisted:
            return
        torch.cuda.synchronize(self.packed.device)  # the last answer may be here before its kernel ends
        if given > len(self._seen):
            self._seen = self._new(given, torch.int32)
        if lists > self._lists:
            self._lists = lists
            self._blocked, self._rules = self._base_blocked.repeat(lists, 1), None
            self._finished = torch.zeros(lists, dtype=torch.int32, device=self.packed.device)
        if positions > self._positions:
            self._positions = positions
            self._make_positions(positions)
        if positions * longest > self._shortlisted:
            self._shortlisted = positions * longest
            self._shortlists = self._new(2 * self._shortlisted, torch.int32)
        if lists + 2 * positions > len(self._host_out):
            size = lists + 2 * positions  # unfilled positions, items, bits of their scores
            self._out, self._pinned_out = (
                self._new(size, torch.int32),
                torch.empty(size, dtype=torch.int32, pin_memory=True),
            )
            self._host_out = self._pinned_out.numpy()
            self._first_out = self._host_out.data
        self._point()
        torch.cuda.synchronize(self.packed.device)  # allocated on torch's stream, and used on another

    def _make_positions(self, count: int) -> None:
        self._query16 = self._new(count * self.width, torch.float16)
        self._query32 = self._new(count * self.width, torch.float32)
        self._category, self._list = self._new(count, torch.int32), self._new(count, torch.int32)
        self._category_score = self._new(count, torch.float32)
        self._buckets = self._new(count * self.categories, torch.int32)
        self._best = self._new(count * self.blocks.most * 2, torch.float32)
        self._lengths = self._new(count, torch.int32)

    def _point(self) -> None:
        for name in ("query16", "query32", "category", "list", "category_score", "counts", "buckets", "seen"):
            setattr(self.queries, name, getattr(self, f"_{name}").data_ptr())
        self.queries.positions = self._positions
        self.block_best.best, self.block_best.stride = self._best.data_ptr(), self.blocks.most
        for name in ("shortlists", "lengths", "finished", "base_blocked"):
            setattr(self.answer, name, getattr(self, f"_{name}").data_ptr())
        self.request.words = self.blocks.count
        self._items_at, self._out_at = self._pinned_items.data_ptr(), self._pinned_out.data_ptr()

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
        answer.stride, answer.append_to = LONGEST_ANSWER, None
        answer.unfilled, answer.items, answer.scores = at, at + 4, at + 4 + 4 * k

    def request_growing(self, given: NDArray[np.int64], k: int) -> None:
        """Write a request for one list that grows on the GPU."""
        self.request_one(given, k)
        self.expect_one(k)
        self._host_items[: len(given)] = given
        self.request.k = 1
        with torch.cuda.stream(self.stream):
            self._growing_items[: len(given)].copy_(self._pinned_items[: len(given)], non_blocking=True)
        self.request.items = self._growing_items.data_ptr()

    def request_many(self, batch: Batch) -> None:
        """Write a request for a batch, with a single copy to the device."""
        request, answer, positions = self.request, self.answer, batch.positions
        size = len(batch.offsets) + len(batch.first_positions) + int(batch.offsets[-1])
        if size > len(self._sent):
            self._sent = self._new(2 * size, torch.int32)
            self._pinned_flat = torch.empty(2 * size, dtype=torch.int32, pin_memory=True)
            torch.cuda.synchronize(self.packed.device)
        flat = [batch.offsets, batch.first_positions, *batch.inputs]
        np.concatenate(flat, out=self._pinned_flat.numpy()[:size], casting="unsafe")
        with torch.cuda.stream(self.stream):
            self._sent[:size].copy_(self._pinned_flat[:size], non_blocking=True)
        request.offsets = self._sent.data_ptr()
        request.first_positions = request.offsets + 4 * len(batch.offsets)
        request.items, request.lists = request.first_positions + 4 * len(batch.first_positions), batch.lists
        request.length, request.k = len(batch.inputs[0]), positions  # read only if the batch is a single list
        answer.stride, answer.append_to, answer.unfilled = int(batch.counts.max()), None, self._out.data_ptr()
        answer.items = answer.unfilled + 4 * batch.lists
        answer.scores = answer.items + 4 * positions

    def fetch(self, lists: int, positions: int) -> None:
        """Start copying the answers of a batch to the host."""
        size = lists + 2 * positions
        with torch.cuda.stream(self.stream):
            self._pinned_out[:size].copy_(self._out[:size], non_blocking=True)

    def poll(self) -> bool:
        """Poll for the answer to one list for a while, which is faster than being woken; return whether it is there."""
        first = self._first_out
        for _ in range(POLLS):  # noqa: SIM110 (a generator takes three times as long)
            if first[0] >= 0:
                return True
        return False

    def unfilled(self, lists: int) -> list[int]:
        """Return how many positions of each list got no item, once the GPU has finished."""
        counts: list[int] = self._host_out[:lists].tolist()
        return counts

    def answers(self, lists: int, positions: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the items and scores of all positions, shape (positions,) each."""
        scores = lists + positions
        items = self._host_out[lists:scores].astype(np.int64)
        return items, self._host_out[scores : scores + positions].view(np.float32).copy()

    def apply_rules(self, rules: Rules, growing: bool) -> None:
        """Block the items that no list may get; the kernels block and unblock the input items of a list themselves."""
        if rules is self._rules and growing == self._growing:
            return
        check_rules(rules, len(self.blocks.slot_of))
        restrictions = (rules.exclude, rules.allow)
        if self._restrictions != restrictions:
            bits = torch.from_numpy(_bits(rules, self.packed))
            with torch.cuda.stream(self.stream):
                self._base_blocked.copy_(bits)
                self.restore_blocked()
        self._rules, self._growing, self._restrictions = rules, growing, restrictions
        all_allowed = rules.keep_seen and restrictions == ((), None) and not growing
        self.request.blocked = None if all_allowed else self._blocked.data_ptr()
        self.request.mark_seen = int(not rules.keep_seen)
        self.answer.min_score = ALL_SCORES if rules.min_score is None else rules.min_score

    def restore_blocked(self) -> None:
        """Unblock the input items of all lists."""
        with torch.cuda.stream(self.stream):
            self._blocked.copy_(self._base_blocked.expand_as(self._blocked))


def _bits(rules: Rules, packed: Packed) -> NDArray[np.int32]:
    """Return a bit per slot that is set if its item must not be selected, shape (blocks,)."""
    blocked = np.zeros(packed.blocks.count * BLOCK, dtype=bool)
    slots = packed.blocks.slot_of
    if rules.allow is not None:
        blocked[:] = True
        blocked[slots[list(rules.allow)]] = False
    blocked[slots[list(rules.exclude)]] = True
    words: NDArray[np.int32] = np.packbits(blocked, bitorder="little").view(np.int32)
    return words
