"""The memory that kernels write and read between a question and its answer, made once and grown when needed."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.engine.cuda.packing import BLOCK, Packed
from fansrec.engine.cuda.structures import Answer, Asked, Found, Given, Question
from fansrec.engine.interface import check_rules
from fansrec.engine.rules import Rules

BYTES = 1 << 29  # at most so many for the best of every block
MOST_POSITIONS = 1 << 16
LONGEST = 1 << 15  # tokens of one list that the host can hand over
LONGEST_ANSWER = 256
PATIENCE = 4096  # looks, a few hundred microseconds
ALL_SCORES = float(np.finfo(np.float32).min)


class Batch:
    """Several lists, as the kernels are told of them."""

    def __init__(
        self,
        numbers: list[int],
        inputs: list[NDArray[np.int64]],
        lengths: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> None:
        self.numbers, self.inputs, self.counts = numbers, inputs, counts
        self.offsets, self.first = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (lengths, counts))
        self.most_tokens = int((lengths + counts).max())


class Buffers:
    """Pinned memory on the host, memory on the GPU, and the structures that point there."""

    def __init__(self, packed: Packed, stream: torch.cuda.Stream) -> None:
        self.packed, self.blocks, self.stream = packed, packed.blocks, stream
        self.categories, self.width = len(packed.blocks.first_block) - 1, packed.items.shape[1]
        self.most_positions = max(LONGEST_ANSWER, min(MOST_POSITIONS, BYTES // (8 * self.blocks.most)))
        self.question, self.asked, self.found, self.answer = Question(), Asked(), Found(), Answer()
        self.given = Given()
        self._inline = np.frombuffer(self.given, dtype=np.int32)
        self._pinned_ids = torch.zeros(LONGEST, dtype=torch.int32, pin_memory=True)
        self._host_ids = self._pinned_ids.numpy()
        self._grown = self._new(LONGEST, torch.int32)
        self._counts = torch.zeros(self.categories, dtype=torch.int32, device=packed.device)
        self._base = torch.zeros(self.blocks.count, dtype=torch.int32, device=packed.device)
        self._lists = self._positions = self._shortlisted = 0
        self._host_out = np.empty(0, dtype=np.int32)
        self._rules: Rules | None = None
        self._growing = False
        self._named: tuple[Sequence[int], Sequence[int] | None] = ((), None)
        self._seen = self._new(LONGEST, torch.int32)
        self._sent = self._new(0, torch.int32)
        self.make_room(1, LONGEST_ANSWER, LONGEST_ANSWER, 0)

    def _new(self, size: int, dtype: torch.dtype) -> Tensor:
        return torch.empty(size, dtype=dtype, device=self.packed.device)

    def make_room(self, lists: int, positions: int, longest: int, given: int) -> None:
        """For so many lists and positions, whose longest answer is `longest`, and items given in all."""
        enough = lists <= self._lists and positions <= self._positions and given <= len(self._seen)
        if enough and positions * longest <= self._shortlisted:
            return
        torch.cuda.synchronize(self.packed.device)  # the last answer may be here before its kernel has ended
        if given > len(self._seen):
            self._seen = self._new(given, torch.int32)
        if lists > self._lists:
            self._lists = lists
            self._blocked, self._rules = self._base.repeat(lists, 1), None
            self._done = torch.zeros(lists, dtype=torch.int32, device=self.packed.device)
        if positions > self._positions:
            self._positions = positions
            self._make_positions(positions)
        if positions * longest > self._shortlisted:
            self._shortlisted = positions * longest
            self._shortlists = self._new(2 * self._shortlisted, torch.int32)
        if lists + 2 * positions > len(self._host_out):
            size = lists + 2 * positions  # holes, items, then the bits of their scores
            self._out, self._pinned_out = (
                self._new(size, torch.int32),
                torch.empty(size, dtype=torch.int32, pin_memory=True),
            )
            self._host_out = self._pinned_out.numpy()
            self._first_out = self._host_out.data
        self._point()
        torch.cuda.synchronize(self.packed.device)  # all this was made on torch's stream, and is used on another

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
            setattr(self.asked, name, getattr(self, f"_{name}").data_ptr())
        self.asked.positions = self._positions
        self.found.best, self.found.row = self._best.data_ptr(), self.blocks.most
        for name in ("shortlists", "lengths", "done", "base"):
            setattr(self.answer, name, getattr(self, f"_{name}").data_ptr())
        self.question.words = self.blocks.count
        self._ids_at, self._out_at = self._pinned_ids.data_ptr(), self._pinned_out.data_ptr()

    def ask_one(self, given: NDArray[np.int64], k: int) -> None:
        """A short list travels with the launch, a long one lies in the host's memory."""
        question, length = self.question, len(given)
        inline = length <= len(self._inline)
        (self._inline if inline else self._host_ids)[:length] = given
        question.ids, question.lists, question.length, question.k = None if inline else self._ids_at, 1, length, k

    def expect_one(self, k: int) -> None:
        """The answer will be written to the host's memory."""
        answer, at = self.answer, self._out_at
        self._first_out[0] = -1  # until the GPU has ended
        answer.row, answer.grown = LONGEST_ANSWER, None
        answer.holes, answer.items, answer.scores = at, at + 4, at + 4 + 4 * k

    def ask_growing(self, given: NDArray[np.int64], k: int) -> None:
        """One list that grows on the GPU."""
        self.ask_one(given, k)
        self.expect_one(k)
        self._host_ids[: len(given)] = given
        self.question.k = 1
        with torch.cuda.stream(self.stream):
            self._grown[: len(given)].copy_(self._pinned_ids[: len(given)], non_blocking=True)
        self.question.ids = self._grown.data_ptr()

    def ask_many(self, batch: Batch) -> None:
        """One copy to the device for a whole batch."""
        question, answer, positions = self.question, self.answer, int(batch.first[-1])
        size = len(batch.offsets) + len(batch.first) + int(batch.offsets[-1])
        if size > len(self._sent):
            self._sent = self._new(2 * size, torch.int32)
            self._pinned_flat = torch.empty(2 * size, dtype=torch.int32, pin_memory=True)
            torch.cuda.synchronize(self.packed.device)
        flat = [batch.offsets, batch.first, *batch.inputs]
        np.concatenate(flat, out=self._pinned_flat.numpy()[:size], casting="unsafe")
        with torch.cuda.stream(self.stream):
            self._sent[:size].copy_(self._pinned_flat[:size], non_blocking=True)
        question.offsets = self._sent.data_ptr()
        question.first = question.offsets + 4 * len(batch.offsets)
        question.ids, question.lists = question.first + 4 * len(batch.first), len(batch.inputs)
        question.length, question.k = len(batch.inputs[0]), positions  # read only if it is the only one
        answer.row, answer.grown, answer.holes = int(batch.counts.max()), None, self._out.data_ptr()
        answer.items = answer.holes + 4 * len(batch.inputs)
        answer.scores = answer.items + 4 * positions

    def fetch(self, lists: int, positions: int) -> None:
        size = lists + 2 * positions
        with torch.cuda.stream(self.stream):
            self._pinned_out[:size].copy_(self._out[:size], non_blocking=True)

    def arrived(self) -> bool:
        """Look for the answer to one list for a while, which is quicker than to be woken."""
        first = self._first_out
        for _ in range(PATIENCE):  # noqa: SIM110 (a generator takes three times as long)
            if first[0] >= 0:
                return True
        return False

    def holes(self, lists: int) -> list[int]:
        """How many positions of each list got no item, once the GPU has ended."""
        holes: list[int] = self._host_out[:lists].tolist()
        return holes

    def answers(self, lists: int, positions: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The items and scores of all positions."""
        scores = lists + positions
        items = self._host_out[lists:scores].astype(np.int64)
        return items, self._host_out[scores : scores + positions].view(np.float32).copy()

    def allow(self, rules: Rules, growing: bool) -> None:
        """Say which items no list may get; a list's own are marked by the kernel and forgotten by it."""
        if rules is self._rules and growing == self._growing:
            return
        check_rules(rules, len(self.blocks.place_of))
        named = (rules.exclude, rules.allow)
        if self._named != named:
            bits = torch.from_numpy(_bits(rules, self.packed))
            with torch.cuda.stream(self.stream):
                self._base.copy_(bits)
                self.restore()
        self._rules, self._growing, self._named = rules, growing, named
        free = rules.keep_seen and named == ((), None) and not growing
        self.question.blocked = None if free else self._blocked.data_ptr()
        self.question.mark_seen = int(not rules.keep_seen)
        self.answer.least_score = ALL_SCORES if rules.min_score is None else rules.min_score

    def restore(self) -> None:
        with torch.cuda.stream(self.stream):
            self._blocked.copy_(self._base.expand_as(self._blocked))


def _bits(rules: Rules, packed: Packed) -> NDArray[np.int32]:
    """(blocks,): a bit for every place whose item may not be answered."""
    blocked = np.zeros(packed.blocks.count * BLOCK, dtype=bool)
    places = packed.blocks.place_of
    if rules.allow is not None:
        blocked[:] = True
        blocked[places[list(rules.allow)]] = False
    blocked[places[list(rules.exclude)]] = True
    words: NDArray[np.int32] = np.packbits(blocked, bitorder="little").view(np.int32)
    return words
