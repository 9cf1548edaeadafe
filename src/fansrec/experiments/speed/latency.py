"""Latency of several systems that answer the same lists, whose second half is to be generated."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from fansrec.engine.torch.backend import TorchEngine
from fansrec.experiments.speed.engines import Say, engine_arm
from fansrec.experiments.speed.measuring import Arm, Progress, in_calls, measure
from fansrec.experiments.speed.options import LatencyOptions
from fansrec.experiments.speed.random_models import EMBEDDED, random_fans, random_model
from fansrec.experiments.speed.rows import Row, rows_of
from fansrec.experiments.speed.setup import set_up
from fansrec.experiments.speed.workloads import mixed, questions_of, sequence_length

AUTOREGRESSIVE = ("bert4rec", "sasrec", "gru4rec")  # speedups are over the first, as in the paper


def latency(
    options: LatencyOptions, say: Say = lambda line: None, progress: Progress = lambda done, total: None
) -> list[Row]:
    """Return a row for every system."""
    setup = set_up(options, max(options.lists, options.batch), cache(say))
    setup.check_batches([options.batch])
    calls = in_calls(mixed(setup.questions), options.batch)
    measure(setup.arms, calls, options.seconds, options.repeats, progress)
    return [{"workload": setup.workload} | row for row in rows_of(setup.arms, calls, setup.items)]


def compare_generation_modes(
    items: int,
    categories: Sequence[int],
    lists: int,
    device: str,
    workload: str = "spotify",
    seconds: float = 60,
    seed: int = 0,
) -> list[Row]:
    """Compare autoregressive models with FANS in one pass, all on the reference engine, as in the paper.

    FANS has N = 1 (vanilla) and each N > 1 of `categories`. A speedup is the total time of BERT4Rec over that of the
    system, over the lists that both answered.
    """
    questions = mixed(questions_of(workload, items, lists, seed))
    longest, calls = sequence_length(questions), in_calls(questions, 1)

    def arm(kind: str, model: Any, count: int) -> Arm:
        return engine_arm(kind, TorchEngine(model.to(device), items, device), "paper", count)

    slow = [arm("autoregressive", random_model(name, items, EMBEDDED, longest, seed), 1) for name in AUTOREGRESSIVE]
    numbers = [1, *(count for count in categories if count > 1)]
    arms = slow + [arm("eager", random_fans(items, count, longest, seed), count) for count in numbers]
    measure(arms, calls, seconds, repeats=1)
    return [
        {"workload": workload, **row, "speedup": row["times_bert4rec"], "speedup_lists": row["times_bert4rec_lists"]}
        for row in rows_of(arms, calls, items)
    ]
