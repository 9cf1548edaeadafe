"""What several models share: token embeddings, self-attention, the Transformer layer, the classifier's transform."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fansrec.models.tokens import Alphabet, Tokens


class TokenEmbedding(nn.Module):
    """The sum of item, category, position and segment embeddings (paper, equation 5), normalised as in BERT."""

    def __init__(self, alphabet: Alphabet, width: int, positions: int, dropout: float, use_categories: bool) -> None:
        super().__init__()
        self.items = nn.Embedding(alphabet.size, width, padding_idx=alphabet.pad)
        self.categories = (
            nn.Embedding(alphabet.categories + 1, width, padding_idx=alphabet.no_category) if use_categories else None
        )
        self.positions = nn.Embedding(positions, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tokens) -> Tensor:  # (B, T) -> (B, T, D)
        # Positions beyond the trained ones share the last: a longer answer is possible, only its far end is less sure.
        places = torch.arange(tokens.items.shape[1], device=tokens.items.device)
        places = places.clamp(max=self.positions.num_embeddings - 1)
        x = self.items(tokens.items) + self.positions(places) + self.segments(tokens.segments)
        if self.categories is not None:
            x = x + self.categories(tokens.categories)
        out: Tensor = self.dropout(self.norm(x))
        return out


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor, seen: Tensor | None) -> Tensor:  # (B, T, D); `seen` broadcasts to (B, heads, T, T)
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)  # 3 x (B, H, T, D/H)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        out: Tensor = self.out(y.transpose(1, 2).reshape(b, t, d))
        return out


class EncoderLayer(nn.Module):
    """A Transformer layer as in BERT: normalised after each of its two halves, GELU between."""

    def __init__(self, width: int, heads: int, feedforward: int, dropout: float) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.attention_norm = nn.LayerNorm(width)
        self.widen = nn.Linear(width, feedforward)
        self.narrow = nn.Linear(feedforward, width)
        self.feedforward_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, seen: Tensor | None) -> Tensor:
        x = self.attention_norm(x + self.dropout(self.attention(x, seen)))
        out: Tensor = self.feedforward_norm(x + self.dropout(self.narrow(F.gelu(self.widen(x)))))
        return out


class Transform(nn.Module):
    """What stands before a classifier's projection, as in BERT's masked-language head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(F.gelu(self.linear(x)))
        return out


def start_like_bert(module: nn.Module, deviation: float = 0.02) -> None:
    """BERT's starting weights: small normal numbers, zero biases, PAD exactly zero."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=deviation)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.Embedding) and module.padding_idx is not None:
        with torch.no_grad():
            module.weight[module.padding_idx].zero_()


def attention_mask(tokens: Tokens) -> Tensor | None:
    """Which tokens may be looked at: all but padding; None where there is no padding, which is faster."""
    return None if bool(tokens.real.all()) else tokens.real[:, None, None, :]
