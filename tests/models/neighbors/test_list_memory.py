"""Votes of similar lists: small examples worked out by hand, and random ones against a slow loop."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.neighbors.list_search import ALIGNED_REACH, MIN_RARITY
from fansrec.models.neighbors.list_votes import REACH, Lookup

ITEMS = 10
PLAIN = MemoryConfig(sharpness=1.0)
# Items 0 and 1 are in three lists of five, 2 in two, all others in one.
LISTS = [[0, 1, 2, 3], [0, 4], [1, 2, 5], [0, 1, 6, 7], [8]]
LONG = [0] * 5  # the number of neighbors and their power are those of the settings
TWICE, THRICE = math.log(5 / 2), math.log(5 / 3)


def memory_of(lists: Sequence[Sequence[int]], items: int = ITEMS) -> ListMemory:
    flat = np.array([item for one in lists for item in one], dtype=np.int32)
    return ListMemory.of(items, flat, np.cumsum([0, *map(len, lists)]))


def indices(items: Sequence[int]) -> np.ndarray:
    return np.array(items, dtype=np.int64)


def votes(lists: Sequence[Sequence[int]], asked: Sequence[int], config: MemoryConfig = PLAIN) -> list[float]:
    (row,) = memory_of(lists).votes([indices(asked)], config)
    return row.tolist()


def expected(**by_item: float) -> list[float]:
    """Return votes divided by the highest; items that are not named get 0."""
    row = np.zeros(ITEMS)
    for name, vote in by_item.items():
        row[int(name[1:])] = vote
    return (row / row.max()).tolist()


def test_similarity_is_rarity_of_shared_items_over_root_of_length() -> None:
    first, second = THRICE / math.sqrt(4), THRICE / math.sqrt(2)
    assert votes(LISTS, [0]) == pytest.approx(
        expected(i1=first + first, i2=first, i3=first, i4=second, i6=first, i7=first)
    )


def test_shared_items_add_up() -> None:
    similarity = {0: (THRICE + TWICE) / 2, 1: THRICE / math.sqrt(2), 2: TWICE / math.sqrt(3), 3: THRICE / 2}
    assert votes(LISTS, [0, 2]) == pytest.approx(
        expected(
            i1=similarity[0] + similarity[2] + similarity[3],
            i3=similarity[0],
            i4=similarity[1],
            i5=similarity[2],
            i6=similarity[3],
            i7=similarity[3],
        )
    )


def test_newest_of_equally_similar_lists_vote() -> None:
    lists = [[0, 1], [0, 2], [0, 3], [0, 4], [5, 6, 7]]  # the first four share the same item with the input
    newest_two = votes(lists, LONG, replace(PLAIN, neighbors=2))
    assert newest_two == pytest.approx(expected(i3=1, i4=1))


def test_item_of_too_many_lists_is_compared_with_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fansrec.models.neighbors.list_votes.MAX_LISTS_OF_ITEM", 2)
    second, fourth = THRICE / math.sqrt(2), THRICE / math.sqrt(4)  # of the lists 0, 1 and 3, those two
    assert votes(LISTS, [0]) == pytest.approx(expected(i4=second, i1=fourth, i6=fourth, i7=fourth))


def test_item_of_every_list_has_a_small_weight() -> None:
    # Item 0 is in both lists, so its rarity would be 0; item 1 is in the first alone.
    first, second = (MIN_RARITY + math.log(2)) / math.sqrt(3), MIN_RARITY / math.sqrt(2)
    assert votes([[0, 1, 2], [0, 3]], [0, 1]) == pytest.approx(expected(i2=first, i3=second))


def test_sharpness_is_the_power_of_the_similarity() -> None:
    ratio = math.sqrt(2 / 4)  # both share one item with the input, and have 2 and 4
    for sharpness in (0.0, 1.0, 2.5):
        made = votes([[0, 1], [0, 2, 3, 4], [5]], LONG, MemoryConfig(sharpness=sharpness))
        assert made == pytest.approx(expected(i1=1, i2=ratio**sharpness, i3=ratio**sharpness, i4=ratio**sharpness))


def test_items_before_the_last_shared_item_have_their_own_weight() -> None:
    made = votes([[1, 2, 0, 3], [9]], [0], replace(PLAIN, before=0.4))
    assert made == pytest.approx(expected(i1=0.4, i2=0.4, i3=1))


def test_last_shared_item_is_the_last_in_the_input() -> None:
    made = votes([[1, 2, 3, 4], [9]], [3, 1], replace(PLAIN, before=0.0))
    assert made == pytest.approx(expected(i2=1, i4=1))  # all after item 1
    made = votes([[1, 2, 3, 4], [9]], [1, 3], replace(PLAIN, before=0.0))
    assert made == pytest.approx(expected(i4=1))


def test_no_votes_if_all_items_are_before_and_weigh_0() -> None:
    assert votes([[1, 2, 0], [9]], [0], replace(PLAIN, before=0.0)) == [0.0] * ITEMS


def test_memory_without_lists_has_no_votes() -> None:
    empty = ListMemory.of(ITEMS, np.array([], dtype=np.int32), np.array([0]))
    assert len(empty) == 0 and not empty.votes([indices([0, 1]), indices([])], PLAIN).any()


def test_older_items_of_the_input_weigh_less() -> None:
    # Of three items the last weighs 1, the one before 1 - r / 3, the first 1 - 2r / 3; all else is equal.
    made = votes([[0, 3], [1, 4], [2, 5], [9]], [0, 1, 2], replace(PLAIN, recency=0.6))
    assert made == pytest.approx(expected(i5=1, i4=0.8, i3=0.6))


def test_items_near_the_last_shared_item_weigh_more() -> None:
    made = votes([[1, 2, 0, 3], [9]], [0], replace(PLAIN, near=0.5))
    weights = {place: 1 + 0.5 * math.exp(-abs(place - 2) / REACH) for place in (0, 1, 3)}
    assert made == pytest.approx(expected(i1=weights[0], i2=weights[1], i3=weights[3]))


def test_list_with_an_item_at_the_same_position_is_more_similar() -> None:
    # Item 0 is first in the input, and first, third and fourth in the lists.
    made = votes([[0, 3], [4, 5, 0], [6, 7, 8, 0], [9]], [0], replace(PLAIN, aligned=0.5))
    first, second, third = (1 + 0.5 * math.exp(-apart / ALIGNED_REACH) for apart in (0, 2, 3))
    second, third = second / math.sqrt(3), third / math.sqrt(4)
    assert made == pytest.approx(expected(i3=first / math.sqrt(2), i4=second, i5=second, i6=third, i7=third, i8=third))


def test_positions_are_counted_from_the_start_in_both_directions() -> None:
    # Item 0 is repeated in the input, last at position 2: the lists have it there, one position before and one after.
    made = votes([[3, 4, 0, 5], [6, 0, 7, 8], [1, 2, 8, 0], [9]], [0, 9, 0], replace(PLAIN, aligned=2.0))
    apart = 1 + 2 * math.exp(-1 / ALIGNED_REACH)
    assert made == pytest.approx(expected(i3=3, i4=3, i5=3, i6=apart, i7=apart, i1=apart, i2=apart, i8=2 * apart))


def test_only_the_most_similar_lists_vote() -> None:
    lists = [[0, 1, 2, 3], [0, 4], [0, 5, 6], [9]]  # by their sizes the second is nearest, then the third
    assert votes(lists, LONG, replace(PLAIN, neighbors=1)) == pytest.approx(expected(i4=1))
    ratio = math.sqrt(2 / 3)
    two = expected(i4=1, i5=ratio, i6=ratio)
    assert votes(lists, LONG, replace(PLAIN, neighbors=2)) == pytest.approx(two)


@pytest.mark.parametrize(("length", "voting"), [(1, 10), (2, 6), (3, 4), (4, 4), (5, 2), (6, 2)])
def test_more_lists_vote_for_a_short_input(length: int, voting: int) -> None:
    lists = [[0, 1 + n % 9] for n in range(12)]  # equally similar, so that the newest vote
    made = votes(lists, [0] * length, replace(PLAIN, neighbors=2))
    newest = [1 + n % 9 for n in range(12)][-voting:]
    assert made == pytest.approx(expected(**{f"i{item}": newest.count(item) for item in newest}))


@pytest.mark.parametrize("sharpness", [0.0, 3.0])
def test_similarity_after_a_single_item_has_no_power(sharpness: float) -> None:
    lists = [[0, 1], [0, 2, 3, 4], [5]]
    assert votes(lists, [0], MemoryConfig(sharpness=sharpness)) == pytest.approx(votes(lists, [0], PLAIN))
    assert votes(lists, [0, 0], MemoryConfig(sharpness=sharpness)) != pytest.approx(votes(lists, [0, 0], PLAIN))


def test_input_that_shares_no_item_gets_no_votes() -> None:
    assert votes(LISTS, [9]) == [0.0] * ITEMS  # an item no list has
    assert votes(LISTS, []) == [0.0] * ITEMS
    assert votes(LISTS, [8]) == [0.0] * ITEMS  # alone in its list


def test_no_inputs_give_no_rows() -> None:
    assert memory_of(LISTS).votes([], PLAIN).shape == (0, ITEMS)


def test_repeated_item_of_a_list_counts_at_its_first_position() -> None:
    twice, once = [[1, 0, 2, 0, 1], [0, 3]], [[1, 0, 2], [0, 3]]
    for config in (PLAIN, MemoryConfig(before=0.3), MemoryConfig(before=0.3, near=1.0), MemoryConfig(aligned=1.0)):
        assert votes(twice, [0], config) == votes(once, [0], config)


def test_repeated_item_of_the_input_counts_at_its_last_position() -> None:
    lists = [[0, 3], [1, 4], [9]]
    assert votes(lists, [0, 1, 0]) == votes(lists, [1, 0])
    # Ages are those in the given input: item 1 is one position from the end of three.
    made = votes(lists, [0, 1, 0], replace(PLAIN, recency=0.9))
    assert made == pytest.approx(expected(i3=1, i4=1 - 0.9 / 3))


def test_inputs_of_a_batch_do_not_affect_each_other() -> None:
    asked = [indices(items) for items in ([0, 2], [], [8], [1], [9, 0])]
    memory = memory_of(LISTS)
    together = memory.votes(asked, MemoryConfig())
    for row, items in zip(together, asked, strict=True):
        assert torch.equal(row, memory.votes([items], MemoryConfig())[0])


def test_newer_lists_count_more() -> None:
    # Four lists that are equally similar but for their age: 3/4, 2/4, 1/4 and 0 of the memory are newer.
    lists = [[0, 1], [0, 2], [0, 3], [0, 4]]
    made = votes(lists, [0], replace(PLAIN, newer=2.0))
    assert made == pytest.approx(expected(i1=math.exp(-1.5), i2=math.exp(-1.0), i3=math.exp(-0.5), i4=1))
    assert votes(lists, [0]) == pytest.approx(expected(i1=1, i2=1, i3=1, i4=1))


def test_age_is_a_factor_of_the_similarity_and_not_of_the_vote() -> None:
    made = votes([[0, 1], [0, 2]], LONG, MemoryConfig(sharpness=3.0, newer=2.0))
    assert made == pytest.approx(expected(i1=math.exp(-3.0), i2=1))


def test_newer_list_is_a_neighbor_before_a_more_similar_old_one() -> None:
    lists = [[0, 1, 2], [0, 3], [4], [5]]  # the first shares two items with the input
    assert votes(lists, [*LONG, 1], replace(PLAIN, neighbors=1)) == pytest.approx(expected(i2=1))
    assert votes(lists, [*LONG, 1], replace(PLAIN, neighbors=1, newer=9.0)) == pytest.approx(expected(i3=1))


def test_settings_may_change_from_call_to_call() -> None:
    memory, asked = memory_of(LISTS), [indices([0, 2])]
    for newer in (1.0, 0.0, 2.0, 1.0):
        config = replace(PLAIN, newer=newer)
        assert torch.equal(memory.votes(asked, config), memory_of(LISTS).votes(asked, config))


def test_state_restores_the_memory() -> None:
    memory = memory_of(LISTS)
    again = ListMemory(ITEMS, len(memory), len(memory.items))
    again.load_state_dict(memory.state_dict())
    config = MemoryConfig(recency=0.3, before=0.5, near=0.5, aligned=1.0, newer=0.5)
    asked = [indices([0, 2]), indices([1])]
    assert len(again) == len(LISTS) and again.vocabulary == ITEMS
    assert torch.equal(again.votes(asked, config), memory.votes(asked, config))


def test_memory_stays_in_host_memory() -> None:
    around = torch.nn.ModuleDict({"memory": memory_of(LISTS), "other": torch.nn.Linear(2, 2)}).to("meta")
    assert {tensor.device.type for tensor in around["memory"].state_dict().values()} == {"cpu"}
    assert {tensor.device.type for tensor in around["other"].state_dict().values()} == {"meta"}


def slow_votes(lists: list[list[int]], asked: list[int], config: MemoryConfig) -> list[float]:
    """Return the votes by loops over plain lists; the last neighbor must not tie with the next list."""
    once = [list(dict.fromkeys(one)) for one in lists]
    similar: list[tuple[float, int, int]] = []
    for n, one in enumerate(once):
        similarity, newest = 0.0, -1
        for item in set(one) & set(asked):
            last = max(place for place, other in enumerate(asked) if other == item)
            rarity = max(math.log(len(lists) / sum(item in other for other in once)), MIN_RARITY)
            aligned = 1 + config.aligned * math.exp(-abs(last - lists[n].index(item)) / ALIGNED_REACH)
            similarity += rarity * aligned * (1 - config.recency * (len(asked) - 1 - last) / len(asked))
            newest = max(newest, last)
        if newest >= 0:
            similarity *= math.exp(-config.newer * (len(lists) - 1 - n) / len(lists))
            similar.append((similarity / math.sqrt(len(one)), n, lists[n].index(asked[newest])))
    similar.sort(reverse=True)
    voting = config.neighbors * (5, 5, 3, 2, 2, 1)[min(len(asked), 5)]
    edge = similar[voting - 1 : voting + 1]
    assume(len(edge) < 2 or edge[0][0] - edge[1][0] > 1e-9)
    counts = [0.0] * ITEMS
    for similarity, n, newest in similar[:voting]:
        for item in once[n]:
            distance = lists[n].index(item) - newest
            power = config.sharpness if len(asked) > 1 else 1
            weight = (similarity / similar[0][0]) ** power * (config.before if distance < 0 else 1)
            counts[item] += weight * (1 + config.near * math.exp(-abs(distance) / REACH))
    counts = [0.0 if item in asked else weight for item, weight in enumerate(counts)]
    return [weight / (max(counts) or 1) for weight in counts]


some_items = st.lists(st.integers(0, ITEMS - 1), max_size=8)
configs = st.builds(
    MemoryConfig,
    sharpness=st.sampled_from([0.0, 1.0, 2.0, 3.5]),
    recency=st.sampled_from([0.0, 0.5, 1.0]),
    before=st.sampled_from([0.0, 0.3, 1.0]),
    near=st.sampled_from([0.0, 0.7]),
    neighbors=st.sampled_from([1, 2, 500]),
    aligned=st.sampled_from([0.0, 1.0, 2.5]),
    newer=st.sampled_from([0.0, 0.5, 3.0]),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(some_items, min_size=1, max_size=7), some_items, configs)
def test_votes_equal_those_of_a_plain_loop(lists: list[list[int]], asked: list[int], config: MemoryConfig) -> None:
    (made,) = memory_of(lists).votes([indices(asked)], config)
    assert made.tolist() == pytest.approx(slow_votes(lists, asked, config), abs=1e-6)
    assert made.max() in (0, 1) and not made[asked].any()


@pytest.mark.parametrize("threads", [1, 3])
def test_inputs_that_are_looked_up_together_do_not_change_the_votes(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, inputs = memory_of(LISTS), [indices(asked) for asked in ([0, 2], [9], [], [5, 1, 1, 0], LONG, [8])]
    settings, before = replace(PLAIN, neighbors=1, recency=0.5, near=1.0, sharpness=2.0), torch.get_num_threads()
    one_by_one = torch.cat([memory.votes([given], settings) for given in inputs])
    torch.set_num_threads(threads)
    try:
        for lists in (1, 2, 6):
            monkeypatch.setattr("fansrec.models.neighbors.list_memory.CELLS_AT_ONCE", lists * ITEMS)
            assert torch.equal(memory.votes(inputs, settings), one_by_one)
    finally:
        torch.set_num_threads(before)


def test_long_lists_are_looked_up_one_input_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = Lookup.__call__

    def counted(self: Lookup, inputs: Sequence[np.ndarray], *others: Any) -> None:
        sizes.append(len(inputs))
        real(self, inputs, *others)

    monkeypatch.setattr(Lookup, "__call__", counted)
    monkeypatch.setattr("fansrec.models.neighbors.list_memory.CELLS_AT_ONCE", 60)
    memory = memory_of([[0, 1, 2, 3, 4, 5]] * 10)  # two votes of six items, and ten lists
    for neighbors, most in ((2, 5), (10, 1)):
        sizes.clear()
        memory.votes([indices([0])] * 10, replace(PLAIN, neighbors=neighbors))
        assert max(sizes) == most and sum(sizes) == 10
