"""Candidates from shards: each waiting position asks the shard that holds its category for its best items."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fansrec.engine.decoding.candidates import Shortlists
from fansrec.engine.interface import Inputs
from fansrec.engine.rules import Rules
from fansrec.engine.sharded.shard import Floats, Indices, Question
from fansrec.engine.sharded.shards import Plan, Shards
from fansrec.models.fans import Fans, TwoStageClassifier
from fansrec.models.layers.encoder import MaskScores


@dataclass(frozen=True)
class Positions:
    """R positions that wait for an item, and the category in which each looks for it."""

    lists: Indices  # (R,)
    positions: Indices  # (R,): in their lists
    hidden: Floats  # (R, D)
    categories: Indices  # (R,)
    log_probabilities: Floats  # (R,): of the categories

    def __getitem__(self, rows: NDArray[Any]) -> "Positions":
        return Positions(*(getattr(self, field.name)[rows] for field in fields(self)))


class SeenItems:
    """The items that each list of a batch may not get again."""

    def __init__(self, inputs: Sequence[Indices], starts: Sequence[int]) -> None:
        self._starts = np.array(starts, dtype=np.int64)
        lists = np.repeat(np.arange(len(inputs)), [len(items) for items in inputs])
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *inputs])
        self._keys = np.unique(lists * self._starts[-1] + flat)  # list after list, items in ascending order

    def among(self, lists: Indices, categories: Indices) -> tuple[Indices, Indices]:
        """Return the seen items of each row, a list and a category: rows and items, (X,) each."""
        base = lists * self._starts[-1]
        first, last = (self._keys.searchsorted(base + self._starts[categories + end]) for end in (0, 1))
        counts = last - first
        rows = np.repeat(np.arange(len(lists)), counts)
        keys = np.arange(len(rows)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        return rows, self._keys[keys] - base[rows]


class ShardRules:
    """The part of rules that is the same for all lists, divided among the shards."""

    def __init__(self, rules: Rules, groups: Sequence[Any] | None, plan: Plan, shards: Shards) -> None:
        excluded, allowed = (np.unique(np.array(some or (), dtype=np.int64)) for some in (rules.exclude, rules.allow))
        self._excluded = [shards.share(own) for own in plan.split(excluded)]
        self._allowed = None if rules.allow is None else [shards.share(own) for own in plan.split(allowed)]
        self._groups = groups
        self.max_per_group, self.keep_seen = rules.max_per_group, rules.keep_seen
        self._floor = -np.inf if rules.min_score is None else rules.min_score
        self._open = np.diff(np.searchsorted(allowed, plan.starts)) > 0 if rules.allow is not None else None  # (N,)

    def may_have_items(self, positions: Positions) -> NDArray[np.bool_]:
        """Return where the category has an allowed item and is as probable as its items have to be, shape (R,)."""
        likely: NDArray[np.bool_] = positions.log_probabilities.astype(float) >= self._floor
        return likely if self._open is None else likely & self._open[positions.categories]

    def of_shard(self, shard: int) -> tuple[Any, Any, Any]:
        """Return excluded items, allowed items and groups of a shard."""
        allowed = None if self._allowed is None else self._allowed[shard]
        return self._excluded[shard], allowed, None if self._groups is None else self._groups[shard]


class ShardCandidates:
    """Candidates for a batch of lists from the shards of a model."""

    def __init__(
        self, model: Fans, shards: Shards, plan: Plan, inputs: Inputs, counts: Sequence[int], rules: ShardRules
    ) -> None:
        self.ranks, self._count = model.ranks, max(counts)  # K, the length of shortlists
        self.scores_per_position = len(inputs) * self._count
        self._shards, self._plan, self._rules = shards, plan, rules
        self._seen = SeenItems([] if rules.keep_seen else inputs, plan.starts)
        encoded = cast(MaskScores, model.score_positions(inputs, counts)).encoded
        ranked = cast(TwoStageClassifier, model.classifier).ranked(encoded)
        self._hidden = encoded.cpu().numpy()  # (P, D), list after list
        self._log_probabilities, self._categories = (part.cpu().numpy() for part in ranked)  # (P, N) each
        self._starts = np.cumsum(counts) - counts  # of each list

    def capacities(self) -> None:
        return None

    def best(self, first: int, last: int, rank: int, waiting: NDArray[np.bool_]) -> Shortlists:
        lists, offsets = np.nonzero(waiting)
        positions = self._positions(lists, offsets + first, rank)
        positions = positions[self._rules.may_have_items(positions)]
        shape = (*waiting.shape, self._count)
        scores, items = np.full(shape, -np.inf, dtype=np.float32), np.zeros(shape, dtype=np.int64)
        if len(positions.lists):
            where = positions.lists, positions.positions - first
            scores[where], items[where] = self._ask(positions)
        return Shortlists(scores, items)

    def _positions(self, lists: Indices, positions: Indices, rank: int) -> Positions:
        """Return positions, (R,) lists and positions, with their category of rank `rank`."""
        rows = self._starts[lists] + positions
        categories, log_probabilities = self._categories[rows, rank], self._log_probabilities[rows, rank]
        return Positions(lists, positions, self._hidden[rows], categories, log_probabilities)

    def _ask(self, positions: Positions) -> Shortlists:
        """Return the shortlists (R, count) of positions from the shards that hold their categories."""
        order = positions.categories.argsort(kind="stable")
        ends = np.searchsorted(positions.categories[order], self._plan.cuts)
        rows = {shard: order[ends[shard] : ends[shard + 1]] for shard in range(self._plan.shards)}
        questions = {
            shard: (self._question(positions[own]), *self._rules.of_shard(shard))
            for shard, own in rows.items()
            if len(own)
        }
        answers = self._shards.ask("best", questions)
        original = order.argsort()
        return Shortlists(*(np.concatenate(parts)[original] for parts in zip(*answers, strict=True)))

    def _question(self, own: Positions) -> Question:
        blocked = self._seen.among(own.lists, own.categories)
        limit = self._rules.max_per_group
        return Question(own.hidden, own.categories, own.log_probabilities, *blocked, self._count, limit)
