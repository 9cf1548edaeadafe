"""How long an answer takes: FANS in one pass beside models that go item by item, on the same generated lists.

Weights are random, and the time of all but one system does not depend on them: a two-stage classifier multiplies once
for every category that some position of a list has chosen. Trained on AotM it chooses 1.2 of 10 for a list of 9
positions. Positions are kept far apart here, so that it chooses many more (7 of 10, or 15 of 100, for a list of
Spotify's length): its time here is one it hardly ever needs. No category runs out of items: at Spotify's size 250 of
them have 419 items each, and a list wants 150 at most.

`python -m fansrec.bench.latency` needs torch and numpy alone.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fansrec.bench.workloads import Question, even_categories, questions_of, sequence_length, workload
from fansrec.engine.rules import Rules
from fansrec.engine.torch_backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.files import write_json
from fansrec.models.registry import build

BASE = "bert4rec"  # speed-ups are over it, as in the paper
ONE_BY_ONE = (BASE, "sasrec", "gru4rec")
EMBEDDED = 10  # categories that models without a two-stage classifier embed
WARM_UP = 2  # calls
SHOWN = ("arm", "variant", "categories", "p50_ms", "p99_ms", "mean_ms", "lists", "speedup", "speedup_lists")

Row = dict[str, Any]
Progress = Callable[[int, int], None]  # calls done of all


@dataclass
class Arm:
    """One system under measurement, and what each of its calls took."""

    arm: str
    categories: int
    engine: TorchEngine
    seconds: list[float] = field(default_factory=list)

    def ask(self, questions: Sequence[Question]) -> float:
        """The seconds from item numbers in to item numbers out, the device's work included: answers are read back."""
        inputs, counts = [question.input for question in questions], [question.k for question in questions]
        began = time.perf_counter()
        self.engine.continue_lists(inputs, counts, Rules(keep_seen=True))
        return time.perf_counter() - began


def one_by_one_against_one_pass(
    items: int,
    categories: Sequence[int],
    lists: int,
    device: str,
    workload: str = "spotify",
    seconds: float = 60,
    seed: int = 0,
    *,
    batch: int = 1,
    progress: Progress = lambda done, of: None,
) -> list[Row]:
    """A row for every system: BERT4Rec and other models one by one, FANS with N = 1 (vanilla) and each N > 1 asked for.

    Lists have the lengths of `workload`; their second half is generated. All systems take each list in turn, so that a
    busy moment hits them alike. After half the `seconds` only those go on that have used less than an even share of
    them. A speed-up is BERT4Rec's time over this system's, both summed over the lists that both were given.
    """
    questions = questions_of(workload, items, lists, seed)
    batches = [questions[first : first + batch] for first in range(0, len(questions), batch)]
    arms = _arms(items, categories, sequence_length(questions), device, seed)
    _measure(arms, batches, seconds, progress)
    base = next(arm for arm in arms if arm.engine.model.name == BASE)
    return [{"workload": workload} | _row(arm, base, batches, items) for arm in arms]


def _arms(items: int, categories: Sequence[int], positions: int, device: str, seed: int) -> list[Arm]:
    """All systems with weights of one seed."""

    def arm(kind: str, model: str, count: int, embedded: int, **values: Any) -> Arm:
        return Arm(kind, count, random_engine(model, items, embedded, positions, device, seed, **values))

    slow = [arm("autoregressive", name, 1, EMBEDDED) for name in ONE_BY_ONE]
    vanilla = arm("eager", "fans", 1, EMBEDDED, classifier="vanilla")
    two_stage = [arm("eager", "fans", count, count) for count in categories if count > 1]
    return [*slow, vanilla, *two_stage]


def random_engine(
    name: str, items: int, categories: int, positions: int, device: str, seed: int, **values: Any
) -> TorchEngine:
    """An engine around a model with random weights; those of FANS's positions are as far apart as its items'."""
    torch.manual_seed(seed)
    sizes = {"category_starts": even_categories(items, categories), "positions": positions}
    model = build(name, sizes | values)
    if name == "fans":
        torch.nn.init.normal_(model.embed.positions.weight)
    return TorchEngine(model.to(device).eval(), items, device)


def _measure(arms: Sequence[Arm], batches: Sequence[Sequence[Question]], seconds: float, progress: Progress) -> None:
    longest = max(batches, key=lambda batch: sum(question.k for question in batch))
    for arm in arms:
        for _ in range(WARM_UP):
            arm.ask(longest)
    began = time.perf_counter()
    for number, batch in enumerate(batches):
        elapsed = time.perf_counter() - began
        for arm in arms:
            if number == 0 or _goes_on(sum(arm.seconds), elapsed, seconds, len(arms)):
                arm.seconds.append(arm.ask(batch))
        progress(number + 1, len(batches))


def _goes_on(spent: float, elapsed: float, seconds: float, arms: int) -> bool:
    return elapsed < seconds / 2 or (elapsed < seconds and spent < seconds / 2 / arms)


def _row(arm: Arm, base: Arm, batches: Sequence[Sequence[Question]], items: int) -> Row:
    """Times are of a call, which answers `batch` lists."""
    asked = [question for batch in batches[: len(arm.seconds)] for question in batch]
    milliseconds = np.array(arm.seconds) * 1000
    common = min(len(arm.seconds), len(base.seconds))
    return {
        "arm": arm.arm,
        "model": arm.engine.model.name,
        "variant": arm.engine.model.title + ("_TSC" if arm.categories > 1 else ""),
        "backend": "torch",
        "device": arm.engine.device.type,
        "threads": torch.get_num_threads(),
        "batch": len(batches[0]),
        "items": items,
        "categories": arm.categories,
        "length": float(np.mean([len(question.input) + question.k for question in asked])),
        "k": float(np.mean([question.k for question in asked])),
        "p50_ms": float(np.percentile(milliseconds, 50)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "mean_ms": float(milliseconds.mean()),
        "lists_per_s": len(asked) / sum(arm.seconds),
        "lists": len(asked),
        "speedup": sum(base.seconds[:common]) / sum(arm.seconds[:common]),
        "speedup_lists": sum(len(batch) for batch in batches[:common]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fansrec.bench.latency", description=__doc__)
    parser.add_argument("--workload", default="spotify")
    parser.add_argument("--items", type=int, help="as many as the workload has, unless told otherwise")
    parser.add_argument("--categories", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--lists", type=int, default=100)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, required=True)
    options = vars(parser.parse_args())
    file, items = options.pop("json"), options.pop("items")
    try:
        size = items or workload(options["workload"]).items
    except BadSetting as error:
        parser.error(str(error))
    if min(options["lists"], options["batch"], *options["categories"]) < 1:
        parser.error("--lists, --batch and --categories must be at least 1")
    rows = one_by_one_against_one_pass(size, **options)
    write_json(file, rows)
    for row in rows:
        print(*(f"{row[name]}" if isinstance(row[name], str | int) else f"{row[name]:.2f}" for name in SHOWN))


if __name__ == "__main__":
    main()
