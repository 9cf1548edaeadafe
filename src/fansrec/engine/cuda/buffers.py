"""The memory that the kernels of FANS, BERT4Rec and SASRec need for a request, enlarged when needed."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.cuda.batches import Batch
from fansrec.engine.cuda.exchange import MAX_LENGTH, Exchange
from fansrec.engine.cuda.packing import Packed
from fansrec.engine.cuda.sizes import BLOCK, LONGEST_ANSWER, MOST_DEPTH, longest_shortlist
from fansrec.engine.cuda.structures import Answer, BlockBest, Queries
from fansrec.engine.cuda.transfer import Transfer
from fansrec.engine.interface import check_rules
from fansrec.engine.rules import Rules

MAX_BYTES = 1 << 29  # for the best of every block
MAX_POSITIONS = 1 << 16
ALL_SCORES = float(np.finfo(np.float32).min)


class Buffers(Exchange):
    """What the kernels read and write, and the structures that point to it."""

    def __init__(self, packed: Packed, stream: torch.cuda.Stream) -> None:
        super().__init__(Answer(), packed.device, stream)
        self.packed, self.blocks = packed, packed.blocks
        self.categories, self.width = len(packed.blocks.first_block) - 1, packed.items.shape[1]
        self.max_positions = max(LONGEST_ANSWER, min(MAX_POSITIONS, MAX_BYTES // (8 * self.blocks.most)))
        self.queries, self.block_best = Queries(), BlockBest()
        self._growing_items = self._new(MAX_LENGTH, torch.int32)
        self._counts = torch.zeros(self.categories, dtype=torch.int32, device=packed.device)
        self._base_blocked = torch.zeros(self.blocks.count, dtype=torch.int32, device=packed.device)
        self._lists = self._positions = self._shortlisted = 0
        self._rules: Rules | None = None
        self._growing = False
        self._restrictions: tuple[Sequence[int], Sequence[int] | None] = ((), None)
        self._seen = self._new(MAX_LENGTH, torch.int32)
        self.reserve_answer(LONGEST_ANSWER)
        self._reserve(1, LONGEST_ANSWER, LONGEST_ANSWER * MOST_DEPTH, 0)  # enough for every single list

    def reserve(self, batch: Batch, rules: Rules) -> None:
        """Make the buffers large enough for a batch."""
        depth = longest_shortlist(int(batch.counts.max()), rules.max_per_group is not None)
        self._reserve(batch.lists, batch.positions, batch.positions * depth, int(batch.offsets[-1]))

    def _reserve(self, lists: int, positions: int, entries: int, given: int) -> None:
        """Make room for lists with `given` items in all, that many positions, and entries of their shortlists."""
        enough = lists <= self._lists and positions <= self._positions and given <= len(self._seen)
        if enough and entries <= self._shortlisted:
            return
        torch.cuda.synchronize(self.packed.device)  # the last answer may be here before its kernel ends
        if given > len(self._seen):
            self._seen = self._new(given, torch.int32)
        # A size is noted when all is allocated: there may be too little memory.
        try:
            if lists > self._lists:
                self._blocked, self._rules = self._base_blocked.repeat(lists, 1), None
                self._finished = torch.zeros(lists, dtype=torch.int32, device=self.packed.device)
                self._lists = lists
            if positions > self._positions:
                self._make_positions(positions)
                self._positions = positions
            if entries > self._shortlisted:
                self._shortlists, self._shortlisted = self._new(2 * entries, torch.int32), entries
        finally:
            if self._shortlisted:  # also after an error: tensors that were replaced are freed
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

    def expect_one(self, k: int) -> None:
        super().expect_one(k)
        self._describe_shortlists(k)

    def _describe_shortlists(self, longest: int) -> None:
        self.answer.stride = longest_shortlist(longest, self.answer.groups is not None)
        self.answer.append_to = None

    def request_growing(self, given: NDArray[np.int64], k: int) -> None:
        """Write a request for one list that grows on the GPU."""
        self.request_one(given, k)
        self.expect_one(k)
        self._host_items[: len(given)] = given
        self.request.k = self.answer.stride = 1
        with torch.cuda.stream(self.stream):
            self._growing_items[: len(given)].copy_(self._pinned_items[: len(given)], non_blocking=True)
        self.request.items = self._growing_items.data_ptr()

    def request_many(self, batch: Batch) -> Transfer:
        self._describe_shortlists(int(batch.counts.max()))
        return super().request_many(batch)

    def apply_rules(self, rules: Rules, growing: bool) -> None:
        """Block the items that no list may get; the kernels block and unblock the input items of a list themselves."""
        if rules is self._rules and growing == self._growing:
            return
        check_rules(rules, len(self.blocks.slot_of))
        groups = self._groups_of_items(rules)  # may raise: nothing has changed yet
        restrictions = (rules.exclude, rules.allow)
        if self._restrictions != restrictions:
            bits = torch.from_numpy(blocked_bits(rules, self.blocks.slot_of, self.blocks.count))
            with torch.cuda.stream(self.stream):
                self._base_blocked.copy_(bits)
                self.restore_blocked()
        self._restrictions = restrictions
        all_allowed = rules.keep_seen and restrictions == ((), None) and not growing
        self.request.blocked = None if all_allowed else self._blocked.data_ptr()
        self.request.mark_seen = int(not rules.keep_seen)
        self.answer.groups, self.answer.max_per_group = groups, rules.max_per_group or 0
        self.answer.min_score = ALL_SCORES if rules.min_score is None else rules.min_score
        self._rules, self._growing = rules, growing  # last: after an error, the next call applies its rules

    def restore_blocked(self) -> None:
        """Unblock the input items of all lists."""
        with torch.cuda.stream(self.stream):
            self._blocked.copy_(self._base_blocked.expand_as(self._blocked))


def blocked_bits(rules: Rules, slots: NDArray[np.int64], words: int) -> NDArray[np.int32]:
    """Return a bit per slot, shape (words,), set if its item must not be selected; item i is in slot `slots[i]`."""
    blocked = np.zeros(words * BLOCK, dtype=bool)
    if rules.allow is not None:
        blocked[:] = True
        blocked[slots[list(rules.allow)]] = False
    blocked[slots[list(rules.exclude)]] = True
    bits: NDArray[np.int32] = np.packbits(blocked, bitorder="little").view(np.int32)
    return bits
