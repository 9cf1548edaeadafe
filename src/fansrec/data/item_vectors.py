"""Item vectors learned by CBOW from the lists, and their k-means clusters."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from fansrec.data.lists import Lists

# gensim and scikit-learn take seconds to import, and most processes never need them: they are imported where used.
if TYPE_CHECKING:
    from sklearn.cluster import KMeans

WIDTH = 64
WINDOW = 2
Progress = Callable[[int, int], object]  # lists read so far, lists to read in all epochs
UNKNOWN = -1  # the label of an item without a category
# More interactions than this take minutes and do not improve the vectors: a sample of the lists is enough.
MAX_INTERACTIONS = 20_000_000
MAX_CLUSTERED_ITEMS = 200_000
CBOW_INTERACTIONS = 7_000_000  # to read in all epochs together
LEARNING_RATE = 0.1  # with gensim's 0.025, k-means finds lone outliers until after three times as many epochs


def no_progress(done: int, total: int) -> None:
    """Ignore the progress."""


def counter(progress: Progress, total: int) -> Callable[[], None]:
    """Return a function that counts its calls and reports every hundredth of them."""
    done, step = count(1), max(1, total // 100)

    def read() -> None:
        number = next(done)
        if number % step == 0 or number == total:
            progress(number, total)

    return read


def cbow_epochs(interactions: int) -> int:
    """Return the number of CBOW epochs: small data needs many epochs to learn anything."""
    return max(5, min(40, CBOW_INTERACTIONS // max(1, interactions)))


def sample_lists(lists: Lists, seed: int, max_interactions: int | None = None) -> Lists:
    """Return all lists, or a random sample of them with at most `max_interactions` interactions."""
    limit = MAX_INTERACTIONS if max_interactions is None else max_interactions
    return lists if len(lists.items) <= limit else lists.keep_lists(sample_mask(lists.lengths, seed, limit))


def sample_mask(lengths: NDArray[np.int64], seed: int, max_interactions: int) -> NDArray[np.bool_]:
    """Return which lists of these lengths are in a random sample of at most `max_interactions` interactions."""
    order = np.random.default_rng(seed).permutation(len(lengths))
    sampled = np.zeros(len(lengths), dtype=np.bool_)
    sampled[order[np.cumsum(lengths[order]) <= max_interactions]] = True
    return sampled


@dataclass(frozen=True)
class Sentences:
    """Lists as the repeatable iterable of sentences that gensim reads: words are item indices as text."""

    lists: Lists
    words: Sequence[str]
    read: Callable[[], object] = lambda: None  # called before every list

    def __iter__(self) -> Iterator[list[str]]:
        for start, end in zip(self.lists.offsets[:-1].tolist(), self.lists.offsets[1:].tolist(), strict=True):
            self.read()
            yield [self.words[item] for item in self.lists.items[start:end].tolist()]


def cbow_vectors(
    lists: Lists, items: int, min_count: int, seed: int, progress: Progress = no_progress
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return a vector per item, shape (items, WIDTH), and which items occur at least `min_count` times and have one."""
    vectors = np.zeros((items, WIDTH), dtype=np.float32)
    known = np.zeros(items, dtype=np.bool_)
    indices, learned = train_cbow(lists, min_count, seed, progress)
    vectors[indices], known[indices] = learned, True
    return vectors, known


def train_cbow(
    lists: Lists, min_count: int, seed: int, progress: Progress = no_progress
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the ascending indices of the n items that occur at least `min_count` times, and vectors (n, WIDTH)."""
    from gensim.models import Word2Vec

    counts = np.bincount(lists.items)
    if not np.any(counts >= min_count):
        return np.zeros(0, dtype=np.int64), np.zeros((0, WIDTH), dtype=np.float32)
    logging.getLogger("gensim").setLevel(logging.ERROR)
    epochs = cbow_epochs(len(lists.items))
    read = counter(progress, len(lists) * (1 + epochs))  # the first time for the vocabulary
    sentences = Sentences(lists, [str(item) for item in range(len(counts))], read)
    # One worker: with more, the order in which threads finish would change the vectors from run to run.
    # No downsampling of frequent words (sample=0): lists have no stop words, and small sets need all interactions.
    model = Word2Vec(
        sentences,
        vector_size=WIDTH,
        window=WINDOW,
        min_count=min_count,
        sg=0,
        sample=0,
        alpha=LEARNING_RATE,
        epochs=epochs,
        workers=1,
        seed=seed,
    )
    indices = np.array([int(word) for word in model.wv.index_to_key])
    order = np.argsort(indices)
    return indices[order], model.wv.vectors[order]


def cluster_items(
    vectors: NDArray[np.float32], known: NDArray[np.bool_], categories: int, seed: int
) -> NDArray[np.int64]:
    """Return the k-means cluster of every item with a vector, UNKNOWN for the others, shape (items,)."""
    labels = np.full(len(vectors), UNKNOWN, dtype=np.int64)
    points = vectors[known]
    if len(points):
        labels[known] = predict_clusters(fit_kmeans(points, categories, seed), points)
    return labels


def fit_kmeans(points: NDArray[np.float32], categories: int, seed: int) -> KMeans:
    from sklearn.cluster import KMeans

    sample = points
    if len(points) > MAX_CLUSTERED_ITEMS:
        sample = points[np.sort(np.random.default_rng(seed).choice(len(points), MAX_CLUSTERED_ITEMS, replace=False))]
    kmeans = KMeans(min(categories, len(sample)), n_init=3, max_iter=100, random_state=seed)
    # One thread: the order of sums over several threads varies, and the last bit of a center can move an item.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer distinct vectors than categories: fixed by fill_empty_categories
        return kmeans.fit(sample)


def predict_clusters(kmeans: KMeans, points: NDArray[np.float32]) -> NDArray[np.int32]:
    with threadpool_limits(1):
        clusters: NDArray[np.int32] = kmeans.predict(points)
    return clusters
