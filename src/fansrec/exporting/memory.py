"""The list memory and the linear part of the hybrid model as a graph, for one list.

Sums are in float64, as in models/neighbors/list_votes.py and models/hybrid/model.py.
"""

import numpy as np
from torch import Tensor

from fansrec.exporting.graph import DOUBLE, FLOAT, INT64, Graph, Operand, Value
from fansrec.exporting.lists import arange
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.neighbors.list_search import ALIGNED_REACH, FEW_ITEMS, MAX_LISTS_OF_ITEM, MIN_RARITY
from fansrec.models.neighbors.list_votes import REACH

LEAST = 1e-30  # avoids a division by 0


def memory_votes(g: Graph, memory: ListMemory, config: MemoryConfig, given: Value) -> Value:
    """Return the votes (M,) of the lists most similar to the input."""
    similarity, last_shared = _compare(g, memory, config, given)
    similar = g.ReduceSum(g.Cast(g.Greater(similarity, np.float64(0)), to=INT64), [0])
    length = g.Min(g.Max(g.Size(given), 1), FEW_ITEMS)
    more = g.Div(g.Add(length, FEW_ITEMS - 1), length)  # integers: rounded up
    count = g.Min(similar, g.Mul(min(config.neighbors, len(memory)), more))
    highest, backwards = g.TopK(_reversed(g, similarity), count, outputs=2)  # of equals the newest list comes first
    neighbors = g.Sub(len(memory) - 1, backwards)
    power = g.Where(g.Greater(g.Size(given), 1), np.float64(config.sharpness), np.float64(1))
    weights = g.Pow(g.Div(highest, _highest(g, similarity)), power)
    starts = memory.starts
    first = g.Gather(starts, neighbors)
    sizes = g.Sub(g.Gather(starts, g.Add(neighbors, 1)), first)
    owner, found = _ranges(g, first, sizes)
    weight = g.Gather(weights, owner)
    if config.before != 1 or config.near:
        position = g.Cast(g.Gather(memory.places, found), to=INT64)
        distance = g.Sub(position, g.Gather(g.Gather(last_shared, neighbors), owner))
        weight = g.Mul(weight, _position_weights(g, config, g.Cast(distance, to=DOUBLE)))
    return _sums(g, g.Gather(memory.items, found), weight, memory.vocabulary, given)


def linear_scores(g: Graph, part: LinearPart, decay: float, given: Value) -> Value:
    """Return the scores (M,) by item-item weights; later items of the input weigh more."""
    length = g.Size(given)
    ages = g.Cast(g.Sub(g.Add(arange(g, length), 1), length), to=DOUBLE)
    recency = g.Unsqueeze(g.Exp(g.Div(ages, np.float64(decay))), [1])
    weights = g.Mul(g.Cast(g.Gather(part.weights, given), to=DOUBLE), recency)
    items = g.Reshape(g.Gather(part.items, given), [-1])
    return _sums(g, items, g.Reshape(weights, [-1]), len(part.items), given)


