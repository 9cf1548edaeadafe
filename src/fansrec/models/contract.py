"""What every model offers. `tests/models/test_contract.py` holds all of them to it.

A model is trained in one of two ways: it has `fit(items, offsets)`, which learns from all training lists at once, or it
is called with a `MaskedBatch` and gives a `Loss`, and `training/loop.py` does the rest.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fansrec.decoding import ScoreBlock


class ContinuationModel(Protocol):
    """A torch module whose `state_dict` is all it has learned, and whose `config` is all that shapes it."""

    name: ClassVar[str]  # the NAME of `fans train --model NAME`
    generation: ClassVar[str]  # one-pass, autoregressive or recall
    config: Any  # a frozen dataclass of plain values

    @property
    def ranks(self) -> int:
        """How many ranks `score_positions` can be asked for: 1 if every item is scored at once."""
        ...

    def score_positions(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> ScoreBlock:
        """Scores of the next `counts[i]` positions after `inputs[i]`; items are numbers, higher is better."""
        ...

    def longest_sequence(self) -> int | None:
        """How many items, input and answer together, one call can take; None if there is no limit."""
        ...

    def state_dict(self) -> dict[str, Tensor]: ...
