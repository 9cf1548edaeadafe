"""The time of the stages of one pass on a fast backend, computed from differences, as it cannot be timed from inside.

Models take turns on the same lists. Two with few items, of all layers and of one, give the time of a layer, which does
not depend on the items. The full model and one with half the items give the time of the products over items. The hybrid
model is measured with and without its other parts. The rest is everything else: tokens, embeddings, the selection of
categories and of distinct items, the transfers. Models of other sizes may choose more or fewer categories, so small
figures are approximate.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from fansrec.experiments.speed.arms import Systems
from fansrec.experiments.speed.engines import Say, engine_arm
from fansrec.experiments.speed.measuring import Arm, in_calls, measure
from fansrec.experiments.speed.options import StagesOptions
from fansrec.experiments.speed.random_models import random_best, random_fans
from fansrec.experiments.speed.rows import Row
from fansrec.experiments.speed.workloads import mixed, questions_of, workload

FEW_ITEMS = 2_000  # whose products take hardly any time

Build = Callable[..., Any]  # (systems, categories, layers, …) -> a model with random weights


@dataclass(frozen=True)
class Kind:
    """A model whose stages are measured."""

    variant: str
    layers: int
    build: Build
    parts: bool  # whether it has other parts than the network


def _fans(systems: Systems, categories: int, layers: int, parts: bool) -> Any:
    return random_fans(systems.items, categories, systems.longest, systems.seed, layers=layers)


def _hybrid(systems: Systems, categories: int, layers: int, parts: bool) -> Any:
    sizes = (systems.workload, systems.items, categories, systems.longest, systems.seed)
    return random_best(*sizes, with_parts=parts, layers=layers)


PAPER = Kind("paper", 3, _fans, parts=False)
HYBRID = Kind("best", 2, _hybrid, parts=True)


def stages(options: StagesOptions, say: Say = lambda line: None) -> list[Row]:
    """Return a row per model and number of categories: mean milliseconds per list, one list at a time."""
    say_once = cache(say)
    measured = [(kind, count) for count in options.categories for kind in (PAPER, HYBRID) if kind is PAPER or count > 1]
    return [_measure(options, kind, count, options.seconds / len(measured), say_once) for kind, count in measured]


def _measure(options: StagesOptions, kind: Kind, categories: int, seconds: float, say: Say) -> Row:
    name, size = options.workload, options.items or workload(options.workload).items
    few = min(FEW_ITEMS, size // 2)
    full, half, small = (Systems(name, items, options.device, say=say) for items in (size, size // 2, few))
    few_categories = 1 if kind is PAPER else min(categories, few)
    arms = {
        "network": _arm(full, kind, categories, kind.layers),
        "half": _arm(half, kind, categories, kind.layers),
        "deep": _arm(small, kind, few_categories, kind.layers),
        "shallow": _arm(small, kind, few_categories, 1),
    }
    if kind.parts:
        arms["whole"] = _arm(full, kind, categories, kind.layers, parts=True)
    calls = in_calls(mixed(questions_of(name, few, options.lists, seed=0)), 1)
    measure([*arms.values()], calls, seconds, options.repeats)
    return _row(kind.layers, **arms) | {
        "model": "fans",
        "variant": kind.variant,
        "workload": name,
        "items": size,
        "categories": categories,
    }


def _arm(systems: Systems, kind: Kind, categories: int, layers: int, parts: bool = False) -> Arm:
    model = kind.build(systems, categories, layers, parts)
    return engine_arm("ours", systems.engines.fastest(model.to(systems.device)), kind.variant, categories)


def _row(depth: int, network: Arm, half: Arm, deep: Arm, shallow: Arm, whole: Arm | None = None) -> Row:
    """Return the stages from the times of models; `whole` has the other parts in addition to `network`."""
    arms = (network, half, deep, shallow, whole or network)
    common = min(arm.calls for arm in arms)
    times = (1000 * float(np.mean(arm.call_seconds()[:common])) for arm in arms)
    network_ms, half_ms, deep_ms, shallow_ms, whole_ms = times
    layers = (deep_ms - shallow_ms) * depth / (depth - 1)
    products = (network_ms - half_ms) * 2
    return {
        "backend": network.backend,
        "device": network.device,
        "layers_ms": layers,
        "items_ms": products,
        "parts_ms": whole_ms - network_ms,
        "rest_ms": network_ms - layers - products,
        "whole_ms": whole_ms,
        "lists": common,
    }
