"""What like lists say, on lists few enough to count by hand, and against a slow loop on random ones."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fansrec.models.hybrid.list_memory import ALIGNED_REACH, COMMONEST, REACH, Kernel, ListMemory

ITEMS = 10
PLAIN = Kernel(sharpness=1.0)
# Items 0 and 1 stand in three lists of five, 2 in two, all others in one.
LISTS = [[0, 1, 2, 3], [0, 4], [1, 2, 5], [0, 1, 6, 7], [8]]
TWICE, THRICE = math.log(5 / 2), math.log(5 / 3)


def memory_of(lists: Sequence[Sequence[int]], items: int = ITEMS) -> ListMemory:
    memory = ListMemory(items, 0, 0)
    flat = np.array([item for one in lists for item in one], dtype=np.int32)
    memory.learn(flat, np.cumsum([0, *map(len, lists)]))
    return memory


def numbers(items: Sequence[int]) -> np.ndarray:
    return np.array(items, dtype=np.int64)


def strengths(lists: Sequence[Sequence[int]], asked: Sequence[int], kernel: Kernel = PLAIN) -> list[float]:
    (row,) = memory_of(lists).strengths([numbers(asked)], kernel)
    return row.tolist()


def expected(**by_item: float) -> list[float]:
    """The strongest made 1; items that are not named get 0."""
    row = np.zeros(ITEMS)
    for name, strength in by_item.items():
        row[int(name[1:])] = strength
    return (row / row.max()).tolist()


def test_a_list_counts_by_the_rarity_of_what_it_shares_over_the_root_of_its_size() -> None:
    first, second = THRICE / math.sqrt(4), THRICE / math.sqrt(2)
    assert strengths(LISTS, [0]) == pytest.approx(
        expected(i1=first + first, i2=first, i3=first, i4=second, i6=first, i7=first)
    )


def test_what_is_shared_adds_up() -> None:
    alike = {0: (THRICE + TWICE) / 2, 1: THRICE / math.sqrt(2), 2: TWICE / math.sqrt(3), 3: THRICE / 2}
    assert strengths(LISTS, [0, 2]) == pytest.approx(
        expected(i1=alike[0] + alike[2] + alike[3], i3=alike[0], i4=alike[1], i5=alike[2], i6=alike[3], i7=alike[3])
    )


def test_of_lists_that_are_equally_like_the_newest_count() -> None:
    lists = [[0, 1], [0, 2], [0, 3], [0, 4], [5, 6, 7]]  # the first four share the same with the input
    newest_two = strengths(lists, [0], replace(PLAIN, neighbours=2))
    assert newest_two == pytest.approx(expected(i3=1, i4=1))


def test_an_item_of_too_many_lists_is_looked_up_in_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fansrec.models.hybrid.list_memory.LISTS_OF_AN_ITEM", 2)
    second, fourth = THRICE / math.sqrt(2), THRICE / math.sqrt(4)  # of the lists 0, 1 and 3, those two
    assert strengths(LISTS, [0]) == pytest.approx(expected(i4=second, i1=fourth, i6=fourth, i7=fourth))


def test_an_item_that_every_list_has_still_says_a_little() -> None:
    # Item 0 is in both lists, so its rarity would be 0; item 1 is in the first alone.
    first, second = (COMMONEST + math.log(2)) / math.sqrt(3), COMMONEST / math.sqrt(2)
    assert strengths([[0, 1, 2], [0, 3]], [0, 1]) == pytest.approx(expected(i2=first, i3=second))


def test_the_power_of_the_similarity_widens_the_gap_between_neighbours() -> None:
    ratio = math.sqrt(2 / 4)  # both share one item with the input, and have 2 and 4
    for sharpness in (0.0, 1.0, 2.5):
        made = strengths([[0, 1], [0, 2, 3, 4], [5]], [0], Kernel(sharpness=sharpness))
        assert made == pytest.approx(expected(i1=1, i2=ratio**sharpness, i3=ratio**sharpness, i4=ratio**sharpness))


def test_what_stands_before_the_last_shared_item_weighs_as_much_as_asked() -> None:
    made = strengths([[1, 2, 0, 3], [9]], [0], replace(PLAIN, before=0.4))
    assert made == pytest.approx(expected(i1=0.4, i2=0.4, i3=1))


def test_the_last_shared_item_is_the_inputs_last_not_the_neighbours() -> None:
    made = strengths([[1, 2, 3, 4], [9]], [3, 1], replace(PLAIN, before=0.0))
    assert made == pytest.approx(expected(i2=1, i4=1))  # all behind item 1
    made = strengths([[1, 2, 3, 4], [9]], [1, 3], replace(PLAIN, before=0.0))
    assert made == pytest.approx(expected(i4=1))


def test_nothing_is_left_where_all_stands_before_and_that_counts_nothing() -> None:
    assert strengths([[1, 2, 0], [9]], [0], replace(PLAIN, before=0.0)) == [0.0] * ITEMS


def test_older_items_of_the_input_weigh_less() -> None:
    # Of three items the last weighs 1, the one before 1 - r / 3, the first 1 - 2r / 3; all are alike otherwise.
    made = strengths([[0, 3], [1, 4], [2, 5], [9]], [0, 1, 2], replace(PLAIN, recency=0.6))
    assert made == pytest.approx(expected(i5=1, i4=0.8, i3=0.6))


def test_items_around_the_last_shared_one_weigh_more() -> None:
    made = strengths([[1, 2, 0, 3], [9]], [0], replace(PLAIN, near=0.5))
    weights = {place: 1 + 0.5 * math.exp(-abs(place - 2) / REACH) for place in (0, 1, 3)}
    assert made == pytest.approx(expected(i1=weights[0], i2=weights[1], i3=weights[3]))


def test_a_list_that_has_an_item_where_the_input_has_it_is_more_like_it() -> None:
    # Item 0 stands first in the input, in the lists first, third and fourth.
    made = strengths([[0, 3], [4, 5, 0], [6, 7, 8, 0], [9]], [0], replace(PLAIN, aligned=0.5))
    first, second, third = (1 + 0.5 * math.exp(-apart / ALIGNED_REACH) for apart in (0, 2, 3))
    second, third = second / math.sqrt(3), third / math.sqrt(4)
    assert made == pytest.approx(expected(i3=first / math.sqrt(2), i4=second, i5=second, i6=third, i7=third, i8=third))


def test_places_are_counted_from_the_beginning_and_alike_to_both_sides() -> None:
    # Item 0 comes again in the input, last at place 2: the lists have it there, one place before and one behind.
    made = strengths([[3, 4, 0, 5], [6, 0, 7, 8], [1, 2, 8, 0], [9]], [0, 9, 0], replace(PLAIN, aligned=2.0))
    apart = 1 + 2 * math.exp(-1 / ALIGNED_REACH)
    assert made == pytest.approx(expected(i3=3, i4=3, i5=3, i6=apart, i7=apart, i1=apart, i2=apart, i8=2 * apart))


def test_only_the_nearest_lists_count() -> None:
    lists = [[0, 1, 2, 3], [0, 4], [0, 5, 6], [9]]  # by their sizes the second is nearest, then the third
    assert strengths(lists, [0], replace(PLAIN, neighbours=1)) == pytest.approx(expected(i4=1))
    ratio = math.sqrt(2 / 3)
    two = expected(i4=1, i5=ratio, i6=ratio)
    assert strengths(lists, [0], replace(PLAIN, neighbours=2)) == pytest.approx(two)


def test_an_input_that_shares_nothing_with_any_list_gets_nothing() -> None:
    assert strengths(LISTS, [9]) == [0.0] * ITEMS  # an item no list has
    assert strengths(LISTS, []) == [0.0] * ITEMS
    assert strengths(LISTS, [8]) == [0.0] * ITEMS  # alone in its list


def test_no_inputs_get_no_rows() -> None:
    assert memory_of(LISTS).strengths([], PLAIN).shape == (0, ITEMS)


def test_an_item_that_comes_again_in_a_list_counts_once_where_it_stands_first() -> None:
    twice, once = [[1, 0, 2, 0, 1], [0, 3]], [[1, 0, 2], [0, 3]]
    for kernel in (PLAIN, Kernel(before=0.3), Kernel(before=0.3, near=1.0), Kernel(aligned=1.0)):
        assert strengths(twice, [0], kernel) == strengths(once, [0], kernel)


def test_an_item_that_comes_again_in_the_input_counts_once_by_its_last_place() -> None:
    lists = [[0, 3], [1, 4], [9]]
    assert strengths(lists, [0, 1, 0]) == strengths(lists, [1, 0])
    # Ages go by the input as it was given: item 1 is one place from the end of three.
    made = strengths(lists, [0, 1, 0], replace(PLAIN, recency=0.9))
    assert made == pytest.approx(expected(i3=1, i4=1 - 0.9 / 3))


def test_several_inputs_are_answered_each_as_if_alone() -> None:
    asked = [numbers(items) for items in ([0, 2], [], [8], [1], [9, 0])]
    memory = memory_of(LISTS)
    together = memory.strengths(asked, Kernel())
    for row, items in zip(together, asked, strict=True):
        assert torch.equal(row, memory.strengths([items], Kernel())[0])


def test_a_list_that_is_left_out_has_no_say() -> None:
    memory = memory_of(LISTS)
    (alone,) = memory.strengths([numbers([0, 1])], PLAIN, without=numbers([0]))
    assert alone[3] == 0 and alone[6] > 0  # only the left out list has item 3


def test_leaving_lists_out_goes_input_by_input() -> None:
    memory = memory_of(LISTS)
    both = memory.strengths([numbers([0, 1])] * 2, PLAIN, without=numbers([0, 3]))
    for row, absent in zip(both, (0, 3), strict=True):
        assert torch.equal(row, memory.strengths([numbers([0, 1])], PLAIN, without=numbers([absent]))[0])


def test_for_an_input_of_one_item_a_list_left_out_is_as_if_it_had_never_been() -> None:
    # Rarities are those of all lists, also the left out one; of one shared item they cancel out.
    kernel = Kernel(sharpness=1.7, before=0.5, near=0.4, aligned=0.8)
    for item in (0, 1, 2):
        for absent in range(len(LISTS)):
            (out,) = memory_of(LISTS).strengths([numbers([item])], kernel, without=numbers([absent]))
            fewer = [one for n, one in enumerate(LISTS) if n != absent]
            assert out.tolist() == pytest.approx(strengths(fewer, [item], kernel))


def test_its_state_makes_the_same_memory_again() -> None:
    memory = memory_of(LISTS)
    again = ListMemory(ITEMS, len(memory), len(memory.items))
    again.load_state_dict(memory.state_dict())
    kernel = Kernel(recency=0.3, before=0.5, near=0.5, aligned=1.0)
    asked = [numbers([0, 2]), numbers([1])]
    assert len(again) == len(LISTS) and again.vocabulary == ITEMS
    assert torch.equal(again.strengths(asked, kernel), memory.strengths(asked, kernel))


def test_it_stays_on_the_host_when_the_model_around_it_moves() -> None:
    around = torch.nn.ModuleDict({"memory": memory_of(LISTS), "other": torch.nn.Linear(2, 2)}).to("meta")
    assert {tensor.device.type for tensor in around["memory"].state_dict().values()} == {"cpu"}
    assert {tensor.device.type for tensor in around["other"].state_dict().values()} == {"meta"}


def slow_strengths(lists: list[list[int]], asked: list[int], kernel: Kernel, without: int | None) -> list[float]:
    """The same by loops over plain lists; none of the neighbours may tie at the edge."""
    once = [list(dict.fromkeys(one)) for one in lists]
    alike: list[tuple[float, int, int]] = []
    for n, one in enumerate(once):
        like, newest = 0.0, -1
        for item in set(one) & set(asked):
            last = max(place for place, other in enumerate(asked) if other == item)
            rarity = max(math.log(len(lists) / sum(item in other for other in once)), COMMONEST)
            aligned = 1 + kernel.aligned * math.exp(-abs(last - lists[n].index(item)) / ALIGNED_REACH)
            like += rarity * aligned * (1 - kernel.recency * (len(asked) - 1 - last) / len(asked))
            newest = max(newest, last)
        if newest >= 0 and n != without:
            alike.append((like / math.sqrt(len(one)), n, lists[n].index(asked[newest])))
    alike.sort(reverse=True)
    edge = alike[kernel.neighbours - 1 : kernel.neighbours + 1]
    assume(len(edge) < 2 or edge[0][0] - edge[1][0] > 1e-9)
    held = [0.0] * ITEMS
    for like, n, newest in alike[: kernel.neighbours]:
        for item in once[n]:
            distance = lists[n].index(item) - newest
            weight = (like / alike[0][0]) ** kernel.sharpness * (kernel.before if distance < 0 else 1)
            held[item] += weight * (1 + kernel.near * math.exp(-abs(distance) / REACH))
    held = [0.0 if item in asked else weight for item, weight in enumerate(held)]
    return [weight / (max(held) or 1) for weight in held]


some_items = st.lists(st.integers(0, ITEMS - 1), max_size=8)
kernels = st.builds(
    Kernel,
    sharpness=st.sampled_from([0.0, 1.0, 2.0, 3.5]),
    recency=st.sampled_from([0.0, 0.5, 1.0]),
    before=st.sampled_from([0.0, 0.3, 1.0]),
    near=st.sampled_from([0.0, 0.7]),
    neighbours=st.sampled_from([1, 2, 500]),
    aligned=st.sampled_from([0.0, 1.0, 2.5]),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(some_items, min_size=1, max_size=7), some_items, kernels, st.none() | st.integers(0, 6))
def test_the_strengths_are_as_a_plain_loop_finds_them(
    lists: list[list[int]], asked: list[int], kernel: Kernel, without: int | None
) -> None:
    absent = None if without is None else without % len(lists)
    leave_out = None if absent is None else numbers([absent])
    (made,) = memory_of(lists).strengths([numbers(asked)], kernel, leave_out)
    assert made.tolist() == pytest.approx(slow_strengths(lists, asked, kernel, absent), abs=1e-6)
    assert made.max() in (0, 1) and not made[asked].any()
