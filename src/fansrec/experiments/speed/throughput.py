"""Throughput: lists per second by lists per call, with their own lengths and padded to the longest."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.rules import Rules
from fansrec.engine.torch import backend as torch_backend
from fansrec.experiments.speed.engines import Say, engine_arm
from fansrec.experiments.speed.measuring import Arm, Progress, in_calls, measure
from fansrec.experiments.speed.options import SweepOptions, ThroughputOptions
from fansrec.experiments.speed.rows import Row, rows_of, without_calls
from fansrec.experiments.speed.setup import set_up
from fansrec.experiments.speed.workloads import Question

PADDED = "padded"
MAX_CALL_SECONDS = 6


def throughput(
    options: ThroughputOptions, say: Say = lambda line: None, progress: Progress = lambda done, total: None
) -> list[Row]:
    """Return a row for every system and batch size."""
    say_once = cache(say)
    setup = set_up(options, max(options.lists, *options.batches), say_once)
    options = replace(options, batches=setup.check_batches(options.batches, say_once))
    arms = [other for arm in setup.arms for other in (arm, *padded(arm))]
    rows = by_batch(arms, setup.questions, setup.items, options, say_once, progress)
    return [{"workload": setup.workload} | row for row in rows]


def by_batch(
    arms: Sequence[Arm],
    questions: Sequence[Question],
    items: int,
    options: ThroughputOptions | SweepOptions,
    say: Say,
    progress: Progress = lambda done, total: None,
) -> list[Row]:
    """Return the rows of these arms for every batch size."""
    rows: list[Row] = []
    for before, batch in pairwise([1, *sorted(options.batches)]):
        arms = [arm.fresh() for arm in arms if _is_fast_enough(arm, before, batch, say)]
        calls, measured = in_calls(questions, batch), [arm for arm in arms if batch > 1 or arm.arm != PADDED]
        if not measured:
            break
        measure(measured, calls, options.seconds / len(options.batches), options.repeats, progress)
        rows += without_calls(rows_of(measured, calls, items))
    return rows


def _is_fast_enough(arm: Arm, before: int, batch: int, say: Say) -> bool:
    """Predict the time of a call from that of the previous batch size; larger batches hardly help so slow a system."""
    if not arm.seconds:
        return True
    expected = float(arm.call_seconds().mean()) * batch / before
    if expected > MAX_CALL_SECONDS:
        say(f"{arm.arm} {arm.model}, N = {arm.categories}: {batch} lists would take {expected:.0f} s and are left out")
    return expected <= MAX_CALL_SECONDS


def padded(arm: Arm) -> Iterator[Arm]:
    """Yield the paper's FANS on the same backend with every list as long as the longest.

    On torch, lists are padded, so its items are the same. The fast backends have no padding: there, the inputs are made
    longer, which is as much work but gives other answers.
    """
    if arm.arm not in ("eager", "ours") or arm.variant != "paper" or arm.model != "fans":
        return
    if arm.arm == "eager":
        engine = PaddedEngine(arm.engine.model, arm.engine.items, arm.engine.device)
        yield replace(engine_arm(PADDED, engine, arm.variant, arm.categories), run=arm.run)
    elif arm.backend != "torch":

        def answer(inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> Any:
            return arm.answer(lengthened(inputs, counts), counts)

        yield replace(arm, arm=PADDED, answer=answer, to_answers=lambda answers: [])


class PaddedEngine(torch_backend.TorchEngine):
    """The reference engine, but batches consist of consecutive lists, not of lists of similar length."""

    def _batches(self, inputs: Sequence[NDArray[np.int64]], wanted: Sequence[int], rules: Rules) -> Iterator[list[int]]:
        longest = max(len(given) + k for given, k in zip(inputs, wanted, strict=True))
        step = max(1, min(torch_backend.TOKENS_AT_ONCE // longest, torch_backend.SCORES_AT_ONCE // self.items))
        for first in range(0, len(inputs), step):
            yield list(range(first, min(first + step, len(inputs))))


def lengthened(inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return the inputs with their own items repeated, so that all lists are as long as the longest."""
    longest = max(len(given) + k for given, k in zip(inputs, counts, strict=True))
    return [np.resize(given, longest - k) for given, k in zip(inputs, counts, strict=True)]
