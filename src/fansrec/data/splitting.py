"""Train, validation and test: 8:1:1 in the order of the file, at random, or by groups of lists that stay together."""

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import PARTS
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput

TRAIN_SHARE, VALID_SHARE = 0.8, 0.1
SHARES = np.array([TRAIN_SHARE, VALID_SHARE, 1 - TRAIN_SHARE - VALID_SHARE])
TRAIN, VALID, TEST = range(len(PARTS))


def split_lists(lists: int, groups: NDArray[np.int64] | None, preparation: Preparation) -> NDArray[np.uint8]:
    """The part of every list; `groups` are the lists' groups where they are to be split by these."""
    if groups is not None:
        return split_by_group(groups, preparation.seed)
    if preparation.split == "file-order":
        return split_in_file_order(lists)
    return split_at_random(lists, preparation.seed)


def split_in_file_order(lists: int) -> NDArray[np.uint8]:
    """The authors' own split, their rounding included: it is what makes the paper's AotM test set known exactly."""
    train_end = int(TRAIN_SHARE * lists) + 1
    valid_end = int(train_end + VALID_SHARE * lists) + 1
    parts = np.full(lists, TEST, dtype=np.uint8)
    parts[:valid_end] = VALID
    parts[:train_end] = TRAIN
    return _complete(parts, "--split file-order needs about 30 lists")


def split_at_random(lists: int, seed: int) -> NDArray[np.uint8]:
    parts = np.full(lists, TEST, dtype=np.uint8)
    order = np.random.default_rng(seed).permutation(lists)
    train, valid = int(TRAIN_SHARE * lists), int(VALID_SHARE * lists)
    parts[order[:train]] = TRAIN
    parts[order[train : train + valid]] = VALID
    return _complete(parts, "a split 8:1:1 needs 10 lists")


def split_by_group(groups: NDArray[np.int64], seed: int) -> NDArray[np.uint8]:
    """All lists of one group fall into one part, and the parts come as near to 8:1:1 as the groups allow.

    The largest come first, each to a part with room for it, drawn by how much room is left: so large groups are not
    all in training, and the small ones fill the gaps.
    """
    random = np.random.default_rng(seed)
    sizes = np.bincount(groups)
    room = SHARES * len(groups)
    part_of = np.full(len(sizes), TRAIN, dtype=np.uint8)
    for group in np.argsort(-sizes, kind="stable"):
        fits = np.where(room >= sizes[group], room, 0)
        part = random.choice(len(PARTS), p=fits / fits.sum()) if fits.any() else np.argmax(room)
        part_of[group] = part
        room[part] -= sizes[group]
    _fill_empty_parts(part_of, sizes)
    return _complete(part_of[groups], f"--split-by needs 3 groups of lists, and there are {np.count_nonzero(sizes)}")


def _fill_empty_parts(part_of: NDArray[np.uint8], sizes: NDArray[np.int64]) -> None:
    """Where a few large groups left a part empty, give it the smallest group of a part that has several."""
    for part in range(len(PARTS)):
        if np.any((part_of == part) & (sizes > 0)):
            continue
        spare = [group for group in np.flatnonzero(sizes) if np.sum((part_of == part_of[group]) & (sizes > 0)) > 1]
        if spare:
            part_of[min(spare, key=lambda group: (sizes[group], group))] = part


def _complete(parts: NDArray[np.uint8], need: str) -> NDArray[np.uint8]:
    if len(np.unique(parts)) < len(PARTS):
        raise BadInput(
            f"{len(parts)} lists are left, too few for train, valid and test ({need}); "
            "give more lists, or lower --min-length or --min-item-count"
        )
    return parts
