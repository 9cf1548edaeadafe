"""The parts of a row besides accuracy: order, and diversity compared with the real continuations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.diversity import coherence, coverage, distinct_categories, popularity
from fansrec.evaluation.metrics import lengths
from fansrec.evaluation.order import OrderCounts, ShuffledCounts
from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, first_items, mean
from fansrec.models.linear.popularity import list_counts

Row = dict[str, Any]


def order_part(counts: OrderCounts, shuffled: ShuffledCounts) -> Row:
    """Return `exact` and `adjacent` with those of the same answers shuffled; of shuffled pairs, half are in order."""
    return {
        "order": ratio_of_sums(counts.in_order, counts.pairs),
        "order_ci": interval_list(interval(counts.in_order, counts.pairs)),
        "order_pairs": int(counts.pairs.sum()),
        "exact": ratio_of_sums(counts.exact, counts.positions),
        "exact_shuffled": ratio_of_sums(shuffled.exact, counts.positions),
        "exact_hits": int(counts.exact.sum()),
        "exact_positions": int(counts.positions.sum()),
        "adjacent": ratio_of_sums(counts.adjacent, counts.steps),
        "adjacent_shuffled": ratio_of_sums(shuffled.adjacent, counts.steps),
        "adjacent_hits": int(counts.adjacent.sum()),
        "adjacent_steps": int(counts.steps.sum()),
    }


def diversity_part(answers: NDArray[np.int64], lists: EvaluationLists, corpus: Corpus) -> Row:
    """Return the diversity of answers, of answers cut to the target's length (`_matched`) and of targets (`_real`).

    An answer of 10 items is more diverse than a target of 6, so only the cut one can be compared with the target.
    """
    items, categories, shares = len(corpus.vocabulary), corpus.vocabulary.categories, training_shares(corpus)
    real = first_items(lists.targets)
    matched = np.where(np.arange(MAX_CUTOFF) < lengths(lists.targets)[:, None], answers, -1)
    row: Row = {}
    for suffix, some in (("", answers), ("_matched", matched), ("_real", real)):
        row[f"coverage@{MAX_CUTOFF}{suffix}"] = coverage(some, items)
        row[f"categories@{MAX_CUTOFF}{suffix}"] = mean(distinct_categories(some, categories).astype(np.float64))
        row[f"popularity@{MAX_CUTOFF}{suffix}"] = _mean(popularity(some, shares))
        row[f"coherence@{MAX_CUTOFF}{suffix}"] = _mean(coherence(some, categories))
    return row


def training_shares(corpus: Corpus) -> NDArray[np.float64]:
    """Return the share of the training lists that contain each item, (items,)."""
    train = corpus.part("train")
    taken = np.repeat(np.isin(np.arange(len(corpus)), train), corpus.lengths)
    offsets = np.concatenate([[0], np.cumsum(corpus.lengths[train])])
    return list_counts(corpus.items[taken], offsets, len(corpus.vocabulary)) / max(1, len(train))


def ratio_of_sums(part: NDArray[Any], whole: NDArray[Any]) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None


def interval_list(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _mean(values: NDArray[np.float64]) -> float:
    """Return the mean over the lists that have a value."""
    return mean(values[~np.isnan(values)])
