"""The two classifiers of the paper as graphs: models/fans.py and models/layers/classifiers.py.

A head scores the P positions of all lists, with hidden states (P, D), group by group; a group's items are adjacent.
"""

from typing import Any

import numpy as np

from fansrec.exporting.graph import Graph, Value
from fansrec.exporting.network import linear, normalized, transformed, vanilla_scores
from fansrec.models.fans import TwoStageClassifier
from fansrec.models.layers.classifiers import VanillaClassifier


def head_of(g: Graph, classifier: Any, hidden: Value) -> "Head":
    """Return the head for hidden states (B, K, D) at all positions."""
    flat = g.Reshape(hidden, [-1, classifier.items.in_features])
    if isinstance(classifier, TwoStageClassifier):
        return TwoStageHead(g, classifier, flat)
    return VanillaHead(classifier, flat)


class VanillaHead:
    """Scores all items at once; the positions of a list are a group, so that only their scores are in memory."""

    ranks = 1

    def __init__(self, classifier: VanillaClassifier, hidden: Value) -> None:
        self.classifier, self.hidden = classifier, hidden

    def groups(self, g: Graph, rank: Value, list_of: Value) -> Value:
        """Return the group (P,) of each position at this rank; `list_of` (P,) is its list."""
        return list_of

    def scores(self, g: Graph, group: Value, rows: Value, rank: Value) -> tuple[Value, Value]:
        """Return the group's first item (1,) and the scores (R, m) of its items at the positions `rows` (R,)."""
        return g.Identity([0]), vanilla_scores(g, self.classifier, g.Gather(self.hidden, rows))


class TwoStageHead:
    """A group is a category: rank 0 is the most likely one of each position, rank 1 the next, …"""

    def __init__(self, g: Graph, classifier: TwoStageClassifier, hidden: Value) -> None:
        self.classifier, self.hidden, self.ranks = classifier, hidden, classifier.ranks
        by_category = linear(g, transformed(g, hidden, classifier.transform), classifier.category)  # (P, N)
        self.likely, self.categories = g.TopK(g.LogSoftmax(by_category), [self.ranks], outputs=2)

    def groups(self, g: Graph, rank: Value, list_of: Value) -> Value:
        return str(g.Gather(self.categories, rank, axis=1))

    def scores(self, g: Graph, group: Value, rows: Value, rank: Value) -> tuple[Value, Value]:
        bounds, local, items = np.array(self.classifier.starts), self.classifier.local, self.classifier.items
        start, end = (g.Reshape(g.Gather(bounds, g.Add(group, n)), [1]) for n in (0, 1))
        tables = (local.weight, local.bias, local.norm_weight, local.norm_bias)
        weight, bias, scale, shift = (g.Gather(table, group) for table in tables)
        inner = g.Gemm(g.Gather(self.hidden, rows), weight, bias, transB=1)
        seen = normalized(g, g.Gelu(inner), scale, shift)
        logits = g.Gemm(seen, g.Slice(items.weight, start, end), g.Slice(items.bias, start, end), transB=1)
        likely = g.Unsqueeze(g.Gather(g.Gather(self.likely, rank, axis=1), rows), [1])
        return start, g.Add(g.LogSoftmax(logits), likely)


Head = VanillaHead | TwoStageHead
