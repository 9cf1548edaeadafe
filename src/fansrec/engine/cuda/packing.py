"""The weights of a model as the kernels read them, on the GPU."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.cuda.sizes import BLOCK

NOTHING = -1e30  # the bias of a slot without an item


def in_lane_order(matrix: Tensor) -> Tensor:
    """Return a matrix, shape (outputs, inputs), in fp16 and in the order in which the lanes of a warp load it.

    8 outputs and 32 inputs at a time are 16 bytes per lane: the order of the second operand of the tensor cores'
    m16n8k16, two steps of 16 inputs together.
    """
    outputs, inputs = matrix.shape
    parts = matrix.half().view(outputs // 8, 8, inputs // 32, 2, 2, 4, 2)
    return parts.permute(0, 2, 1, 5, 3, 4, 6).contiguous().view(-1)


def flat(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().float().reshape(-1) for tensor in tensors])


@dataclass(frozen=True)
class Blocks:
    """The slots of the items when every category is padded to whole blocks of 32."""

    slot_of: np.ndarray[Any, np.dtype[np.int64]]  # (M,)
    item_at: np.ndarray[Any, np.dtype[np.int64]]  # (slots,), -1 in slots without an item
    first_block: np.ndarray[Any, np.dtype[np.int64]]  # (N + 1,)

    @classmethod
    def of(cls, starts: tuple[int, ...]) -> "Blocks":
        sizes = np.diff(starts)
        first_block = np.concatenate([[0], np.cumsum(-(-sizes // BLOCK))])
        slot_of = np.arange(starts[-1]) + np.repeat(first_block[:-1] * BLOCK - np.array(starts[:-1]), sizes)
        item_at = np.full(first_block[-1] * BLOCK, -1)
        item_at[slot_of] = np.arange(starts[-1])
        return cls(slot_of, item_at, first_block)

    @property
    def count(self) -> int:
        return int(self.first_block[-1])

    @property
    def most(self) -> int:
        """Return the number of blocks of the largest category."""
        return int(np.diff(self.first_block).max())

    @property
    def category_of_block(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.repeat(np.arange(len(self.first_block) - 1), np.diff(self.first_block))


class Packed:
    """All tensors that the kernels point to, kept alive."""

    def __init__(self, model: Any, device: torch.device) -> None:
        self.device = device
        self.two_stage = self._is_two_stage(model)
        starts = tuple(model.config.category_starts)
        self.categories_known = len(starts) - 1 if self.two_stage or model.embed.categories is not None else 1
        self.blocks = Blocks.of(starts if self.two_stage else (0, starts[-1]))
        embed = model.embed
        self.items, self.positions = embed.items.weight.detach().float(), embed.positions.weight.detach().float()
        self.categories = None if embed.categories is None else embed.categories.weight.detach().float()
        self.segments: Tensor | None = None
        self.head_matrices: Tensor | None = None
        self.local_matrices: Tensor | None = None
        self.local_vectors: Tensor | None = None
        self._pack_network(model)
        categories = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        self.category_of = self._int32(categories)
        self.slot_of, self.item_at = self._int32(self.blocks.slot_of), self._int32(self.blocks.item_at)
        self.first_block = self._int32(self.blocks.first_block)
        self.category_of_block = self._int32(self.blocks.category_of_block)

    def _is_two_stage(self, model: Any) -> bool:
        return hasattr(model.classifier, "local")

    def _pack_network(self, model: Any) -> None:
        """Pack the layers and the classifier."""
        embed, layers = model.embed, list(model.layers)
        self.segments = embed.segments.weight.detach().float()
        self.matrices = torch.cat([in_lane_order(m) for layer in layers for m in layer_matrices(layer)])
        head_vectors = self._pack_head(model.classifier)
        self.vectors = flat(
            [v for layer in layers for v in layer_vectors(layer)] + [*head_vectors, embed.norm.weight, embed.norm.bias]
        )
        self._pack_items(model.classifier.items.weight, model.classifier.items.bias)

    def _int32(self, values: np.ndarray[Any, Any]) -> Tensor:
        return torch.from_numpy(values.astype(np.int32)).to(self.device)

    def _pack_head(self, classifier: Any) -> list[Tensor]:
        """Pack the matrices of the classifier; return the vectors of its shared transform and of its categories."""
        transform = classifier.transform
        vectors = [transform.linear.bias, transform.norm.weight, transform.norm.bias]
        matrices = [transform.linear.weight]
        if not self.two_stage:
            vectors.append(transform.linear.bias.new_zeros(-(-self.categories_known // 8) * 8))  # unused
        if self.two_stage:
            padding = -classifier.ranks % 8
            pad = torch.nn.functional.pad
            matrices.append(pad(classifier.category.weight, (0, 0, 0, padding)))
            vectors.append(pad(classifier.category.bias, (0, padding), value=NOTHING))
            local = classifier.local
            self.local_matrices = local.weight.detach().transpose(1, 2).half().contiguous()
            vectors_of_local = torch.stack([local.bias, local.norm_weight, local.norm_bias], 1)
            self.local_vectors = vectors_of_local.detach().float().contiguous()
        self.head_matrices = torch.cat([in_lane_order(matrix.detach()) for matrix in matrices])
        return vectors

    def _pack_items(self, weight: Tensor, bias: Tensor) -> None:
        """Pack the weights (M, D) and biases (M,) of the output layer."""
        slots = torch.from_numpy(self.blocks.slot_of).to(self.device)
        size = self.blocks.count * BLOCK
        weight = weight.detach().float()
        self.item_weights = weight.new_zeros(size, weight.shape[1]).index_copy_(0, slots, weight)
        self.item_bias = weight.new_full((size,), NOTHING).index_copy_(0, slots, bias.detach().float())
        self.item_blocks = in_lane_order(self.item_weights)
        self.longest = float(weight.norm(dim=1).max())


class PackedSasRec(Packed):
    """The tensors of SASRec: items are scored by their embeddings, and layer norms come before what they normalize."""

    def _is_two_stage(self, model: Any) -> bool:
        return False

    def _pack_network(self, model: Any) -> None:
        layers = list(model.layers)
        linears = [linear for layer in layers for linear in (layer.qkv, layer.first, layer.second)]
        self.matrices = torch.cat([in_lane_order(linear.weight.detach()) for linear in linears])
        vectors = []
        for layer, norm in zip(layers, [*(layer.attention_norm for layer in layers[1:]), model.norm], strict=True):
            inner = layer.feedforward_norm
            vectors += [layer.qkv.bias, inner.weight, inner.bias, layer.first.bias, layer.second.bias]
            vectors += [norm.weight, norm.bias]  # the one that comes next
        first = layers[0].attention_norm
        self.vectors = flat([*vectors, first.weight, first.bias])
        self._pack_items(*model.projection())


def layer_matrices(layer: Any) -> list[Tensor]:
    linears = (layer.attention.qkv, layer.attention.out, layer.widen, layer.narrow)
    return [linear.weight.detach() for linear in linears]


def layer_vectors(layer: Any) -> list[Tensor]:
    first, last = layer.attention_norm, layer.feedforward_norm
    biases = [layer.attention.qkv.bias, layer.attention.out.bias, first.weight, first.bias]
    return [*biases, layer.widen.bias, layer.narrow.bias, last.weight, last.bias]
