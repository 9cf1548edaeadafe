"""The sample world: reproducible, with readable names and an informative order."""

import csv
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from fansrec.data.sample import Sample, make_sample, write_sample


@pytest.fixture(scope="module")
def sample() -> Sample:
    return make_sample()


def test_the_same_seed_makes_the_same_world(sample: Sample) -> None:
    assert make_sample() == sample
    assert make_sample(1) != sample


def test_size_of_the_world(sample: Sample) -> None:
    assert len(sample.lists) == len(sample.themes) == 6_000
    assert len(sample.items) == 2_000
    assert len({row["group"] for row in sample.items}) == 200
    assert len({row["category"] for row in sample.items}) == 10


def test_ids_and_names_are_unique(sample: Sample) -> None:
    assert len({row["item"] for row in sample.items}) == len({row["name"] for row in sample.items}) == 2_000
    assert all(row["name"].endswith(row["group"]) for row in sample.items)


def test_lists_have_10_to_40_distinct_items(sample: Sample) -> None:
    known = {row["item"] for row in sample.items}
    assert {min(map(len, sample.lists)), max(map(len, sample.lists))} == {10, 40}
    assert all(len(set(list_)) == len(list_) and known.issuperset(list_) for list_ in sample.lists)


def test_items_are_unequally_popular_and_nearly_all_pass_the_filter(sample: Sample) -> None:
    counts = sorted(Counter(item for list_ in sample.lists for item in list_).values())
    assert sum(count >= 10 for count in counts) > 0.98 * len(sample.items)
    assert counts[-20] > 5 * counts[len(counts) // 2]


def test_part_two_mostly_follows_part_one(sample: Sample) -> None:
    names = {row["item"]: row["name"] for row in sample.items}
    after = Counter(
        names[second] == names[first].replace("Part One", "Part Two")
        for list_ in sample.lists
        for first, second in pairwise(list_)
        if "Part One" in names[first]
    )
    assert after[True] > 3 * after[False]


def test_lists_follow_the_ring_of_artists_more_often_in_one_direction(sample: Sample) -> None:
    """Models that ignore the order cannot predict which neighbor comes next."""
    number = {artist: i for i, artist in enumerate(dict.fromkeys(row["group"] for row in sample.items))}
    artist = {row["item"]: number[row["group"]] for row in sample.items}
    steps = Counter(
        (artist[second] - artist[first]) % 200 for list_ in sample.lists for first, second in pairwise(list_)
    )
    assert steps[1] > 2 * steps[199] > 20 * steps[100]


def test_files_contain_the_sample(sample: Sample, tmp_path: Path) -> None:
    lists, items = write_sample(tmp_path / "world", seed=0)
    rows = [json.loads(line) for line in lists.read_text().splitlines()]
    assert [row["items"] for row in rows] == sample.lists
    assert [row["theme"] for row in rows] == sample.themes
    assert len({row["id"] for row in rows}) == len(rows)
    with items.open(newline="") as file:
        assert list(csv.DictReader(file)) == sample.items
