"""What every model offers. `tests/models/test_contract.py` holds all of them to it.

A model is trained in one of two ways: it has `fit(items, offsets)`, which learns from all training lists at once, or it
names an `objective` of `training/objectives.py`, is called with a `Batch` and gives a `Loss`; `training/loop.py` does
the rest. Its `defaults`, if it has them, replace those of `training/settings.py`.

A model is asked in one or more of three ways, and names its own as `generation`:

- one-pass: `score_positions(inputs, counts)` scores all next positions at once, or `score_lists(inputs, counts)` scores
  every item once for the whole continuation, whose best come first;
- autoregressive: `score_next(inputs)` scores the very next item; the answer is appended and the model asked again. One
  that can go on from where it stood also has `begin(inputs, room)`, which gives `Steps`;
- recall: one prediction, its best k. Every model can do that.

Items are numbers, inputs are arrays of them and may be empty, higher scores are better.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Inputs = Sequence[NDArray[np.int64]]
ScoreBlock = Callable[[int, int, int], Tensor]  # (first position, last position, rank) -> scores (B, positions, M)


class Steps(Protocol):
    """B lists that grow item by item."""

    def scores(self) -> Tensor:
        """(B, M): how well every item would come next."""
        ...

    def append(self, items: Tensor) -> None:
        """(B,): one more item for each list; where it is NONE the list has ended, and its scores no longer matter."""
        ...


class ContinuationModel(Protocol):
    """A torch module whose `state_dict` is all it has learned, and whose `config` is all that shapes it."""

    name: ClassVar[str]  # the NAME of `fans train --model NAME`
    title: ClassVar[str]  # as papers write it
    generation: ClassVar[str]  # its own way: one-pass, autoregressive or recall
    config: Any  # a frozen dataclass of plain values

    @property
    def ranks(self) -> int:
        """How many ranks `score_positions` can be asked for: 1 if every item is scored at once."""
        ...

    def longest_sequence(self) -> int | None:
        """How many items, input and answer together, one call can take; None if there is no limit."""
        ...

    def state_dict(self) -> dict[str, Tensor]: ...


class ChecksArrays(Protocol):
    """A module, the model itself or any part of it, that uses arrays of its state as indices."""

    def check_arrays(self) -> None:
        """Raise BadArtifact if an array cannot be used; called once after a model was read (models/validation.py).

        Names, shapes, types and finiteness of all arrays have been checked before, for every model.
        """
        ...


class ScoresPositions(Protocol):
    def score_positions(self, inputs: Inputs, counts: Sequence[int]) -> ScoreBlock:
        """Scores of the next `counts[i]` positions after `inputs[i]`."""
        ...


class ScoresLists(Protocol):
    def score_lists(self, inputs: Inputs, counts: Sequence[int]) -> Tensor:
        """(B, M): how well every item would stand among the next `counts[i]` after `inputs[i]`."""
        ...


class ScoresNext(Protocol):
    def score_next(self, inputs: Inputs) -> Tensor:
        """(B, M): how well every item would come next."""
        ...


class KeepsState(Protocol):
    def begin(self, inputs: Inputs, room: int) -> Steps:
        """The same answers as asking `score_next` again and again, for at most `room` items, without beginning anew."""
        ...
