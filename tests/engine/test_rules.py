import numpy as np
import pytest
import torch

from fansrec.engine.decoding.limits import make_limits
from fansrec.engine.rules import Rules
from fansrec.errors import BadSetting

CPU = torch.device("cpu")


def allowed(rules: Rules, *inputs: list[int]) -> list[list[int]]:
    """Return the items of 0 to 5 that each of these inputs may get."""
    arrays = [np.array(items, dtype=np.int64) for items in inputs]
    limits = make_limits(rules, arrays, [1] * len(inputs), 6, CPU)
    return [(~row).nonzero().flatten().tolist() for row in limits.blocked]


def test_input_items_are_blocked_by_default() -> None:
    assert allowed(Rules(), [0, 3, 3], []) == [[1, 2, 4, 5], [0, 1, 2, 3, 4, 5]]


def test_keep_seen_allows_input_items() -> None:
    assert allowed(Rules(keep_seen=True), [0, 3, 3]) == [[0, 1, 2, 3, 4, 5]]


def test_excluded_items_are_blocked() -> None:
    assert allowed(Rules(exclude=[1, 5]), [0]) == [[2, 3, 4]]


def test_items_not_in_allow_are_blocked() -> None:
    assert allowed(Rules(allow=[1, 2, 3]), [2], [4]) == [[1, 3], [1, 2, 3]]


def test_exclude_overrides_allow() -> None:
    assert allowed(Rules(allow=[1, 2], exclude=[2], keep_seen=True), [2]) == [[1]]


def test_empty_allow_blocks_all_items() -> None:
    assert allowed(Rules(allow=[]), [0]) == [[]]


@pytest.mark.parametrize("most", [0, -1])
def test_max_per_group_below_one_is_refused(most: int) -> None:
    with pytest.raises(BadSetting, match="max_per_group is .*at least 1"):
        Rules(max_per_group=most, groups=np.zeros(6, dtype=np.int64))


def test_max_per_group_needs_groups() -> None:
    with pytest.raises(BadSetting, match="needs groups"):
        Rules(max_per_group=1)


def test_unknown_fill_is_refused() -> None:
    with pytest.raises(BadSetting, match="'breadth-first'; it can be by-position, depth-first or arranged"):
        Rules(fill="breadth-first")


@pytest.mark.parametrize("fill", ["by-position", "depth-first", "arranged"])
def test_known_fills_are_accepted(fill: str) -> None:
    assert Rules(fill=fill).fill == fill
