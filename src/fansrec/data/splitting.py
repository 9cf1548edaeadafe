"""The split into train, validation and test: 8:1:1 in file order, at random or by groups of lists, or by time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.boundaries import format_time, microseconds
from fansrec.data.corpus import PARTS
from fansrec.data.settings import Preparation
from fansrec.errors import BadInput

TRAIN_SHARE, VALID_SHARE = 0.8, 0.1
SHARES = np.array([TRAIN_SHARE, VALID_SHARE, 1 - TRAIN_SHARE - VALID_SHARE])
TRAIN, VALID, TEST = range(len(PARTS))


DEFAULT_SHARES = (TRAIN_SHARE, TRAIN_SHARE + VALID_SHARE)


@dataclass(frozen=True)
class ListKeys:
    """What lists may be split by: their groups or their times, each of shape (lists,)."""

    groups: NDArray[np.int64] | None = None
    times: NDArray[np.int64] | None = None


NO_KEYS = ListKeys()


def split_lists(lists: int, keys: ListKeys, preparation: Preparation) -> NDArray[np.uint8]:
    """Return the part of every list, shape (lists,); lists of the same group or the same time stay together."""
    if keys.times is not None:
        return split_by_time(keys.times, preparation)
    if keys.groups is not None:
        return split_by_group(keys.groups, preparation.seed)
    if preparation.split == "file-order":
        return split_in_file_order(lists)
    return split_at_random(lists, preparation.seed)


def split_by_time(times: NDArray[np.int64], preparation: Preparation) -> NDArray[np.uint8]:
    """Put the oldest lists into the training part and the newest into the test part; equal times stay together."""
    parts = np.digitize(times, boundaries_of(times, preparation)).astype(np.uint8)
    if len(np.unique(parts)) < len(PARTS):
        sizes = ", ".join(f"{name} {count:,}" for name, count in part_sizes(parts).items())
        raise BadInput(
            f"--split time leaves a part without lists ({sizes}): the {len(times):,} lists are from "
            f"{format_time(int(times.min()))} to {format_time(int(times.max()))}; choose other --split-at"
        )
    return parts


def boundaries_of(times: NDArray[np.int64], preparation: Preparation) -> list[int]:
    """Return the times at which the validation and the test part begin."""
    at = preparation.split_at or DEFAULT_SHARES
    if isinstance(at[0], str):
        return [microseconds(str(moment)) for moment in at]
    ordered = np.sort(times)
    return [int(ordered[min(int(float(share) * len(times)), len(times) - 1)]) for share in at]


def describe_split(keys: ListKeys, preparation: Preparation) -> dict[str, Any]:
    """Return how the lists were split, for summary.json."""
    if keys.times is not None:
        valid, test = map(format_time, boundaries_of(keys.times, preparation))
        return {"by": "time", "list_time": preparation.split_time, "valid_from": valid, "test_from": test}
    if keys.groups is not None:
        return {"by": "group", "column": preparation.split_by, "seed": preparation.seed}
    return {"by": "file order"} if preparation.split == "file-order" else {"by": "random", "seed": preparation.seed}


def part_sizes(parts: NDArray[np.uint8]) -> dict[str, int]:
    return dict(zip(PARTS, np.bincount(parts, minlength=len(PARTS)).tolist(), strict=True))


def split_in_file_order(lists: int) -> NDArray[np.uint8]:
    """Split as the authors do, including their rounding, which gives exactly the paper's AotM test set."""
    train_end = int(TRAIN_SHARE * lists) + 1
    valid_end = int(train_end + VALID_SHARE * lists) + 1
    parts = np.full(lists, TEST, dtype=np.uint8)
    parts[:valid_end] = VALID
    parts[:train_end] = TRAIN
    return _check_parts(parts, "--split file-order needs about 30 lists")


def split_at_random(lists: int, seed: int) -> NDArray[np.uint8]:
    parts = np.full(lists, TEST, dtype=np.uint8)
    order = np.random.default_rng(seed).permutation(lists)
    train, valid = int(TRAIN_SHARE * lists), int(VALID_SHARE * lists)
    parts[order[:train]] = TRAIN
    parts[order[train : train + valid]] = VALID
    return _check_parts(parts, "a split 8:1:1 needs 10 lists")


def split_by_group(groups: NDArray[np.int64], seed: int) -> NDArray[np.uint8]:
    """Put all lists of a group into the same part, with parts as close to 8:1:1 as the groups allow.

    Groups are assigned from large to small, each to a random part with room for it, weighted by the room left: so
    large groups are not all in training, and the small ones fill the gaps.
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
    return _check_parts(part_of[groups], f"--split-by needs 3 groups of lists, and there are {np.count_nonzero(sizes)}")


def _fill_empty_parts(part_of: NDArray[np.uint8], sizes: NDArray[np.int64]) -> None:
    """Give each empty part the smallest group of a part that has several groups."""
    for part in range(len(PARTS)):
        if np.any((part_of == part) & (sizes > 0)):
            continue
        spare = [group for group in np.flatnonzero(sizes) if np.sum((part_of == part_of[group]) & (sizes > 0)) > 1]
        if spare:
            part_of[min(spare, key=lambda group: (sizes[group], group))] = part


def _check_parts(parts: NDArray[np.uint8], need: str) -> NDArray[np.uint8]:
    if len(np.unique(parts)) < len(PARTS):
        raise BadInput(
            f"{len(parts)} lists are left, too few for train, valid and test ({need}); "
            "give more lists, or lower --min-length or --min-item-count"
        )
    return parts
