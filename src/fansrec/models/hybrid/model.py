"""FANS as `--recipe best` trains it: the paper's one pass, a repaired classifier, and a memory of the training lists.

The encoder and its K mask tokens are the paper's. What it says (`tied.py`), what lists like the input hold
(`list_memory.py`) and what a linear model says (`linear_part.py`) are added up as logarithms before anything is chosen:
the answer is the best K items of the whole continuation, best first. Figures: docs/explanation/quality.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.errors import BadSetting
from fansrec.models.hybrid.classifier import TiedClassifier
from fansrec.models.hybrid.linear_part import LinearPart
from fansrec.models.hybrid.list_memory import Kernel, ListMemory
from fansrec.models.layers.classifiers import Loss, Reduce
from fansrec.models.layers.encoder import Encoder, check_sizes
from fansrec.models.layers.transformer import start_normal, start_small
from fansrec.models.linear.slist import SlistConfig
from fansrec.models.tokens import Alphabet, Batch, fill, lay_out, tokens_of

WEIGHTS = ("network_weight", "memory_weight", "linear_weight")
MASKS_ASKED = 10  # a mean over so many positions, evenly spread, is as good as one over hundreds
FLOOR = 1e-3  # what is weaker than this share of the strongest hardly counts


@dataclass(frozen=True)
class FansBestConfig:
    category_starts: tuple[int, ...]
    positions: int  # the longest trained sequence, CLS and SEP included
    width: int = 64
    layers: int = 2
    heads: int = 4
    feedforward: int = 256
    dropout: float = 0.2
    classifier: str = "two-stage"  # or "vanilla"
    asked_categories: int = 3  # how many categories the two-stage classifier looks into for a list
    use_categories: bool = True
    # All below is found when the network has been trained, unless it is given; see training/hybrid/weight_search.py.
    memory_lists: int = 0  # training lists that are kept and asked
    memory_items: int = 0  # distinct items in each of them, added up
    sharpness: float = Kernel.sharpness
    recency: float = Kernel.recency
    before: float = Kernel.before
    near: float = Kernel.near
    neighbours: int = Kernel.neighbours
    aligned: float = Kernel.aligned
    linear_neighbours: int = 0  # weights of the linear model kept for each item
    linear_decay: float = SlistConfig.input_decay
    network_weight: float = 0.1
    memory_weight: float = 1.0
    linear_weight: float = 0.3

    def __post_init__(self) -> None:
        if self.classifier not in ("two-stage", "vanilla"):
            raise BadSetting(f"classifier is {self.classifier!r}; it can be two-stage or vanilla")
        for name in ("asked_categories", "neighbours"):
            if getattr(self, name) < 1:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be at least 1")
        sizes = ("memory_lists", "memory_items", "linear_neighbours")
        for name in ("sharpness", "before", "near", "aligned", *sizes, *WEIGHTS):
            if getattr(self, name) < 0:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must not be below 0")
        if self.linear_decay <= 0:
            raise BadSetting(f"linear_decay is {self.linear_decay}; it must be above 0")
        if not any(getattr(self, name) for name in WEIGHTS):
            raise BadSetting(f"{', '.join(WEIGHTS)} are all 0; one part at least must have a say")
        if not 0 <= self.recency <= 1:
            raise BadSetting(f"recency is {self.recency}; it must be from 0 to 1")
        check_sizes(self)

    @property
    def alphabet(self) -> Alphabet:
        return Alphabet.of(self.category_starts)

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.sharpness, self.recency, self.before, self.near, self.neighbours, self.aligned)


class FansBest(Encoder):
    name: ClassVar[str] = "fans"
    title: ClassVar[str] = "FANS"
    generation: ClassVar[str] = "one-pass"
    objective: ClassVar[str] = "completion"
    ranks: ClassVar[int] = 1
    defaults: ClassVar[dict[str, Any]] = {
        "learning_rate": 0.002,
        "warmup": 100,
        "weight_decay": 0.01,
        "average": 0.99,
        "patience": 20,
        "validation_lists": 512,
        "precision": "fp32",
    }

    def __init__(self, config: FansBestConfig) -> None:
        super().__init__(config)
        asked = config.asked_categories if config.classifier == "two-stage" else 0
        self.tied = TiedClassifier(config.width, config.category_starts, asked)
        self.apply(start_small)
        start_normal(self.embed.items, 0.1)  # close together, since the same vectors also score the items
        if self.embed.categories is not None:
            start_normal(self.embed.categories, 1.0)
        items = config.alphabet.items
        self.memory = ListMemory(items, config.memory_lists, config.memory_items) if config.memory_lists else None
        self.linear = LinearPart(items, config.linear_neighbours) if config.linear_neighbours else None

    def start(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """What can be known before the first step, from the training lists: `items[offsets[i]:offsets[i + 1]]`."""
        self.tied.start(torch.from_numpy(np.bincount(items, minlength=self.config.alphabet.items)))

    @property
    def vectors(self) -> Tensor:
        """(M, D): of the items, without the special tokens."""
        return self.embed.items.weight[: self.config.alphabet.items]

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        return self.tied.loss(self.encode(batch.chunks, batch.places), self.vectors, batch)

    def score_lists(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> Tensor:
        """(B, M): how well every item would stand anywhere in the next `counts[i]` places."""
        probable = self.probabilities(inputs, counts)
        scores: Tensor = self.config.network_weight * torch.log1p(probable * probable.shape[1])
        if self.memory is not None:
            strengths = self.memory.strengths(inputs, self.config.kernel).to(scores.device)
            scores += self.config.memory_weight * torch.log1p(strengths / FLOOR)
        if self.linear is not None:
            strengths = self.linear.strengths(inputs, self.config.linear_decay).to(scores.device)
            scores += self.config.linear_weight * torch.log1p(strengths / FLOOR)
        return scores

    def probabilities(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int]) -> Tensor:
        """(B, M): one pass over the inputs with `counts` mask tokens behind them, as a mean over these."""
        return self.tied.probabilities(*self.at_masks(inputs, counts, MASKS_ASKED), self.vectors)

    def expected_places(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int], items: Tensor) -> Tensor:
        """(B, K): at which of the next places each of `items` (B, K) is likely to stand; costs another pass."""
        return self.tied.expected_places(*self.at_masks(inputs, counts, max(counts)), self.vectors, items)

    def at_masks(self, inputs: Sequence[NDArray[np.int64]], counts: Sequence[int], most: int) -> tuple[Tensor, Tensor]:
        """The encoder's output at `most` masks of each list at most, (B, K, D), and the share of each, (B, K)."""
        lengths, wanted = (np.array(n, dtype=np.int64) for n in ([len(items) for items in inputs], counts))
        layout = lay_out(lengths, wanted)
        flat = np.concatenate([np.asarray(items, dtype=np.int64) for items in inputs])
        items = fill(layout, flat, self.config.alphabet.mask, self.config.alphabet)
        asked = np.minimum(wanted, most)
        there = np.arange(asked.max()) < asked[:, None]  # (B, K)
        spread = ((np.arange(asked.max()) + 0.5) * (wanted / asked)[:, None]).astype(np.int64)  # over all masks
        places = np.arange(len(items))[:, None] * items.shape[1] + lengths[:, None] + 2 + spread
        tokens = tokens_of(items, layout, self._categories).to(self.device)
        encoded = self.encode([tokens], torch.from_numpy(places[there]).to(self.device))  # (P, D), list after list
        shares = torch.from_numpy((there / asked[:, None]).astype(np.float32)).to(self.device)
        if there.all():
            return encoded.view(*there.shape, -1), shares
        padded = encoded.new_zeros(*there.shape, encoded.shape[1])
        padded[torch.from_numpy(there).to(self.device)] = encoded
        return padded, shares
