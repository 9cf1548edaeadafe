"""The fast GPU engine: three kernels from item indices to item indices, in fp16 with fp32 accumulation.

`encode` runs the whole encoder for a list in one thread-block cluster, `compare` scores each position against the items
of its category, and `decide` scores the best of them again in fp32 and selects distinct ones. Lengths are
arguments, not shapes, so nothing is padded and nothing has to be captured in a graph. The host writes the items of a
list into memory that the GPU reads directly, and reads the answer from memory that the GPU has written.
"""

import threading
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.cuda import driver
from fansrec.engine.cuda.batches import Batch, batches
from fansrec.engine.cuda.buffers import Buffers
from fansrec.engine.cuda.launcher import Launcher
from fansrec.engine.cuda.packing import Packed, PackedSasRec
from fansrec.engine.cuda.sizes import tiles_of
from fansrec.engine.cuda.support import is_sasrec
from fansrec.engine.cuda.transfer import Transfer
from fansrec.engine.interface import (
    Continuation,
    Inputs,
    check_indices,
    check_not_empty,
    invalid_index,
    requested_counts,
    warn_once,
)
from fansrec.engine.modes import AUTOREGRESSIVE
from fansrec.engine.reranking import rerank
from fansrec.engine.rules import Rules
from fansrec.engine.torch.backend import TorchEngine
from fansrec.models.alphabet import SPECIALS


