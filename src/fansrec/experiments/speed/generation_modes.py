"""Autoregressive generation and one pass compared on the reference engine, as in the paper."""

from collections.abc import Sequence
from typing import Any

from fansrec.experiments.speed.arms import EMBEDDED, engine_arm
from fansrec.experiments.speed.measuring import Arm, in_calls, measure
from fansrec.experiments.speed.random_models import random_engine
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.workloads import mixed, questions_of, sequence_length

AUTOREGRESSIVE = ("bert4rec", "sasrec", "gru4rec")  # speedups are over the first, as in the paper


def compare_generation_modes(
    items: int,
    categories: Sequence[int],
    lists: int,
    device: str,
    workload: str = "spotify",
    seconds: float = 60,
    seed: int = 0,
) -> list[Row]:
    """Return a row per system: autoregressive models, and FANS with N = 1 (vanilla) and each N > 1 of `categories`.

    A speedup is the total time of BERT4Rec over that of the system, over the lists that both answered.
    """
    questions = mixed(questions_of(workload, items, lists, seed))
    longest = sequence_length(questions)

    def arm(kind: str, model: str, count: int, embedded: int, **values: Any) -> Arm:
        return engine_arm(kind, random_engine(model, items, embedded, longest, device, seed, **values), "paper", count)

    slow = [arm("autoregressive", name, 1, EMBEDDED) for name in AUTOREGRESSIVE]
    vanilla = arm("eager", "fans", 1, EMBEDDED, classifier="vanilla")
    arms = [*slow, vanilla, *(arm("eager", "fans", count, count) for count in categories if count > 1)]
    calls = in_calls(questions, 1)
    measure(arms, calls, seconds, repeats=1)
    return [
        {"workload": workload, **row, "speedup": row["times_bert4rec"], "speedup_lists": row["times_bert4rec_lists"]}
        for row in rows_of(arms, calls, items)
    ]
