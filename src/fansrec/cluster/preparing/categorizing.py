"""A category for every item: the vectors in one task, everything that grows with the items or the lists in many."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.gathering import Gathered, Shard
from fansrec.cluster.preparing.selecting import SelectedShards
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts
from fansrec.cluster.preparing.voting import fill_from_neighbours
from fansrec.data import categorizer
from fansrec.data.assembling import Categories
from fansrec.data.item_details import ItemDetails
from fansrec.data.lists import Lists, offsets_of
from fansrec.data.prepare import Say, how_many, own_wanted, say_own
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN

POINTS_TOGETHER = 256  # k-means compares so many at once; runs of whole such groups give the same bits as all together

Numbered = tuple[NDArray[np.int64], NDArray[np.float32]]


def categorize(
    raw: Gathered | None, selected: SelectedShards, details: ItemDetails, preparation: Preparation, say: Say
) -> Categories:
    """The user's own categories where wanted or given, else CBOW and k-means; over all lists if `raw` is given."""
    if own_wanted(details, preparation):
        labels, names = categorizer.own_categories(selected.ids, details.categories)
        say_own(labels, names, say)
        return Categories(fill_from_neighbours(labels, selected), names, "own", None)
    number, seed = how_many(preparation, len(selected.ids), say), preparation.seed
    vectors, taught = _taught(raw, selected, preparation, say)
    labels = labels_by_vectors(vectors, None if raw is None else selected.numbers, len(selected.ids), number, seed)
    known = int(np.sum(labels != categorizer.UNKNOWN))
    labels = categorizer.fill_empty_categories(fill_from_neighbours(labels, selected), number)
    say(f"categorized: {known:,} items by their vectors, {len(labels) - known:,} by their neighbours")
    return Categories(labels, [str(category) for category in range(number)], preparation.categories_from, taught)


def _taught(
    raw: Gathered | None, selected: SelectedShards, preparation: Preparation, say: Say
) -> tuple[ray.ObjectRef, dict[str, int]]:
    """The vectors, and by how much they were taught: all lists to learn from, or a sample of them."""
    if raw is not None:
        shards, ends = raw.shards, raw.ends
        lengths = np.concatenate(ray.get([task(_lengths, shard) for shard in shards]))
        taken = np.ones(len(lengths), dtype=np.bool_)
    else:
        shards, ends = selected.shards, selected.ends
        lengths, taken = selected.lengths, selected.parts == TRAIN
    whole = int(lengths[taken].sum())
    if whole > categorizer.MOST_INTERACTIONS:
        taken[taken] = categorizer.drawn(lengths[taken], preparation.seed, categorizer.MOST_INTERACTIONS)
    taught = {"lists": int(taken.sum()), "interactions": int(lengths[taken].sum())}
    if taught["interactions"] < whole:
        say(f"sampled for the vectors: {taught['lists']:,} lists, {taught['interactions']:,} of {whole:,} interactions")
    return vectors_of(shards, np.split(taken, ends[:-1]), preparation.min_item_count, preparation.seed), taught


def _lengths(shard: Shard) -> NDArray[np.int64]:
    return shard.lists.lengths


def vectors_of(
    shards: Sequence[ray.ObjectRef], taken: Sequence[NDArray[np.bool_]], min_count: int, seed: int
) -> ray.ObjectRef:
    """Items with a vector and their vectors, learned in one task from the taken lists of every shard."""
    lists = [task(_taken, shard, mask) for shard, mask in zip(shards, taken, strict=True)]
    return task(_vectors, min_count, seed, *lists)


def _taken(shard: Shard, mask: NDArray[np.bool_]) -> Lists:
    return shard.lists.keep_lists(mask)


def _vectors(min_count: int, seed: int, *parts: Lists) -> Numbered:
    lengths = np.concatenate([part.lengths for part in parts])
    lists = Lists(np.concatenate([part.items for part in parts]), offsets_of(lengths))
    return categorizer.learned_vectors(lists, min_count, seed)


def labels_by_vectors(
    vectors: ray.ObjectRef, numbers: NDArray[np.int32] | None, items: int, categories: int, seed: int
) -> NDArray[np.int64]:
    """The k-means category of every item with a vector, UNKNOWN for the others.

    `numbers` are those after the filter, -1 for items that are gone; None where the vectors have them already.
    """
    labels = np.full(items, categorizer.UNKNOWN, dtype=np.int64)
    kept, points = task_of_parts(2, _points, vectors, None if numbers is None else ray.put(numbers))
    known = ray.get(kept)
    if not len(known):
        return labels
    if len(known) <= categorizer.MOST_CLUSTERED:
        labels[known] = ray.get(task(_clustered, points, categories, seed))
        return labels
    means = task(_means, points, categories, seed)
    step = -(-len(known) // (POINTS_TOGETHER * cores())) * POINTS_TOGETHER
    found = [task(_nearest, means, points, first, first + step) for first in range(0, len(known), step)]
    labels[known] = np.concatenate(ray.get(found))
    return labels


def _points(vectors: Numbered, numbers: NDArray[np.int32] | None) -> Numbered:
    known, points = vectors
    if numbers is None:
        return known, points
    left = numbers[known] >= 0
    return numbers[known[left]].astype(np.int64), points[left]


def _clustered(points: NDArray[np.float32], categories: int, seed: int) -> NDArray[np.int32]:
    return categorizer.nearest(_means(points, categories, seed), points)


def _means(points: NDArray[np.float32], categories: int, seed: int) -> Any:
    return categorizer.fitted_means(points, categories, seed)


def _nearest(means: Any, points: NDArray[np.float32], first: int, end: int) -> NDArray[np.int32]:
    return categorizer.nearest(means, points[first:end])
