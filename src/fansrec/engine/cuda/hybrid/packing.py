"""The parts of the hybrid model as the kernels read them, on the GPU."""

import math
from ctypes import Structure
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.cuda.hybrid.structures import LinearPart, ListMemory, TiedWeights
from fansrec.engine.cuda.packing import flat, in_lane_order, layer_matrices, layer_vectors
from fansrec.engine.cuda.sizes import CLUSTER
from fansrec.engine.cuda.structures import Weights
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.layers.transformer import Transform
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_search import (
    ALIGNED_REACH,
    FEW_ITEMS,
    MAX_LISTS_OF_ITEM,
    MIN_RARITY,
)
from fansrec.models.neighbors.list_votes import position_weights

SUM_BITS = 60  # of the integers that sums are added up in: one bit is left for the mark of input items
# Sizes of the kernels for a model whose network is not run.
NO_NETWORK = {"WIDTH": 64, "HEADS": 4, "FEEDFORWARD": 256, "LAYERS": 1, "CATEGORIES": 1}


def runs_network(model: HybridFans) -> bool:
    return bool(model.config.weights.network > 0)


def hybrid_macros(model: HybridFans, halves: int = 2) -> dict[str, int]:
    """Return the macros to compile the kernels with; `halves` fp16 numbers stand for each number of the encoder."""
    network = model.config.network
    two_stage = runs_network(model) and model.tied.category is not None
    sizes = {
        "WIDTH": network.width,
        "HEADS": network.heads,
        "FEEDFORWARD": network.feedforward,
        "LAYERS": network.layers,
        "CATEGORIES": len(model.tied.starts) - 1,
    }
    return (sizes if runs_network(model) else NO_NETWORK) | {
        "TWO_STAGE": int(two_stage),
        "EMBED_CATEGORIES": int(model.embed.categories is not None),
        "SEGMENTED": 1,
        "TIED": 1,
        "SASREC": 0,
        "CAUSAL": int(network.causal),
        "READ_NEXT": int(network.next_share > 0),
        "READ_MASKS": network.read_masks if network.next_share < 1 else 0,
        "READ_CATEGORIES": model.tied.requested if two_stage else 1,
        "HALVES": halves,
        "TEAM": CLUSTER,
        "RAW_SUMS": 0,
    }


def scale_for(largest_sum: float) -> float:
    """Return the power of two that turns numbers into integers, so that sums up to `largest_sum` have SUM_BITS bits."""
    return 2.0 ** (SUM_BITS - math.ceil(math.log2(max(largest_sum, 2.0**-20))))


class DeviceArrays:
    """All tensors that the kernels point to, kept alive; a subclass has the structures that point to them."""

    memory: Structure
    linear: Structure
    tied: Structure

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._kept: list[Tensor] = []

    def _on_device(self, values: Any, dtype: torch.dtype) -> int:
        """Return the address of a copy of the values on the GPU."""
        tensor = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values))
        kept = tensor.to(self.device, dtype).contiguous()
        self._kept.append(kept)
        return kept.data_ptr()

    def _floats(self, values: Any) -> int:
        return self._on_device(values, torch.float32)

    def _doubles(self, values: Any) -> int:
        return self._on_device(values, torch.float64)

    def _integers(self, values: Any) -> int:
        return self._on_device(values, torch.int32)


