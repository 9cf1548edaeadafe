"""The lists that decide between settings of the hybrid model: held-out lists, which its parts were not fitted to.

Many validation lists are enough. Few of them mislead, so that training and validation lists are then divided into
folds, and the parts are evaluated on every fold after they were fitted to the others (cross-fitting). Lists of one
group, which can be nearly equal, are in the same fold. If lists are split by their order in the file, only the
validation lists decide: with folds, parts would be evaluated on lists that are older than those they were fitted to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import PARTS, Corpus, FlatLists
from fansrec.data.folds import assign_folds
from fansrec.evaluation.protocol import EvaluationLists, cut_lists, evenly_spaced

ENOUGH = 1000  # validation lists
FOLDS = 5
MAX_LISTS = 1000  # that are evaluated: more take longer and hardly change what is found
CELLS = 1 << 26  # lists times items: 256 MB of fp32


@dataclass(frozen=True)
class Fold:
    lists: FlatLists  # that parts are fitted to
    held_out: EvaluationLists  # that they are evaluated on


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
    """Return the training lists with the validation lists held out, or `count` folds of both if `count` is above 1."""
    most = min(MAX_LISTS, lists_in_memory(len(corpus.vocabulary)))
    if count == 1:
        return [Fold(corpus.flat("train"), _held_out(corpus, corpus.part("valid"), most))]
    known = _known(corpus)
    fold_of = np.full(len(corpus), -1)
    groups = None if corpus.groups is None else corpus.groups[known]
    fold_of[known] = assign_folds(int(known.sum()), count, seed=0, groups=groups)
    return [
        Fold(
            corpus.flat_lists(known & (fold_of != fold)),
            _held_out(corpus, np.flatnonzero(fold_of == fold), most // count),
        )
        for fold in range(count)
    ]


def _known(corpus: Corpus) -> NDArray[np.bool_]:
    """Return which lists (lists,) may be used in training: all but the test lists."""
    return np.isin(corpus.parts, PARTS.index("test"), invert=True)


def _held_out(corpus: Corpus, lists: NDArray[np.int64], most: int) -> EvaluationLists:
    """Return at most `most` of these lists with inputs and targets; those of one item have nothing to continue."""
    long_enough = lists[corpus.lengths[lists] >= 2]
    return cut_lists(corpus.items, corpus.offsets, evenly_spaced(long_enough, most))


def join(folds: Sequence[Fold]) -> EvaluationLists:
    """Return the held-out lists of all folds, fold after fold."""
    return EvaluationLists(
        [given for fold in folds for given in fold.held_out.inputs],
        [target for fold in folds for target in fold.held_out.targets],
    )
