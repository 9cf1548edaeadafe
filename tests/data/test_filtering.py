import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fansrec.data.filtering import Filtered, cut_long_lists, filter_lists, nothing_left
from fansrec.data.lists import Lists, offsets_of

ITEMS = 6


def lists_of(*lists: list[int]) -> Lists:
    lengths = np.array([len(items) for items in lists], dtype=np.int64)
    return Lists(np.array([item for items in lists for item in items], dtype=np.int32), offsets_of(lengths))


def plain(lists: Lists) -> list[list[int]]:
    offsets = lists.offsets.tolist()
    return [lists.items[start:end].tolist() for start, end in itertools.pairwise(offsets)]


def filtered(*lists: list[int], count: int = 1, shortest: int = 1, longest: int = 100) -> Filtered:
    return filter_lists(lists_of(*lists), ITEMS, count, shortest, longest)


def test_rare_items_are_dropped_and_the_others_keep_their_order() -> None:
    assert plain(filtered([0, 1, 2], [2, 0], count=2).lists) == [[0, 2], [2, 0]]


def test_repeats_inside_a_list_stay_and_count_each_time() -> None:
    assert plain(filtered([0, 0, 1], [1, 2], count=2).lists) == [[0, 0, 1], [1]]


def test_a_long_list_keeps_its_first_items() -> None:
    result = filtered([0, 1, 2, 3], [4, 5], longest=3)
    assert plain(result.lists) == [[0, 1, 2], [4, 5]]
    assert result.cut_lists == 1


def test_dropping_a_short_list_can_make_an_item_rare() -> None:
    result = filtered([0, 1, 2], [0, 1, 2], [0, 3, 1], [3], count=2, shortest=2)
    assert plain(result.lists) == [[0, 1, 2], [0, 1, 2], [0, 1]]
    assert result.kept.tolist() == [0, 1, 2]
    assert (result.rare_items, result.short_lists) == (1, 1)


def test_empty_lists_are_dropped() -> None:
    assert plain(filtered([], [0, 1], [], [1, 0], []).lists) == [[0, 1], [1, 0]]


def test_nothing_may_be_left() -> None:
    result = filtered([0, 1], [2, 3], count=2)
    assert len(result.lists) == 0
    message = str(nothing_left(2, result.rare_items, result.cut_lists))
    assert result.short_lists == 2 and "4 items were too rare" in message and "2 lists were too short" in message


def test_lists_that_fit_are_not_cut() -> None:
    lists = lists_of([0, 1], [2])
    assert cut_long_lists(lists, 2) is lists


def by_hand(lists: list[list[int]], count: int, shortest: int, longest: int) -> list[list[int]]:
    while True:
        flat = [item for items in lists for item in items]
        frequent = [[item for item in items if flat.count(item) >= count][:longest] for items in lists]
        left = [items for items in frequent if len(items) >= shortest]
        if left == lists:
            return left
        lists = left


@given(
    st.lists(st.lists(st.integers(0, ITEMS - 1), max_size=8), max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(4, 7),
)
def test_filter_equals_a_simple_loop(lists: list[list[int]], count: int, shortest: int, longest: int) -> None:
    result = filtered(*lists, count=count, shortest=shortest, longest=longest)
    assert plain(result.lists) == by_hand(lists, count, shortest, longest)
