"""The interface between a trained model and its callers: what every engine takes, checks and returns."""

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from operator import add
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.rules import Rules
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.contract import Inputs as Inputs
from fansrec.printable import printable

log = logging.getLogger("fansrec")


class Continuation(NamedTuple):
    """The items that continue one list, in the order of their positions, their scores and their categories."""

    items: NDArray[np.int64]
    scores: NDArray[np.float32]
    categories: NDArray[np.int64]


class Engine(Protocol):
    """Continues lists of item indices; an answer never depends on the other lists of the call."""

    backend: str  # torch, native or cuda
    generation: str  # one-pass, autoregressive or recall
    items: int
    device: str  # cpu, cuda, cuda:1

    @property
    def model(self) -> Any:
        """The model, a torch module or a StoredModel."""
        ...

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        """Return `k` (or `k[i]`) distinct items for each list, fewer only if the rules leave fewer."""
        ...


class CategoryLookup:
    """The category of every item index (and token), from the first item of each category."""

    def __init__(self, category_starts: Sequence[int]) -> None:
        self._ends = np.array(category_starts[1:], dtype=np.int64)

    def __getitem__(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the categories of items; special tokens, which come after all items, give the number of categories."""
        return self._ends.searchsorted(items, side="right")


def continuations(items: NDArray[np.int64], scores: NDArray[Any], categories: CategoryLookup) -> Iterator[Continuation]:
    """Yield the answer of each row of selected items and their scores, (B, K) each; negative items are left out."""
    for row, row_scores in zip(items, scores, strict=True):
        selected = row >= 0
        answer = row[selected]
        yield Continuation(answer, row_scores[selected].astype(np.float32), categories[answer])


def requested_counts(inputs: Inputs, k: int | Sequence[int], items: int, longest: int | None) -> list[int]:
    """Return how many items each list requests, at most all `items`; raise BadSetting if a model cannot hold them."""
    counts = [k] * len(inputs) if isinstance(k, int) else list(k)
    if len(counts) != len(inputs):
        raise ValueError(f"k has {len(counts)} numbers for {len(inputs)} lists; give one number per list")
    if min(counts, default=1) < 1:
        raise BadSetting(f"-k is {min(counts)}; ask for at least one item")
    sizes = list(map(add, map(len, inputs), counts))  # no Python loop: there may be thousands of lists
    if longest is not None and max(sizes, default=0) > longest:
        too_long = next(i for i, size in enumerate(sizes) if size > longest)
        raise BadSetting(
            f"{len(inputs[too_long])} items and {counts[too_long]} more are over this model's limit of {longest}; "
            f"ask for fewer, or give only the last items of the list"
        )
    return counts if max(counts, default=0) <= items else [min(count, items) for count in counts]


def batches_by_length(lengths: Sequence[int], max_tokens: int, max_lists: int | None = None) -> Iterator[list[int]]:
    """Yield the indices of all lists in batches of at most `max_tokens` padded tokens and `max_lists` lists.

    A list that is longer than `max_tokens` is a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == max_lists or (len(batch) + 1) * lengths[index] > max_tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def invalid_index(items: int) -> BadSetting:
    """Return the error for an index that is not one of `items`."""
    return BadSetting(f"an item index is not from 0 to {items - 1}; use the indices of this model's vocabulary")


def check_indices(indices: Sequence[Sequence[int] | NDArray[np.int64]], items: int) -> None:
    """Raise BadSetting if an index is not one of `items`; all are compared at once, since there may be many lists."""
    given = [some for some in indices if len(some)]
    if given:
        together = np.concatenate(given)
        if together.min() < 0 or together.max() >= items:
            raise invalid_index(items)


def check_rules(rules: Rules, items: int) -> None:
    """Raise BadSetting if the rules contain an invalid index, or groups of another number of items."""
    check_indices((rules.exclude, rules.allow or ()), items)
    if rules.groups is not None and len(rules.groups) != items:
        raise BadSetting(f"there are {len(rules.groups)} groups for {items} items; give one group per item")


def check_not_empty(given: NDArray[np.int64], answer: Continuation, count: int, rules: Rules, items: int) -> None:
    """Raise BadArtifact if an answer is empty although the rules leave items: then no score was finite.

    Finite weights may still be so large that sums over them overflow. Fewer items than requested are not an error: a
    model may give -inf to items that it never recommends.
    """
    if len(answer.items) or not count or rules.allow is not None or rules.min_score is not None:
        return
    unavailable = {*rules.exclude} | (set() if rules.keep_seen else {*given.tolist()})
    if len(unavailable) < items:
        raise BadArtifact("no score of the model is a finite number, its weights are too large; train it again")


@cache
def warn_once(message: str) -> None:
    """Log a warning the first time it is given."""
    log.warning("%s", printable(message))
