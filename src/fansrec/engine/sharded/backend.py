"""The engine of a catalogue that lies on several workers or devices.

The encoder runs here. Of the items only the rows that a list names come here, and of the second stage only the best few
items of each position: nothing as long as the catalogue is made for a list, neither here nor on a shard.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.engine.decoding.dense import blocks
from fansrec.engine.decoding.shortlists import HostChoice
from fansrec.engine.generation import ONE_PASS
from fansrec.engine.interface import Categories, Continuation, Inputs, check_numbers, check_rules, wanted_of
from fansrec.engine.rules import Rules
from fansrec.engine.sharded.asking import Positions, RulesOfShards, Seen, Shards, shortlists_of
from fansrec.engine.sharded.choosing import GroupedChoice
from fansrec.engine.sharded.model import FirstStage
from fansrec.engine.sharded.plan import Plan
from fansrec.engine.sharded.shard import Shortlists
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans
from fansrec.models.layers.encoder import MaskScores

TOKENS_AT_ONCE = 1 << 14
CHANCES_AT_ONCE = 1 << 24  # positions times categories


class ShardedEngine:
    """Gives what `TorchEngine` gives for the whole model; `model` is FANS `without_items`."""

    backend = "sharded"
    generation = ONE_PASS

    def __init__(self, model: Fans, plan: Plan, shards: Shards) -> None:
        self.model, self.plan, self.shards = model, plan, shards
        self.items = plan.starts[-1]
        self.device = model.device
        self._categories = Categories(plan.starts)
        self._groups: tuple[Any, list[Any]] = (None, [])  # the last ones, as they were shared

    @torch.inference_mode()
    def continue_lists(self, inputs: Inputs, k: int | Sequence[int], rules: Rules) -> list[Continuation]:
        wanted = wanted_of(inputs, k, self.items, self.model.longest_sequence())
        check_numbers(inputs, self.items)
        check_rules(rules, self.items)
        if rules.fill != "by-position":
            raise BadSetting(
                f"a sharded model cannot fill {rules.fill}; use by-position, or a model that is not sharded"
            )
        shared = RulesOfShards(rules, self._shared_groups(rules), self.plan, self.shards)
        answers: dict[int, Continuation] = {}
        for batch in self._batches(inputs, wanted):
            answer = self._answer([inputs[i] for i in batch], [wanted[i] for i in batch], rules, shared)
            answers.update(zip(batch, answer, strict=True))
        return [answers[i] for i in range(len(inputs))]

    def _shared_groups(self, rules: Rules) -> list[Any] | None:
        """A vocabulary has one and the same array of groups for all calls, so it is sent once."""
        if rules.max_per_group is None or rules.groups is None:
            return None
        held, parts = self._groups  # another thread may put its own there
        if held is not rules.groups:
            parts = [self.shards.share(part) for part in np.split(rules.groups, self.plan.items[1:-1])]
            self._groups = rules.groups, parts
        return parts

    def _answer(self, inputs: Inputs, wanted: list[int], rules: Rules, shared: RulesOfShards) -> Iterator[Continuation]:
        """`shortlists.by_position_from_shortlists`, with the shards asked for the shortlists."""
        choice = _choice(wanted, rules)
        encoded = Encoded(self.model, inputs, wanted)
        seen = Seen([] if rules.keep_seen else inputs, self.plan.starts)
        for rank in range(self.model.ranks):
            waiting = choice.waiting()
            if not len(waiting):
                break
            for first, last in blocks(int(waiting[0]), int(waiting[-1]) + 1, choice.items.size):
                lists, places = np.nonzero(choice.items[:, first:last] < 0)
                asked = encoded.at(lists, places + first, rank)
                asked = asked.at(shared.hopeful(asked))
                found = shortlists_of(self.shards, self.plan, asked, seen, shared, choice.items.shape[1])
                choice.take(first, *_spread(found, asked, (len(inputs), last - first), first))
        for row, score in zip(choice.items, choice.scores, strict=True):
            yield Continuation(row[row >= 0], score[row >= 0], self._categories(row[row >= 0]))

    def _batches(self, inputs: Inputs, wanted: Sequence[int]) -> Iterator[list[int]]:
        """Lists of like length together, within a budget of tokens and of chances of categories."""
        lengths = [len(items) + k for items, k in zip(inputs, wanted, strict=True)]
        most = min(TOKENS_AT_ONCE, CHANCES_AT_ONCE // self.model.ranks)
        batch: list[int] = []
        for i in sorted(range(len(inputs)), key=lengths.__getitem__):
            if batch and (len(batch) + 1) * lengths[i] > most:
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch


def _choice(wanted: list[int], rules: Rules) -> HostChoice:
    if rules.max_per_group is None or rules.groups is None:
        return HostChoice(wanted, rules.min_score)
    return GroupedChoice(wanted, rules.min_score, rules.groups, rules.max_per_group)


def _spread(found: Shortlists, asked: Positions, shape: tuple[int, int], first: int) -> Shortlists:
    """(B, positions, count) each, from position `first` on; nothing where nobody asked."""
    scores = np.full((*shape, found.scores.shape[1]), -np.inf, dtype=np.float32)
    items = np.zeros(scores.shape, dtype=np.int64)
    where = asked.lists, asked.places - first
    scores[where], items[where] = found
    return Shortlists(scores, items)


class Encoded:
    """The encoder's output at all positions of a batch, and the categories of each by likelihood."""

    def __init__(self, model: Fans, inputs: Inputs, wanted: Sequence[int]) -> None:
        hidden = cast(MaskScores, model.score_positions(inputs, wanted)).encoded
        chances, categories = cast(FirstStage, model.classifier).ranked(hidden)
        self._hidden, self._chances = hidden.cpu().numpy(), chances.cpu().numpy()
        self._categories = categories.cpu().numpy()
        self._wanted = np.array(wanted)
        self._starts = self._wanted.cumsum() - self._wanted  # of each list

    def at(self, lists: NDArray[np.int64], places: NDArray[np.int64], rank: int) -> Positions:
        """Places that a list does not want are left out."""
        inside = places < self._wanted[lists]
        lists, places = lists[inside], places[inside]
        rows = self._starts[lists] + places
        return Positions(lists, places, self._hidden[rows], self._categories[rows, rank], self._chances[rows, rank])
