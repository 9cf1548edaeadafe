"""FANS: fast non-autoregressive sequence generation for item list continuation (WWW 2023).

A bidirectional Transformer reads the input list followed by mask tokens and predicts the items of all masked positions
in one pass; a two-stage classifier chooses a category for each position and then an item inside it. This file has the
network and the two-stage classifier. What FANS shares with other models is in `models/layers/`, its configuration in
`models/sequence/config.py`.
Where the paper and this implementation differ: docs/reference/paper-deviations.md.

Where the parts of the paper are (paths below `fansrec/`; M items, N categories, D = `width`):

    paper                                           implementation
    ----------------------------------------------  ---------------------------------------------------------------
    item categorizer (section 3)                    data/item_vectors.py: cbow_vectors, cluster_items
    generation, eq. 2 autoregressive, 3 one pass    engine/generation.py: generate
    sample masker: rho_r, beta_m, beta_r (4.2)      training/masking.py: MaskingRates, mask_input
    masked end of the target: rho_t (4.2)           training/masking.py: hidden_target, target_mask
    item tokens u, eq. 4                            models/tokens.py: with_masks, lay_out, fill
    category tokens c, eq. 5                        models/tokens.py: tokens_of
                                                    models/alphabet.py: token_categories
    embedding E^0, eq. 6                            models/layers/transformer.py: TokenEmbedding
    Transformer encoder E^h, eq. 7                  models/layers/encoder.py: Encoder.encode
                                                    models/layers/transformer.py: EncoderLayer
    vanilla classifier C_mlm, eq. 8                 models/layers/classifiers.py: VanillaClassifier
    category classifier C_cat, eq. 9                TwoStageClassifier.category
    local classifiers C_loc, eq. 10                 TwoStageClassifier.local and .items
    category loss L_cat, eq. 11                     TwoStageClassifier.loss
    category is right: Phi, eq. 12                  TwoStageClassifier.loss: `right`
    local losses L_loc, eq. 13                      TwoStageClassifier.local_loss
                                                    models/layers/cross_entropy.py: grouped_cross_entropy
    total loss L, eq. 14                            TwoStageClassifier.loss
    naive and step-wise scheduler (4.4)             training/curriculum.py: ratio, Curriculum
    model execution (appendix A.2)                  Fans.score_positions
    result deduplication (appendix A.2)             engine/decoding/
    hyper-parameters (appendix A.1)                 models/sequence/config.py: FansConfig
                                                    training/settings.py: TrainSettings

Variants (section 5): FANS_TSC-STEP is the default; `classifier="vanilla"` leaves out "TSC", the setting
`scheduler=naive` replaces the curriculum, and `use_categories=False` gives the variants marked with a star.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.contract import Inputs, ScoreBlock
from fansrec.models.layers.classifiers import Blocked, Loss, Reduce, VanillaClassifier
from fansrec.models.layers.cross_entropy import grouped_cross_entropy
from fansrec.models.layers.encoder import MaskedModel
from fansrec.models.layers.transformer import Transform, in_full
from fansrec.models.sequence.config import FansConfig as FansConfig
from fansrec.models.tokens import Batch, with_masks

EPSILON = 1e-6  # eq. 13: a category without samples has a local loss of 0


class Fans(MaskedModel):
    """An encoder (embeddings and Transformer layers) with a classifier at the masked positions."""

    name: ClassVar[str] = "fans"
    title: ClassVar[str] = "FANS"
    generation: ClassVar[str] = "one-pass"
    objective: ClassVar[str] = "continuation"

    def __init__(self, config: FansConfig) -> None:
        super().__init__(config, lambda: _classifier(config))

    def score_positions(self, inputs: Inputs, counts: Sequence[int]) -> ScoreBlock:
        """Return the scores of the next `counts[i]` positions after `inputs[i]`, from one pass over all lists.

        A list is read as CLS input SEP MASK … MASK SEP, with as many mask tokens as positions are to be filled.
        """
        return self.score_masks(with_masks(inputs, counts, self._categories, self.config.alphabet), counts)


def _classifier(config: FansConfig) -> nn.Module:
    if config.classifier == "two-stage":
        return TwoStageClassifier(config.width, config.category_starts)
    return VanillaClassifier(config.width, config.alphabet.items)


class TwoStageClassifier(nn.Module):
    """One category classifier and N local classifiers (section 4.3).

    Items are in category order, so the output layers of all local classifiers are slices of one matrix, `items`.
    """

    def __init__(self, width: int, category_starts: tuple[int, ...]) -> None:
        super().__init__()
        self.starts = category_starts
        self.ranks = len(category_starts) - 1  # N: rank r is a position's r-th best category
        self.transform = Transform(width)
        self.category = nn.Linear(width, self.ranks)
        self.local = LocalTransforms(width, self.ranks)
        self.items = nn.Linear(width, category_starts[-1])
        self.register_buffer("bounds", torch.tensor(category_starts), persistent=False)

    def category_of(self, items: Tensor) -> Tensor:
        """Return the categories of items, the same shape."""
        bounds: Tensor = self.bounds  # type: ignore[assignment]
        return torch.bucketize(items, bounds, right=True) - 1

    def loss(self, hidden: Tensor, batch: Batch, reduce: Reduce) -> Loss:
        """Return L = L_cat + (1/N) sum L_loc (eq. 11 to 14) for the encoder's output (P, D) at the masked positions."""
        categories = self.category_of(batch.labels)
        logits = in_full(self.category(self.transform(hidden)))  # (P, N)
        category_loss = F.cross_entropy(logits, categories, reduction="sum") / batch.lists
        right = logits.argmax(1) == categories  # Phi
        local_loss = self.local_loss(hidden[right], batch.labels[right], categories[right], reduce)
        return Loss(category_loss + local_loss, right.sum())

    def local_loss(self, hidden: Tensor, labels: Tensor, categories: Tensor, reduce: Reduce) -> Tensor:
        """Return (1/N) sum L_loc over positions (P, D) whose category was predicted right.

        `reduce` sums the number of positions of each category over all processes.
        """
        counts = torch.bincount(categories, minlength=self.ranks)
        scales = 1 / (reduce(counts.float()) + EPSILON) / self.ranks
        order = categories.argsort(stable=True)
        ends = [0, *accumulate(counts.tolist())]
        # Without a single right category the weights still take part: distributed training waits for all gradients.
        present = [c for c in range(self.ranks) if ends[c] < ends[c + 1]] or [0]
        rows = [slice(ends[c], ends[c + 1]) for c in present]
        items = [slice(self.starts[c], self.starts[c + 1]) for c in present]
        transformed = self.local(hidden[order], rows, present)
        groups = list(zip(rows, items, strict=True))
        return grouped_cross_entropy(
            transformed, self.items.weight, self.items.bias, labels[order], groups, scales[present]
        )

    def ranked(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the log-probabilities of all categories, highest first, and the categories, (P, N) each."""
        by_category = in_full(self.category(self.transform(hidden))).log_softmax(1)
        return torch.sort(by_category, dim=1, descending=True, stable=True)

    def scores(self, hidden: Tensor, rank: int) -> Tensor:
        """Return log-probabilities (P, M): of each position's `rank`-th best category, -inf outside it."""
        out = hidden.new_full(
            (len(hidden), self.starts[-1]), -torch.inf, dtype=torch.promote_types(hidden.dtype, torch.float32)
        )
        for rows, items, scores in self._by_category(hidden, rank):
            out[rows, items] = scores
        return out

    def best(self, hidden: Tensor, rank: int, count: int, blocked: Blocked | None) -> tuple[Tensor, Tensor]:
        """Return the best `count` entries of `scores` that are not blocked and their items, without a (P, M) tensor."""
        out = hidden.new_full((len(hidden), count), -torch.inf, dtype=torch.promote_types(hidden.dtype, torch.float32))
        found = torch.zeros((len(hidden), count), dtype=torch.int64, device=hidden.device)
        for rows, items, scores in self._by_category(hidden, rank):
            if blocked is not None:
                blocked.fill(scores, rows, items)
            best = scores.topk(min(count, scores.shape[1]), dim=1)
            out[rows, : best.values.shape[1]] = best.values
            found[rows, : best.values.shape[1]] = best.indices + items.start
        return out, found

    def _by_category(self, hidden: Tensor, rank: int) -> Iterator[tuple[Tensor, slice, Tensor]]:
        """Yield rows (R,), items and scores (R, m) for each category that is the `rank`-th best of some positions."""
        best, chosen = (ranked[:, rank] for ranked in self.ranked(hidden))
        order = chosen.argsort(stable=True)
        ends = [0, *accumulate(torch.bincount(chosen, minlength=self.ranks).tolist())]
        for category, (start, end) in enumerate(pairwise(ends)):
            if start < end:
                rows = order[start:end]
                items = slice(self.starts[category], self.starts[category + 1])
                yield rows, items, self._inside(hidden[rows], category, items) + best[rows, None]

    def _inside(self, hidden: Tensor, category: int, items: slice) -> Tensor:
        """Return the log-probabilities (R, m) of a category's items by its local classifier."""
        transformed = self.local(hidden, [slice(0, len(hidden))], [category])
        logits = F.linear(transformed, self.items.weight[items], self.items.bias[items])
        return in_full(logits).log_softmax(1)


class LocalTransforms(nn.Module):
    """The transforms of N local classifiers (linear, GELU, layer norm), stored as stacked weights."""

    def __init__(self, width: int, categories: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(categories, width, width).normal_(std=0.02))
        self.bias = nn.Parameter(torch.zeros(categories, width))
        self.norm_weight = nn.Parameter(torch.ones(categories, width))
        self.norm_bias = nn.Parameter(torch.zeros(categories, width))

    def forward(self, hidden: Tensor, rows: list[slice], categories: list[int]) -> Tensor:
        """Transform `hidden[rows[i]]` by `categories[i]`; the rows are in order and leave none out."""
        weights, biases = self.weight.unbind(), self.bias.unbind()  # unbind: one gradient tensor, not one per slice
        scales, shifts = self.norm_weight.unbind(), self.norm_bias.unbind()
        return torch.cat(
            [
                F.layer_norm(F.gelu(F.linear(hidden[r], weights[c], biases[c])), hidden.shape[1:], scales[c], shifts[c])
                for r, c in zip(rows, categories, strict=True)
            ]
        )
