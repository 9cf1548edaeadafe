"""How long an answer takes: all systems on the same generated lists, the second half of each to be generated.

`python -m fansrec.experiments.speed.latency` needs torch and numpy alone.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fansrec.errors import BadSetting, FansError
from fansrec.experiments.speed.arms import Systems, Tell
from fansrec.experiments.speed.defaults import ARMS, CATEGORIES, LISTS, REPEATS, SECONDS
from fansrec.experiments.speed.measuring import Progress, in_calls, measure
from fansrec.experiments.speed.rows import Row, rows_of, write_rows
from fansrec.experiments.speed.workloads import mixed, questions_of, workload

SHOWN = ("arm", "model", "variant", "backend", "categories", "p50_ms", "p99_ms", "lists", "times_authors", "same_items")


@dataclass(frozen=True)
class Asked:
    """What is to be measured."""

    workload: str = "spotify"
    items: int | None = None  # as many as the workload has
    categories: Sequence[int] = CATEGORIES
    arms: Sequence[str] = ARMS
    batch: int = 1
    lists: int = LISTS
    seconds: float = SECONDS
    repeats: int = REPEATS
    device: str = "cpu"
    seed: int = 0

    def __post_init__(self) -> None:
        for arm in self.arms:
            if arm not in ARMS:
                raise BadSetting(f"there is no arm {arm!r}; choose from {', '.join(ARMS)}")
        if min(self.lists, self.batch, self.repeats, self.size, *self.categories) < 1:
            raise BadSetting("lists, batch, repeats, items and categories must be at least 1")
        if max(self.categories) > self.size:
            raise BadSetting(f"--categories {max(self.categories)} is more than the {self.size:,} items there are")

    @property
    def size(self) -> int:
        return workload(self.workload).items if self.items is None else self.items


def latency(asked: Asked, tell: Tell = lambda line: None, progress: Progress = lambda done, of: None) -> list[Row]:
    """A row for every system."""
    systems = Systems(asked.workload, asked.size, asked.device, asked.seed, once(tell))
    questions = mixed(questions_of(asked.workload, asked.size, max(asked.lists, asked.batch), asked.seed))
    calls = in_calls(questions, asked.batch)
    arms = systems.of(asked.arms, asked.categories)
    measure(arms, calls, asked.seconds, asked.repeats, progress)
    return [{"workload": asked.workload} | row for row in rows_of(arms, calls, asked.size)]


def once(tell: Tell) -> Tell:
    """Say the same thing no second time."""
    said: set[str] = set()

    def say(line: str) -> None:
        if line not in said:
            said.add(line)
            tell(line)

    return say


def options(program: str, about: str | None) -> argparse.ArgumentParser:
    """What the benchmarks of this folder can be told when they are run as modules."""
    parser = argparse.ArgumentParser(prog=program, description=about)
    parser.add_argument("--workload", default=Asked.workload)
    parser.add_argument("--items", type=int, help="as many as the workload has, unless told otherwise")
    parser.add_argument("--categories", type=int, nargs="+", default=Asked.categories)
    parser.add_argument("--arms", nargs="+", default=ARMS)
    parser.add_argument("--lists", type=int, default=Asked.lists)
    parser.add_argument("--device", default=Asked.device)
    parser.add_argument("--seconds", type=float, default=Asked.seconds)
    parser.add_argument("--repeats", type=int, default=Asked.repeats)
    parser.add_argument("--seed", type=int, default=Asked.seed)
    parser.add_argument("--json", type=Path, required=True)
    return parser


def show(rows: Sequence[Row], names: Sequence[str]) -> None:
    print(*names)
    for row in rows:
        print(*(f"{row[name]:.4g}" if isinstance(row[name], float) else f"{row[name]}" for name in names))


def run(parser: argparse.ArgumentParser, measured: Callable[..., list[Row]], shown: Sequence[str]) -> None:
    """What every benchmark of this folder does when it is run as a module."""
    given: dict[str, Any] = vars(parser.parse_args())
    file = given.pop("json")
    try:
        rows = measured(**given)
    except FansError as error:
        parser.error(str(error))
    write_rows(file, rows)
    show(rows, shown)


def main() -> None:
    parser = options("python -m fansrec.experiments.speed.latency", __doc__)
    parser.add_argument("--batch", type=int, default=Asked.batch)
    run(parser, lambda **given: latency(Asked(**given), tell=print), SHOWN)


if __name__ == "__main__":
    main()
