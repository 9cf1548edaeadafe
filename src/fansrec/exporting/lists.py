"""The inputs of the graph: lists of item indices, and items that may not be returned."""

from dataclasses import dataclass

from fansrec.exporting.graph import INT64, Graph, Operand, Value
from fansrec.models.alphabet import Alphabet

NOTHING = -1  # no item: padding, or an item that the model does not have


@dataclass(frozen=True)
class Lists:
    """B lists of at most L items."""

    items: Value  # (B, L), NOTHING after the items of each
    lengths: Value  # (B, 1)

    def one(self, g: Graph, index: Value) -> Value:
        """Return the items (n,) of a single list."""
        return str(g.Slice(g.Gather(self.items, index), [0], g.Gather(self.lengths, index)))


def read_lists(g: Graph, given: Value) -> Lists:
    """Return lists from `given` (B, L), in which NOTHING may be anywhere; it is moved to the end."""
    padded = g.Pad(given, [0, 0, 0, 1], NOTHING)  # so that there is at least one column
    there = g.Cast(g.GreaterOrEqual(padded, 0), to=INT64)
    _, order = g.TopK(there, g.Shape(padded, start=1), outputs=2)  # of equals the first comes first
    lengths = g.ReduceSum(there, [1])
    longest = g.Reshape(g.Max(g.ReduceMax(lengths, keepdims=0), 1), [1])
    return Lists(g.Slice(g.GatherElements(padded, order, axis=1), [0], longest, [1]), lengths)


def blocked_items(g: Graph, lists: Lists, keep_seen: Value, exclude: Value, items: int) -> Value:
    """Return a mask (B, M): items of the list, unless `keep_seen`, and items excluded from all lists."""
    none = g.Expand(False, [items + 1])  # one more for NOTHING
    excluded = g.ScatterElements(none, _wrapped(g, exclude, items), g.Expand(True, g.Shape(exclude)))
    batch = g.Concat(g.Shape(lists.items, end=1), [items + 1], axis=0)
    seen = g.ScatterElements(
        g.Expand(False, batch),
        _wrapped(g, lists.items, items),
        g.Expand(g.Not(keep_seen), g.Shape(lists.items)),
        axis=1,
    )
    return str(g.Slice(g.Or(seen, excluded), [0], [items], [1]))


def _wrapped(g: Graph, indices: Value, items: int) -> Value:
    """Return indices with `items` in place of NOTHING."""
    return str(g.Where(g.Less(indices, 0), items, indices))


@dataclass(frozen=True)
class Tokens:
    """B sequences of T tokens, as in fansrec.models.tokens."""

    items: Value  # (B, T)
    segments: Value  # (B, T)
    real: Value  # (B, T) bool


def with_masks(g: Graph, lists: Lists, k: Value, alphabet: Alphabet) -> Tokens:
    """Return the tokens that FANS reads: CLS items SEP, `k` (1,) times MASK, SEP."""
    room = g.Concat([0, 1, 0], g.Add(k, 2), axis=0)
    items = g.Pad(lists.items, room, alphabet.pad)
    columns, end = columns_of(g, items), g.Add(lists.lengths, g.Add(k, 2))
    sep = g.Add(lists.lengths, 1)
    for where, token in (
        (g.Equal(columns, 0), alphabet.cls),
        (g.Greater(columns, sep), alphabet.mask),
        (g.Or(g.Equal(columns, sep), g.Equal(columns, end)), alphabet.sep),
        (g.Greater(columns, end), alphabet.pad),
    ):
        items = g.Where(where, token, items)
    return Tokens(items, g.Cast(g.Greater(columns, sep), to=INT64), g.LessOrEqual(columns, end))


def columns_of(g: Graph, table: Value) -> Value:
    """Return the column indices (T,) of a tensor (B, T)."""
    return str(arange(g, g.Shape(table, start=1)))


def arange(g: Graph, count: Operand) -> Value:
    """Return the indices from 0 to `count` - 1; `count` has one element."""
    return str(g.Range(0, g.Squeeze(count), 1))
