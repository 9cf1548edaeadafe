"""Autoregressive generation as a graph: BERT4Rec reads the list again, with a MASK at its end, for every item."""

from typing import Any

import numpy as np

from fansrec.export.graph import BOOL, FLOAT, INT64, Graph, Value
from fansrec.export.lists import NOTHING, Lists, Tokens, columns_of
from fansrec.export.network import encode, transformed


def one_by_one(g: Graph, model: Any, lists: Lists, k: Value, blocked: Value) -> tuple[Value, Value]:
    """Return items and scores, (B, K) each."""
    alphabet = model.config.alphabet
    padded = g.Pad(lists.items, g.Concat([0, 0, 0], k, axis=0), NOTHING)
    columns = columns_of(g, padded)

    def step(inner: Graph, turn: Value, tokens: Value, blocked: Value) -> list[Value]:
        place = inner.Add(lists.lengths, turn)  # (B, 1)
        here = inner.Equal(columns, place)
        scores = next_scores(inner, model, inner.Where(here, alphabet.mask, tokens), columns, place)
        best = inner.Where(blocked, -np.inf, scores)
        item = inner.ArgMax(best, axis=1)  # (B, 1)
        score = inner.GatherElements(best, item, axis=1)
        given = inner.Where(inner.Greater(score, -np.inf), item, NOTHING)
        taken = inner.ScatterElements(blocked, item, inner.Expand(True, inner.Shape(item)), axis=1)
        return [inner.Where(here, item, tokens), taken, given, score]

    start = g.Where(g.Less(padded, 0), alphabet.pad, padded)
    _, _, items, scores = g.loop(g.Squeeze(k), step, [(start, INT64), (blocked, BOOL)], collected=[INT64, FLOAT])
    items, scores = (g.Transpose(g.Squeeze(x, [2]), perm=[1, 0]) for x in (items, scores))  # from (K, B, 1)
    return items, scores


def next_scores(g: Graph, model: Any, tokens: Value, columns: Value, place: Value) -> Value:
    """Return the scores (B, M) of every item at the column (B, 1) of a MASK; later columns are ignored."""
    whole = Tokens(tokens, g.Mul(tokens, 0), g.LessOrEqual(columns, place))
    hidden = g.Squeeze(encode(g, model, whole, place), [1])  # (B, D)
    classifier = model.classifier
    seen = transformed(g, hidden, classifier.transform)
    return str(g.LogSoftmax(g.Gemm(seen, classifier.items.weight, classifier.items.bias, transB=1)))
