"""One-by-one generation against one pass, all on the reference engine: the comparison that the paper makes."""

from collections.abc import Sequence
from typing import Any

from fansrec.experiments.speed.arms import EMBEDDED, engine_arm
from fansrec.experiments.speed.measuring import Arm, Progress, in_calls, measure
from fansrec.experiments.speed.random_models import random_engine
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.workloads import mixed, questions_of, sequence_length

ONE_BY_ONE = ("bert4rec", "sasrec", "gru4rec")  # speed-ups are over the first, as in the paper


def one_by_one_against_one_pass(
    items: int,
    categories: Sequence[int],
    lists: int,
    device: str,
    workload: str = "spotify",
    seconds: float = 60,
    seed: int = 0,
    *,
    progress: Progress = lambda done, of: None,
) -> list[Row]:
    """A row for every system: BERT4Rec and other models one by one, FANS with N = 1 (vanilla) and each N > 1 asked for.

    A speed-up is BERT4Rec's time over this system's, both summed over the lists that both were given.
    """
    questions = mixed(questions_of(workload, items, lists, seed))
    longest = sequence_length(questions)

    def arm(kind: str, model: str, count: int, embedded: int, **values: Any) -> Arm:
        return engine_arm(kind, random_engine(model, items, embedded, longest, device, seed, **values), "paper", count)

    slow = [arm("autoregressive", name, 1, EMBEDDED) for name in ONE_BY_ONE]
    vanilla = arm("eager", "fans", 1, EMBEDDED, classifier="vanilla")
    arms = [*slow, vanilla, *(arm("eager", "fans", count, count) for count in categories if count > 1)]
    calls = in_calls(questions, 1)
    measure(arms, calls, seconds, repeats=1, progress=progress)
    return [
        {"workload": workload, **row, "speedup": row["times_bert4rec"], "speedup_lists": row["times_bert4rec_lists"]}
        for row in rows_of(arms, calls, items)
    ]
