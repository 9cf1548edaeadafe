"""The hybrid model, which `--model fans --recipe best` trains: the network of FANS, a list memory and a linear model.

The encoder and its mask tokens are the paper's. The probabilities of its classifier (`classifier.py`), the votes of
similar training lists (`models/neighbors/list_memory.py`) and the scores of a linear model (`LinearPart`) are added up
as logarithms before anything is chosen: the answer is the best K items of the whole continuation, best first.
docs/explanation/quality.md has the contribution of each part.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.config import with_settings
from fansrec.models.contract import Inputs
from fansrec.models.hybrid.classifier import TiedClassifier
from fansrec.models.hybrid.config import FLOOR as FLOOR
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.hybrid.starting_vectors import starting_vectors
from fansrec.models.layers.classifiers import Loss, Reduce
from fansrec.models.layers.encoder import Encoder
from fansrec.models.linear.item_weights import SparseWeights
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.tokens import Batch, with_masks


class LinearPart(SparseWeights):
    """The strongest item-item weights of a linear model: SLIST, EASE or item-kNN.

    They stay in host memory: adding up a few rows is many small steps, too small for a GPU.
    """

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "LinearPart":
        return self

    def scores(self, inputs: Inputs, decay: float) -> Tensor:
        """Return the sum (B, M) of the weights from the input's items to every item, divided by the highest.

        Negative sums and the items of the input get 0. The last item of an input weighs 1, the one `decay` positions
        before it 1/e.
        """
        items, weights = self.items.numpy(), self.weights.numpy()
        out = np.zeros((len(inputs), len(items)), dtype=np.float32)
        for row, given in zip(out, inputs, strict=True):
            recency = recency_weights(len(given), decay)[:, None]
            sums = np.bincount(items[given].ravel(), (weights[given] * recency).ravel(), minlength=len(items))
            sums[given] = 0
            row[:] = np.maximum(sums / max(sums.max(initial=0.0), 1e-30), 0)
        return torch.from_numpy(out)


class HybridFans(Encoder):
    name: ClassVar[str] = "fans-hybrid"
    title: ClassVar[str] = "FANS"
    generation: ClassVar[str] = "one-pass"
    objective: ClassVar[str] = "completion"
    ranks: ClassVar[int] = 1
    defaults: ClassVar[dict[str, Any]] = {
        "gradient_norm": 1.0,
        "warmup": 100,
        "weight_decay": 0.2,
        "average": 0.99,
        "patience": 10,
        "precision": "fp32",
    }

    def __init__(self, config: HybridConfig) -> None:
        network = config.network
        super().__init__(config, network, network.causal)
        requested = network.asked_categories if network.classifier == "two-stage" else 0
        self.tied = TiedClassifier(network.width, config.category_starts, requested, network.transform)
        self.init_weights(0.02, 0.02)
        items, memory, linear = config.alphabet.items, config.memory, config.linear
        self.memory = ListMemory(items, memory.lists, memory.items) if memory.lists else None
        self.linear = LinearPart(items, linear.neighbors) if linear.neighbors else None

    def start(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Initialize classifier and item vectors from the lists `items[offsets[i]:offsets[i + 1]]`."""
        self.tied.start(torch.from_numpy(np.bincount(items, minlength=self.config.alphabet.items)))
        with torch.no_grad():
            self.vectors.copy_(starting_vectors(items, offsets, *self.vectors.shape))

    def with_parts(self, config: HybridConfig, memory: ListMemory | None, linear: LinearPart | None) -> "HybridFans":
        """Return a copy of this network, on the CPU, with these parts; `config` gets their sizes."""
        sizes = {
            "memory_lists": 0 if memory is None else len(memory),
            "memory_items": 0 if memory is None else len(memory.items),
            "linear_neighbours": 0 if linear is None else linear.width,
        }
        whole = copy.deepcopy(self).cpu()
        whole.config, whole.memory, whole.linear = with_settings(config, sizes), memory, linear
        return whole.eval()

    @property
    def vectors(self) -> Tensor:
        """The embeddings (M, D) of the items, without the special tokens."""
        return self.embed.items.weight[: self.config.alphabet.items]

    def forward(self, batch: Batch, reduce: Reduce = lambda counts: counts) -> Loss:
        return self.tied.loss(self.encode(batch.chunks, batch.label_positions), self.vectors, batch)

    def score_lists(self, inputs: Inputs, counts: Sequence[int]) -> Tensor:
        """Return the score (B, M) of every item anywhere in the next `counts[i]` positions."""
        return mix(self.parts(inputs, counts), vars(self.config.weights))

    def parts(self, inputs: Inputs, counts: Sequence[int]) -> dict[str, Tensor]:
        """Return the log scores (B, M) of each part with a weight, by its name in `config.weights`."""
        weights = self.config.weights
        memory, linear = self.memory if weights.memory else None, self.linear if weights.linear else None
        alone = memory is None and linear is None  # then the network scores the items, even with a weight of 0
        parts = {"network": self.network_scores(inputs, counts)} if alone or weights.network else {}
        if memory is not None:
            parts["memory"] = log_scores(memory.votes(inputs, self.config.memory).to(self.device))
        if linear is not None:
            parts["linear"] = log_scores(linear.scores(inputs, self.config.linear.decay).to(self.device))
        return parts

    def network_scores(self, inputs: Inputs, counts: Sequence[int], next_share: float | None = None) -> Tensor:
        """Return the log scores (B, M) of the network: how much more likely than chance an item is."""
        return torch.log1p(self.probabilities(inputs, counts, next_share) * self.config.alphabet.items)

    def probabilities(self, inputs: Inputs, counts: Sequence[int], next_share: float | None = None) -> Tensor:
        """Return the mean probability (B, M) of every item over the state after the input and the masks; one pass."""
        share = self.config.network.next_share if next_share is None else next_share
        states = self.states(inputs, counts, self.config.network.read_masks, share)
        return self.tied.probabilities(*states, self.vectors)

    def expected_positions(self, inputs: Inputs, counts: Sequence[int], items: Tensor) -> Tensor:
        """Return the expected position (B, K) of each of `items` (B, K) in the continuation; takes another pass."""
        states = self.states(inputs, counts, max(counts), 0.0)
        categories = torch.from_numpy(self._categories[items.cpu().numpy()]).to(items.device)
        return self.tied.expected_positions(*states, self.embed.items(items), categories)

    def states(self, inputs: Inputs, counts: Sequence[int], most: int, next_share: float) -> tuple[Tensor, Tensor]:
        """Return the hidden states (B, K, D) at up to `most` masks of each list, and the share (B, K) of each.

        If `next_share` is above 0, the state at the last token of the input comes first and has that share; the masks
        divide the rest evenly. Shares of lists with fewer masks end with 0.
        """
        tokens = with_masks(inputs, counts, self._categories, self.config.alphabet)
        masks = np.array(counts, dtype=np.int64)
        read = np.minimum(masks, most)
        there = np.arange(read.max()) < read[:, None]  # (B, K)
        evenly = (np.arange(read.max()) + 0.5) * (masks / read)[:, None]  # over all masks
        columns = evenly.astype(np.int64) + 2  # from the last token of the input; SEP is between it and the masks
        shares = there * ((1 - next_share) / read)[:, None]
        if next_share:
            there, columns = np.insert(there, 0, True, axis=1), np.insert(columns, 0, 0, axis=1)
            shares = np.insert(shares, 0, next_share, axis=1)
        first = np.array([len(items) for items in inputs]) + np.arange(len(masks)) * tokens.items.shape[1]
        indices = torch.from_numpy((first[:, None] + columns)[there])
        encoded = self.encode([tokens.to(self.device)], indices.to(self.device))  # (P, D), list after list
        weights = torch.from_numpy(shares.astype(np.float32)).to(self.device)
        if there.all():
            return encoded.view(*there.shape, -1), weights
        padded = encoded.new_zeros(*there.shape, encoded.shape[1])
        padded[torch.from_numpy(there).to(self.device)] = encoded
        return padded, weights


def recency_weights(length: int, decay: float) -> NDArray[np.float64]:
    """Return the weight (length,) of each item of an input in the linear part."""
    return np.exp(np.arange(1 - length, 1) / decay)


def log_scores(scores: Tensor) -> Tensor:
    """Turn votes or linear scores, from 0 to 1, into the logarithms that the mixture adds up, in place."""
    return scores.div_(FLOOR).log1p_()


def mix(parts: Mapping[str, Tensor], weights: Mapping[str, float]) -> Tensor:
    """Return the weighted sum (B, M) of the log scores of the parts."""
    scores, *others = (weights[name] * part for name, part in parts.items())
    for other in others:
        scores = scores + other
    return scores
