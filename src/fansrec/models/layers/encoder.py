"""The Transformer encoder of FANS and BERT4Rec, and the masked model that both are.

It is BERT's encoder over item tokens, which is bidirectional. The hybrid model reads its input causally.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fansrec.models.alphabet import token_categories
from fansrec.models.config import longest_sequence
from fansrec.models.contract import ScoreBlock
from fansrec.models.layers.classifiers import Blocked, Classifier, Loss, Reduce
from fansrec.models.layers.transformer import EncoderLayer, TokenEmbedding, init_bert, init_normal, rectangle
from fansrec.models.tokens import Batch, Tokens


class Encoder(nn.Module):
    """Token embeddings and Transformer layers.

    `config` is the configuration of the whole model. `sizes` has width, layers, heads, feedforward, dropout and
    use_categories: `config` itself or a section of it. If `causal`, tokens of the input see only those before them.
    """

    def __init__(self, config: Any, sizes: Any, causal: bool = False) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        self.embed = TokenEmbedding(config.alphabet, sizes.width, config.positions, sizes.dropout, sizes.use_categories)
        self.layers = nn.ModuleList(
            EncoderLayer(sizes.width, sizes.heads, sizes.feedforward, sizes.dropout) for _ in range(sizes.layers)
        )
        self._categories = token_categories(config.category_starts)

    @property
    def device(self) -> torch.device:
        return self.embed.items.weight.device

    def encode(self, chunks: Sequence[Tokens], indices: Tensor) -> Tensor:
        """Return the hidden states (P, D) at `indices` (P,) of the flattened tokens of all chunks."""
        x = torch.cat([self.embed(tokens) for tokens in chunks])  # (S, D), S = the sum of B * T
        rectangles = [rectangle(tokens, self.causal) for tokens in chunks]
        for layer in self.layers[:-1]:
            x = layer(x, rectangles)
        return self.layers[-1](x, rectangles, indices)  # type: ignore[no-any-return]

    def init_weights(self, item_deviation: float, category_deviation: float) -> None:
        """Initialize as BERT does, but items and categories with these deviations."""
        self.apply(init_bert)
        init_normal(self.embed.items, item_deviation)
        if self.embed.categories is not None:
            init_normal(self.embed.categories, category_deviation)

    def longest_sequence(self) -> int | None:
        """Return how many items one call accepts, input and continuation together."""
        return longest_sequence(self.config)


class MaskedModel(Encoder):
    """An encoder with a classifier at the masked positions."""

    classifier: Classifier

    def __init__(self, config: Any, classifier: Callable[[], nn.Module]) -> None:
        super().__init__(config, config)
        self.classifier = classifier()  # type: ignore[assignment]
        self.init_weights(1.0, 1.0)  # far apart, so that they differ from the first step
        init_normal(self.classifier.items, 0.1)

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        """Return the training loss; only the label positions leave the last layer and go through the classifier."""
        return self.classifier.loss(self.encode(batch.chunks, batch.label_positions), batch, reduce)

    @property
    def ranks(self) -> int:
        return self.classifier.ranks

    def score_masks(self, tokens: Tokens, counts: Sequence[int]) -> ScoreBlock:
        """Encode lists with `counts[i]` mask tokens each, and return what computes scores from that on demand."""
        masked = (tokens.items == self.config.alphabet.mask).flatten().nonzero().flatten()
        encoded = self.encode([tokens.to(self.device)], masked.to(self.device))
        starts = torch.from_numpy(np.cumsum(counts) - counts).to(self.device)
        return MaskScores(self.classifier, encoded, starts)


@dataclass(frozen=True)
class MaskScores:
    """A `ScoreBlock` that gives shortlists and computes scores from the encoder's output on demand."""

    classifier: Classifier
    encoded: Tensor  # (P, D), list after list
    starts: Tensor  # (B,): where the positions of each list start in `encoded`

    def __call__(self, first: int, last: int, rank: int) -> Tensor:
        """Return the scores (B, positions, M) of positions `first` to `last` - 1."""
        hidden = self._hidden(first, last)
        return self.classifier.scores(hidden.flatten(0, 1), rank).view(*hidden.shape[:2], -1)

    def best(self, first: int, last: int, rank: int, count: int, blocked: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the best `count` scores and items, (B, positions, L) each; `blocked` (B, M) items are left out."""
        hidden = self._hidden(first, last)
        lists = torch.arange(len(hidden), device=hidden.device).repeat_interleave(last - first)
        rows = None if blocked is None else Blocked(blocked, lists)
        scores, items = self.classifier.best(hidden.flatten(0, 1), rank, count, rows)
        return scores.view(*hidden.shape[:2], -1), items.view(*hidden.shape[:2], -1)

    def _hidden(self, first: int, last: int) -> Tensor:  # (B, positions, D)
        indices = self.starts[:, None] + torch.arange(first, last, device=self.encoded.device)
        return self.encoded[indices.clamp(max=len(self.encoded) - 1)]
