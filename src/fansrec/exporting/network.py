"""The Transformer of FANS, BERT4Rec and the hybrid model as a graph: models/layers/, without dropout."""

from typing import Any

import numpy as np
from torch import Tensor, nn

from fansrec.exporting.graph import Graph, Operand, Value
from fansrec.exporting.lists import Tokens, columns_of
from fansrec.models.alphabet import token_categories
from fansrec.models.layers.classifiers import VanillaClassifier
from fansrec.models.layers.transformer import EncoderLayer, SelfAttention, TokenEmbedding, Transform


def encode(g: Graph, model: Any, tokens: Tokens, columns: Value) -> Value:
    """Return the hidden states (B, K, D) at these columns (B, K) of every list."""
    x = embed_tokens(g, model.embed, tokens, token_categories(model.config.category_starts))
    seen = tokens_seen(g, model, tokens, columns_of(g, tokens.items), tokens.segments)
    *layers, last = model.layers
    for layer in layers:
        x = apply_layer(g, layer, x, x, seen)
    seen = tokens_seen(g, model, tokens, columns, g.GatherElements(tokens.segments, columns, axis=1))
    return apply_layer(g, last, g.GatherND(x, g.Unsqueeze(columns, [2]), batch_dims=1), x, seen)


def tokens_seen(g: Graph, model: Any, tokens: Tokens, columns: Value, segments: Value) -> Value:
    """Return what is added to the logits (B, H, K, T) of the queries at `columns`: -infinity for tokens that they skip.

    `columns` is (K,) or (B, K), `segments` (B, K).
    """
    seen = g.Unsqueeze(tokens.real, [1])  # (B, 1, T)
    if model.causal:
        before = g.LessOrEqual(columns_of(g, tokens.items), g.Unsqueeze(columns, [-1]))
        seen = g.And(seen, g.Or(before, g.Unsqueeze(g.Equal(segments, 1), [2])))  # (B, K, T)
    return str(g.Unsqueeze(g.Where(seen, 0.0, -np.inf), [1]))


def embed_tokens(g: Graph, embed: TokenEmbedding, tokens: Tokens, categories: Any) -> Value:  # (B, T, D)
    positions = g.Min(columns_of(g, tokens.items), embed.positions.num_embeddings - 1)
    x = g.Add(g.Gather(embed.items.weight, tokens.items), g.Gather(embed.positions.weight, positions))
    x = g.Add(x, g.Gather(embed.segments.weight, tokens.segments))
    if embed.categories is not None:
        x = g.Add(x, g.Gather(embed.categories.weight, g.Gather(categories, tokens.items)))
    return normalized(g, x, embed.norm.weight, embed.norm.bias)


def apply_layer(g: Graph, layer: EncoderLayer, queries: Value, x: Value, seen: Value) -> Value:
    """Return the output of a layer for the queries (B, K, D), which attend to all tokens `x` (B, T, D)."""
    mixed = attend(g, layer.attention, queries, x, seen)
    y = normalized(g, g.Add(queries, mixed), layer.attention_norm.weight, layer.attention_norm.bias)
    inner = linear(g, g.Gelu(linear(g, y, layer.widen)), layer.narrow)
    return normalized(g, g.Add(y, inner), layer.feedforward_norm.weight, layer.feedforward_norm.bias)


def attend(g: Graph, attention: SelfAttention, queries: Value, x: Value, seen: Value) -> Value:
    width = attention.out.in_features
    parts = zip(attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3), strict=True)
    q, k, v = (
        g.Reshape(affine(g, y, weight, bias), [0, 0, attention.heads, width // attention.heads])
        for y, (weight, bias) in zip((queries, x, x), parts, strict=True)
    )
    found = g.MatMul(g.Transpose(q, perm=[0, 2, 1, 3]), g.Transpose(k, perm=[0, 2, 3, 1]))  # (B, H, K, T)
    shares = g.Softmax(g.Add(g.Mul(found, (width // attention.heads) ** -0.5), seen), axis=-1)
    mixed = g.Transpose(g.MatMul(shares, g.Transpose(v, perm=[0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return linear(g, g.Reshape(mixed, [0, 0, width]), attention.out)


def transformed(g: Graph, x: Value, transform: Transform | nn.Identity) -> Value:
    if isinstance(transform, nn.Identity):
        return x
    norm = transform.norm
    return normalized(g, g.Gelu(linear(g, x, transform.linear)), norm.weight, norm.bias)


def vanilla_scores(g: Graph, classifier: VanillaClassifier, hidden: Value) -> Value:
    """Return the log-probabilities (R, M) of all items for hidden states (R, D)."""
    items = classifier.items
    return str(g.LogSoftmax(g.Gemm(transformed(g, hidden, classifier.transform), items.weight, items.bias, transB=1)))


def linear(g: Graph, x: Value, layer: nn.Linear) -> Value:
    return affine(g, x, layer.weight, layer.bias)


def affine(g: Graph, x: Value, weight: Tensor, bias: Tensor) -> Value:
    return str(g.Add(g.MatMul(x, weight.T), bias))


def normalized(g: Graph, x: Value, weight: Operand, bias: Operand) -> Value:
    return str(g.LayerNormalization(x, weight, bias, epsilon=nn.LayerNorm(1).eps))
