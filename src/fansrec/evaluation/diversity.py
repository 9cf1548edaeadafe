"""What answers consist of: how much of the catalog they cover, how popular and how similar their items are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.evaluation.metrics import lengths
from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, first_items, mean
from fansrec.models.linear.popularity import list_counts
from fansrec.vocabulary import Vocabulary


def coverage(answers: NDArray[np.int64], items: int) -> float:
    """Return the share of a catalog of `items` that occurs in at least one answer; -1 is not an item."""
    return len(np.unique(answers[answers >= 0])) / items


def distinct_categories(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many different categories each answer has, (lists,); `categories` gives that of every item."""
    rows = np.sort(np.where(answers >= 0, categories[answers], -1), axis=1)
    starts = np.diff(rows, axis=1, prepend=-1) > 0  # rows are sorted, so every increase is another category
    return np.asarray(starts.sum(1))


def popularity(answers: NDArray[np.int64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean popularity of each answer's items, (lists,), NaN without items; `shares` is that of each item."""
    given = answers >= 0
    return _ratio(np.where(given, shares[answers], 0).sum(1), given.sum(1))


def coherence(answers: NDArray[np.int64], categories: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each answer's pairs of items within one category, (lists,); NaN if it has no pair."""
    rows = np.where(answers >= 0, categories[answers], -1)
    given = (rows >= 0).sum(1)
    same = np.zeros(len(rows), dtype=np.int64)
    for distance in range(1, rows.shape[1]):
        same += ((rows[:, distance:] == rows[:, :-distance]) & (rows[:, distance:] >= 0)).sum(1)
    return _ratio(same, given * (given - 1) // 2)


def diversity_part(
    answers: NDArray[np.int64], lists: EvaluationLists, vocabulary: Vocabulary, shares: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the diversity of answers, of answers cut to the target's length (`_matched`) and of targets (`_real`).

    An answer of 10 items is more diverse than a target of 6, so only the cut one can be compared with the target.
    `shares` is the share of the training lists that contain each item, (items,).
    """
    items, categories = len(vocabulary), vocabulary.categories
    real = first_items(lists.targets)
    matched = np.where(np.arange(MAX_CUTOFF) < lengths(lists.targets)[:, None], answers, -1)
    row: dict[str, Any] = {}
    for suffix, some in (("", answers), ("_matched", matched), ("_real", real)):
        row[f"coverage@{MAX_CUTOFF}{suffix}"] = coverage(some, items)
        row[f"categories@{MAX_CUTOFF}{suffix}"] = mean(distinct_categories(some, categories).astype(np.float64))
        row[f"popularity@{MAX_CUTOFF}{suffix}"] = _mean(popularity(some, shares))
        row[f"coherence@{MAX_CUTOFF}{suffix}"] = _mean(coherence(some, categories))
    return row


def training_counts(corpus: Corpus) -> NDArray[np.int64]:
    """Return how many training lists contain each item, (items,)."""
    return list_counts(*corpus.flat("train"), len(corpus.vocabulary))


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the lists that have a value."""
    return mean(values[~np.isnan(values)])


def _ratio(sums: NDArray[Any], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0))
