"""Batches of masked lists, built with array operations only and reproducible from (seed, epoch, batch)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.data.halves import target_lengths
from fansrec.models.tokens import Alphabet, MaskedBatch, Tokens, category_table, fill, lay_out, tokens_of
from fansrec.training.masking import MaskingRates, mask

Numbers = NDArray[np.int64]

POOL = 16  # batches whose lists are sorted by length together: little padding, and still a new mixture every epoch


@dataclass(frozen=True)
class Share:
    """Which rows of every batch this process trains on."""

    rank: int = 0
    processes: int = 1


def epoch_plan(lengths: Numbers, lists: Numbers, size: int, seed: Sequence[int]) -> list[Numbers]:
    """The lists of every batch of an epoch: each list once, lists of like length together, batches in random order."""
    random = np.random.default_rng(seed)
    shuffled = random.permutation(lists)
    pools = [shuffled[start : start + POOL * size] for start in range(0, len(shuffled), POOL * size)]
    batches = [batch for pool in pools for batch in _by_length(pool, lengths, size)]
    return [batches[i] for i in random.permutation(len(batches))]


def _by_length(pool: Numbers, lengths: Numbers, size: int) -> list[Numbers]:
    ordered = pool[np.argsort(lengths[pool], kind="stable")]
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def gather(corpus: Corpus, starts: Numbers, counts: Numbers) -> NDArray[np.int32]:
    """`counts[i]` items from place `starts[i]` of the corpus on, for all i, one run after the other."""
    ends = np.cumsum(counts)
    places = np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
    return np.asarray(corpus.items[places])


class BatchBuilder:
    """Turns numbers of lists into masked batches."""

    def __init__(self, corpus: Corpus, alphabet: Alphabet, rates: MaskingRates) -> None:
        self.corpus = corpus
        self.alphabet = alphabet
        self.rates = rates
        self.categories = category_table(corpus.vocabulary.categories, alphabet)

    def build(self, lists: Numbers, ratio: float, seed: Sequence[int], share: Share = Share()) -> MaskedBatch:  # noqa: B008
        """A masked batch; every process masks the whole batch alike and keeps its own rows."""
        lengths = self.corpus.lengths[lists]
        targets = target_lengths(lengths)
        starts = self.corpus.offsets[lists]
        layout = lay_out(lengths - targets, targets)
        inputs = gather(self.corpus, starts, lengths - targets)
        items = fill(layout, inputs, gather(self.corpus, starts + lengths - targets, targets), self.alphabet)
        shown, to_predict = mask(items, layout, ratio, self.rates, self.alphabet, np.random.default_rng(seed))
        rows = slice(share.rank, None, share.processes)
        tokens = tokens_of(shown, layout, self.categories)
        own = to_predict[rows]
        return MaskedBatch(
            tokens=Tokens(tokens.items[rows], tokens.categories[rows], tokens.segments[rows], tokens.real[rows]),
            masked=torch.from_numpy(np.flatnonzero(own)),
            labels=torch.from_numpy(items[rows][own]),
            lists=len(lists),
            positions=int(to_predict.sum()),
        )
