"""Decoding as a graph, as in fansrec.engine.decoding.

Position by position: the best items of every position, then one item for each in turn, rank after rank, for the
positions that have no item yet. Autoregressively: BERT4Rec reads the list again for every item, a MASK at its end.
"""

from typing import Any

import numpy as np

from fansrec.exporting.graph import BOOL, FLOAT, INT64, Graph, Value
from fansrec.exporting.heads import Head
from fansrec.exporting.lists import NOTHING, Lists, Tokens, arange, columns_of
from fansrec.exporting.network import encode, vanilla_scores


def by_position(g: Graph, head: Head, shape: Value, blocked: Value) -> tuple[Value, Value]:
    """Return items and scores, (B, K) each, K from `shape`; NOTHING where no item is left."""
    shortlists = Shortlists(g, head, shape, blocked)

    def rank(inner: Graph, turn: Value, items: Value, scores: Value) -> tuple[Value, Value]:
        return choose(inner, items, scores, *shortlists.of_rank(inner, turn, items))

    def go_on(inner: Graph, items: Value, scores: Value) -> Value:
        return str(inner.ReduceMax(inner.Equal(items, NOTHING), keepdims=0))

    state = [(g.Expand(NOTHING, shape), INT64), (g.Expand(-np.inf, shape), FLOAT)]
    items, scores = g.loop(head.ranks, rank, state, go_on=go_on)
    return items, scores


def choose(g: Graph, items: Value, scores: Value, best: Value, of: Value) -> tuple[Value, Value]:
    """Fill positions without an item in turn, each with the best of its shortlist that its list does not have yet.

    `best` and `of` are the scores and items of the shortlists, (B, K, S).
    """
    positions = g.Shape(items, start=1)
    columns = arange(g, positions)

    def step(inner: Graph, position: Value, items: Value, scores: Value) -> tuple[Value, Value]:
        candidates, their = inner.Gather(of, position, axis=1), inner.Gather(best, position, axis=1)  # (B, S)
        taken = inner.Equal(inner.Unsqueeze(candidates, [2]), inner.Unsqueeze(items, [1]))  # (B, S, K)
        free = inner.Where(inner.ReduceMax(taken, [2], keepdims=0), -np.inf, their)
        first = inner.ArgMax(free, axis=1)
        item, score = inner.GatherElements(candidates, first, axis=1), inner.GatherElements(free, first, axis=1)
        takes = inner.And(inner.Equal(items, NOTHING), inner.Greater(score, -np.inf))
        takes = inner.And(takes, inner.Equal(columns, position))
        return inner.Where(takes, item, items), inner.Where(takes, score, scores)

    items, scores = g.loop(g.Squeeze(positions), step, [(items, INT64), (scores, FLOAT)])
    return items, scores


class Shortlists:
    """The best S = K allowed items of each of P = B * K positions, which is as many as a list can take."""

    def __init__(self, g: Graph, head: Head, shape: Value, blocked: Value) -> None:
        self.head, self.shape, self.blocked = head, shape, blocked
        self.size = g.Gather(shape, [1])
        lists = arange(g, g.Gather(shape, [0]))
        self.list_of = g.Reshape(g.Expand(g.Unsqueeze(lists, [1]), shape), [-1])  # (P,)

    def of_rank(self, g: Graph, rank: Value, items: Value) -> tuple[Value, Value]:
        """Return scores and items (B, K, S) of the positions without an item; the others get NOTHING."""
        waits = g.Reshape(g.Equal(items, NOTHING), [-1])
        group_of = g.Where(waits, self.head.groups(g, rank, self.list_of), NOTHING)
        groups = g.Unique(g.Compress(group_of, waits))

        def add(inner: Graph, turn: Value, best: Value, of: Value) -> tuple[Value, Value]:
            group = inner.Gather(groups, turn)
            rows = inner.Reshape(inner.NonZero(inner.Equal(group_of, group)), [-1])  # (R,)
            scores, found = self._best(inner, group, rows, rank)
            at = inner.Unsqueeze(rows, [1])
            return inner.ScatterND(best, at, scores), inner.ScatterND(of, at, found)

        flat, whole = (g.Concat(shape, self.size, axis=0) for shape in (g.Shape(group_of), self.shape))
        state = [(g.Expand(-np.inf, flat), FLOAT), (g.Expand(NOTHING, flat), INT64)]
        best, of = g.loop(g.Size(groups), add, state)
        return g.Reshape(best, whole), g.Reshape(of, whole)

    def _best(self, g: Graph, group: Value, rows: Value, rank: Value) -> tuple[Value, Value]:
        """Return scores and items (R, S) of a group's positions; NOTHING where the group has fewer."""
        start, scores = self.head.scores(g, group, rows, rank)
        items = g.Shape(scores, start=1)
        blocked = g.Slice(g.Gather(self.blocked, g.Gather(self.list_of, rows)), start, g.Add(start, items), [1])
        count = g.Min(self.size, items)
        best, found = g.TopK(g.Where(blocked, -np.inf, scores), count, outputs=2)
        missing = g.Concat([0, 0, 0], g.Sub(self.size, count), axis=0)
        return g.Pad(best, missing, -np.inf), g.Pad(g.Add(found, start), missing, NOTHING)


def one_by_one(g: Graph, model: Any, lists: Lists, k: Value, blocked: Value) -> tuple[Value, Value]:
    """Return items and scores, (B, K) each."""
    alphabet = model.config.alphabet
    padded = g.Pad(lists.items, g.Concat([0, 0, 0], k, axis=0), NOTHING)
    columns = columns_of(g, padded)

    def step(inner: Graph, turn: Value, tokens: Value, blocked: Value) -> list[Value]:
        column = inner.Add(lists.lengths, turn)  # (B, 1)
        here = inner.Equal(columns, column)
        masked = inner.Where(here, alphabet.mask, tokens)
        read = Tokens(masked, inner.Mul(masked, 0), inner.LessOrEqual(columns, column))
        hidden = inner.Squeeze(encode(inner, model, read, column), [1])  # (B, D)
        scores = vanilla_scores(inner, model.classifier, hidden)  # (B, M)
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
