"""FANS: a bidirectional Transformer that predicts all masked items of a list in one pass (WWW 2023).

Departures from the paper are in docs/paper-deviations.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.decoding import ScoreBlock
from fansrec.errors import BadSetting
from fansrec.models.blocks import EncoderLayer, TokenEmbedding, rectangle, start_normal, start_small
from fansrec.models.classifiers import Classifier, Loss, Reduce, VanillaClassifier
from fansrec.models.two_stage import TwoStageClassifier
from fansrec.tokens import SPECIALS, Alphabet, MaskedBatch, Tokens, category_table, fill, lay_out, tokens_of


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
        for name in ("width", "layers", "heads", "feedforward"):
            if getattr(self, name) < 1:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 <= self.dropout < 1:
            raise BadSetting(f"dropout is {self.dropout}; it must be at least 0 and below 1")
        if self.width % self.heads:
            raise BadSetting(f"width {self.width} cannot be shared by {self.heads} heads; make it a multiple")

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet(items=self.category_starts[-1], categories=len(self.category_starts) - 1)


BEYOND = 4  # how many times the longest trained sequence may be asked for; see `TokenEmbedding`
AT_LEAST = 1024


class Fans(nn.Module):
    name: ClassVar[str] = "fans"
    generation: ClassVar[str] = "one-pass"

    def __init__(self, config: FansConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = TokenEmbedding(
            config.alphabet, config.width, config.positions, config.dropout, config.use_categories
        )
        self.layers = nn.ModuleList(
            EncoderLayer(config.width, config.heads, config.feedforward, config.dropout) for _ in range(config.layers)
        )
        self.classifier: Classifier = (
            TwoStageClassifier(config.width, config.category_starts)
            if config.classifier == "two-stage"
            else VanillaClassifier(config.width, config.alphabet.items)
        )
        self._start()
        starts = np.array(config.category_starts)
        self._categories = category_table(np.repeat(np.arange(len(starts) - 1), np.diff(starts)), config.alphabet)

    def _start(self) -> None:
        """Small weights as in BERT, but items and categories far apart, so that they differ from the first step on."""
        self.apply(start_small)
        start_normal(self.embed.items, 1.0)
        if self.embed.categories is not None:
            start_normal(self.embed.categories, 1.0)
        start_normal(self.classifier.items, 0.1)

    def encode(self, chunks: Sequence[Tokens], masked: Tensor) -> Tensor:
        """(P, D): the encoder's output at the masked places among all tokens, chunk after chunk."""
        x = torch.cat([self.embed(tokens) for tokens in chunks])  # (S, D), S = the sum of B * T
        rectangles = [rectangle(tokens) for tokens in chunks]
        for layer in self.layers[:-1]:
            x = layer(x, rectangles)
        return self.layers[-1](x, rectangles, masked)  # type: ignore[no-any-return]

    def forward(self, batch: MaskedBatch, reduce: Reduce = lambda counts: counts) -> Loss:
        """The training loss; only the masked positions leave the last layer and go through the classifier."""
        return self.classifier.loss(self.encode(batch.chunks, batch.masked), batch, reduce)

    @property
    def ranks(self) -> int:
        return self.classifier.ranks

    def longest_sequence(self) -> int:
        return max(AT_LEAST, BEYOND * self.config.positions) - SPECIALS

    def score_positions(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> ScoreBlock:
        """One pass over the inputs with `counts` mask tokens behind them; scores are made from it when asked for."""
        device = self.embed.items.weight.device
        lengths = np.array([len(items) for items in inputs], dtype=np.int64)
        layout = lay_out(lengths, np.array(counts, dtype=np.int64))
        flat = np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs])
        items = fill(layout, flat, self.config.alphabet.mask, self.config.alphabet)
        masked = np.flatnonzero(items == self.config.alphabet.mask)
        tokens = tokens_of(items, layout, self._categories).to(device)
        encoded = self.encode([tokens], torch.from_numpy(masked).to(device))  # (P, D), list after list
        starts = torch.from_numpy(np.cumsum(counts) - counts).to(device)  # where each list's positions begin in it

        def score(first: int, last: int, rank: int) -> Tensor:
            places = starts[:, None] + torch.arange(first, last, device=device)
            hidden = encoded[places.clamp(max=len(encoded) - 1)]  # (B, positions, D)
            scores = self.classifier.scores(hidden.flatten(0, 1), rank)
            return scores.view(*hidden.shape[:2], -1)

        return score
