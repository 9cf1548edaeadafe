"""The figures of a row beside accuracy: whether the order is right, and what the answers are made of."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.evaluation.bootstrap import interval
from fansrec.evaluation.metrics import lengths
from fansrec.evaluation.order import Order
from fansrec.evaluation.protocol import LONGEST, Questions, first_items, mean
from fansrec.evaluation.shuffling import Shuffled
from fansrec.evaluation.variety import coherence, coverage, distinct_categories, popularity
from fansrec.models.linear.popularity import list_counts

Row = dict[str, Any]


def order_row(counts: Order, mixed: Shuffled) -> Row:
    """`exact` and `adjacent` beside those of the same answers shuffled; shuffled pairs are in order half the time."""
    return {
        "order": share(counts.in_order, counts.pairs),
        "order_ci": pair(interval(counts.in_order, counts.pairs)),
        "order_pairs": int(counts.pairs.sum()),
        "exact": share(counts.exact, counts.positions),
        "exact_shuffled": share(mixed.exact, counts.positions),
        "exact_hits": int(counts.exact.sum()),
        "exact_positions": int(counts.positions.sum()),
        "adjacent": share(counts.adjacent, counts.steps),
        "adjacent_shuffled": share(mixed.adjacent, counts.steps),
        "adjacent_hits": int(counts.adjacent.sum()),
        "adjacent_steps": int(counts.steps.sum()),
    }


def variety_row(answers: NDArray[np.int64], asked: Questions, corpus: Corpus) -> Row:
    """Beside the real continuations: an answer of 10 items mixes more than a target of 6, so it is also cut to 6."""
    items, categories, shares = len(corpus.vocabulary), corpus.vocabulary.categories, training_shares(corpus)
    real = first_items(asked.targets)
    matched = np.where(np.arange(LONGEST) < lengths(asked.targets)[:, None], answers, -1)
    row: Row = {}
    for name, some in (("", answers), ("_matched", matched), ("_real", real)):
        row[f"coverage@{LONGEST}{name}"] = coverage(some, items)
        row[f"categories@{LONGEST}{name}"] = mean(distinct_categories(some, categories).astype(np.float64))
        row[f"popularity@{LONGEST}{name}"] = _mean(popularity(some, shares))
        row[f"coherence@{LONGEST}{name}"] = _mean(coherence(some, categories))
    return row


def training_shares(corpus: Corpus) -> NDArray[np.float64]:
    """(items,): the share of the training lists in which each item stands."""
    train = corpus.part("train")
    taken = np.repeat(np.isin(np.arange(len(corpus)), train), corpus.lengths)
    offsets = np.concatenate([[0], np.cumsum(corpus.lengths[train])])
    return list_counts(corpus.items[taken], offsets, len(corpus.vocabulary)) / max(1, len(train))


def share(part: NDArray[Any], whole: NDArray[Any]) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None


def pair(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _mean(values: NDArray[np.float64]) -> float:
    """Over the lists that count."""
    return mean(values[~np.isnan(values)])
