"""Categories on a cluster: one task learns the vectors and their clusters, each shard counts its own neighbors."""

import numpy as np
import ray
from numpy.typing import NDArray

from fansrec.cluster.preparing.filtering import ShardedSelection
from fansrec.cluster.preparing.shuffle import Shard, ShardedLists
from fansrec.cluster.preparing.tasks import Counts, sum_counts, task
from fansrec.data import item_vectors
from fansrec.data.categories import Categories, Labels, Report, apply_majority, assign_categories, neighbor_counts
from fansrec.data.item_details import ItemDetails
from fansrec.data.item_vectors import UNKNOWN
from fansrec.data.lists import Lists, offsets_of
from fansrec.data.settings import Preparation
from fansrec.data.splitting import TRAIN


def categorize(
    raw: ShardedLists | None,
    selection: ShardedSelection,
    details: ItemDetails,
    preparation: Preparation,
    report: Report,
) -> Categories:
    """Do the same as `data.prepare.categorize`; learn from the lists of `raw` if given, else from training lists."""

    def learn(count: int) -> tuple[Labels, dict[str, int]]:
        lists, size = _sample(raw, selection, preparation, report)
        indices = None if raw is None else selection.indices
        sizes = len(selection.ids), count, preparation.min_item_count, preparation.seed
        return ray.get(task(_learn_clusters, indices, *sizes, *lists)), size

    return assign_categories(
        selection.ids, details, preparation, report, learn, lambda labels: fill_from_neighbors(labels, selection)
    )


def _sample(
    raw: ShardedLists | None, selection: ShardedSelection, preparation: Preparation, report: Report
) -> tuple[list[ray.ObjectRef], dict[str, int]]:
    """Return the lists of each shard to learn from, and the number of lists and interactions in all of them."""
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
    return lists, size


def _lengths(shard: Shard) -> NDArray[np.int64]:
    return shard.lists.lengths


def _keep_lists(shard: Shard, mask: NDArray[np.bool_]) -> Lists:
    return shard.lists.keep_lists(mask)


def _learn_clusters(
    indices: NDArray[np.int32] | None, items: int, categories: int, min_count: int, seed: int, *parts: Lists
) -> Labels:
    """Return the k-means cluster of every item with a vector, UNKNOWN for the others, shape (items,).

    `indices` maps item indices of the lists to those after the filter, -1 for dropped items; None if they agree.
    """
    offsets = offsets_of(np.concatenate([part.lengths for part in parts]))
    lists = Lists(np.concatenate([part.items for part in parts]), offsets)
    known, points = item_vectors.train_cbow(lists, min_count, seed)
    if indices is not None:
        known = indices[known].astype(np.int64)
        known, points = known[known >= 0], points[known >= 0]
    labels = np.full(items, UNKNOWN, dtype=np.int64)
    if len(known):
        kmeans = item_vectors.fit_kmeans(points, categories, seed)
        labels[known] = item_vectors.predict_clusters(kmeans, points)
    return labels


def fill_from_neighbors(labels: Labels, selection: ShardedSelection) -> Labels:
    """Do the same as `data.categories.fill_from_neighbors`; each shard counts its own neighbors."""
    if not np.any(labels == UNKNOWN):
        return labels
    shared, categories = ray.put(labels), max(1, int(labels.max()) + 1)
    shards = zip(selection.shards, selection.train, strict=True)
    pairs, counts = sum_counts([task(_count_neighbors, shard, mask, shared, categories) for shard, mask in shards])
    return apply_majority(labels, pairs // categories, pairs % categories, counts)


def _count_neighbors(shard: Shard, train: NDArray[np.bool_], labels: Labels, categories: int) -> Counts:
    """Return how often each category is near each UNKNOWN item; a pair of both is one integer."""
    items, near, counts = neighbor_counts(labels, shard.lists.keep_lists(train))
    return items * categories + near, counts
