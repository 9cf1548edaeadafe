"""The encoder and the classifiers as functions of fixed shapes that `torch.compile` can compile."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from fansrec.models.fans import TwoStageClassifier
from fansrec.models.layers.classifiers import Blocked, Classifier
from fansrec.models.layers.encoder import Encoder
from fansrec.models.layers.transformer import Rectangle
from fansrec.models.tokens import Tokens

QUARTERS = 4  # of the longest list: the lengths that are compiled for
FEW_POSITIONS = 4  # per list, which the hybrid model reads
FEWEST_ROWS = 16  # of a classifier; more are powers of two


def smallest(sizes: Sequence[int], needed: int) -> int:
    """Return the smallest of `sizes`, in order, that is large enough, or what is needed if none is."""
    return next((size for size in sizes if size >= needed), needed)


def options(device: torch.device | str) -> dict[str, Any]:
    """Return the options of `torch.compile`; on a GPU it records CUDA graphs."""
    return {"dynamic": False, "mode": "reduce-overhead" if torch.device(device).type == "cuda" else "default"}


class CompiledEncoder:
    """Replaces `Encoder.encode`: the same hidden states, computed with padding to a fixed shape."""

    def __init__(self, model: Encoder, longest: int, lists: Sequence[int]) -> None:
        self.model, self.lists = model, lists
        self.lengths = [-(-longest * quarter // QUARTERS) for quarter in range(1, QUARTERS + 1)]
        self._compiled = torch.compile(self._encode, **options(model.device))

    def __call__(self, chunks: Sequence[Tokens], indices: Tensor) -> Tensor:
        """Return the hidden states (P, D) at `indices` (P,) of the flattened tokens of the only chunk."""
        (tokens,) = chunks
        padded = self.pad(tokens)
        length, (lists, longer) = tokens.items.shape[1], padded.items.shape
        positions = smallest([lists * size for size in (FEW_POSITIONS, longer // 2, longer)], len(indices))
        moved = indices // length * longer + indices % length  # lists have become longer
        moved = F.pad(moved, (0, positions - len(indices)))
        hidden = self._compiled(padded.items, padded.categories, padded.segments, padded.real, moved)
        return hidden[: len(indices)].clone()  # the next replay of a CUDA graph overwrites its output

    def pad(self, tokens: Tokens) -> Tokens:
        """Return the tokens with more columns and lists, up to one of the compiled shapes."""
        lists, length = tokens.items.shape
        columns, rows = smallest(self.lengths, length) - length, smallest(self.lists, lists) - lists
        alphabet = self.model.config.alphabet
        return Tokens(
            F.pad(tokens.items, (0, columns, 0, rows), value=alphabet.pad),
            F.pad(tokens.categories, (0, columns, 0, rows), value=alphabet.no_category),
            F.pad(tokens.segments, (0, columns, 0, rows), value=1),
            F.pad(F.pad(tokens.real, (0, columns)), (0, 0, 0, rows), value=True),  # attention needs something to see
        )

    def _encode(self, items: Tensor, categories: Tensor, segments: Tensor, real: Tensor, indices: Tensor) -> Tensor:
        lists, length = items.shape
        seen = real[:, None, None, :]
        if self.model.causal:
            before = torch.ones(length, length, dtype=torch.bool, device=items.device).tril()
            seen = (before | (segments[:, None, :, None] == 1)) & seen
        rectangles = [Rectangle(lists, length, seen)]
        x = self.model.embed(Tokens(items, categories, segments, real))
        for layer in self.model.layers[:-1]:
            x = layer(x, rectangles)
        return self.model.layers[-1](x, rectangles, indices)  # type: ignore[no-any-return]


def compiled_classifier(classifier: Any) -> Classifier:
    """Return a classifier with the same weights whose products are compiled.

    On a CPU, a two-stage classifier computes only the categories that were chosen, one at a time. On a GPU that would
    wait for the device again and again; there, all items are scored and those of other categories are masked.
    """
    if not isinstance(classifier, TwoStageClassifier):
        return CompiledScores(classifier, lambda hidden: classifier.scores(hidden, 0))
    if classifier.items.weight.is_cuda:
        return CompiledScores(classifier, AllItems(classifier).scores)
    by_category: Any = copy.copy(classifier)
    by_category._inside = OneCategory(classifier)
    return by_category  # type: ignore[no-any-return]


class CompiledScores:
    """A classifier whose scores of all items are one compiled function; later ranks, which are rare, are not."""

    def __init__(self, classifier: Any, scores: Any) -> None:
        self.ranks, self.items = classifier.ranks, classifier.items
        self.loss, self.scores = classifier.loss, classifier.scores
        self._classifier = classifier
        self._compiled: Any = torch.compile(scores, **options(classifier.items.weight.device))

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        """Return the best `count` scores that are not blocked and their items, (P, count) each."""
        if rank:
            return self._classifier.best(hidden, rank, count, blocked)  # type: ignore[no-any-return]
        rows = max(FEWEST_ROWS, 1 << (len(hidden) - 1).bit_length())
        scores = self._compiled(F.pad(hidden, (0, 0, 0, rows - len(hidden))))[: len(hidden)]
        if blocked is not None:
            blocked.fill(scores, slice(None), slice(None))
        best = scores.topk(min(count, scores.shape[1]), dim=1)
        return best.values, best.indices


class AllItems:
    """The scores of a two-stage classifier at rank 0 without a loop over categories."""

    def __init__(self, classifier: TwoStageClassifier) -> None:
        self.classifier = classifier
        items = torch.arange(classifier.starts[-1], device=classifier.items.weight.device)
        self.categories = classifier.category_of(items)  # (M,)

    def scores(self, hidden: Tensor) -> Tensor:
        """Return log-probabilities (P, M): of each position's best category, -inf outside it."""
        own, local = self.classifier, self.classifier.local
        best, chosen = own.category(own.transform(hidden)).log_softmax(1).max(1)
        x = F.gelu((local.weight[chosen] @ hidden[..., None])[..., 0] + local.bias[chosen])
        x = F.layer_norm(x, x.shape[1:]) * local.norm_weight[chosen] + local.norm_bias[chosen]
        logits = own.items(x).masked_fill(self.categories != chosen[:, None], -torch.inf)
        scores: Tensor = logits.log_softmax(1) + best[:, None]
        return scores


class OneCategory:
    """Replaces `TwoStageClassifier._inside`; categories and their positions differ in size, so that shapes are free."""

    def __init__(self, classifier: TwoStageClassifier) -> None:
        self.classifier = classifier
        self._compiled: Any = torch.compile(_inside, dynamic=True)

    def __call__(self, hidden: Tensor, category: int, items: slice) -> Tensor:
        """Return the log-probabilities (R, m) of a category's items by its local classifier."""
        own, local = self.classifier, self.classifier.local
        rows = hidden if len(hidden) > 1 else hidden.repeat(2, 1)  # a size of 1 would be compiled separately
        weights = (local.weight, local.bias, local.norm_weight, local.norm_bias)
        found = self._compiled(
            rows, *(one[category] for one in weights), own.items.weight[items], own.items.bias[items]
        )
        return found[: len(hidden)]  # type: ignore[no-any-return]


def _inside(hidden: Tensor, weight: Tensor, bias: Tensor, scale: Tensor, shift: Tensor, w: Tensor, b: Tensor) -> Tensor:
    x = F.layer_norm(F.gelu(F.linear(hidden, weight, bias)), hidden.shape[1:], scale, shift)
    return F.linear(x, w, b).log_softmax(1)
