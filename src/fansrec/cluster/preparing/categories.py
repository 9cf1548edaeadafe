"""Categories on a cluster: CBOW runs in one task, whatever grows with the items or the lists in many."""

from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.filtering import ShardedSelection
from fansrec.cluster.preparing.item_counts import item_ranges, split_by_range
from fansrec.cluster.preparing.shuffle import Shard, ShardedLists
from fansrec.cluster.preparing.tasks import cores, task, task_of_parts
from fansrec.data import item_vectors
from fansrec.data.categories import Categories, Labels, Report, apply_majority, assign_categories, neighbor_counts
from fansrec.data.item_details import ItemDetails
from fansrec.data.item_vectors import UNKNOWN
from fansrec.data.lists import Lists, offsets_of
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN

KMEANS_CHUNK = 256  # scikit-learn's chunk of points: whole chunks give the same bits as all points together

IndexedVectors = tuple[NDArray[np.int64], NDArray[np.float32]]  # item indices (n,) and vectors (n, WIDTH)
NeighborCounts = tuple[Labels, Labels, Labels]  # items, categories, counts


def categorize(
    raw: ShardedLists | None,
    selection: ShardedSelection,
    details: ItemDetails,
    preparation: Preparation,
    report: Report,
) -> Categories:
    """Do the same as `data.prepare.categorize`; learn from the lists of `raw` if given, else from training lists."""

    def learn(count: int) -> tuple[Labels, dict[str, int]]:
        vectors, taught_by = _learn_vectors(raw, selection, preparation, report)
        indices = None if raw is None else selection.indices
        return cluster_items(vectors, indices, len(selection.ids), count, preparation.seed), taught_by

    return assign_categories(
        selection.ids, details, preparation, report, learn, lambda labels: fill_from_neighbors(labels, selection)
    )


def _learn_vectors(
    raw: ShardedLists | None, selection: ShardedSelection, preparation: Preparation, report: Report
) -> tuple[ray.ObjectRef, dict[str, int]]:
    """Return the item vectors, and the number of lists and interactions that they were learned from."""
    if raw is not None:
        shards, ends = raw.shards, raw.ends
        lengths = np.concatenate(ray.get([task(_lengths, shard) for shard in shards]))
        used = np.ones(len(lengths), dtype=np.bool_)
    else:
        shards, ends = selection.shards, selection.ends
        lengths, used = selection.lengths, selection.parts == TRAIN
    total = int(lengths[used].sum())
    if total > item_vectors.MAX_INTERACTIONS:
        used[used] = item_vectors.sample_mask(lengths[used], preparation.seed, item_vectors.MAX_INTERACTIONS)
    size = {"lists": int(used.sum()), "interactions": int(lengths[used].sum())}
    if size["interactions"] < total:
        report(f"sampled for the vectors: {size['lists']:,} lists, {size['interactions']:,} of {total:,} interactions")
    lists = [task(_keep_lists, shard, mask) for shard, mask in zip(shards, np.split(used, ends[:-1]), strict=True)]
    return task(_train_cbow, preparation.min_item_count, preparation.seed, *lists), size


def _lengths(shard: Shard) -> NDArray[np.int64]:
    return shard.lists.lengths


def _keep_lists(shard: Shard, mask: NDArray[np.bool_]) -> Lists:
    return shard.lists.keep_lists(mask)


def _train_cbow(min_count: int, seed: int, *parts: Lists) -> IndexedVectors:
    lengths = np.concatenate([part.lengths for part in parts])
    lists = Lists(np.concatenate([part.items for part in parts]), offsets_of(lengths))
    return item_vectors.train_cbow(lists, min_count, seed)


def cluster_items(
    vectors: ray.ObjectRef, indices: NDArray[np.int32] | None, items: int, categories: int, seed: int
) -> Labels:
    """Return the k-means cluster of every item with a vector, UNKNOWN for the others, shape (items,).

    `indices` maps item indices of the vectors to those after the filter, -1 for dropped items; None if they agree.
    """
    labels = np.full(items, UNKNOWN, dtype=np.int64)
    kept, points = task_of_parts(2, _reindex_vectors, vectors, None if indices is None else ray.put(indices))
    known = ray.get(kept)
    if not len(known):
        return labels
    kmeans = task(item_vectors.fit_kmeans, points, categories, seed)
    small = len(known) <= item_vectors.MAX_CLUSTERED_ITEMS
    step = len(known) if small else -(-len(known) // (KMEANS_CHUNK * cores())) * KMEANS_CHUNK
    found = [task(_predict, kmeans, points, first, first + step) for first in range(0, len(known), step)]
    labels[known] = np.concatenate(ray.get(found))
    return labels


def _reindex_vectors(vectors: IndexedVectors, indices: NDArray[np.int32] | None) -> IndexedVectors:
    known, points = vectors
    if indices is None:
        return known, points
    kept = indices[known] >= 0
    return indices[known[kept]].astype(np.int64), points[kept]


def _predict(kmeans: Any, points: NDArray[np.float32], first: int, end: int) -> NDArray[np.int32]:
    return item_vectors.predict_clusters(kmeans, points[first:end])


def fill_from_neighbors(labels: Labels, selection: ShardedSelection) -> Labels:
    """Do the same as `data.categories.fill_from_neighbors`: shards count, one task per range finds the majority."""
    if not np.any(labels == UNKNOWN):
        return labels
    ranges, shared = item_ranges(len(labels)), ray.put(labels)
    counts = [
        task_of_parts(len(ranges) - 1, _count_neighbors, shard, mask, shared, ranges)
        for shard, mask in zip(selection.shards, selection.train, strict=True)
    ]
    majorities = ray.get([task(_majorities, *of_range) for of_range in zip(*counts, strict=True)])
    return apply_majority(labels, *(np.concatenate(column) for column in zip(*majorities, strict=True)))


def _count_neighbors(
    shard: Shard, train: NDArray[np.bool_], labels: Labels, ranges: NDArray[np.int64]
) -> tuple[NeighborCounts, ...]:
    return split_by_range(neighbor_counts(labels, shard.lists.keep_lists(train)), ranges)


def _majorities(*parts: NeighborCounts) -> NeighborCounts:
    """Return the category with the highest count of every item, the lowest such category in a tie."""
    items, categories, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    base = int(categories.max(initial=0)) + 1
    pairs, pair_of = np.unique(items * base + categories, return_inverse=True)
    sums = np.bincount(pair_of, weights=counts, minlength=len(pairs)).astype(np.int64)
    order = np.lexsort((pairs % base, -sums, pairs // base))
    first = order[np.unique(pairs[order] // base, return_index=True)[1]]
    return pairs[first] // base, pairs[first] % base, sums[first]
