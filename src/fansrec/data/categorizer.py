"""A category for every item: CBOW vectors clustered by k-means, or the categories the user brings."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fansrec.data.lists import Lists

# gensim and scikit-learn take seconds to import: the functions that need them do it, most processes never.
if TYPE_CHECKING:
    from sklearn.cluster import KMeans

WIDTH = 64
WINDOW = 2
UNKNOWN = -1
# More than this teaches the vectors nothing new and takes minutes: a sample of the lists does.
MOST_INTERACTIONS = 20_000_000
MOST_CLUSTERED = 200_000
TAUGHT = 7_000_000
LEARNING_RATE = 0.1  # gensim's 0.025 needs three times the passes before k-means finds no lone outliers


def chosen_categories(items: int) -> int:
    """sqrt(M) / 8, from 4 to 256: the two-stage head costs N + M/N, yet each category needs items enough to learn."""
    return min(items, max(4, min(256, round(math.sqrt(items) / 8))))


def passes(interactions: int) -> int:
    """How often CBOW reads the lists: seven million items in all, since small data read few times teaches nothing."""
    return max(5, min(40, TAUGHT // max(1, interactions)))


def sample_lists(lists: Lists, seed: int, most: int | None = None) -> Lists:
    """All lists, or where they hold more than `most` interactions, as many random ones as hold that many."""
    most = MOST_INTERACTIONS if most is None else most
    return lists if len(lists.items) <= most else lists.keep_lists(drawn(lists.lengths, seed, most))


def drawn(lengths: NDArray[np.int64], seed: int, most: int) -> NDArray[np.bool_]:
    """Which lists are drawn so that they hold as many interactions as may be, `most` of them."""
    order = np.random.default_rng(seed).permutation(len(lengths))
    taken = np.zeros(len(lengths), dtype=np.bool_)
    taken[order[np.cumsum(lengths[order]) <= most]] = True
    return taken


@dataclass(frozen=True)
class Sentences:
    """Lists the way gensim reads them, again and again: words are item numbers as text."""

    lists: Lists
    words: Sequence[str]

    def __iter__(self) -> Iterator[list[str]]:
        for start, end in zip(self.lists.offsets[:-1].tolist(), self.lists.offsets[1:].tolist(), strict=True):
            yield [self.words[item] for item in self.lists.items[start:end].tolist()]


def cbow_vectors(lists: Lists, items: int, min_count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """A vector for every item seen at least `min_count` times, and which items those are."""
    vectors = np.zeros((items, WIDTH), dtype=np.float32)
    known = np.zeros(items, dtype=np.bool_)
    numbers, learned = learned_vectors(lists, min_count, seed)
    vectors[numbers], known[numbers] = learned, True
    return vectors, known


def learned_vectors(lists: Lists, min_count: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The numbers of the items seen at least `min_count` times, rising, and their vectors."""
    from gensim.models import Word2Vec

    counts = np.bincount(lists.items)
    if not np.any(counts >= min_count):
        return np.zeros(0, dtype=np.int64), np.zeros((0, WIDTH), dtype=np.float32)
    logging.getLogger("gensim").setLevel(logging.ERROR)
    sentences = Sentences(lists, [str(item) for item in range(len(counts))])
    # One worker: with more, the order in which threads finish would change the vectors from run to run.
    # No word is left out for being frequent (sample=0): lists have no "the" and "of", small sets need all of it.
    model = Word2Vec(
        sentences,
        vector_size=WIDTH,
        window=WINDOW,
        min_count=min_count,
        sg=0,
        sample=0,
        alpha=LEARNING_RATE,
        epochs=passes(len(lists.items)),
        workers=1,
        seed=seed,
    )
    numbers = np.array([int(word) for word in model.wv.index_to_key])
    order = np.argsort(numbers)
    return numbers[order], model.wv.vectors[order]


def clusters(vectors: NDArray[np.float32], known: NDArray[np.bool_], categories: int, seed: int) -> NDArray[np.int64]:
    """The k-means category of every item with a vector, UNKNOWN for the others."""
    labels = np.full(len(vectors), UNKNOWN, dtype=np.int64)
    points = vectors[known]
    if not len(points):
        return labels
    labels[known] = nearest(fitted_means(points, categories, seed), points)
    return labels


def fitted_means(points: NDArray[np.float32], categories: int, seed: int) -> KMeans:
    from sklearn.cluster import KMeans

    sample = points
    if len(points) > MOST_CLUSTERED:
        sample = points[np.sort(np.random.default_rng(seed).choice(len(points), MOST_CLUSTERED, replace=False))]
    means = KMeans(min(categories, len(sample)), n_init=3, max_iter=100, random_state=seed)
    # One thread: sums over threads come in any order, and the last bit of a centre can move an item.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct vectors than categories: mended by fill_empty_categories
        return means.fit(sample)


def nearest(means: KMeans, points: NDArray[np.float32]) -> NDArray[np.int32]:
    """The mean next to each point."""
    with threadpool_limits(1):
        found: NDArray[np.int32] = means.predict(points)
    return found


def fill_from_neighbours(labels: NDArray[np.int64], lists: Lists) -> NDArray[np.int64]:
    """Give an item without a category the one most frequent around it in the lists, else the most common of all."""
    if not np.any(labels == UNKNOWN):
        return labels
    return elected(labels, *votes(labels, lists))


def elected(
    labels: NDArray[np.int64], items: NDArray[np.int64], categories: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The labels with what the votes give to the items that have none."""
    labelled = labels[labels != UNKNOWN]
    common = int(np.bincount(labelled).argmax()) if len(labelled) else 0
    filled = np.where(labels == UNKNOWN, common, labels)
    # The highest count last, and of equal counts the lowest category, so that it is what stays written.
    order = np.lexsort((-categories, counts))
    filled[items[order]] = categories[order]
    return filled


def votes(labels: NDArray[np.int64], lists: Lists) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """How often each category stands within the window of each unlabelled item: items, categories, counts."""
    at = np.flatnonzero((labels == UNKNOWN)[lists.items])
    own_list = np.searchsorted(lists.offsets, at, side="right") - 1
    start, end = lists.offsets[own_list], lists.offsets[own_list + 1]
    base = int(labels.max()) + 1
    pairs = []
    for distance in (*range(-WINDOW, 0), *range(1, WINDOW + 1)):
        inside = (at + distance >= start) & (at + distance < end)
        category = labels[lists.items[at[inside] + distance]]
        pairs.append((lists.items[at[inside]].astype(np.int64) * base + category)[category != UNKNOWN])
    distinct, counts = np.unique(np.concatenate(pairs), return_counts=True)
    return distinct // max(base, 1), distinct % max(base, 1), counts


def fill_empty_categories(labels: NDArray[np.int64], categories: int) -> NDArray[np.int64]:
    """Move an item out of the largest category into each empty one: a model has a classifier for every category."""
    labels = labels.copy()
    for empty in np.flatnonzero(np.bincount(labels, minlength=categories) == 0):
        largest = np.bincount(labels, minlength=categories).argmax()
        labels[np.flatnonzero(labels == largest)[-1]] = empty
    return labels


def own_categories(ids: Sequence[str], category_of: dict[str, str]) -> tuple[NDArray[np.int64], list[str]]:
    """The user's categories as numbers, UNKNOWN where an item has none, and their names in order."""
    names = sorted({category_of[id_] for id_ in ids if id_ in category_of})
    numbers = {name: number for number, name in enumerate(names)}
    labels = [numbers[category_of[id_]] if id_ in category_of else UNKNOWN for id_ in ids]
    return np.array(labels, dtype=np.int64), names