class PackedHybrid(DeviceArrays):
    """The structures of the hybrid model."""

    def __init__(self, model: HybridFans, device: torch.device) -> None:
        super().__init__(device)
        self.model, self.items = model, model.config.alphabet.items
        self.longest = model.longest_sequence() or 0
        weights = model.config.weights
        self.encoder, self.tied = self._encoder(), self._tied()
        self.memory = self._memory(model.config.memory) if model.memory is not None and weights.memory else ListMemory()
        self.linear = self._linear() if model.linear is not None and weights.linear else LinearPart()

    def _encoder(self) -> Structure:
        """Return the weights of the encoder; empty if the network is not run."""
        model = self.model
        if not runs_network(model):
            return Weights()
        embed, layers = model.embed, list(model.layers)
        matrices = [matrix for layer in layers for matrix in layer_matrices(layer)]
        matrices += [matrix - matrix.half().float() for matrix in matrices]  # what rounding to fp16 leaves
        vectors = flat([v for layer in layers for v in layer_vectors(layer)] + [embed.norm.weight, embed.norm.bias])
        return Weights(
            items=self._floats(embed.items.weight),
            categories=None if embed.categories is None else self._floats(embed.categories.weight),
            positions=self._floats(embed.positions.weight),
            segments=self._floats(embed.segments.weight),
            matrices=self._on_device(torch.cat([in_lane_order(m) for m in matrices]), torch.float16),
            vectors=self._floats(vectors),
            category_of=self._integers(model.tied.categories),
            item_count=model.config.alphabet.items,
            trained_positions=model.config.positions,
        )

    def _tied(self) -> Structure:
        tied = self.model.tied
        if not runs_network(self.model):
            return TiedWeights()
        transform = tied.transform if isinstance(tied.transform, Transform) else None
        sizes = np.diff(tied.starts).tolist()
        parts: dict[str, Any] = {}
        if transform is not None:
            vectors = flat([transform.linear.bias, transform.norm.weight, transform.norm.bias])
            parts |= {"transform": transform.linear.weight.T, "transform_vectors": vectors}
        if tied.category is not None:
            parts |= {"category": tied.category.weight.T, "category_bias": tied.category.bias}
        return TiedWeights(
            **{name: self._floats(values) for name, values in parts.items()},
            items=self._floats(self.model.vectors),
            bias=self._floats(tied.bias),
            prior=self._floats(tied.prior),
            highest_prior=self._floats(torch.stack([some.max() for some in torch.split(tied.prior, sizes)])),
            category_of=self._integers(tied.categories),
            starts=self._integers(np.array(tied.starts)),
            scale=float(tied.scale.detach()),
            next_share=self.model.config.network.next_share,
        )

    def _memory(self, config: MemoryConfig) -> Structure:
        memory = self.model.memory
        assert memory is not None
        lookup, known = memory.lookup(), len(memory)
        holders = np.diff(memory.list_starts.numpy())
        rarity = np.maximum(np.log(max(1, known) / np.maximum(holders, 1)), MIN_RARITY)
        alignment = 1 + config.aligned * np.exp(-np.arange(max(lookup.longest, self.longest) + 1) / ALIGNED_REACH)
        positions, factors = position_weights(lookup.longest, config), lookup.list_factors(config.newer)
        most = min(config.neighbors, known) * FEW_ITEMS
        arrays = ("items", "places", "lists", "list_places")
        return ListMemory(
            **{name: self._integers(getattr(memory, name)) for name in arrays},
            starts=self._on_device(memory.starts, torch.int64),
            list_starts=self._on_device(memory.list_starts, torch.int64),
            rarity=self._doubles(rarity),
            list_factor=self._doubles(factors),
            position_weight=self._doubles(positions),
            alignment=self._doubles(alignment),
            known=known,
            longest=lookup.longest,
            neighbors=config.neighbors,
            most_lists=MAX_LISTS_OF_ITEM,
            few_items=FEW_ITEMS,
            weighs_positions=int(config.before != 1 or config.near != 0),
            recency=config.recency,
            sharpness=config.sharpness,
            similarity_scale=scale_for(self.longest * float(rarity.max(initial=1.0)) * alignment[0]),
            vote_scale=scale_for(most * float(positions.max(initial=1.0))),
            highest=float(factors.max(initial=0.0)) * alignment[0],
        )

    def _linear(self) -> Structure:
        linear = self.model.linear
        assert linear is not None
        highest = float(linear.weights.abs().max()) if linear.weights.numel() else 0.0
        return LinearPart(
            items=self._integers(linear.items),
            weights=self._floats(linear.weights),
            width=linear.width,
            decay=self.model.config.linear.decay,
            scale=scale_for(self.longest * highest),
        )