class CudaEngine:
    """Continues lists with the CUDA kernels; what these do not support falls back to torch."""

    backend = "cuda"
    slower = "group limits item by item and fills other than by-position run on torch, which is slower"

    def __init__(self, model: Any, items: int, generation: str) -> None:
        self.model, self.items, self.generation = model, items, generation
        device = next(chain(model.parameters(), model.buffers())).device
        self.device = str(device)
        self.fallback = TorchEngine(model, items, device, generation)
        self._lock = threading.Lock()
        starts = model.config.category_starts
        self._categories = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._stream: int = stream.cuda_stream
        self._load(model, items, stream)
        self._max_length = self._launcher.sizes.most_tokens - SPECIALS  # of a list, input and continuation together
        self._max_count = self._launcher.sizes.longest_answer
        torch.cuda.synchronize(device)

    def _load(self, model: Any, items: int, stream: torch.cuda.Stream) -> None:
        """Copy the weights, allocate buffers and compile the kernels."""
        packed = (PackedSasRec if is_sasrec(model) else Packed)(model, torch.device(self.device))
        self._buffers: Any = Buffers(packed, stream)
        self._launcher: Any = Launcher(model, items, packed, self._buffers)

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        if rules.reranks:
            return rerank(self, inputs, k, rules)
        if len(inputs) == 1 and self.generation != AUTOREGRESSIVE:
            answer = self._continue_one(inputs[0], k if isinstance(k, int) else k[0], rules)
            if answer is not None:
                return [answer]
        counts = requested_counts(inputs, k, self.items, self.model.longest_sequence())
        if not self._supports(rules):
            warn_once(self.slower)
            return self.fallback.continue_lists(inputs, counts, rules)
        with self._lock:
            self._launcher.program.enter()
            answers = self._continue(inputs, counts, rules)
        empty = [i for i, answer in enumerate(answers) if answer is not None and not len(answer.items)]
        for i in empty:
            check_not_empty(inputs[i], answers[i], counts[i], rules, self.items)  # type: ignore[arg-type]
        if None not in answers:
            return answers  # type: ignore[return-value]
        # A category ran out of items, or a list is too long: the torch engine handles both.
        warn_once("lists that are too long for the GPU kernels, or that exhaust a category, fall back to torch")
        unanswered = [i for i, answer in enumerate(answers) if answer is None]
        some_inputs, some_counts = [inputs[i] for i in unanswered], [counts[i] for i in unanswered]
        by_torch = iter(self.fallback.continue_lists(some_inputs, some_counts, rules))
        return [next(by_torch) if answer is None else answer for answer in answers]

    def _supports(self, rules: Rules) -> bool:
        limited = rules.max_per_group is not None
        return rules.fill == "by-position" and not (limited and self.generation == AUTOREGRESSIVE)

    def _fits(self, given: NDArray[np.int64], k: int) -> bool:
        return bool(len(given) + k <= self._max_length and k <= self._max_count)

    def _continue(self, inputs: Inputs, counts: Sequence[int], rules: Rules) -> list[Continuation | None]:
        """Return the answers, None where these kernels have none."""
        answers: list[Continuation | None] = [None] * len(inputs)
        if self.generation == AUTOREGRESSIVE:
            check_indices(inputs, self.items)
            for i, (given, k) in enumerate(zip(inputs, counts, strict=True)):
                answers[i] = self._continue_autoregressively(given, k, rules) if self._fits(given, k) else None
            return answers
        for batch, batch_answers in self._continue_batches(inputs, counts, rules):
            for i, answer in zip(batch.indices, batch_answers, strict=True):
                answers[i] = answer
        return answers

    def _continue_one(self, given: NDArray[np.int64], k: int, rules: Rules) -> Continuation | None:
        """Continue a single list with the least overhead; return None if the kernels cannot."""
        if not (k > 0 and self._fits(given, k) and self._supports(rules)):
            return None
        buffers = self._buffers
        with self._lock:
            self._launcher.program.enter()
            buffers.apply_rules(rules, growing=False)
            buffers.request_one(given, k)
            self._launcher.start_encoding(1, tiles_of(len(given) + k))
            buffers.expect_one(k)  # while the GPU encodes
            self._launcher.start_selection(k, k)
            known = not len(given) or given.astype(np.uint64).max() < self.items
            if not buffers.poll():
                driver.wait(self._stream)
            if not known:
                raise invalid_index(self.items)
            unfilled, items, scores = buffers.answer_to_one(k)
            answer = self._answer(unfilled, Continuation(items, scores, self._categories[items]))
        return answer if answer is not None and len(answer.items) else None  # an empty one is checked with the others

    def _answer(self, unfilled: int, answer: Continuation) -> Continuation | None:
        """Return the answer of the kernels to a list, None if it has unfilled positions."""
        return None if unfilled else answer

    def _continue_autoregressively(self, given: NDArray[np.int64], k: int, rules: Rules) -> Continuation | None:
        """Continue a list item by item; the GPU excludes an item from later steps, the host waits only at the end."""
        buffers, length = self._buffers, len(given)
        buffers.apply_rules(rules, growing=True)
        buffers.request_growing(given, k)
        request, answer = buffers.request, buffers.answer
        mark_seen = request.mark_seen
        for step in range(k):
            request.length = length + step
            answer.append_to = request.items + 4 * (length + step)
            self._launcher.start(1, 1, 1, tiles_of(length + step + 1))
            request.mark_seen = 0  # the first step has marked them
            answer.items, answer.scores = answer.items + 4, answer.scores + 4
        driver.wait(self._stream)
        request.mark_seen = mark_seen
        buffers.restore_blocked()
        _, items, scores = buffers.answer_to_one(k)
        return None if (items < 0).any() else Continuation(items, scores, self._categories[items])

    def _continue_batches(
        self, inputs: Inputs, counts: Sequence[int], rules: Rules
    ) -> Iterator[tuple[Batch, list[Continuation | None]]]:
        """Yield batches with their answers; the GPU starts the next one while the host splits the one before."""
        started: tuple[Batch, Transfer] | None = None
        for batch in self._batches(inputs, counts):
            transfer = self._start(batch, rules)
            if started:
                yield started[0], self._split(*started)
            else:
                self._check_indices(inputs)
            started = batch, transfer
        if started:
            yield started[0], self._split(*started)

    def _check_indices(self, inputs: Inputs) -> None:
        """Check the indices of all lists while the GPU works on the first ones; its kernels ignore invalid indices."""
        try:
            check_indices(inputs, self.items)
        except Exception:
            driver.wait(self._stream)  # until the memory of the batch is free
            raise

    def _batches(self, inputs: Inputs, counts: Sequence[int]) -> Iterator[Batch]:
        return batches(inputs, counts, self._max_length, self._max_count, self._buffers.max_positions)

    def _start(self, batch: Batch, rules: Rules) -> Transfer:
        """Start a batch after those that were started before; return where its answers will be."""
        longest = int(batch.counts.max())
        self._buffers.reserve(batch, rules)
        self._buffers.apply_rules(rules, growing=False)
        transfer: Transfer = self._buffers.request_many(batch)
        self._launcher.start(batch.lists, batch.positions, longest, tiles_of(batch.most_tokens))
        transfer.fetch()
        return transfer

    def _split(self, batch: Batch, transfer: Transfer) -> list[Continuation | None]:
        """Wait for a batch; return one continuation per list, None for lists that the kernels could not finish."""
        unfilled, items, scores = transfer.answers()
        categories, bounds = self._categories[items], batch.first_positions.tolist()
        answers = [
            Continuation(items[start:end], scores[start:end], categories[start:end]) for start, end in pairwise(bounds)
        ]
        if not any(unfilled) and (items >= 0).all():
            return answers  # type: ignore[return-value]
        return list(map(self._answer, unfilled, answers))
