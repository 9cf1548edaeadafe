"""Weights of new items in the linear part."""

import numpy as np

from fansrec.updating.linear import sorted_weights


def test_weights_are_sorted_by_source_then_size_then_target_however_many_items_there_are() -> None:
    random = np.random.default_rng(0)
    items = 1 << 14
    sources, targets = random.integers(items, size=5_000), random.integers(1 << 20, size=5_000)
    weights = random.choice(np.array([0, 1e-30, 0.25, 0.5, 3], dtype=np.float32), 5_000)
    targets[0] = (1 << 20) - 1  # then 2**13 sources at once fit into 64 bits
    found = sorted_weights(sources, targets, weights, items)
    order = np.lexsort((targets, -weights, sources))
    for values, expected in zip(found, (sources, targets, weights), strict=True):
        assert values.tobytes() == expected[order].tobytes()
