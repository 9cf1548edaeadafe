"""What comes into the graph: lists of item numbers, and what may not be answered."""

from dataclasses import dataclass

from fansrec.export.graph import INT64, Graph, Operand, Value
from fansrec.models.tokens import Alphabet

NOTHING = -1  # no item: padding, or an item the model does not know


@dataclass(frozen=True)
class Lists:
    """B lists of at most L items."""

    items: Value  # (B, L), NOTHING behind the items of each
    lengths: Value  # (B, 1)

    def one(self, g: Graph, index: Value) -> Value:
        """The items of a single list, (n,)."""
        return str(g.Slice(g.Gather(self.items, index), [0], g.Gather(self.lengths, index)))


def read_lists(g: Graph, given: Value) -> Lists:
    """NOTHING may stand anywhere in `given` (B, L): the items close ranks."""
    padded = g.Pad(given, [0, 0, 0, 1], NOTHING)  # so that there is a column at least
    there = g.Cast(g.GreaterOrEqual(padded, 0), to=INT64)
    _, order = g.TopK(there, g.Shape(padded, start=1), outputs=2)  # of equals the first comes first
    lengths = g.ReduceSum(there, [1])
    longest = g.Reshape(g.Max(g.ReduceMax(lengths, keepdims=0), 1), [1])
    return Lists(g.Slice(g.GatherElements(padded, order, axis=1), [0], longest, [1]), lengths)


def blocked_items(g: Graph, lists: Lists, keep_seen: Value, exclude: Value, items: int) -> Value:
    """(B, M): items of the list, unless they may come again, and items excluded from all lists."""
    nobody = g.Expand(False, [items + 1])  # one more for NOTHING
    excluded = g.ScatterElements(nobody, _wrapped(g, exclude, items), g.Expand(True, g.Shape(exclude)))
    batch = g.Concat(g.Shape(lists.items, end=1), [items + 1], axis=0)
    seen = g.ScatterElements(
        g.Expand(False, batch),
        _wrapped(g, lists.items, items),
        g.Expand(g.Not(keep_seen), g.Shape(lists.items)),
        axis=1,
    )
    return str(g.Slice(g.Or(seen, excluded), [0], [items], [1]))


def _wrapped(g: Graph, numbers: Value, items: int) -> Value:
    return str(g.Where(g.Less(numbers, 0), items, numbers))


@dataclass(frozen=True)
class Tokens:
    """B sequences of T tokens, as fansrec.models.tokens has them."""

    items: Value  # (B, T)
    segments: Value  # (B, T)
    real: Value  # (B, T) bool


def with_masks(g: Graph, lists: Lists, k: Value, alphabet: Alphabet) -> Tokens:
    """CLS items SEP, `k` (1,) MASKs, SEP: the way FANS reads."""
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
    """0, 1, … for the columns of a (B, T) table."""
    return str(arange(g, g.Shape(table, start=1)))


def arange(g: Graph, count: Operand) -> Value:
    """0 to `count` - 1; `count` has one number."""
    return str(g.Range(0, g.Squeeze(count), 1))
