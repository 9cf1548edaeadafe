"""The interfaces that models implement. `tests/models/test_contract.py` checks every registered model against them.

A model is trained in one of two ways. Either it has `fit(items, offsets)`, which learns from all training lists at
once and may add the sizes of its arrays to `config`, or it names an `objective` of `training/objectives.py`, is called
with a `Batch` and returns a `Loss`; `training/loop.py` does the rest. Its `defaults`, if it has them, replace those of
`training/settings.py`. A model with `fit` may have a `search`, the values of settings that `--recipe best` tries, and
`scoring`, the names of those that do not matter to `fit`: one fit then serves all their values.

A model supports one or more of three generation modes, and names its default one as `generation`:

- one-pass: `ScoresPositions` scores all next positions at once, `ScoresLists` scores every item once for the whole
  continuation, best first;
- autoregressive: `ScoresNext` scores the next item; the item is appended and the model is called again. A model that
  can resume from its state is also `KeepsState`;
- recall: the best k items of one prediction. Every model supports it.

A model needs no base class: it only needs the methods. Items are item indices, inputs are arrays of them and may be
empty, higher scores are better. Shapes: B lists, K positions, M items.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # engines that need no torch use this module too
    import torch
    from torch import Tensor

Inputs = Sequence[NDArray[np.int64]]
ScoreBlock = Callable[[int, int, int], "Tensor"]  # (first position, last position, rank) -> scores (B, positions, M)


class ContinuationModel(Protocol):
    """A torch module whose `state_dict` holds all that it learned and whose `config` determines its shape."""

    name: ClassVar[str]  # the NAME of `fans train --model NAME`
    title: ClassVar[str]  # as papers write it
    generation: ClassVar[str]  # the default generation mode: one-pass, autoregressive or recall
    config: Any  # a frozen dataclass of plain values

    @property
    def ranks(self) -> int:
        """Return how many ranks `score_positions` supports: 1 if it scores every item at once."""
        ...

    def longest_sequence(self) -> int | None:
        """Return how many items, input and answer together, one call can take; None if there is no limit."""
        ...

    def state_dict(self) -> "dict[str, Tensor]": ...

    def to(self, device: "torch.device | str") -> Any: ...


@runtime_checkable
class ScoresPositions(Protocol):
    """A model that scores all next positions at once."""

    def score_positions(self, inputs: Inputs, counts: Sequence[int]) -> ScoreBlock:
        """Return the scores of the next `counts[i]` positions after `inputs[i]`."""
        ...


@runtime_checkable
class GivesShortlists(Protocol):
    """A `ScoreBlock` that can also return only the best items of each position, which is faster."""

    def __call__(self, first: int, last: int, rank: int) -> "Tensor": ...

    def best(self, first: int, last: int, rank: int, count: int, blocked: "Tensor | None") -> "tuple[Tensor, Tensor]":
        """Return scores and items, (B, positions, L) each, L <= `count`: the best not `blocked` (B, M), then -inf."""
        ...


@runtime_checkable
class ScoresLists(Protocol):
    """A model that scores every item once for the whole continuation."""

    def score_lists(self, inputs: Inputs, counts: Sequence[int]) -> "Tensor":
        """Return the score of every item among the next `counts[i]` items after `inputs[i]`, shape (B, M)."""
        ...


@runtime_checkable
class ArrangesItems(Protocol):
    """A model that can order the items of an answer by the positions at which it expects them."""

    def expected_positions(self, inputs: Inputs, counts: Sequence[int], items: "Tensor") -> "Tensor":
        """Return the expected position of each item of `items` (B, K), same shape."""
        ...


@runtime_checkable
class ScoresNext(Protocol):
    """A model that scores the next item."""

    def score_next(self, inputs: Inputs) -> "Tensor":
        """Return the score of every item as the next one, shape (B, M)."""
        ...


class Steps(Protocol):
    """B lists that grow by one item at a time."""

    def scores(self) -> "Tensor":
        """Return the score of every item as the next one, shape (B, M)."""
        ...

    def append(self, items: "Tensor") -> None:
        """Append one item to each list; `items` is (B,). A list whose item is -1 has ended: its scores are not used."""
        ...


@runtime_checkable
class KeepsState(Protocol):
    """A model that scores the next item without processing the whole list again."""

    def begin(self, inputs: Inputs, room: int) -> Steps:
        """Return steps for at most `room` more items, with the scores that repeated calls of `score_next` give."""
        ...
