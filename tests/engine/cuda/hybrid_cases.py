"""Hybrid models, lists and rules that the CUDA kernels are tested with, on a GPU and in the emulation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.native.test_hybrid import ALL, GROUPS, ITEMS, KINDS, LISTS, NEIGHBORS, RULES, TRAINED, requests
from fansrec.engine.rules import Rules

SIZES: dict[str, Any] = {"width": 64, "heads": 4, "feedforward": 256}  # the kernels run no narrower encoder
NETWORK = {name: value for name, value in TRAINED.items() if name not in ALL} | SIZES
SILENT = {"network_weight": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "all parts": TRAINED | SIZES,
    "network alone": NETWORK,
    "memory alone": SILENT | {"memory_lists": LISTS, NEIGHBORS: 60},
    "linear part alone": SILENT | KINDS["linear"],
    "memory and linear part": ALL | SILENT,
    "vanilla": TRAINED | SIZES | {"classifier": "vanilla"},
    "not causal": ALL | SIZES,
    "wide": TRAINED | SIZES | {"width": 128, "feedforward": 512},
    "next item only": NETWORK | {"next_share": 1.0},
}
ALL_RULES = {"no rules": Rules(), **RULES}
QUICK_RULES = {name: RULES[name] for name in ("excluded", "few allowed", "groups", "a floor", "seen kept")}


def few_requests() -> tuple[list[NDArray[np.int64]], list[int]]:
    """Return an empty input, one item, repeated items and a list of two tiles of tokens."""
    random = np.random.default_rng(3)
    inputs = [np.array(items, dtype=np.int64) for items in ([], [17], [3, 4, 3, 3], random.integers(ITEMS, size=14))]
    return inputs, [5, 12, 1, 9]


__all__ = ["ALL_RULES", "GROUPS", "ITEMS", "MODELS", "QUICK_RULES", "few_requests", "requests"]
