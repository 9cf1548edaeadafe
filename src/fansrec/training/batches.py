"""Batches of lists to learn from, built with array operations only and reproducible from (seed, epoch, batch)."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting
from fansrec.models.tokens import Alphabet, Batch, category_table
from fansrec.training.masking import MaskingRates
from fansrec.training.objectives import OBJECTIVES, Lists, Terms

Numbers = NDArray[np.int64]

CHUNKS = 4  # lengths a batch is sorted into: more would save little padding and cost a pass each


@dataclass(frozen=True)
class Share:
    """The lists a process trains on: a run of the corpus, so that it reads its own shards and no others'."""

    first: int = 0
    end: int = sys.maxsize

    def owns(self, lists: Numbers) -> NDArray[np.bool_]:
        return (self.first <= lists) & (lists < self.end)


ALL = Share()


def share_of(lists: Numbers, rank: int, processes: int) -> Share:
    """The share of one of several processes; `lists` are all there are to train on, in rising order."""
    cuts = [len(lists) * process // processes for process in (rank, rank + 1)]
    first, end = (int(lists[cut]) if 0 < cut < len(lists) else ALL.end if cut else 0 for cut in cuts)
    return Share(first, end)


def epoch_plan(lists: Numbers, size: int, seed: Sequence[int]) -> list[Numbers]:
    """The lists of every batch of an epoch: each list once, in random order."""
    shuffled = np.random.default_rng(seed).permutation(lists)
    return [shuffled[start : start + size] for start in range(0, len(shuffled), size)]


def by_length(lengths: Numbers) -> list[Numbers]:
    """The rows of a batch sorted into at most CHUNKS chunks of like length, as few padded tokens as halving gives.

    Batches stay random mixtures of lengths, which trains better than batches of one length; only the padding goes.
    """
    chunks = [np.argsort(lengths, kind="stable")]
    while len(chunks) < CHUNKS:
        savings = [_saving(lengths[chunk]) for chunk in chunks]
        best = int(np.argmax([saved for saved, _ in savings]))
        saved, cut = savings[best]
        if saved <= 0:
            break
        chunks[best : best + 1] = [chunks[best][:cut], chunks[best][cut:]]
    return chunks


def _saving(ordered: Numbers) -> tuple[int, int]:
    """How many tokens the best cut of lists in rising length saves, and where it is."""
    if len(ordered) < 2:
        return 0, 0
    saved = np.arange(1, len(ordered)) * (ordered[-1] - ordered[:-1])
    return int(saved.max()), int(saved.argmax()) + 1


def gather(corpus: Corpus, starts: Numbers, counts: Numbers) -> NDArray[np.int32]:
    """`counts[i]` items from place `starts[i]` of the corpus on, for all i, one run after the other."""
    ends = np.cumsum(counts)
    places = np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
    return np.asarray(corpus.items[places])


class BatchBuilder:
    """Turns numbers of lists into batches to learn from."""

    def __init__(
        self, corpus: Corpus, alphabet: Alphabet, rates: MaskingRates, objective: str = "continuation"
    ) -> None:
        if objective not in OBJECTIVES:
            raise BadSetting(f"there is no objective {objective!r}; a model can name {', '.join(OBJECTIVES)}")
        self.corpus = corpus
        self.objective = OBJECTIVES[objective]
        self.terms = Terms(alphabet, category_table(corpus.vocabulary.categories, alphabet), rates, ratio=1.0)

    def build(self, lists: Numbers, ratio: float, seed: Sequence[int], share: Share = ALL) -> Batch:
        """A batch; every process draws the whole batch alike, and reads and keeps the lists it owns."""
        members = [lists[rows] for rows in by_length(self.corpus.lengths[lists])]
        owned = [share.owns(some) for some in members]
        chunks = [self._lists(some, own) for some, own in zip(members, owned, strict=True)]
        lessons = self.objective(chunks, replace(self.terms, ratio=ratio), np.random.default_rng(seed))
        to_tell = np.concatenate([lesson.places[own].ravel() for lesson, own in zip(lessons, owned, strict=True)])
        items = np.concatenate([lesson.items[own].ravel() for lesson, own in zip(lessons, owned, strict=True)])
        return Batch(
            chunks=[lesson.shown.rows(own) for lesson, own in zip(lessons, owned, strict=True)],
            places=torch.from_numpy(np.flatnonzero(to_tell)),
            labels=torch.from_numpy(items[to_tell]),
            lists=len(lists),
            positions=sum(int(lesson.places.sum()) for lesson in lessons),
        )

    def _lists(self, lists: Numbers, owned: NDArray[np.bool_]) -> Lists:
        """Lists of others have their true lengths, which all draws go by, and items that nobody looks at."""
        lengths = self.corpus.lengths[lists]
        items = np.zeros(lengths.sum(), dtype=np.int64)
        items[np.repeat(owned, lengths)] = gather(self.corpus, self.corpus.offsets[lists[owned]], lengths[owned])
        return Lists(lengths, items)
