"""BERT4Rec (Sun et al., CIKM 2019): a bidirectional Transformer trained to fill gaps, asked for one item at a time.

The network is FANS's with the vanilla classifier; the list is read as one, without parts. What comes next is asked by
one MASK at its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.contract import ScoreBlock
from fansrec.models.layers.classifiers import VanillaClassifier
from fansrec.models.layers.encoder import MaskedModel, check_sizes
from fansrec.models.tokens import Alphabet, in_a_row


@dataclass(frozen=True)
class Bert4RecConfig:
    category_starts: tuple[int, ...]
    positions: int
    width: int = 64
    layers: int = 3
    heads: int = 8
    feedforward: int = 256
    dropout: float = 0.2
    use_categories: bool = True
    hidden_share: float = 0.3  # of a list's items, to be told in training

    def __post_init__(self) -> None:
        check_sizes(self)
        if not 0 < self.hidden_share <= 1:
            raise BadSetting(f"hidden_share is {self.hidden_share}; it must be above 0 and at most 1")

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.category_starts)


class Bert4Rec(MaskedModel):
    name: ClassVar[str] = "bert4rec"
    title: ClassVar[str] = "BERT4Rec"
    generation: ClassVar[str] = "autoregressive"
    objective: ClassVar[str] = "cloze"
    # Few items of a list are told an epoch, so it learns slowly: with a patience of 3 it stops long before it is good.
    defaults: ClassVar[Mapping[str, Any]] = {"patience": 10}

    def __init__(self, config: Bert4RecConfig) -> None:
        super().__init__(config, lambda: VanillaClassifier(config.width, config.alphabet.items))

    def score_next(self, inputs: Sequence[NDArray[np.int64]]) -> Tensor:
        return self.score_positions(inputs, [1] * len(inputs))(0, 1, 0)[:, 0]

    def score_positions(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> ScoreBlock:
        """All next items at once, though it was trained to fill single gaps."""
        alphabet = self.config.alphabet
        lists = [np.append(items, [alphabet.mask] * count) for items, count in zip(inputs, counts, strict=True)]
        lengths = np.array([len(items) for items in lists])
        tokens = in_a_row(lengths, np.concatenate(lists).astype(np.int64), self._categories, alphabet)
        return self.score_masks(tokens, counts)
