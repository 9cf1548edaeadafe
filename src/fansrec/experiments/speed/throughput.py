"""How many lists a second, by how many come in one call; lengths as they come, and all padded to the longest.

`python -m fansrec.experiments.speed.throughput` needs torch and numpy alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.rules import Rules
from fansrec.engine.torch import backend as torch_backend
from fansrec.experiments.speed.arms import Systems, Tell, engine_arm
from fansrec.experiments.speed.defaults import BATCHES, THROUGHPUT_ARMS, THROUGHPUT_CATEGORIES, THROUGHPUT_LISTS
from fansrec.experiments.speed.latency import Asked, once, options, run
from fansrec.experiments.speed.measuring import Arm, Progress, in_calls, measure
from fansrec.experiments.speed.rows import Row, rows_of, without_calls
from fansrec.experiments.speed.workloads import Question, questions_of

PADDED = "padded"
TOO_LONG = 6  # seconds a call
SHOWN = ("batch", "arm", "variant", "backend", "categories", "lists_per_s", "p50_ms", "lists", "times_padded")


@dataclass(frozen=True)
class AskedOften(Asked):
    """What is to be measured; each number of lists a call gets an even share of the seconds."""

    categories: Sequence[int] = THROUGHPUT_CATEGORIES
    arms: Sequence[str] = THROUGHPUT_ARMS
    lists: int = THROUGHPUT_LISTS
    batches: Sequence[int] = BATCHES


def throughput(
    asked: AskedOften, tell: Tell = lambda line: None, progress: Progress = lambda done, of: None
) -> list[Row]:
    """A row for every system and number of lists a call."""
    systems = Systems(asked.workload, asked.size, asked.device, asked.seed, once(tell))
    questions = questions_of(asked.workload, asked.size, max(asked.lists, *asked.batches), asked.seed)
    arms = [other for arm in systems.of(asked.arms, asked.categories) for other in (arm, *padded(arm))]
    rows = by_batch(arms, questions, asked, systems.tell, progress)
    return [{"workload": asked.workload} | row for row in rows]


def by_batch(
    arms: Sequence[Arm],
    questions: Sequence[Question],
    asked: AskedOften,
    tell: Tell,
    progress: Progress = lambda done, of: None,
) -> list[Row]:
    """Rows of these systems for every number of lists a call."""
    rows: list[Row] = []
    for before, batch in pairwise([1, *sorted(asked.batches)]):
        arms = [arm.fresh() for arm in arms if _is_quick_enough(arm, before, batch, tell)]
        calls, asked_now = in_calls(questions, batch), [arm for arm in arms if batch > 1 or arm.arm != PADDED]
        if not asked_now:
            break
        measure(asked_now, calls, asked.seconds / len(asked.batches), asked.repeats, progress)
        rows += without_calls(rows_of(asked_now, calls, asked.size))
    return rows


def _is_quick_enough(arm: Arm, before: int, batch: int, tell: Tell) -> bool:
    """By what the batch before took; more lists at once have little to give to a system that takes so long."""
    if not arm.seconds:
        return True
    likely = float(arm.call_seconds().mean()) * batch / before
    if likely > TOO_LONG:
        tell(f"{arm.arm} {arm.model}, N = {arm.categories}: {batch} lists would take {likely:.0f} s and are left out")
    return likely <= TOO_LONG


def padded(arm: Arm) -> Iterator[Arm]:
    """The paper's FANS on the same backend with every list as long as the longest.

    On torch with padding, so that its items are the same. The fast backends have no padding: there the inputs are made
    longer, which is as much work, and the answers are others.
    """
    if arm.arm not in ("eager", "ours") or arm.variant != "paper" or arm.model != "fans":
        return
    if arm.arm == "eager":
        engine = Padded(arm.engine.model, arm.engine.items, arm.engine.device)
        yield engine_arm(PADDED, engine, arm.variant, arm.categories)
    elif arm.backend != "torch":

        def answer(inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> Any:
            return arm.answer(stretched(inputs, counts), counts)

        yield replace(arm, arm=PADDED, answer=answer, given_by=lambda answers: [])


class Padded(torch_backend.TorchEngine):
    """Lists share a rectangle as they come, not with those of like length."""

    def _batches(self, inputs: Sequence[NDArray[np.int64]], wanted: Sequence[int], rules: Rules) -> Iterator[list[int]]:
        longest = max(len(given) + k for given, k in zip(inputs, wanted, strict=True))
        step = max(1, min(torch_backend.TOKENS_AT_ONCE // longest, torch_backend.SCORES_AT_ONCE // self.items))
        for first in range(0, len(inputs), step):
            yield list(range(first, min(first + step, len(inputs))))


def stretched(inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Every input made so long, by its own items again, that all lists are as long as the longest."""
    longest = max(len(given) + k for given, k in zip(inputs, counts, strict=True))
    return [np.resize(given, longest - k) for given, k in zip(inputs, counts, strict=True)]


def main() -> None:
    parser = options("python -m fansrec.experiments.speed.throughput", __doc__)
    parser.set_defaults(categories=AskedOften.categories, arms=AskedOften.arms, lists=AskedOften.lists)
    parser.add_argument("--batches", type=int, nargs="+", default=AskedOften.batches)
    run(parser, lambda **given: throughput(AskedOften(**given), tell=print), SHOWN)


if __name__ == "__main__":
    main()
