"""What the authors' FANS and BERT4Rec share; see authors.py."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.experiments.speed.measuring import UNKNOWN, Items
from fansrec.models.fans import TwoStageClassifier
from fansrec.models.layers.encoder import MaskedModel
from fansrec.models.layers.transformer import SelfAttention

KEPT = 10  # items per position: the largest n of their metrics
INPUT, TARGET, SPECIAL = "input", "target", "special"

Ranking = list[list[int]]  # the best items of each position of one list


@dataclass
class Sample:
    """One list, or a batch: tokens, the part of each, and the attention mask, with shapes (T,) or (B, T)."""

    items: Tensor
    categories: Tensor
    segments: Tensor
    attended: Tensor  # 0 for padding
    parts: dict[str, Tensor]  # 1 where a token belongs to the part


class Network:
    """The encoder of a model, run as the authors' code runs it."""

    def __init__(self, model: MaskedModel) -> None:
        self.model = model

    def sample(self, tokens: list[int], segments: list[int], parts: dict[str, slice], longest: int) -> Sample:
        padding = longest - len(tokens)
        special = torch.ones(longest, dtype=torch.long)
        attended = torch.ones(longest, dtype=torch.long)
        attended[len(tokens) :] = 0
        marked = {}
        for part, positions in parts.items():
            marked[part] = torch.zeros(longest, dtype=torch.long)
            marked[part][positions] = 1
            special -= marked[part]
        items = tokens + [self.model.config.alphabet.pad] * padding
        return Sample(
            items=torch.tensor(items),
            categories=torch.from_numpy(self.model._categories[items]),
            segments=torch.tensor(segments + [0] * padding),
            attended=attended,
            parts=marked | {SPECIAL: special},
        )

    def encode(self, batch: Sample) -> Tensor:  # (B, T, D)
        x = self._embed(batch)
        padding = (1.0 - batch.attended.to(x.device)[:, None, None, :].float()) * torch.finfo(x.dtype).min
        for layer in self.model.layers:
            x = layer.attention_norm(x + self._attention(layer.attention, x, padding))  # type: ignore[operator, arg-type]
            x = layer.feedforward_norm(x + layer.narrow(F.gelu(layer.widen(x))))  # type: ignore[operator]
        return x

    def _attention(self, attention: SelfAttention, x: Tensor, padding: Tensor) -> Tensor:
        """Return attention as BERT implementations computed it: three products, the weights of all pairs, softmax."""
        shape = (*x.shape[:2], attention.heads, -1)
        parts = zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3), strict=True)
        q, k, v = (F.linear(x, *part).view(shape).transpose(1, 2) for part in parts)  # (B, H, T, D/H)
        weights = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + padding).softmax(-1)
        mixed: Tensor = attention.out((weights @ v).transpose(1, 2).reshape(x.shape))
        return mixed

    def _embed(self, batch: Sample) -> Tensor:  # (B, T, D)
        """Return a sum over the parts; each is looked up for all positions and zeroed in those of other parts."""
        embed, device = self.model.embed, self.model.device
        items = batch.items.to(device)
        categories = batch.categories.to(device)
        total = torch.zeros(*items.shape, self.model.config.width).to(device)
        for part, marked in batch.parts.items():
            positions = marked.to(device)
            tables = [(items, embed.items)]
            if part != SPECIAL and embed.categories is not None:
                tables.append((categories, embed.categories))
            for tokens, table in tables:
                total += positions[..., None].float() * table(tokens * positions)
        total = total + embed.segments(batch.segments.to(device)) + embed.positions.weight[: items.shape[1]]
        normalized: Tensor = embed.norm(total)
        return normalized


def stack(samples: Sequence[Sample]) -> Sample:
    """Return several lists as one batch."""
    names = ("items", "categories", "segments", "attended")
    joined = {name: torch.stack([getattr(sample, name) for sample in samples]) for name in names}
    parts = {part: torch.stack([sample.parts[part] for sample in samples]) for part in samples[0].parts}
    return Sample(**joined, parts=parts)


def local_scores(classifier: TwoStageClassifier, hidden: Tensor, categories: Tensor) -> list[Tensor | None]:
    """Return the scores of each category's items at the positions of that category, None if it has no position."""
    scores: list[Tensor | None] = []
    for category in range(classifier.ranks):
        chosen = (categories == category).unsqueeze(-1)
        if not chosen.sum():
            scores.append(None)
            continue
        rows = torch.masked_select(hidden, chosen).reshape(-1, hidden.shape[-1])
        items = slice(classifier.starts[category], classifier.starts[category + 1])
        inner = classifier.local(rows, [slice(0, len(rows))], [category])
        scores.append(F.linear(inner, classifier.items.weight[items], classifier.items.bias[items]))
    return scores


def candidates(ranking: Ranking, masked: Tensor | list[int]) -> list[int]:
    """Return the best item of every position, then the second best, without repeats, until there are ten."""
    found: list[int] = []
    for depth in range(min(KEPT, *(len(best) for best in ranking))):
        position = 0
        for here in masked:
            if here:
                if ranking[position][depth] not in found:
                    found.append(ranking[position][depth])
                position += 1
        if len(found) >= KEPT:
            break
    return found


def distinct_by_position(ranking: Ranking) -> Items:
    """Return for each position the best item that no earlier position took, as in the paper's appendix."""
    taken: set[int] = set()
    found = []
    for best in ranking:
        item = next((item for item in best if item not in taken), UNKNOWN)
        taken.add(item)
        found.append(item)
    return np.array(found, dtype=np.int64)


def until_a_repeat(ranking: Ranking) -> Items:
    """Return the best item of every step; from the first repeated item on, the input differs from a distinct list."""
    firsts = [best[0] for best in ranking]
    fresh = next((index for index, item in enumerate(firsts) if item in firsts[:index]), len(firsts))
    return np.array(firsts[:fresh] + [UNKNOWN] * (len(firsts) - fresh), dtype=np.int64)
