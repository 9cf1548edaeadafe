"""Training batches, built with array operations and determined by (seed, epoch, batch)."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting
from fansrec.models.alphabet import Alphabet, token_categories
from fansrec.models.ranges import ranges
from fansrec.models.tokens import Batch
from fansrec.training.masking import MaskingRates
from fansrec.training.objectives import OBJECTIVES, Indices, Lists, MaskingContext

MAX_CHUNKS = 4  # of a batch: more would save little padding and cost a pass each
GPU_SAVING = 1 << 14  # padding tokens; a GPU computes fewer in less time than it takes to start a pass


@dataclass(frozen=True)
class Share:
    """The range of lists that a process trains on: it reads only the shards of this range."""

    first: int = 0
    end: int = sys.maxsize

    def owns(self, lists: Indices) -> NDArray[np.bool_]:
        return (self.first <= lists) & (lists < self.end)


ALL = Share()


def share_of(lists: Indices, rank: int, processes: int) -> Share:
    """Return the share of one of several processes; `lists` are the ascending indices of all training lists."""
    cuts = [len(lists) * process // processes for process in (rank, rank + 1)]
    first, end = (int(lists[cut]) if 0 < cut < len(lists) else ALL.end if cut else 0 for cut in cuts)
    return Share(first, end)


def epoch_plan(lists: Indices, size: int, seed: Sequence[int]) -> list[Indices]:
    """Return the indices of the lists of every batch of an epoch: each list once, in random order."""
    shuffled = np.random.default_rng(seed).permutation(lists)
    return [shuffled[start : start + size] for start in range(0, len(shuffled), size)]


def length_chunks(lengths: Indices, least_saving: int = 0) -> list[Indices]:
    """Return the rows of a batch in at most MAX_CHUNKS chunks of similar length, split greedily to reduce padding.

    A split must save more than `least_saving` padding tokens. Batches remain random mixtures of lengths, which trains
    better than batches of one length.
    """
    chunks = [np.argsort(lengths, kind="stable")]
    while len(chunks) < MAX_CHUNKS:
        savings = [_best_split(lengths[chunk]) for chunk in chunks]
        best = int(np.argmax([saved for saved, _ in savings]))
        saved, at = savings[best]
        if saved <= least_saving:
            break
        chunks[best : best + 1] = [chunks[best][:at], chunks[best][at:]]
    return chunks


def _best_split(ordered: Indices) -> tuple[int, int]:
    """Return how many padding tokens the best split of lists of ascending length saves, and where it is."""
    if len(ordered) < 2:
        return 0, 0
    saved = np.arange(1, len(ordered)) * (ordered[-1] - ordered[:-1])
    return int(saved.max()), int(saved.argmax()) + 1


class BatchBuilder:
    """Builds the batches of an objective from the indices of lists; `least_saving` is that of `length_chunks`."""

    def __init__(
        self,
        corpus: Corpus,
        alphabet: Alphabet,
        rates: MaskingRates,
        objective: str = "continuation",
        least_saving: int = 0,
    ) -> None:
        if objective not in OBJECTIVES:
            raise BadSetting(f"there is no objective {objective!r}; the objectives are {', '.join(OBJECTIVES)}")
        self.corpus, self.least_saving = corpus, least_saving
        self.objective = OBJECTIVES[objective]
        self.context = MaskingContext(alphabet, token_categories(corpus.vocabulary.starts), rates, ratio=1.0)

    def build(self, lists: Indices, ratio: float, seed: Sequence[int], share: Share = ALL) -> Batch:
        """Return a batch; all processes make the same random draws, and each reads only the lists of its share."""
        rows = [lists[chunk] for chunk in length_chunks(self.corpus.lengths[lists], self.least_saving)]
        owned = [share.owns(chunk) for chunk in rows]
        chunks = [self._read(chunk, own) for chunk, own in zip(rows, owned, strict=True)]
        tokens = self.objective(chunks, replace(self.context, ratio=ratio), np.random.default_rng(seed))
        pairs = list(zip(tokens, owned, strict=True))
        labeled = np.concatenate([chunk.labeled[own].ravel() for chunk, own in pairs])
        labels = np.concatenate([chunk.labels[own].ravel() for chunk, own in pairs])
        return Batch(
            chunks=[chunk.inputs.rows(own) for chunk, own in pairs],
            label_positions=torch.from_numpy(np.flatnonzero(labeled)),
            labels=torch.from_numpy(labels[labeled]),
            lists=len(lists),
            positions=sum(int(chunk.labeled.sum()) for chunk in tokens),
        )

    def _read(self, lists: Indices, owned: NDArray[np.bool_]) -> Lists:
        """Read the owned lists; the others have their true lengths, on which the draws depend, and unused items."""
        lengths = self.corpus.lengths[lists]
        items = np.zeros(lengths.sum(), dtype=np.int64)
        positions = ranges(self.corpus.offsets[lists[owned]], lengths[owned])
        items[np.repeat(owned, lengths)] = self.corpus.items[positions]
        return Lists(lengths, items)


class EpochBatches:
    """The batches of a process in every epoch; an epoch has each of `lists` once, in random order."""

    def __init__(self, builder: BatchBuilder, lists: Indices, size: int, seed: int, share: Share = ALL) -> None:
        self.builder, self.lists, self.size, self.share, self._seed = builder, lists, size, share, seed

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return -(-len(self.lists) // self.size)

    def seed(self, epoch: int, number: int) -> list[int]:
        """Return the seed of all random draws of a batch."""
        return [self._seed, 1, epoch, number]

    def of_epoch(self, epoch: int, ratio: float, first: int = 0) -> Iterator[tuple[int, Batch]]:
        """Yield the batches of an epoch from number `first` on, with their numbers, at a curriculum `ratio`."""
        plan = epoch_plan(self.lists, self.size, [self._seed, 0, epoch])

        def build(number: int) -> Batch:
            return self.builder.build(plan[number], ratio, self.seed(epoch, number), self.share)

        return build_ahead(build, range(first, len(plan)))


def build_ahead(build: Callable[[int], Batch], numbers: Sequence[int]) -> Iterator[tuple[int, Batch]]:
    """Yield each number with its batch; while a batch is used, another thread builds the next one."""
    with ThreadPoolExecutor(1) as thread:
        coming = [thread.submit(build, number) for number in numbers[:1]]
        for index, number in enumerate(numbers):
            batch = coming.pop().result()
            coming += [thread.submit(build, later) for later in numbers[index + 1 : index + 2]]
            yield number, batch
