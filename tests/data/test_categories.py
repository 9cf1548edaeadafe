import numpy as np
import pytest

from fansrec.data.categories import (
    default_category_count,
    fill_empty_categories,
    fill_from_neighbors,
    own_categories,
)
from fansrec.data.item_vectors import UNKNOWN, cbow_vectors, cluster_items, sample_lists
from fansrec.data.lists import Lists, offsets_of


def lists_of(*lists: list[int]) -> Lists:
    lengths = np.array([len(items) for items in lists], dtype=np.int64)
    return Lists(np.array([item for items in lists for item in items], dtype=np.int32), offsets_of(lengths))


def two_worlds() -> Lists:
    """Items 0 to 9 are listed together, and so are 10 to 19; item 20 is rare."""
    random = np.random.default_rng(0)
    worlds = [(random.permutation(10) + 10 * (number % 2)).tolist() for number in range(400)]
    return lists_of(*worlds, [20, 0, 1])


@pytest.mark.parametrize(("items", "number"), [(3, 3), (231, 4), (6_264, 10), (104_695, 40), (10**8, 256)])
def test_default_category_count_grows_with_the_items(items: int, number: int) -> None:
    assert default_category_count(items) == number


def test_items_listed_together_share_a_category() -> None:
    vectors, known = cbow_vectors(two_worlds(), items=21, min_count=10, seed=0)
    labels = cluster_items(vectors, known, categories=2, seed=0)
    assert len(set(labels[:10])) == len(set(labels[10:20])) == 1
    assert labels[0] != labels[10]
    assert labels[20] == UNKNOWN


def test_vectors_depend_on_the_seed() -> None:
    first, _ = cbow_vectors(two_worlds(), 21, 10, seed=3)
    again, _ = cbow_vectors(two_worlds(), 21, 10, seed=3)
    other, _ = cbow_vectors(two_worlds(), 21, 10, seed=4)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rare_items_have_no_vectors() -> None:
    vectors, known = cbow_vectors(lists_of([0, 1]), items=2, min_count=10, seed=0)
    assert not known.any()
    assert cluster_items(vectors, known, 2, seed=0).tolist() == [UNKNOWN, UNKNOWN]


def test_item_without_a_category_gets_the_majority_category_of_its_neighbors() -> None:
    labels = np.array([0, 1, 1, UNKNOWN])
    assert fill_from_neighbors(labels, lists_of([0, 1, 3, 2])).tolist() == [0, 1, 1, 1]


def test_only_neighbors_in_the_window_and_in_the_same_list_count() -> None:
    labels = np.array([0, 1, 1, UNKNOWN])
    assert fill_from_neighbors(labels, lists_of([1, 2], [3, 0], [1, 1])).tolist()[3] == 0
    assert fill_from_neighbors(labels, lists_of([3, 0, 0, 1, 2, 1])).tolist()[3] == 0


def test_lowest_category_wins_a_tie() -> None:
    assert fill_from_neighbors(np.array([1, 0, UNKNOWN]), lists_of([0, 2, 1])).tolist() == [1, 0, 0]


def test_item_without_neighbors_gets_the_most_common_category() -> None:
    labels = np.array([0, 1, 1, UNKNOWN])
    assert fill_from_neighbors(labels, lists_of([0, 1, 2])).tolist() == [0, 1, 1, 1]
    assert fill_from_neighbors(np.array([UNKNOWN, UNKNOWN]), lists_of([0, 1])).tolist() == [0, 0]


def test_an_empty_category_gets_an_item_from_the_largest() -> None:
    filled = fill_empty_categories(np.array([0, 0, 0, 2]), categories=4)
    assert sorted(set(filled.tolist())) == [0, 1, 2, 3]
    assert filled[3] == 2


def test_fewer_distinct_vectors_than_categories() -> None:
    labels = cluster_items(np.ones((6, 64), dtype=np.float32), np.ones(6, dtype=np.bool_), categories=4, seed=0)
    assert sorted(set(fill_empty_categories(labels, 4).tolist())) == [0, 1, 2, 3]


def test_sample_consists_of_whole_lists() -> None:
    lists = two_worlds()
    sample = sample_lists(lists, seed=0, max_interactions=500)
    assert 400 < len(sample.items) <= 500
    assert set(sample.lengths.tolist()) <= {3, 10}
    assert np.array_equal(sample.items, sample_lists(lists, seed=0, max_interactions=500).items)
    assert sample_lists(lists, seed=0) is lists


def test_own_categories_are_sorted_by_name() -> None:
    labels, names = own_categories(["x", "y", "z"], {"x": "rock", "z": "jazz", "unseen": "folk"})
    assert names == ["jazz", "rock"]
    assert labels.tolist() == [1, UNKNOWN, 0]
