"""Metrics of models with different items on the same lists: the standard protocol, by the ids of the items."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
from benchmarks.updates.corpora import NamedList
from numpy.typing import NDArray

from fansrec.artifact import Artifact
from fansrec.data.corpus import target_lengths
from fansrec.engine.backends import open_engine
from fansrec.engine.rules import Rules
from fansrec.evaluation.metrics import Floats
from fansrec.evaluation.protocol import MAX_CUTOFF, EvaluationLists, list_metrics, more_list_metrics, protocol


@dataclass(frozen=True)
class Judge:
    """Lists cut into input and target, with an index for every item of any of them."""

    index: dict[str, int]
    lists: EvaluationLists

    @classmethod
    def of(cls, lists: Sequence[NamedList]) -> "Judge":
        """Return the judge of answers to these lists."""
        index = {id_: place for place, id_ in enumerate(sorted({id_ for one in lists for id_ in one.items}))}
        whole = [np.array([index[id_] for id_ in one.items], dtype=np.int64) for one in lists]
        cuts = [len(items) - int(target_lengths(np.array([len(items)]))[0]) for items in whole]
        pairs = [*zip(whole, cuts, strict=True)]
        inputs = [items[:cut] for items, cut in pairs]
        return cls(index, EvaluationLists(inputs, [items[cut:].astype(np.int32) for items, cut in pairs]))

    def answers(self, artifact: Artifact) -> NDArray[np.int64]:
        """Return the ten items of every answer, (lists, 10); -1 for an item of no list, and without a known input."""
        places = {id_: place for place, id_ in enumerate(artifact.vocabulary.ids)}
        known = np.array([places.get(id_, -1) for id_ in self.index], dtype=np.int64)
        back = np.full(len(places) + 1, -1, dtype=np.int64)  # the last one for the place -1
        back[known] = np.arange(len(known))
        back[-1] = -1
        inputs = [items[items >= 0] for items in (known[given] for given in self.lists.inputs)]
        which = [row for row, items in enumerate(inputs) if len(items)]
        engine = open_engine(artifact.stored, len(places))
        found = engine.continue_lists([inputs[row] for row in which], [MAX_CUTOFF] * len(which), Rules())
        answers = np.full((len(inputs), MAX_CUTOFF), -1, dtype=np.int64)
        for row, answer in zip(which, found, strict=True):
            answers[row, : len(answer.items)] = back[answer.items]
        return answers

    def metrics(self, answers: NDArray[np.int64], only: AbstractSet[str] | None = None) -> dict[str, Floats]:
        """Return NDCG, HR and recall of every list; with `only` of those whose target has some of these items.

        Other items of their targets do not count then.
        """
        lists = self.lists
        if only is not None:
            chosen = np.zeros(len(self.index), dtype=np.bool_)
            chosen[[self.index[id_] for id_ in only if id_ in self.index]] = True
            targets = [target[chosen[target]] for target in lists.targets]
            rows = [row for row, target in enumerate(targets) if len(target)]
            lists = EvaluationLists([lists.inputs[row] for row in rows], [targets[row] for row in rows])
            answers = answers[rows]
        standard, shares = protocol("standard"), np.ones(len(self.index))
        more = more_list_metrics(answers, lists, standard, (MAX_CUTOFF,), shares)
        return list_metrics(answers, lists, standard) | {"recall@10": more["recall@10"]}
