"""A model's weights as the kernels read them, on the GPU."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

BLOCK = 32  # items that are compared together
NOTHING = -1e30  # the bias of a place without an item


def in_lane_order(matrix: Tensor) -> Tensor:
    """(outputs, inputs) in fp16, 8 outputs and 32 inputs at a time, as 16 bytes for each lane of a warp.

    It is the order of the second operand of the tensor cores' m16n8k16, two steps of 16 inputs together.
    """
    outputs, inputs = matrix.shape
    parts = matrix.half().view(outputs // 8, 8, inputs // 32, 2, 2, 4, 2)
    return parts.permute(0, 2, 1, 5, 3, 4, 6).contiguous().view(-1)


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().float().reshape(-1) for tensor in tensors])


@dataclass(frozen=True)
class Blocks:
    """Where items lie once every category is filled up to whole blocks of 32."""

    place_of: np.ndarray[Any, np.dtype[np.int64]]  # (M,)
    item_at: np.ndarray[Any, np.dtype[np.int64]]  # (places,), -1 where there is none
    first_block: np.ndarray[Any, np.dtype[np.int64]]  # (N + 1,)

    @classmethod
    def of(cls, starts: tuple[int, ...]) -> "Blocks":
        sizes = np.diff(starts)
        first_block = np.concatenate([[0], np.cumsum(-(-sizes // BLOCK))])
        place_of = np.arange(starts[-1]) + np.repeat(first_block[:-1] * BLOCK - np.array(starts[:-1]), sizes)
        item_at = np.full(first_block[-1] * BLOCK, -1)
        item_at[place_of] = np.arange(starts[-1])
        return cls(place_of, item_at, first_block)

    @property
    def count(self) -> int:
        return int(self.first_block[-1])

    @property
    def most(self) -> int:
        """Of one category."""
        return int(np.diff(self.first_block).max())

    @property
    def category_of_block(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.repeat(np.arange(len(self.first_block) - 1), np.diff(self.first_block))


class Packed:
    """All tensors the kernels point to; kept here so that they stay where they are."""

    def __init__(self, model: Any, device: torch.device) -> None:
        self.device = device
        config, classifier = model.config, model.classifier
        self.two_stage = hasattr(classifier, "local")
        starts = tuple(config.category_starts)
        self.categories_known = len(starts) - 1 if self.two_stage or model.embed.categories is not None else 1
        self.blocks = Blocks.of(starts if self.two_stage else (0, starts[-1]))
        embed = model.embed
        self.items, self.positions = embed.items.weight.detach().float(), embed.positions.weight.detach().float()
        self.segments = embed.segments.weight.detach().float()
        self.categories = None if embed.categories is None else embed.categories.weight.detach().float()
        layers = list(model.layers)
        self.matrices = torch.cat([in_lane_order(m) for layer in layers for m in _matrices(layer)])
        head_vectors = self._pack_head(classifier)
        self.vectors = flat(
            [v for layer in layers for v in _vectors(layer)] + [*head_vectors, embed.norm.weight, embed.norm.bias]
        )
        self._pack_items(classifier)
        categories = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.category_of = self._numbers(categories)
        self.place_of, self.item_at = self._numbers(self.blocks.place_of), self._numbers(self.blocks.item_at)
        self.first_block = self._numbers(self.blocks.first_block)
        self.category_of_block = self._numbers(self.blocks.category_of_block)

    def _numbers(self, values: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(values.astype(np.int32)).to(self.device)

    def _pack_head(self, classifier: Any) -> list[Tensor]:
        """The matrices of the transforms and of the category classifier; gives the vectors of the shared ones."""
        transform = classifier.transform
        vectors, matrices = (
            [transform.linear.bias, transform.norm.weight, transform.norm.bias],
            [transform.linear.weight],
        )
        self.local_matrices = self.local_vectors = None
        if not self.two_stage:
            vectors.append(
                transform.linear.bias.new_zeros(-(-self.categories_known // 8) * 8)
            )  # none, but room for them
        if self.two_stage:
            missing = -classifier.ranks % 8
            pad = torch.nn.functional.pad
            matrices.append(pad(classifier.category.weight, (0, 0, 0, missing)))
            vectors.append(pad(classifier.category.bias, (0, missing), value=NOTHING))
            local = classifier.local
            self.local_matrices = local.weight.detach().transpose(1, 2).half().contiguous()
            self.local_vectors = torch.stack([local.bias, local.norm_weight, local.norm_bias], 1).detach().float()
            self.local_vectors = self.local_vectors.contiguous()
        self.head_matrices = torch.cat([in_lane_order(matrix.detach()) for matrix in matrices])
        return vectors

    def _pack_items(self, classifier: Any) -> None:
        places = torch.from_numpy(self.blocks.place_of).to(self.device)
        size = self.blocks.count * BLOCK
        weight = classifier.items.weight.detach().float()
        self.item_weights = weight.new_zeros(size, weight.shape[1]).index_copy_(0, places, weight)
        self.item_bias = weight.new_full((size,), NOTHING).index_copy_(
            0, places, classifier.items.bias.detach().float()
        )
        self.item_blocks = in_lane_order(self.item_weights)
        self.longest = float(weight.norm(dim=1).max())


def _matrices(layer: Any) -> list[Tensor]:
    linears = (layer.attention.qkv, layer.attention.out, layer.widen, layer.narrow)
    return [linear.weight.detach() for linear in linears]


def _vectors(layer: Any) -> list[Tensor]:
    first, last = layer.attention_norm, layer.feedforward_norm
    biases = [layer.attention.qkv.bias, layer.attention.out.bias, first.weight, first.bias]
    return [*biases, layer.widen.bias, layer.narrow.bias, last.weight, last.bias]
