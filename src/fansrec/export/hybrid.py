"""The hybrid model as a graph: classifier, list memory and linear part, added up for every list."""

import numpy as np

from fansrec.export.graph import DOUBLE, FLOAT, INT64, Graph, Operand, Value
from fansrec.export.lists import NOTHING, Lists, arange, with_masks
from fansrec.export.memory import linear_scores, memory_votes
from fansrec.export.network import encode, linear, transformed
from fansrec.models.hybrid.model import AVERAGED_MASKS, FLOOR, HybridFans


def best_items(g: Graph, model: HybridFans, lists: Lists, k: Value, blocked: Value) -> tuple[Value, Value]:
    """Return items and scores, (B, K) each, the best first."""
    config = model.config
    tokens = with_masks(g, lists, k, config.alphabet)
    masks = g.Min(k, AVERAGED_MASKS)
    hidden = transformed(g, encode(g, model, tokens, _columns(g, lists, k, masks)), model.tied.transform)  # (B, K', D)

    def one(inner: Graph, index: Value) -> list[Value]:
        given = lists.one(inner, index)
        probable = probabilities(inner, model, inner.Gather(hidden, index))
        parts = {"network": inner.Mul(probable, float(config.alphabet.items))}
        if model.memory is not None:
            parts["memory"] = inner.Div(memory_votes(inner, model.memory, config.memory, given), FLOOR)
        if model.linear is not None:
            parts["linear"] = inner.Div(linear_scores(inner, model.linear, config.linear.decay, given), FLOOR)
        weights = {name: float(weight) for name, weight in vars(config.weights).items()}
        scores = inner.Sum(*[inner.Mul(inner.Log(inner.Add(part, 1.0)), weights[name]) for name, part in parts.items()])
        allowed = inner.Where(inner.Gather(blocked, index), -np.inf, scores)
        best, items = inner.TopK(allowed, k, outputs=2)
        return [inner.Where(inner.Greater(best, -np.inf), items, NOTHING), best]

    batch = g.Squeeze(g.Shape(lists.items, end=1))
    items, scores = g.loop(batch, one, collected=[INT64, FLOAT])
    return items, scores


def _columns(g: Graph, lists: Lists, k: Value, masks: Value) -> Value:
    """Return the columns (B, K') of the masks that are averaged, evenly spread."""
    middles = g.Add(g.Cast(arange(g, masks), to=DOUBLE), np.float64(0.5))
    spread = g.Mul(middles, g.Div(g.Cast(k, to=DOUBLE), g.Cast(masks, to=DOUBLE)))
    return str(g.Add(g.Add(lists.lengths, 2), g.Cast(spread, to=INT64)))


def probabilities(g: Graph, model: HybridFans, hidden: Value) -> Value:
    """Return the mean probability (M,) of every item over the masks (K', D) of one list."""
    tied = model.tied
    scaled = g.Mul(hidden, tied.scale)
    if tied.category is None:
        chance = g.Softmax(g.Gemm(scaled, vectors(g, model, [0], [len(tied.bias)]), tied.bias, transB=1))
        return str(g.ReduceMean(chance, [0], keepdims=0))
    by_position = g.Softmax(linear(g, hidden, tied.category))  # (K', N)
    by_list = g.ReduceMean(by_position, [0], keepdims=0)
    _, requested = g.TopK(by_list, [tied.requested], outputs=2)

    def score_category(inner: Graph, turn: Value, out: Value) -> list[Value]:
        category = inner.Gather(requested, turn)
        bounds = (inner.Gather(np.array(tied.starts), inner.Add(category, n)) for n in (0, 1))
        start, end = (inner.Reshape(bound, [1]) for bound in bounds)
        logits = inner.Gemm(scaled, vectors(inner, model, start, end), inner.Slice(tied.bias, start, end), transB=1)
        likely = inner.Unsqueeze(inner.Gather(by_position, category, axis=1), [1])
        mean = inner.ReduceMean(inner.Mul(inner.Softmax(logits), likely), [0], keepdims=0)  # (m,)
        return [inner.Concat(inner.Slice(out, [0], start), mean, inner.Slice(out, end, [len(tied.bias)]), axis=0)]

    spread = g.Mul(g.Gather(by_list, tied.categories), tied.prior)
    return str(g.loop(tied.requested, score_category, [(spread, FLOAT)]))


def vectors(g: Graph, model: HybridFans, start: Operand, end: Operand) -> Value:
    """Return the embeddings of a range of items: a slice, so that the table of all tokens is stored once."""
    return str(g.Slice(model.embed.items.weight, start, end))
