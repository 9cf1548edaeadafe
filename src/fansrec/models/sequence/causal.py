"""Causal attention: over whole lists, and for one more item with cached keys and values."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F


def causal_attention(q: Tensor, k: Tensor, v: Tensor, heads: int, shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """Return (S, D): every token attends to itself and to those before it in its list.

    `shapes` are the (B, T) of the chunks. Padding follows the items of a list, so no item attends to it.
    """
    sizes = [lists * tokens for lists, tokens in shapes]
    mixed = []
    for shape, *parts in zip(shapes, torch.split(q, sizes), torch.split(k, sizes), torch.split(v, sizes), strict=True):
        query, key, value = (part.view(*shape, heads, -1).transpose(1, 2) for part in parts)  # (B, H, T, D/H)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        mixed.append(seen.transpose(1, 2).reshape(parts[0].shape))
    return torch.cat(mixed)


def running_means(x: Tensor, shapes: Sequence[tuple[int, ...]]) -> Tensor:
    """Return (S, D): the mean of each token and those before it in its list."""
    means = []
    for shape, part in zip(shapes, torch.split(x, [lists * tokens for lists, tokens in shapes]), strict=True):
        counts = torch.arange(1, shape[1] + 1, device=x.device)[:, None]
        means.append((part.view(*shape, -1).cumsum(1) / counts).flatten(0, 1))
    return torch.cat(means)


class KeyValueCache:
    """Keys and values of the tokens read so far, with room for more; entries after a list's last token are ignored."""

    def __init__(self, keys: Tensor, values: Tensor, heads: int, room: int) -> None:  # (B, T, D)
        self.heads = heads
        self.keys, self.values = F.pad(keys, (0, 0, 0, room)), F.pad(values, (0, 0, 0, room))
        self.rows = torch.arange(len(keys), device=keys.device)
        self.columns = torch.arange(self.keys.shape[1], device=keys.device)

    def put(self, keys: Tensor, values: Tensor, positions: Tensor) -> None:
        """Store one more token (B, D) for each list, at its position (B,)."""
        self.keys[self.rows, positions] = keys
        self.values[self.rows, positions] = values

    def attend(self, q: Tensor, positions: Tensor) -> Tensor:
        """Return (B, D): each list's query over all its tokens up to its position (B,)."""
        seen = (self.columns <= positions[:, None])[:, None, None]
        query, keys, values = (
            x.view(len(q), -1, self.heads, q.shape[1] // self.heads).transpose(1, 2)
            for x in (q, self.keys, self.values)
        )
        return F.scaled_dot_product_attention(query, keys, values, attn_mask=seen).flatten(1)
