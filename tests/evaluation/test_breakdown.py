"""Groups of lists: by length of the input, popularity of the target, known and new items."""

import numpy as np
import pytest

from fansrec.evaluation.breakdown import LENGTH, NEW_INPUT, NEW_TARGET, POPULARITY, breakdown_part, groups
from fansrec.evaluation.protocol import EvaluationLists, protocol

KNOWN = np.array([100, 50, 10, 5, 1, 0, 0])  # training lists of each item; the last two are new


def lists_of(*pairs: tuple[list[int], list[int]]) -> EvaluationLists:
    inputs, targets = zip(*pairs, strict=True)
    return EvaluationLists(
        [np.array(items, dtype=np.int64) for items in inputs], [np.array(items, dtype=np.int32) for items in targets]
    )


def found_groups(lists: EvaluationLists, by: str) -> dict[str, list[int]]:
    """Return the numbers of the lists in each group of one property."""
    return {name: np.flatnonzero(chosen).tolist() for kind, name, chosen in groups(lists, KNOWN) if kind == by}


def test_each_list_is_in_one_group_of_its_length() -> None:
    lists = lists_of(*[([0] * size, [1]) for size in (1, 1, 1, 2, 3, 4, 8, 9)])
    assert found_groups(lists, LENGTH) == {"1": [0, 1, 2], "2": [3], "3 to 4": [4, 5], "8 to 9": [6, 7]}


def test_equal_lengths_are_one_group() -> None:
    assert found_groups(lists_of(*[([0, 1], [1])] * 9), LENGTH) == {"2": list(range(9))}


def test_popularity_is_the_mean_over_the_items_of_the_target() -> None:
    lists = lists_of(([0], [0]), ([0], [0, 1]), ([0], [2, 3]), ([0], [3]), ([0], [4]), ([0], [4, 4, 4]))
    assert found_groups(lists, POPULARITY) == {
        "least popular third (1 to 1 lists)": [4, 5],
        "middle third (5 to 8 lists)": [2, 3],
        "most popular third (75 to 100 lists)": [0, 1],
    }


def test_lists_with_new_items_are_groups_of_their_own() -> None:
    lists = lists_of(([0], [1]), ([5], [1, 6]), ([0, 5], [5, 6]))
    assert found_groups(lists, NEW_INPUT) == {"none": [0], "some": [2], "all": [1]}
    assert found_groups(lists, NEW_TARGET) == {"none": [0], "some": [1], "all": [2]}


def test_without_new_items_there_are_no_groups_by_them() -> None:
    assert {by for by, _, _ in groups(lists_of(([0], [1]), ([2], [3])), KNOWN)} == {LENGTH, POPULARITY}


def test_groups_have_the_mean_of_their_own_lists() -> None:
    lists = lists_of(([0], [1]), ([0], [5]), ([0], [5, 1]))
    values = {"NDCG@5": np.array([1.0, 0.0, 0.5])}
    rows = breakdown_part(values, lists, protocol("standard"), KNOWN)
    found = {row["group"]: (row["lists"], row["NDCG@5"], row["NDCG@5_ci"]) for row in rows if row["by"] == NEW_TARGET}
    assert found == {"none": (1, 1, [1, 1]), "some": (1, 0.5, [0.5, 0.5]), "all": (1, 0, [0, 0])}
    assert next(row["NDCG@5"] for row in rows if row["by"] == LENGTH) == pytest.approx(0.5)


def test_groups_leave_out_lists_that_do_not_count() -> None:
    lists = lists_of(([0], [1] * 5), ([0, 0], [1]))  # the second target is too short for the protocol paper
    rows = breakdown_part({"HR@5": np.array([1.0])}, lists, protocol("paper"), KNOWN)
    found = {row["group"]: (row["lists"], row["HR@5"], row["HR@5_ci"]) for row in rows if row["by"] == LENGTH}
    assert found == {"1": (1, 1, [1, 1]), "2": (1, None, None)}
