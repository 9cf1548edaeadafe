"""What every engine gives and takes: the one seam between a trained model and whoever asks it."""

import logging
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.rules import Rules
from fansrec.errors import BadArtifact, BadSetting
from fansrec.printable import printable

Inputs = Sequence[NDArray[np.int64]]


class Continuation(NamedTuple):
    """The items given to one list, best guess for each position in order, their scores and their categories."""

    items: NDArray[np.int64]
    scores: NDArray[np.float32]
    categories: NDArray[np.int64]


class Engine(Protocol):
    """Continues lists of item numbers; an answer never depends on the other lists of the call."""

    backend: str  # torch, native or cuda
    generation: str  # one-pass, autoregressive or recall
    items: int
    model: Any  # models.contract.ContinuationModel
    device: Any  # torch.device

    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        """`k` items (or `k[i]`) for each list: exactly so many distinct ones, or as many as the rules leave."""
        ...


def wanted_of(inputs: Inputs, k: int | Sequence[int], items: int, longest: int | None) -> list[int]:
    """How many items each list shall get, no more than there are; refuses what a model cannot hold."""
    wanted = [k] * len(inputs) if isinstance(k, int) else list(k)
    for given, count in zip(inputs, wanted, strict=True):
        if count < 1:
            raise BadSetting(f"k is {count}; ask for at least one item")
        if longest is not None and len(given) + count > longest:
            raise BadSetting(
                f"{len(given)} items and {count} more are over this model's limit of {longest}; "
                f"ask for fewer, or give only the last items of the list"
            )
    return [min(count, items) for count in wanted]


def unknown_number(items: int) -> BadSetting:
    return BadSetting(f"an item number is not from 0 to {items - 1}")


def check_numbers(numbers: Sequence[Sequence[int] | NDArray[np.int64]], items: int) -> None:
    """Refuse what no item has."""
    if any(len(some) and (np.min(some) < 0 or np.max(some) >= items) for some in numbers):
        raise unknown_number(items)


def check_rules(rules: Rules, items: int) -> None:
    """The same of rules, whose groups must be as many as the items."""
    check_numbers((rules.exclude, rules.allow or ()), items)
    if rules.groups is not None and len(rules.groups) != items:
        raise BadSetting(f"there are {len(rules.groups)} groups for {items} items")


def check_answered(given: NDArray[np.int64], answer: Continuation, wanted: int, rules: Rules, items: int) -> None:
    """Raise BadArtifact if an answer is empty although the rules leave items: then no score was a finite number.

    Finite weights may still be so large that sums over them overflow. Fewer items than wanted are no fault: a model
    may give minus infinity to items that it never recommends.
    """
    if len(answer.items) or not wanted or rules.allow is not None or rules.min_score is not None:
        return
    kept_out = {*rules.exclude} | (set() if rules.keep_seen else {*given.tolist()})
    if len(kept_out) < items:
        raise BadArtifact("no score of the model is a finite number, its weights are too large; train it again")


log = logging.getLogger("fansrec")


@cache
def say_once(message: str) -> None:
    """What a user should know and need not hear again."""
    log.warning("%s", printable(message))


class Categories:
    """The category of every item number, from where the categories start."""

    def __init__(self, starts: Sequence[int]) -> None:
        self._ends = np.array(starts[1:], dtype=np.int64)

    def __call__(self, items: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._ends.searchsorted(items, side="right")
