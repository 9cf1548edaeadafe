"""The memory and the linear part of `--recipe best` as a graph, for one list: models/hybrid/.

They count in float64, as there.
"""

import numpy as np
from torch import Tensor

from fansrec.export.graph import DOUBLE, FLOAT, INT64, Graph, Operand, Value
from fansrec.export.lists import arange
from fansrec.models.hybrid.linear_part import LinearPart
from fansrec.models.hybrid.list_memory import (
    ALIGNED_REACH,
    COMMONEST,
    LISTS_OF_AN_ITEM,
    REACH,
    Kernel,
    ListMemory,
)

LEAST = 1e-30  # instead of dividing by nothing


def remembered(g: Graph, memory: ListMemory, kernel: Kernel, given: Value) -> Value:
    """(M,): how strongly lists like the input speak for every item."""
    like, last_shared = _compare(g, memory, kernel, given)
    alike = g.ReduceSum(g.Cast(g.Greater(like, np.float64(0)), to=INT64), [0])
    count = g.Min(alike, kernel.neighbours)
    strengths, backwards = g.TopK(_reversed(g, like), count, outputs=2)  # of equals the newest list comes first
    neighbours = g.Sub(len(memory) - 1, backwards)
    weights = g.Pow(g.Div(strengths, _highest(g, like)), np.float64(kernel.sharpness))
    starts = memory.starts
    first = g.Gather(starts, neighbours)
    sizes = g.Sub(g.Gather(starts, g.Add(neighbours, 1)), first)
    owner, found = _ranges(g, first, sizes)
    weight = g.Gather(weights, owner)
    if kernel.before != 1 or kernel.near:
        place = g.Cast(g.Gather(memory.places, found), to=INT64)
        distance = g.Sub(place, g.Gather(g.Gather(last_shared, neighbours), owner))
        weight = g.Mul(weight, _worth(g, kernel, g.Cast(distance, to=DOUBLE)))
    return _sums(g, g.Gather(memory.items, found), weight, memory.vocabulary, given)


def linear_strengths(g: Graph, part: LinearPart, decay: float, given: Value) -> Value:
    """(M,): what the item-item weights say, the later items of the input louder."""
    length = g.Size(given)
    places = g.Cast(g.Sub(g.Add(arange(g, length), 1), length), to=DOUBLE)
    recency = g.Unsqueeze(g.Exp(g.Div(places, np.float64(decay))), [1])
    weights = g.Mul(g.Cast(g.Gather(part.weights, given), to=DOUBLE), recency)
    items = g.Reshape(g.Gather(part.items, given), [-1])
    return _sums(g, items, g.Reshape(weights, [-1]), len(part.items), given)


def _compare(g: Graph, memory: ListMemory, kernel: Kernel, given: Value) -> tuple[Value, Value]:
    """How like every list is to the input, and where in it the last item stands that both have."""
    shared, age = _distinct(g, given)
    first, last = (g.Gather(memory.list_starts, g.Add(shared, n)) for n in (0, 1))
    holders = g.Sub(last, first)
    count = g.Min(holders, LISTS_OF_AN_ITEM)
    owner, found = _ranges(g, g.Sub(last, count), count)
    lists = g.Cast(g.Gather(memory.lists, found), to=INT64)
    places = g.Cast(g.Gather(memory.list_places, found), to=INT64)
    share = g.Div(np.float64(len(memory)), g.Cast(g.Max(holders, 1), to=DOUBLE))
    length = g.Cast(g.Max(g.Size(given), 1), to=DOUBLE)
    fading = g.Div(g.Mul(np.float64(kernel.recency), g.Cast(age, to=DOUBLE)), length)
    weight = g.Mul(g.Max(g.Log(share), np.float64(COMMONEST)), g.Sub(np.float64(1), fading))
    weights = g.Gather(weight, owner)
    if kernel.aligned:
        place_in_given = g.Sub(g.Sub(g.Size(given), 1), age)
        apart = g.Cast(g.Abs(g.Sub(g.Gather(place_in_given, owner), places)), to=DOUBLE)
        closeness = g.Exp(g.Div(apart, np.float64(-ALIGNED_REACH)))
        weights = g.Mul(weights, g.Add(np.float64(1), g.Mul(np.float64(kernel.aligned), closeness)))
    like = g.ScatterElements(np.zeros(len(memory)), lists, weights, reduction="add")
    shortness = 1 / np.sqrt(np.maximum(np.diff(memory.starts.numpy()), 1))
    return g.Mul(like, shortness), _last_shared(g, memory, owner, lists, places)


def _last_shared(g: Graph, memory: ListMemory, owner: Value, lists: Value, places: Value) -> Value:
    """The place of the newest shared item in every list: the highest of (how new it is, its place)."""
    reach = int(memory.places.max()) + 1 if len(memory.places) else 1
    ranked = g.Add(g.Mul(owner, reach), places)
    newest = g.ScatterElements(np.zeros(len(memory), dtype=np.int64), lists, ranked, reduction="max")
    return str(g.Mod(newest, reach))


def _worth(g: Graph, kernel: Kernel, distance: Value) -> Value:
    """What an item counts by its distance from the last shared one."""
    near = g.Mul(np.float64(kernel.near), g.Exp(g.Div(g.Abs(distance), np.float64(-REACH))))
    side = g.Where(g.Less(distance, np.float64(0)), np.float64(kernel.before), np.float64(1))
    return str(g.Mul(side, g.Add(np.float64(1), near)))


def _distinct(g: Graph, given: Value) -> tuple[Value, Value]:
    """Each item of a list once, by its last place, and how many places before the end that is; the oldest first."""
    items, age, _, _ = g.Unique(_reversed(g, given), sorted=0, outputs=4)
    return _reversed(g, items), _reversed(g, age)


def _reversed(g: Graph, x: Value) -> Value:
    return str(g.Slice(x, [-1], [np.iinfo(np.int64).min], [0], [-1]))


def _ranges(g: Graph, first: Value, count: Value) -> tuple[Value, Value]:
    """`count[i]` numbers from `first[i]` on, one run after the other, and the i of each."""
    ends = g.CumSum(count, 0)
    total = g.ReduceSum(count, [0])  # (1,)
    begins = g.Sub(ends, count)
    # A mark where each run ends, added up, tells how many runs have ended before.
    marks = g.ScatterElements(g.Expand(0, g.Add(total, 1)), ends, g.Expand(1, g.Shape(ends)), reduction="add")
    owner = g.CumSum(g.Slice(marks, [0], total), 0)
    return owner, g.Add(g.Gather(first, owner), g.Sub(arange(g, total), g.Gather(begins, owner)))


def _sums(g: Graph, items: Value, weights: Value, vocabulary: int, given: Value) -> Value:
    """(M,) float32: the weights added up by item, 0 for what is `given`, the strongest 1 and nothing below 0."""
    sums = g.ScatterElements(np.zeros(vocabulary), g.Cast(items, to=INT64), weights, reduction="add")
    sums = g.ScatterElements(sums, given, g.Expand(np.float64(0), g.Shape(given)))
    shares = g.Div(sums, g.Max(_highest(g, sums), np.float64(LEAST)))
    return str(g.Cast(g.Max(shares, np.float64(0)), to=FLOAT))


def _highest(g: Graph, x: Operand | Tensor) -> Value:
    return str(g.ReduceMax(x, keepdims=0))