def _compare(g: Graph, memory: ListMemory, config: MemoryConfig, given: Value) -> tuple[Value, Value]:
    """Return the similarity of every list to the input, and the position in it of the last item they share."""
    shared, age = _distinct(g, given)
    first, last = (g.Gather(memory.list_starts, g.Add(shared, n)) for n in (0, 1))
    holders = g.Sub(last, first)
    count = g.Min(holders, MAX_LISTS_OF_ITEM)
    owner, found = _ranges(g, g.Sub(last, count), count)
    lists = g.Cast(g.Gather(memory.lists, found), to=INT64)
    positions = g.Cast(g.Gather(memory.list_places, found), to=INT64)
    share = g.Div(np.float64(len(memory)), g.Cast(g.Max(holders, 1), to=DOUBLE))
    length = g.Cast(g.Max(g.Size(given), 1), to=DOUBLE)
    fading = g.Div(g.Mul(np.float64(config.recency), g.Cast(age, to=DOUBLE)), length)
    weight = g.Mul(g.Max(g.Log(share), np.float64(MIN_RARITY)), g.Sub(np.float64(1), fading))
    weights = g.Gather(weight, owner)
    if config.aligned:
        position_in_input = g.Sub(g.Sub(g.Size(given), 1), age)
        distance = g.Cast(g.Abs(g.Sub(g.Gather(position_in_input, owner), positions)), to=DOUBLE)
        closeness = g.Exp(g.Div(distance, np.float64(-ALIGNED_REACH)))
        weights = g.Mul(weights, g.Add(np.float64(1), g.Mul(np.float64(config.aligned), closeness)))
    similarity = g.ScatterElements(np.zeros(len(memory)), lists, weights, reduction="add")
    factors = memory.lookup().list_factors(config.newer)
    return g.Mul(similarity, factors), _last_shared(g, memory, owner, lists, positions)


def _last_shared(g: Graph, memory: ListMemory, owner: Value, lists: Value, positions: Value) -> Value:
    """Return the position of the newest shared item in every list: the maximum of (how new it is, its position)."""
    reach = int(memory.places.max()) + 1 if len(memory.places) else 1
    ranked = g.Add(g.Mul(owner, reach), positions)
    newest = g.ScatterElements(np.zeros(len(memory), dtype=np.int64), lists, ranked, reduction="max")
    return str(g.Mod(newest, reach))


def _position_weights(g: Graph, config: MemoryConfig, distance: Value) -> Value:
    """Return the weight of an item by its distance from the last shared one."""
    near = g.Mul(np.float64(config.near), g.Exp(g.Div(g.Abs(distance), np.float64(-REACH))))
    side = g.Where(g.Less(distance, np.float64(0)), np.float64(config.before), np.float64(1))
    return str(g.Mul(side, g.Add(np.float64(1), near)))


def _distinct(g: Graph, given: Value) -> tuple[Value, Value]:
    """Return the distinct items of a list, the oldest first, and the distance of their last position from the end."""
    items, age, _, _ = g.Unique(_reversed(g, given), sorted=0, outputs=4)
    return _reversed(g, items), _reversed(g, age)


def _reversed(g: Graph, x: Value) -> Value:
    return str(g.Slice(x, [-1], [np.iinfo(np.int64).min], [0], [-1]))


def _ranges(g: Graph, first: Value, count: Value) -> tuple[Value, Value]:
    """Return the i of each element and the concatenated ranges of `count[i]` indices from `first[i]`."""
    ends = g.CumSum(count, 0)
    total = g.ReduceSum(count, [0])  # (1,)
    begins = g.Sub(ends, count)
    # The cumulative sum of a mark at the end of each range is the number of ranges that ended before.
    marks = g.ScatterElements(g.Expand(0, g.Add(total, 1)), ends, g.Expand(1, g.Shape(ends)), reduction="add")
    owner = g.CumSum(g.Slice(marks, [0], total), 0)
    return owner, g.Add(g.Gather(first, owner), g.Sub(arange(g, total), g.Gather(begins, owner)))


def _sums(g: Graph, items: Value, weights: Value, vocabulary: int, given: Value) -> Value:
    """Return the sums (M,) of weights by item, in float32: 0 for items of `given`, the highest 1, none below 0."""
    sums = g.ScatterElements(np.zeros(vocabulary), g.Cast(items, to=INT64), weights, reduction="add")
    sums = g.ScatterElements(sums, given, g.Expand(np.float64(0), g.Shape(given)))
    shares = g.Div(sums, g.Max(_highest(g, sums), np.float64(LEAST)))
    return str(g.Cast(g.Max(shares, np.float64(0)), to=FLOAT))


def _highest(g: Graph, x: Operand | Tensor) -> Value:
    return str(g.ReduceMax(x, keepdims=0))
