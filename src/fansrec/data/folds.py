"""Folds of lists: random ones, or whole groups of lists."""

import numpy as np
from numpy.typing import NDArray

from fansrec.errors import BadSetting

MIN_FOLDS = 3  # one for training, one for validation, one for test


def assign_folds(lists: int, folds: int, seed: int, groups: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the fold of every list, shape (lists,): lists are shuffled once and assigned to the folds in turn.

    With `groups`, shape (lists,), all lists of a group are in the same fold.
    """
    if folds < MIN_FOLDS:
        raise BadSetting(f"--folds {folds}: at least {MIN_FOLDS} are needed, for training, validation and test")
    if lists < folds:
        raise BadSetting(f"{lists} lists are too few for {folds} folds; give more lists, or fewer --folds")
    if groups is not None:
        return _assign_groups(groups, folds, seed)
    fold_of = np.empty(lists, dtype=np.int64)
    fold_of[np.random.default_rng(seed).permutation(lists)] = np.arange(lists) % folds
    return fold_of


def _assign_groups(groups: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """Assign each group, from large to small and at random among equals, to the fold with the fewest lists so far."""
    sizes = np.bincount(groups)
    if np.count_nonzero(sizes) < folds:
        raise BadSetting(f"{np.count_nonzero(sizes)} groups of lists are too few for {folds} folds; give fewer --folds")
    shuffled = np.random.default_rng(seed).permutation(len(sizes))
    fold_of_group, lists = np.zeros(len(sizes), dtype=np.int64), np.zeros(folds, dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of_group[group] = np.argmin(lists)
        lists[fold_of_group[group]] += sizes[group]
    return fold_of_group[groups]
