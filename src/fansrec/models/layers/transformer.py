"""Layers that several models share: embeddings, attention, the Transformer layer, the classifier's transform.

B lists of T tokens, S tokens of all lists together, P positions, D = `width`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.alphabet import Alphabet
from fansrec.models.tokens import Tokens

# A causal mask has a cell for each pair of tokens of a list, and each layer keeps it as floats for the gradient. Larger
# masks are avoided by attending twice: that needs no mask, and is slower only for lists below a thousand tokens.
MASK_CELLS = 1 << 25  # 128 MB of fp32


class Dropout(nn.Module):
    """Dropout that on a CPU draws one random byte per element, since torch's own takes three times as long there."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.dropped = round(share * 256)  # byte values, of 256, that drop an element

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.dropped == 0:
            return x
        if x.is_cuda:
            return F.dropout(x, self.dropped / 256)
        words = torch.empty(x.numel() // 8 + 1, dtype=torch.int64, device=x.device).random_(-(2**63), None)
        drawn = words.view(torch.uint8)[: x.numel()].view(x.shape)
        return x * ((drawn >= self.dropped) * (256 / (256 - self.dropped))).to(x.dtype)


def in_full(x: Tensor) -> Tensor:
    """Return half precision as float32, before a sum over many elements; anything finer as it is."""
    return x.float() if x.dtype.itemsize < 4 else x


class TokenEmbedding(nn.Module):
    """The sum of item, category, position and segment embeddings (paper, eq. 6), normalized as in BERT."""

    def __init__(self, alphabet: Alphabet, width: int, positions: int, dropout: float, use_categories: bool) -> None:
        super().__init__()
        self.items = nn.Embedding(alphabet.size, width, padding_idx=alphabet.pad)
        self.categories = (
            nn.Embedding(alphabet.categories + 1, width, padding_idx=alphabet.no_category) if use_categories else None
        )
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tensor:  # (B, T) -> (B * T, D)
        # Positions beyond the trained ones share the last one, so that longer continuations are possible.
        positions = torch.arange(tokens.items.shape[1], device=tokens.items.device)
        positions = positions.clamp(max=self.positions.num_embeddings - 1)
        x = self.items(tokens.items) + self.positions(positions) + self.segments(tokens.segments)
        if self.categories is not None:
            x = x + self.categories(tokens.categories)
        return self.dropout(self.norm(x.flatten(0, 1)))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Rectangle:
    """B lists of T tokens among all tokens of a batch, and which of these attention may see (None: all).

    If there is a `second` segment, `seen` is for its tokens, and those of the first see only the ones before them.
    """

    lists: int
    tokens: int
    seen: Tensor | None  # (B, 1, 1 or T, T)
    second: Tensor | None = None  # (B, 1, T, 1)


def rectangle(tokens: Tokens, causal: bool = False) -> Rectangle:
    """Return the shape and the attention mask of some lists.

    Every token sees all tokens of its list; if `causal`, those of the first segment see only themselves and those
    before them. Without padding there is no mask, which is faster, unless `causal`.
    """
    lists, length = tokens.items.shape
    real, second = tokens.real[:, None, None, :], tokens.segments[:, None, :, None] == 1
    if causal and lists * length**2 <= MASK_CELLS:
        before = torch.ones(length, length, dtype=torch.bool, device=tokens.items.device).tril()
        return Rectangle(lists, length, (before | second) & real)
    return Rectangle(lists, length, None if bool(real.all()) else real, second if causal else None)


class SelfAttention(nn.Module):
    """Self-attention: projections of all tokens at once, attention inside each rectangle of lists."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, rectangles: Sequence[Rectangle], kept: Tensor | None) -> Tensor:
        """Return (S, D) for the tokens (S, D) of all rectangles, or (P, D) for the tokens `kept` (P,) only."""
        parts = self.qkv(x).split([r.lists * r.tokens for r in rectangles])
        mixed = torch.cat([self._attend(part, r) for part, r in zip(parts, rectangles, strict=True)])
        return self.out(mixed if kept is None else mixed[kept])  # type: ignore[no-any-return]

    def _attend(self, qkv: Tensor, r: Rectangle) -> Tensor:
        width = qkv.shape[1] // 3
        q, k, v = qkv.view(r.lists, r.tokens, 3, self.heads, width // self.heads).permute(
            2, 0, 3, 1, 4
        )  # (B, H, T, D/H)
        if r.second is None:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=r.seen)
        else:
            y = _attend_by_segment(q, k, v, r.seen, r.second)
        return y.transpose(1, 2).reshape(r.lists * r.tokens, width)


def _attend_by_segment(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None, second: Tensor) -> Tensor:
    """Return (B, H, T, D/H): causal attention for the first segments, attention to all `seen` tokens for the others.

    The second segment is the end of a list. It starts at another column in each list, so that some columns are computed
    both ways.
    """
    first = int((~second).all(0).sum())  # columns that are in the first segment of all lists
    last = int((~second).any(0).sum())  # and of any list
    causal = F.scaled_dot_product_attention(q[:, :, :last], k[:, :, :last], v[:, :, :last], is_causal=True)
    full = F.scaled_dot_product_attention(q[:, :, first:], k, v, attn_mask=seen)
    both = torch.where(second[:, :, first:last], full[:, :, : last - first], causal[:, :, first:])
    return torch.cat([causal[:, :, :first], both, full[:, :, last - first :]], 2)


class EncoderLayer(nn.Module):
    """A Transformer layer as in BERT: layer norm after attention and after the feed-forward part, with GELU."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, feedforward)
        self.narrow = nn.Linear(feedforward, width)
        self.feedforward_norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, rectangles: Sequence[Rectangle], kept: Tensor | None = None) -> Tensor:
        """Return (S, D) for tokens (S, D), or (P, D) for the tokens `kept` (P,) only."""
        mixed = self.dropout(self.attention(x, rectangles, kept))
        x = self.attention_norm((x if kept is None else x[kept]) + mixed)
        return self.feedforward_norm(x + self.dropout(self.narrow(F.gelu(self.widen(x)))))  # type: ignore[no-any-return]


class Transform(nn.Module):
    """Linear layer, GELU and layer norm before a classifier's output layer, as in BERT's masked-language head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(F.gelu(self.linear(x)))
        return out


def init_bert(module: nn.Module, deviation: float = 0.02) -> None:
    """Initialize as BERT does: small normal weights, zero biases, PAD exactly zero."""
    if isinstance(module, nn.Linear | nn.Embedding):
        init_normal(module, deviation)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def init_normal(module: nn.Linear | nn.Embedding, deviation: float) -> None:
    """Initialize weights from a normal distribution; the row of a padding index stays zero."""
    nn.init.normal_(module.weight, std=deviation)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()
