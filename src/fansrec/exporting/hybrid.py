"""The hybrid model as a graph: classifier, list memory and linear part, added up for every list."""

from collections.abc import Mapping

import numpy as np

from fansrec.exporting.graph import DOUBLE, FLOAT, INT64, Graph, Operand, Value
from fansrec.exporting.lists import NOTHING, Lists, arange, with_masks
from fansrec.exporting.memory import linear_scores, memory_votes
from fansrec.exporting.network import encode, linear, transformed
from fansrec.models.hybrid.model import FLOOR, HybridFans


def best_items(g: Graph, model: HybridFans, lists: Lists, k: Value, blocked: Value) -> tuple[Value, Value]:
    """Return items and scores, (B, K) each, the best first; parts without a weight are left out of the graph."""
    network = read_states(g, model, lists, k) if model.config.weights.network else None

    def one(inner: Graph, index: Value) -> list[Value]:
        parts = sparse_parts(inner, model, lists.one(inner, index))
        if network is not None:
            hidden, shares = network
            probable = probabilities(inner, model, inner.Gather(hidden, index), shares)
            parts["network"] = inner.Mul(probable, float(model.config.alphabet.items))
        allowed = inner.Where(inner.Gather(blocked, index), -np.inf, mixed(inner, model, parts))
        best, items = inner.TopK(allowed, k, outputs=2)
        return [inner.Where(inner.Greater(best, -np.inf), items, NOTHING), best]

    batch = g.Squeeze(g.Shape(lists.items, end=1))
    items, scores = g.loop(batch, one, collected=[INT64, FLOAT])
    return items, scores


def sparse_parts(g: Graph, model: HybridFans, given: Value) -> dict[str, Value]:
    """Return the votes of the list memory and the scores of the linear part (M,) for one list, divided by FLOOR."""
    config, parts = model.config, {}
    if model.memory is not None and config.weights.memory:
        parts["memory"] = g.Div(memory_votes(g, model.memory, config.memory, given), FLOOR)
    if model.linear is not None and config.weights.linear:
        parts["linear"] = g.Div(linear_scores(g, model.linear, config.linear.decay, given), FLOOR)
    return parts


def mixed(g: Graph, model: HybridFans, parts: Mapping[str, Value]) -> Value:
    """Return the weighted sum (M,) of the logarithms of 1 + each part; 0 if there is none."""
    weights = vars(model.config.weights)
    terms = [g.Mul(g.Log(g.Add(part, 1.0)), float(weights[name])) for name, part in parts.items()]
    return str(g.Sum(*terms) if terms else g.Expand(0.0, [model.config.alphabet.items]))


def read_states(g: Graph, model: HybridFans, lists: Lists, k: Value) -> tuple[Value, Value]:
    """Return the hidden states (B, K', D) that are read, with the transform applied, and the share (K',) of each."""
    network, columns, shares = model.config.network, [], []
    if network.next_share:
        columns.append(lists.lengths)
        shares.append(g.Identity(np.array([network.next_share], dtype=np.float32)))
    if network.next_share < 1:
        masks = g.Min(k, network.read_masks)
        columns.append(_columns(g, lists, k, masks))
        share = g.Div(np.float64(1 - network.next_share), g.Cast(masks, to=DOUBLE))
        shares.append(g.Expand(g.Cast(share, to=FLOAT), masks))
    elif network.causal:
        k = g.Identity([0])  # the input does not see the masks
    tokens = with_masks(g, lists, k, model.config.alphabet)
    hidden = encode(g, model, tokens, g.Concat(*columns, axis=1))
    return transformed(g, hidden, model.tied.transform), g.Concat(*shares, axis=0)


def _columns(g: Graph, lists: Lists, k: Value, masks: Value) -> Value:
    """Return the columns (B, K') of the masks that are averaged, evenly spread."""
    middles = g.Add(g.Cast(arange(g, masks), to=DOUBLE), np.float64(0.5))
    spread = g.Mul(middles, g.Div(g.Cast(k, to=DOUBLE), g.Cast(masks, to=DOUBLE)))
    return str(g.Add(g.Add(lists.lengths, 2), g.Cast(spread, to=INT64)))


def probabilities(g: Graph, model: HybridFans, hidden: Value, shares: Value) -> Value:
    """Return the mean probability (M,) of every item over the states (K', D) of one list, by their shares (K',)."""
    tied = model.tied
    scaled = g.Mul(hidden, tied.scale)
    if tied.category is None:
        chance = g.Softmax(g.Gemm(scaled, vectors(g, model, [0], [len(tied.bias)]), tied.bias, transB=1))
        return str(g.MatMul(shares, chance))
    by_position = g.Mul(g.Softmax(linear(g, hidden, tied.category)), g.Unsqueeze(shares, [1]))  # (K', N)
    by_list = g.ReduceSum(by_position, [0], keepdims=0)
    _, requested = g.TopK(by_list, [tied.requested], outputs=2)

    def score_category(inner: Graph, turn: Value, out: Value) -> list[Value]:
        category = inner.Gather(requested, turn)
        bounds = (inner.Gather(np.array(tied.starts), inner.Add(category, n)) for n in (0, 1))
        start, end = (inner.Reshape(bound, [1]) for bound in bounds)
        logits = inner.Gemm(scaled, vectors(inner, model, start, end), inner.Slice(tied.bias, start, end), transB=1)
        mean = inner.MatMul(inner.Gather(by_position, category, axis=1), inner.Softmax(logits))  # (m,)
        return [inner.Concat(inner.Slice(out, [0], start), mean, inner.Slice(out, end, [len(tied.bias)]), axis=0)]

    spread = g.Mul(g.Gather(by_list, tied.categories), tied.prior)
    return str(g.loop(tied.requested, score_category, [(spread, FLOAT)]))


def vectors(g: Graph, model: HybridFans, start: Operand, end: Operand) -> Value:
    """Return the embeddings of a range of items: a slice, so that the table of all tokens is stored once."""
    return str(g.Slice(model.embed.items.weight, start, end))
