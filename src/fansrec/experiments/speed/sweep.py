"""How time grows with the number of items M, of categories N, of items generated k, and of lists a call.

`python -m fansrec.experiments.speed.sweep` needs torch and numpy alone; `fansrec.experiments.speed.drawing` plots its
rows.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.experiments.speed import throughput
from fansrec.experiments.speed.arms import Systems, Tell
from fansrec.experiments.speed.defaults import REPEATS, SECONDS, SWEEP_LISTS
from fansrec.experiments.speed.defaults import THROUGHPUT_ARMS as ARMS
from fansrec.experiments.speed.latency import once, run
from fansrec.experiments.speed.measuring import Arm, in_calls, measure
from fansrec.experiments.speed.rows import Row, rows_of, without_calls
from fansrec.experiments.speed.throughput import SHOWN, AskedOften
from fansrec.experiments.speed.workloads import Question, mixed, questions_of

ITEMS = (10_000, 31_623, 100_000, 316_228, 1_000_000)
CATEGORIES = (1, 10, 32, 100, 316, 1_000)
K = (1, 2, 5, 10, 20, 50, 100, 150)
BATCHES = (1, 4, 16, 64, 256, 1_024)
GIVEN = 47  # items of the input while k varies: a list of Spotify's mean length


@dataclass(frozen=True)
class Sweep:
    """Sizes to go through; what does not vary is Spotify's."""

    device: str = "cpu"
    lists: int = SWEEP_LISTS
    seconds: float = SECONDS  # for all four together
    repeats: int = REPEATS
    items: Sequence[int] = ITEMS
    categories: Sequence[int] = CATEGORIES
    ks: Sequence[int] = K
    batches: Sequence[int] = BATCHES
    size: int = 104_695  # items while others vary
    of_size: int = 100  # categories while others vary
    workload: str = "spotify"
    seed: int = 0


def sweep(asked: Sweep, tell: Tell = lambda line: None) -> list[Row]:
    """Rows with `varies`: items, categories, k or batch. Systems of one panel take turns on the same lists."""
    said = once(tell)
    panels: dict[str, Callable[[Sweep, Tell], list[Row]]] = {
        "items": by_items,
        "categories": by_categories,
        "k": by_k,
        "batch": by_batch,
    }
    rows = []
    for name, panel in panels.items():
        tell(f"varying {name} …")
        rows += [{"varies": name, "workload": asked.workload} | row for row in panel(asked, said)]
    return rows


def by_items(asked: Sweep, tell: Tell) -> list[Row]:
    """N near the square root of M. All are asked about items that even the smallest has."""
    arms = [
        replace(arm, items=items)
        for items in asked.items
        for arm in _systems(asked, tell, items).fans(ARMS, max(2, round(items**0.5)))
    ]
    questions = mixed(questions_of(asked.workload, min(asked.items), asked.lists, asked.seed))
    return _measured(asked, arms, questions)


def by_categories(asked: Sweep, tell: Tell) -> list[Row]:
    systems = _systems(asked, tell, asked.size)
    arms = [arm for count in asked.categories for arm in systems.fans(ARMS, count)]
    return _measured(asked, arms, mixed(questions_of(asked.workload, asked.size, asked.lists, asked.seed)))


def by_k(asked: Sweep, tell: Tell) -> list[Row]:
    """BERT4Rec beside it, which needs a pass for each of the k items."""
    systems = _systems(asked, tell, asked.size)
    slow = [arm for arm in systems.one_by_one(("autoregressive",)) if arm.model == "bert4rec"]
    arms = slow + systems.fans(ARMS, asked.of_size)
    random = np.random.default_rng(asked.seed)
    inputs = random.integers(asked.size, size=(asked.lists, GIVEN))
    return [
        row for k in asked.ks for row in _measured(asked, arms, [Question(given, k) for given in inputs], len(asked.ks))
    ]


def by_batch(asked: Sweep, tell: Tell) -> list[Row]:
    arms = _systems(asked, tell, asked.size).fans(ARMS, asked.of_size)
    questions = questions_of(asked.workload, asked.size, max(2 * max(asked.batches), asked.lists), asked.seed)
    sizes: dict[str, Any] = {"items": asked.size, "categories": (asked.of_size,), "batches": asked.batches}
    return throughput.by_batch(
        arms, questions, AskedOften(**sizes, seconds=asked.seconds / 4, repeats=asked.repeats), tell
    )


def _systems(asked: Sweep, tell: Tell, items: int) -> Systems:
    return Systems(asked.workload, items, asked.device, asked.seed, tell)


def _measured(asked: Sweep, arms: Sequence[Arm], questions: Sequence[Question], shares: int = 1) -> list[Row]:
    """One of `shares` points of a panel, a list at a time."""
    fresh, calls = [arm.fresh() for arm in arms], in_calls(questions, 1)
    measure(fresh, calls, asked.seconds / 4 / shares, asked.repeats)
    return without_calls(rows_of(fresh, calls, asked.size))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fansrec.experiments.speed.sweep", description=__doc__)
    parser.add_argument("--device", default=Sweep.device)
    parser.add_argument("--lists", type=int, default=Sweep.lists)
    parser.add_argument("--seconds", type=float, default=Sweep.seconds)
    parser.add_argument("--repeats", type=int, default=Sweep.repeats)
    parser.add_argument("--items", type=int, nargs="+", default=Sweep.items)
    parser.add_argument("--categories", type=int, nargs="+", default=Sweep.categories)
    parser.add_argument("--ks", type=int, nargs="+", default=Sweep.ks)
    parser.add_argument("--batches", type=int, nargs="+", default=Sweep.batches)
    parser.add_argument("--size", type=int, default=Sweep.size)
    parser.add_argument("--json", type=Path, required=True)
    run(parser, lambda **given: sweep(Sweep(**given), tell=print), ("varies", "items", *SHOWN))


if __name__ == "__main__":
    main()
