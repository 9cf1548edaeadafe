"""FANS: a bidirectional Transformer that predicts all masked items of a list in one pass (WWW 2023).

Departures from the paper are in docs/reference/paper-deviations.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import nn

from fansrec.errors import BadSetting
from fansrec.models.contract import ScoreBlock
from fansrec.models.layers.classifiers import VanillaClassifier
from fansrec.models.layers.encoder import MaskedModel, check_sizes
from fansrec.models.layers.two_stage import TwoStageClassifier
from fansrec.models.tokens import Alphabet, fill, lay_out, tokens_of


@dataclass(frozen=True)
class FansConfig:
    category_starts: tuple[int, ...]  # category c is items starts[c] to starts[c + 1]
    positions: int  # the longest trained sequence, CLS and SEP included
    width: int = 64
    layers: int = 3
    heads: int = 8
    feedforward: int = 256
    dropout: float = 0.2
    classifier: str = "two-stage"  # or "vanilla"
    use_categories: bool = True

    def __post_init__(self) -> None:
        if self.classifier not in ("two-stage", "vanilla"):
            raise BadSetting(f"classifier is {self.classifier!r}; it can be two-stage or vanilla")
        check_sizes(self)

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.category_starts)


class Fans(MaskedModel):
    name: ClassVar[str] = "fans"
    title: ClassVar[str] = "FANS"
    generation: ClassVar[str] = "one-pass"
    objective: ClassVar[str] = "continuation"

    def __init__(self, config: FansConfig) -> None:
        super().__init__(config, lambda: _classifier(config))

    def score_positions(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> ScoreBlock:
        """One pass over the inputs with `counts` mask tokens behind them."""
        lengths = np.array([len(items) for items in inputs], dtype=np.int64)
        layout = lay_out(lengths, np.array(counts, dtype=np.int64))
        flat = np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs])
        items = fill(layout, flat, self.config.alphabet.mask, self.config.alphabet)
        return self.score_masks(tokens_of(items, layout, self._categories), counts)


def _classifier(config: FansConfig) -> nn.Module:
    if config.classifier == "two-stage":
        return TwoStageClassifier(config.width, config.category_starts)
    return VanillaClassifier(config.width, config.alphabet.items)
