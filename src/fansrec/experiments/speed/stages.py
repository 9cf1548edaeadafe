"""The time of the stages of one pass on a fast backend, computed from differences, as it cannot be timed from inside.

Models take turns on the same lists. Two with few items, of three layers and of one, give the time of a layer, which
does not depend on the items. The full model and one with half the items give the time of the products over items. The
rest is everything else: tokens, embeddings, the selection of categories and of distinct items, the transfers. Models of
other sizes may choose more or fewer categories, so small figures are approximate.
"""

from functools import cache

import numpy as np

from fansrec.experiments.speed.arms import Say, Systems, engine_arm
from fansrec.experiments.speed.measuring import Arm, in_calls, measure
from fansrec.experiments.speed.options import StagesOptions
from fansrec.experiments.speed.random_models import random_fans
from fansrec.experiments.speed.rows import Row
from fansrec.experiments.speed.workloads import mixed, questions_of, workload

LAYERS = 3  # as in the paper
FEW_ITEMS = 2_000  # whose products take hardly any time


def stages(options: StagesOptions, say: Say = lambda line: None) -> list[Row]:
    """Return a row per number of categories: mean milliseconds per list, one list at a time, random weights."""
    name, device = options.workload, options.device
    size = options.items or workload(name).items
    say_once = cache(say)
    rows = []
    for count in options.categories:
        whole, half = (_arm(Systems(name, many, device, say=say_once), count, LAYERS) for many in (size, size // 2))
        few = Systems(name, min(FEW_ITEMS, size // 2), device, say=say_once)
        deep, shallow = (_arm(few, 1, layers) for layers in (LAYERS, 1))
        calls = in_calls(mixed(questions_of(name, few.items, options.lists, seed=0)), 1)
        measure([whole, half, deep, shallow], calls, options.seconds / len(options.categories), options.repeats)
        rows.append(_row(whole, half, deep, shallow) | {"workload": name, "items": size, "categories": count})
    return rows


def _arm(systems: Systems, categories: int, layers: int) -> Arm:
    model = random_fans(systems.items, categories, systems.longest, 0, layers=layers)
    return engine_arm("ours", systems.fastest(model.to(systems.device)), "paper", categories)


def _row(whole: Arm, half: Arm, deep: Arm, shallow: Arm) -> Row:
    arms = (whole, half, deep, shallow)
    common = min(arm.calls for arm in arms)
    whole_ms, half_ms, deep_ms, shallow_ms = (1000 * float(np.mean(arm.call_seconds()[:common])) for arm in arms)
    layers = (deep_ms - shallow_ms) * LAYERS / (LAYERS - 1)
    products = (whole_ms - half_ms) * 2
    return {
        "backend": whole.backend,
        "device": whole.device,
        "layers_ms": layers,
        "items_ms": products,
        "rest_ms": whole_ms - layers - products,
        "whole_ms": whole_ms,
        "lists": common,
    }
