"""The bidirectional Transformer that FANS and BERT4Rec share, BERT's over item tokens, and how the paper uses it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fansrec.errors import BadSetting
from fansrec.models.contract import ScoreBlock
from fansrec.models.layers.classifiers import Blocked, Classifier, Loss, Reduce
from fansrec.models.layers.transformer import EncoderLayer, TokenEmbedding, rectangle, start_normal, start_small
from fansrec.models.tokens import SPECIALS, Batch, Tokens, token_categories

BEYOND = 4  # how many times the longest trained sequence may be asked for; see `TokenEmbedding`
AT_LEAST = 1024


def check_sizes(config: Any) -> None:
    """Refuse sizes no network can have; every config asks this of itself."""
    for name in ("width", "layers", "heads", "feedforward", "positions"):
        if getattr(config, name, 1) < 1:
            raise BadSetting(f"{name} is {getattr(config, name)}; it must be at least 1")
    if not 0 <= config.dropout < 1:
        raise BadSetting(f"dropout is {config.dropout}; it must be at least 0 and below 1")
    if config.width % getattr(config, "heads", 1):
        raise BadSetting(f"width {config.width} cannot be shared by {config.heads} heads; make it a multiple")


def longest_sequence(positions: int) -> int:
    """How many items a model of so many trained positions may be asked to hold."""
    return max(AT_LEAST, BEYOND * positions) - SPECIALS


class Encoder(nn.Module):
    """Embeddings and layers."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.config = config
        self.embed = TokenEmbedding(
            config.alphabet, config.width, config.positions, config.dropout, config.use_categories
        )
        self.layers = nn.ModuleList(
            EncoderLayer(config.width, config.heads, config.feedforward, config.dropout) for _ in range(config.layers)
        )
        self._categories = token_categories(config.category_starts)

    @property
    def device(self) -> torch.device:
        return self.embed.items.weight.device

    def encode(self, chunks: Sequence[Tokens], places: Tensor) -> Tensor:
        """(P, D): the encoder's output at these places among all tokens, chunk after chunk."""
        x = torch.cat([self.embed(tokens) for tokens in chunks])  # (S, D), S = the sum of B * T
        rectangles = [rectangle(tokens) for tokens in chunks]
        for layer in self.layers[:-1]:
            x = layer(x, rectangles)
        return self.layers[-1](x, rectangles, places)  # type: ignore[no-any-return]

    def longest_sequence(self) -> int:
        return longest_sequence(self.config.positions)


class MaskedModel(Encoder):
    """An encoder with a classifier at the places to be told."""

    classifier: Classifier

    def __init__(self, config: Any, classifier: Callable[[], nn.Module]) -> None:
        super().__init__(config)
        self.classifier = classifier()  # type: ignore[assignment]
        self._start()

    def _start(self) -> None:
        """Small weights as in BERT, but items and categories far apart, so that they differ from the first step on."""
        self.apply(start_small)
        start_normal(self.embed.items, 1.0)
        if self.embed.categories is not None:
            start_normal(self.embed.categories, 1.0)
        start_normal(self.classifier.items, 0.1)

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        """The training loss; only the places to be told leave the last layer and go through the classifier."""
        return self.classifier.loss(self.encode(batch.chunks, batch.places), batch, reduce)

    @property
    def ranks(self) -> int:
        return self.classifier.ranks

    def score_masks(self, tokens: Tokens, counts: Sequence[int]) -> ScoreBlock:
        """One pass over lists with `counts` MASKs each; scores are made from it when asked for."""
        masked = (tokens.items == self.config.alphabet.mask).flatten().nonzero().flatten()
        encoded = self.encode([tokens.to(self.device)], masked.to(self.device))  # (P, D), list after list
        starts = torch.from_numpy(np.cumsum(counts) - counts).to(self.device)  # where each list's masks begin in it

        return MaskScores(self.classifier, encoded, starts)


@dataclass(frozen=True)
class MaskScores:
    """A `ScoreBlock` and `Shortlists`, made from the encoder's output when asked for."""

    classifier: Classifier
    encoded: Tensor  # (P, D), list after list
    starts: Tensor  # (B,): where each list's positions begin in it

    def __call__(self, first: int, last: int, rank: int) -> Tensor:
        hidden = self._hidden(first, last)
        return self.classifier.scores(hidden.flatten(0, 1), rank).view(*hidden.shape[:2], -1)

    def best(self, first: int, last: int, rank: int, count: int, blocked: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden = self._hidden(first, last)
        lists = torch.arange(len(hidden), device=hidden.device).repeat_interleave(last - first)
        rows = None if blocked is None else Blocked(blocked, lists)
        scores, items = self.classifier.best(hidden.flatten(0, 1), rank, count, rows)
        return scores.view(*hidden.shape[:2], -1), items.view(*hidden.shape[:2], -1)

    def _hidden(self, first: int, last: int) -> Tensor:  # (B, positions, D)
        places = self.starts[:, None] + torch.arange(first, last, device=self.encoded.device)
        return self.encoded[places.clamp(max=len(self.encoded) - 1)]
