"""BERT4Rec (Sun et al., CIKM 2019): a bidirectional Transformer trained to fill gaps, which predicts item by item.

The network is that of FANS with the vanilla classifier. It reads a list as one segment; a MASK at the end stands for
the next item.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from fansrec.models.contract import Inputs, ScoreBlock
from fansrec.models.layers.classifiers import VanillaClassifier
from fansrec.models.layers.encoder import MaskedModel
from fansrec.models.sequence.config import Bert4RecConfig
from fansrec.models.tokens import in_a_row


class Bert4Rec(MaskedModel):
    name: ClassVar[str] = "bert4rec"
    title: ClassVar[str] = "BERT4Rec"
    generation: ClassVar[str] = "autoregressive"
    objective: ClassVar[str] = "cloze"
    # Few items of a list are predicted per epoch, so it learns slowly: a patience of 3 stops it far too early.
    defaults: ClassVar[Mapping[str, Any]] = {"patience": 10}

    def __init__(self, config: Bert4RecConfig) -> None:
        super().__init__(config, lambda: VanillaClassifier(config.width, config.alphabet.items))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        return self.score_positions(inputs, [1] * len(inputs))(0, 1, 0)[:, 0]

    def score_positions(self, inputs: Inputs, counts: Sequence[int]) -> ScoreBlock:
        """Return scores of all next positions from one pass, although it was trained to fill single gaps."""
        alphabet = self.config.alphabet
        lists = [np.append(items, [alphabet.mask] * count) for items, count in zip(inputs, counts, strict=True)]
        lengths = np.array([len(items) for items in lists])
        tokens = in_a_row(lengths, np.concatenate(lists).astype(np.int64), self._categories, alphabet)
        return self.score_masks(tokens, counts)
