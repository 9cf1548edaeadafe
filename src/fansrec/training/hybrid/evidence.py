"""The lists that decide between settings of the hybrid model: lists that the judged parts were not fitted to.

Many validation lists are enough. Few of them mislead, so that training and validation lists are then divided into
folds, and every fold is judged by parts that were fitted to the others (cross-fitting). Lists of one group, which can
be nearly equal, are in the same fold. If lists are split by their order in the file, only the validation lists decide:
in folds a list would be judged by parts that know its future.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.data.corpus import PARTS, Corpus, FlatLists
from fansrec.data.folds import assign_folds
from fansrec.engine.decoding.limits import NONE
from fansrec.evaluation.protocol import (
    MAX_CUTOFF,
    METRICS,
    EvaluationLists,
    cut_lists,
    evenly_spaced,
    list_metrics,
    protocol,
)
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.model import mix
from fansrec.models.threads import map_in_threads
from fansrec.training.hybrid.coordinate_search import Figures

PROTOCOL = protocol("standard")
ENOUGH = 1000  # validation lists
FOLDS = 5
MAX_LISTS = 1000  # that are judged: more take longer and hardly change what is found
CELLS = 1 << 26  # lists times items: 256 MB of fp32
LISTS_AT_ONCE = 64


@dataclass(frozen=True)
class Fold:
    lists: FlatLists  # that parts are fitted to
    judged: EvaluationLists  # that they are judged on


def lists_in_memory(items: int) -> int:
    """Return for how many lists the scores of all items fit in memory."""
    return max(1, CELLS // items)


def needs_folds(corpus: Corpus) -> bool:
    """Return whether the validation lists are too few to decide alone, and folds are possible."""
    preparation = corpus.summary.get("preparation", {})
    in_order = preparation.get("split") == "file-order" and len(corpus.part("valid")) > 0
    unknown = preparation.get("split_by") is not None and corpus.groups is None  # a corpus of an older version
    groups = int(_known(corpus).sum()) if corpus.groups is None else len(np.unique(corpus.groups[_known(corpus)]))
    return len(corpus.part("valid")) < ENOUGH and not in_order and not unknown and groups >= FOLDS


def make_folds(corpus: Corpus, count: int) -> list[Fold]:
    """Return the training lists with the validation lists to judge, or `count` folds of both if `count` is above 1."""
    most = min(MAX_LISTS, lists_in_memory(len(corpus.vocabulary)))
    if count == 1:
        return [Fold(corpus.flat("train"), _judged(corpus, corpus.part("valid"), most))]
    known = _known(corpus)
    fold_of = np.full(len(corpus), -1)
    groups = None if corpus.groups is None else corpus.groups[known]
    fold_of[known] = assign_folds(int(known.sum()), count, seed=0, groups=groups)
    return [
        Fold(
            corpus.flat_lists(known & (fold_of != fold)),
            _judged(corpus, np.flatnonzero(fold_of == fold), most // count),
        )
        for fold in range(count)
    ]


def _known(corpus: Corpus) -> NDArray[np.bool_]:
    """Return which lists (lists,) may be used in training: all but the test lists."""
    return np.isin(corpus.parts, PARTS.index("test"), invert=True)


def _judged(corpus: Corpus, lists: NDArray[np.int64], most: int) -> EvaluationLists:
    """Return at most `most` of these lists with inputs and targets; those of one item have nothing to continue."""
    long_enough = lists[corpus.lengths[lists] >= 2]
    return cut_lists(corpus.items, corpus.offsets, evenly_spaced(long_enough, most))


def join(folds: Sequence[Fold]) -> EvaluationLists:
    """Return the judged lists of all folds, fold after fold."""
    return EvaluationLists(
        [given for fold in folds for given in fold.judged.inputs],
        [target for fold in folds for target in fold.judged.targets],
    )


def metrics_per_list(scores: Tensor, judged: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the best items by scores (lists, M), without the items of the input."""
    return metrics_of_mixture({"all": scores}, {"all": 1.0}, judged)


def metrics_of_mixture(parts: Mapping[str, Tensor], weights: Mapping[str, float], judged: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the weighted sum of the log scores (lists, M) of the parts."""
    answers = np.empty((len(judged.inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(rows: slice) -> None:
        scores = mix({name: part[rows] for name, part in parts.items()}, weights)
        answers[rows] = best_items(scores, judged.inputs[rows])

    map_in_threads(answer, [*slices(len(answers))])
    return metrics_of_answers(answers, judged)


def slices(count: int) -> Iterator[slice]:
    """Yield which of `count` lists are scored together."""
    # A few lists at a time stay in the cache, and take a quarter of the time and little memory.
    return (slice(first, first + LISTS_AT_ONCE) for first in range(0, count, LISTS_AT_ONCE))


def best_items(scores: Tensor, inputs: Inputs) -> NDArray[np.int64]:
    """Return the best items (lists, 10) by scores (lists, M), without those of the input, whose scores are overwritten.

    Answers of fewer items end with -1.
    """
    rows = np.repeat(np.arange(len(inputs)), [len(given) for given in inputs])
    given = torch.from_numpy(np.concatenate(inputs)).to(scores.device)
    scores[torch.from_numpy(rows).to(scores.device), given] = -torch.inf
    best = scores.topk(min(MAX_CUTOFF, scores.shape[1]), dim=1)
    answers = np.full((len(inputs), MAX_CUTOFF), NONE, dtype=np.int64)
    answers[:, : best.indices.shape[1]] = best.indices.masked_fill(best.values == -torch.inf, NONE).cpu().numpy()
    return answers


def best_in_threads(scores: Callable[[Inputs], Tensor], inputs: Inputs) -> NDArray[np.int64]:
    """Return the best items (lists, 10) by what `scores` returns for some inputs, (some, M)."""
    answers = np.empty((len(inputs), MAX_CUTOFF), dtype=np.int64)

    def answer(rows: slice) -> None:
        answers[rows] = best_items(scores(inputs[rows]), inputs[rows])

    map_in_threads(answer, [*slices(len(inputs))])
    return answers


def metrics_of_answers(answers: NDArray[np.int64], judged: EvaluationLists) -> Figures:
    """Return METRICS (lists, 4) of the answers (lists, 10)."""
    metrics = list_metrics(answers, judged, PROTOCOL)
    return np.stack([metrics[name] for name in METRICS], 1)
