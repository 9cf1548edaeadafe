import numpy as np
import pytest
import torch

from fansrec.engine.rules import Rules, limits_of
from fansrec.errors import BadSetting

CPU = torch.device("cpu")


def allowed(rules: Rules, *inputs: list[int]) -> list[list[int]]:
    """The items of 0 to 5 that each of these inputs may get."""
    arrays = [np.array(items, dtype=np.int64) for items in inputs]
    limits = limits_of(rules, arrays, [1] * len(inputs), 6, CPU)
    return [(~row).nonzero().flatten().tolist() for row in limits.blocked]


def test_items_of_the_input_do_not_come_again() -> None:
    assert allowed(Rules(), [0, 3, 3], []) == [[1, 2, 4, 5], [0, 1, 2, 3, 4, 5]]


def test_items_of_the_input_may_come_again_if_asked() -> None:
    assert allowed(Rules(keep_seen=True), [0, 3, 3]) == [[0, 1, 2, 3, 4, 5]]


def test_excluded_items_never_come() -> None:
    assert allowed(Rules(exclude=[1, 5]), [0]) == [[2, 3, 4]]


def test_only_allowed_items_come() -> None:
    assert allowed(Rules(allow=[1, 2, 3]), [2], [4]) == [[1, 3], [1, 2, 3]]


def test_exclude_wins_over_allow() -> None:
    assert allowed(Rules(allow=[1, 2], exclude=[2], keep_seen=True), [2]) == [[1]]


def test_allowing_nothing_is_not_allowing_everything() -> None:
    assert allowed(Rules(allow=[]), [0]) == [[]]


@pytest.mark.parametrize("most", [0, -1])
def test_a_group_must_give_at_least_one(most: int) -> None:
    with pytest.raises(BadSetting, match="max_per_group is .*at least 1"):
        Rules(max_per_group=most, groups=np.zeros(6, dtype=np.int64))


def test_a_limit_by_group_needs_groups() -> None:
    with pytest.raises(BadSetting, match="needs groups"):
        Rules(max_per_group=1)


def test_an_unknown_way_to_fill_is_refused() -> None:
    with pytest.raises(BadSetting, match="'breadth-first'; it can be by-position, depth-first or arranged"):
        Rules(fill="breadth-first")


@pytest.mark.parametrize("fill", ["by-position", "depth-first", "arranged"])
def test_every_known_way_to_fill_is_taken(fill: str) -> None:
    assert Rules(fill=fill).fill == fill
