"""The fast GPU engine: three kernels from item numbers to item numbers, in fp16 with fp32 sums.

`encode` takes a list through the whole encoder in one cluster of blocks, `compare` holds its positions against the
items of their categories, `decide` scores the best of them anew in fp32 and chooses distinct ones. Lengths are
arguments, not shapes, so nothing is padded and nothing has to be captured in a graph; the host writes a list's numbers
into memory that the GPU reads by itself, and finds the answer in memory that the GPU has written.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.buffers import Batch, Buffers
from fansrec.engine.cuda.driver import SHARED_MEMORY
from fansrec.engine.cuda.packing import Packed
from fansrec.engine.cuda.sizes import CLUSTER, DECIDING, THREADS, WARPS, Sizes, macros, tiles_of
from fansrec.engine.cuda.structures import Catalogue, Table, Weights, address
from fansrec.engine.generation import AUTOREGRESSIVE, ONE_PASS
from fansrec.engine.interface import Continuation, Inputs, check_indices, invalid_index, requested_counts, warn_once
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.fans import Fans
from fansrec.models.sequence.bert4rec import Bert4Rec
from fansrec.models.tokens import SPECIALS

LISTS_AT_ONCE = 256  # while the GPU is at so many, the host is at as many others
CLUSTERS = 16  # that an H100 or H200 runs at once
CATEGORIES = 1024  # whose logits are held at once
MOST_ITEMS = 1_300_000  # each is a bit in the memory of a block

missing = driver.missing


def why_not(model: Any, generation: str) -> str | None:
    """Why these kernels cannot run a model, if they cannot."""
    if not isinstance(model, Fans | Bert4Rec):
        return "its kernels know fans of --recipe paper and bert4rec only (the native CPU backend knows more)"
    if generation not in (ONE_PASS, AUTOREGRESSIVE if isinstance(model, Bert4Rec) else ONE_PASS):
        return f"it does not run {generation}"
    config = model.config
    head = config.width // config.heads
    if any(tensor.dtype != torch.float32 for tensor in model.parameters()):
        return "its weights are not float32"
    if config.width not in (64, 128) or config.feedforward % 64 or config.feedforward < 2 * config.width + 8:
        return "width must be 64 or 128, and feedforward a multiple of 64 and more than twice as much"
    if head % 8 or (config.heads > CLUSTER and config.heads % CLUSTER) or (CLUSTER % min(config.heads, CLUSTER)):
        return "heads must be 1, 2, 4 or a multiple of 8, and 8, 16, … wide"
    if config.category_starts[-1] > MOST_ITEMS:
        return f"it takes at most {MOST_ITEMS:,} items"
    if len(config.category_starts) - 1 > CATEGORIES and hasattr(model.classifier, "local"):
        return f"it takes at most {CATEGORIES} categories"
    return None


def open_backend(model: Any, items: int, generation: str) -> "CudaEngine":
    return CudaEngine(model, items, generation)


Ended = tuple[list[int], NDArray[np.int64], NDArray[np.float32]]  # holes, items, scores
Answered = tuple[list[int], list[Continuation | None]]


class CudaEngine:
    backend = "cuda"

    def __init__(self, model: Any, items: int, generation: str) -> None:
        self.model, self.items, self.generation = model, items, generation
        self.device = model.embed.items.weight.device
        self.fallback = TorchEngine(model, items, self.device, generation)
        self._lock = threading.Lock()
        starts = model.config.category_starts
        self._categories = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self._packed = Packed(model, self.device)
        self._program = driver.Program(macros(model, self._packed), self.device)
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self._stream: int = stream.cuda_stream
        self._buffers = Buffers(self._packed, stream)
        self._bind(model)
        self._sizes = Sizes(model, self._packed, items)
        blocks = self._packed.blocks
        self._columns, self._crowd = min(-(-blocks.count // WARPS), 1056), 64 * (len(blocks.first_block) - 1)
        torch.cuda.synchronize(self.device)

    def _bind(self, model: Any) -> None:
        """Kernels and the structures they are given; what changes from call to call is written into them."""
        packed, buffers = self._packed, self._buffers
        names = [field[0] for field in Weights._fields_[:-2]]
        weights = Weights(*(address(getattr(packed, name)) for name in names), self.items, model.config.positions)
        bias, first = address(packed.item_bias), address(packed.first_block)
        blocks = (address(packed.item_blocks), bias, address(packed.category_of_block), first, packed.blocks.count)
        catalogue = Catalogue(*blocks)
        table = Table(address(packed.item_weights), bias, address(packed.item_at), packed.longest)
        question, asked, found = buffers.question, buffers.asked, buffers.found
        told = [weights, question, asked, buffers.given]
        self._encode_one = self._program.kernel("encode_one", told, THREADS, SHARED_MEMORY)
        self._encode_many = self._program.kernel("encode_many", told, THREADS, SHARED_MEMORY)
        self._compare = self._program.kernel("compare", [catalogue, question, asked, found], THREADS, 0)
        whole = [catalogue, table, question, asked, found, buffers.answer]
        self._decide = self._program.kernel("decide", whole, THREADS, DECIDING)
        for kernel in (self._encode_one, self._encode_many, self._compare, self._decide):
            kernel.launch.stream = self._stream

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        if len(inputs) == 1 and self.generation == ONE_PASS:
            answer = self._one(inputs[0], k if isinstance(k, int) else k[0], rules)
            if answer is not None:
                return [answer]
        wanted = requested_counts(inputs, k, self.items, self.model.longest_sequence())
        if not self._allows(rules):
            warn_once("answers with group limits or another fill are made by plain torch on a GPU, which is slower")
            return self.fallback.continue_lists(inputs, wanted, rules)
        check_indices(inputs, self.items)
        with self._lock:
            self._program.enter()
            answers = self._answers(inputs, wanted, rules)
        if None not in answers:
            return answers  # type: ignore[return-value]
        # A category ran out of items, or a list is too long: the reference knows what to do.
        warn_once(
            "lists that are too long for the GPU kernels, or ask more of a category than it has, go to plain torch"
        )
        holes = [i for i, answer in enumerate(answers) if answer is None]
        found = iter(self.fallback.continue_lists([inputs[i] for i in holes], [wanted[i] for i in holes], rules))
        return [next(found) if answer is None else answer for answer in answers]

    def _allows(self, rules: Rules) -> bool:
        return rules.fill == "by-position" and rules.max_per_group is None

    def _answers(self, inputs: Inputs, wanted: Sequence[int], rules: Rules) -> list[Continuation | None]:
        """Answers, None where these kernels have none."""
        answers: list[Continuation | None] = [None] * len(inputs)
        if self.generation == AUTOREGRESSIVE:
            for i, (given, k) in enumerate(zip(inputs, wanted, strict=True)):
                answers[i] = self._one_by_one(given, k, rules) if self._fits(given, k) else None
            return answers
        for batch, answered in self._many(inputs, wanted, rules):
            for i, answer in zip(batch, answered, strict=True):
                answers[i] = answer
        return answers

    def _one(self, given: NDArray[np.int64], k: int, rules: Rules) -> Continuation | None:
        """The shortest way for one list; None if it cannot go it."""
        if not (k > 0 and self._fits(given, k) and self._allows(rules)):
            return None
        buffers = self._buffers
        with self._lock:
            self._program.enter()
            buffers.allow(rules, growing=False)
            buffers.ask_one(given, k)
            self._start_encoding(1, tiles_of(len(given) + k))
            buffers.expect_one(k)  # while the GPU is at it
            self._start_choosing(k, k)
            known = not len(given) or given.astype(np.uint64).max() < self.items
            if not buffers.arrived():
                driver.wait(self._stream)
            if not known:
                raise invalid_index(self.items)
            if buffers.holes(1)[0]:
                return None
            items, scores = buffers.answers(1, k)
        return Continuation(items, scores, self._categories[items])

    def _one_by_one(self, given: NDArray[np.int64], k: int, rules: Rules) -> Continuation | None:
        """Every step's item is appended and blocked on the GPU, which is not waited for in between."""
        buffers, length = self._buffers, len(given)
        buffers.allow(rules, growing=True)
        buffers.ask_growing(given, k)
        question, answer = buffers.question, buffers.answer
        mark_seen = question.mark_seen
        for step in range(k):
            question.length = length + step
            answer.grown = question.ids + 4 * (length + step)
            self._launch(1, 1, 1, tiles_of(length + step + 1))
            question.mark_seen = 0  # they are
            answer.items, answer.scores = answer.items + 4, answer.scores + 4
        driver.wait(self._stream)
        question.mark_seen = mark_seen
        buffers.restore()
        items, scores = buffers.answers(1, k)
        return None if (items < 0).any() else Continuation(items, scores, self._categories[items])

    def _many(self, inputs: Inputs, wanted: Sequence[int], rules: Rules) -> Iterator[Answered]:
        """Batch by batch; while the GPU is at one, the host takes the last one apart and lays out the next."""
        begun: Batch | None = None
        for asked in self._batches(inputs, wanted):
            ended = self._end(begun)
            self._begin(asked, rules)
            if ended:
                yield self._apart(*ended)
            begun = asked
        ended = self._end(begun)
        if ended:
            yield self._apart(*ended)

    def _begin(self, batch: Batch, rules: Rules) -> None:
        lists, positions, longest = len(batch.inputs), int(batch.first[-1]), int(batch.counts.max())
        self._buffers.make_room(lists, positions, longest, int(batch.offsets[-1]))
        self._buffers.allow(rules, growing=False)
        self._buffers.ask_many(batch)
        self._launch(lists, positions, longest, tiles_of(batch.most_tokens))
        self._buffers.fetch(lists, positions)

    def _end(self, batch: Batch | None) -> tuple[Batch, Ended] | None:
        if batch is None:
            return None
        driver.wait(self._stream)
        lists = len(batch.inputs)
        return batch, (self._buffers.holes(lists), *self._buffers.answers(lists, int(batch.first[-1])))

    def _apart(self, batch: Batch, ended: Ended) -> Answered:
        holes, items, scores = ended
        categories, ends = self._categories[items], batch.first.tolist()
        answers = [
            None if hole else Continuation(items[start:end], scores[start:end], categories[start:end])
            for hole, start, end in zip(holes, ends, ends[1:], strict=False)
        ]
        return batch.numbers, answers

    def _launch(self, lists: int, positions: int, longest: int, tiles: int) -> None:
        self._start_encoding(lists, tiles)
        self._start_choosing(positions, longest)

    def _start_encoding(self, lists: int, tiles: int) -> None:
        self._buffers.question.tiles = tiles
        encode = self._encode_one if lists <= CLUSTERS else self._encode_many
        encode.start(min(lists, 2 * CLUSTERS) * CLUSTER, 1, self._sizes.encoding[tiles])

    def _start_choosing(self, positions: int, longest: int) -> None:
        crowd = positions // self._crowd  # tiles of positions a category, by four
        self._compare.start(self._columns, 1 if crowd < 2 else min(16, crowd), 0)
        self._decide.start(positions, 1, self._sizes.deciding[longest])

    def _fits(self, given: NDArray[np.int64], k: int) -> bool:
        return len(given) + k + SPECIALS <= self._sizes.most_tokens and k <= self._sizes.longest_answer

    def _batches(self, inputs: Inputs, wanted: Sequence[int]) -> Iterator[Batch]:
        """Long lists first, so that no cluster is late; as many together as the buffers may hold."""
        lengths, counts = np.fromiter(map(len, inputs), np.int64, len(inputs)), np.array(wanted)
        fits = (lengths + counts + SPECIALS <= self._sizes.most_tokens) & (counts <= self._sizes.longest_answer)
        order = np.argsort(-lengths - counts, kind="stable")
        order = order[fits[order]]
        while len(order):
            room = np.searchsorted(np.cumsum(counts[order[:LISTS_AT_ONCE]]), self._buffers.most_positions, "right")
            batch, order = order[:room], order[room:]
            yield Batch(batch.tolist(), [inputs[i] for i in batch], lengths[batch], counts[batch])
