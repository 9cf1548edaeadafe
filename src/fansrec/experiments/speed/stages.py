"""Where the time of one pass goes on a fast backend, told by differences, as nothing inside it can be timed from here.

Networks take turns on the same lists. Two with few items, of three layers and of one, tell what layers take, which does
not depend on the items. The whole one and one with half the items tell what products over items take. The rest is
everything else: tokens, embeddings, the choice of categories and of distinct items, the way there and back. Networks of
other sizes may choose more categories or fewer, so small figures are rough.

`python -m fansrec.experiments.speed.stages` needs torch and numpy alone.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fansrec.experiments.speed.arms import EMBEDDED, Systems, Tell, engine_arm
from fansrec.experiments.speed.defaults import CATEGORIES, REPEATS
from fansrec.experiments.speed.latency import once, run
from fansrec.experiments.speed.measuring import Arm, in_calls, measure
from fansrec.experiments.speed.random_models import random_model
from fansrec.experiments.speed.rows import Row
from fansrec.experiments.speed.workloads import mixed, questions_of, workload

LAYERS = 3  # of the paper
FEW = 2_000  # items whose products hardly count
SHOWN = ("backend", "device", "items", "categories", "layers_ms", "items_ms", "rest_ms", "whole_ms", "lists")


def stages(
    of: str = "spotify",
    items: int | None = None,
    categories: Sequence[int] = CATEGORIES,
    device: str = "cpu",
    lists: int = 100,
    seconds: float = 60,
    repeats: int = REPEATS,
    tell: Tell = lambda line: None,
) -> list[Row]:
    """A row for each number of categories: mean milliseconds a list, one list at a time, random weights."""
    size = items or workload(of).items
    said = once(tell)
    rows = []
    for count in categories:
        whole, half = (_arm(Systems(of, many, device, tell=said), count, LAYERS) for many in (size, size // 2))
        few = Systems(of, min(FEW, size // 2), device, tell=said)
        deep, shallow = (_arm(few, 1, layers) for layers in (LAYERS, 1))
        calls = in_calls(mixed(questions_of(of, few.items, lists, seed=0)), 1)
        measure([whole, half, deep, shallow], calls, seconds / len(categories), repeats)
        rows.append(_row(whole, half, deep, shallow) | {"workload": of, "items": size, "categories": count})
    return rows


def _arm(systems: Systems, categories: int, layers: int) -> Arm:
    kind = {"classifier": "vanilla"} if categories == 1 else {}
    embedded = categories if categories > 1 else EMBEDDED
    model = random_model("fans", systems.items, embedded, systems.longest, 0, layers=layers, **kind)
    return engine_arm("ours", systems.fastest(model.to(systems.device)), "paper", categories)


def _row(whole: Arm, half: Arm, deep: Arm, shallow: Arm) -> Row:
    arms = (whole, half, deep, shallow)
    common = min(arm.calls for arm in arms)
    full, less_wide, light, lightest = (1000 * float(np.mean(arm.call_seconds()[:common])) for arm in arms)
    layers = (light - lightest) * LAYERS / (LAYERS - 1)
    products = (full - less_wide) * 2
    return {
        "backend": whole.backend,
        "device": whole.device,
        "layers_ms": layers,
        "items_ms": products,
        "rest_ms": full - layers - products,
        "whole_ms": full,
        "lists": common,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m fansrec.experiments.speed.stages", description="Time of layers and items."
    )
    parser.add_argument("--workload", dest="of", default="spotify")
    parser.add_argument("--items", type=int)
    parser.add_argument("--categories", type=int, nargs="+", default=CATEGORIES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--lists", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", type=Path, required=True)
    run(parser, lambda **given: stages(**given, tell=print), SHOWN)


if __name__ == "__main__":
    main()
