import numpy as np
import pytest

from fansrec.data.splitting import split_at_random, split_by_group, split_in_file_order
from fansrec.errors import BadInput


def sizes(parts: np.ndarray) -> list[int]:
    return np.bincount(parts, minlength=3).tolist()


def test_file_order_splits_aotm_as_the_authors_did() -> None:
    parts = split_in_file_order(12_940)
    assert sizes(parts) == [10_353, 1_295, 1_292]
    assert np.all(np.diff(parts.astype(int)) >= 0)


def test_a_random_split_is_8_1_1_and_mixes_the_file() -> None:
    parts = split_at_random(1005, seed=1)
    assert sizes(parts) == [804, 100, 101]
    assert np.any(np.diff(parts.astype(int)) < 0)


def test_split_depends_on_the_seed() -> None:
    groups = np.arange(1000) // 3
    assert np.array_equal(split_at_random(1000, 1), split_at_random(1000, 1))
    assert not np.array_equal(split_at_random(1000, 1), split_at_random(1000, 2))
    assert np.array_equal(split_by_group(groups, 1), split_by_group(groups, 1))
    assert not np.array_equal(split_by_group(groups, 1), split_by_group(groups, 2))


@pytest.mark.parametrize("seed", range(5))
def test_group_stays_in_one_part_and_parts_are_close_to_8_1_1(seed: int) -> None:
    groups = np.random.default_rng(seed).zipf(1.6, 2000) % 300
    parts = split_by_group(groups, seed)
    assert all(len(set(parts[groups == group])) == 1 for group in set(groups))
    assert np.allclose(np.array(sizes(parts)) / 2000, [0.8, 0.1, 0.1], atol=0.01)


def test_large_groups_occur_in_every_part() -> None:
    groups = np.repeat(np.arange(100), np.where(np.arange(100) < 20, 20, 2))
    large = {int(part) for seed in range(20) for part in split_by_group(groups, seed)[:400]}
    assert large == {0, 1, 2}


def test_three_groups_fill_three_parts() -> None:
    assert sorted(sizes(split_by_group(np.array([0] * 50 + [1] * 40 + [2] * 30), seed=0))) == [30, 40, 50]


def test_too_few_lists_or_groups_are_refused() -> None:
    with pytest.raises(BadInput, match="9 lists are left"):
        split_at_random(9, seed=0)
    with pytest.raises(BadInput, match="file-order"):
        split_in_file_order(12)
    with pytest.raises(BadInput, match="there are 2"):
        split_by_group(np.array([0, 1] * 50), seed=0)
