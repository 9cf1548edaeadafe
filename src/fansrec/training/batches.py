"""Batches of masked lists, built with array operations only and reproducible from (seed, epoch, batch)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.data.halves import target_lengths
from fansrec.tokens import Alphabet, MaskedBatch, Tokens, category_table, fill, lay_out, tokens_of
from fansrec.training.masking import MaskingRates, mask

Numbers = NDArray[np.int64]

CHUNKS = 4  # lengths a batch is sorted into: more would save little padding and cost a pass each


@dataclass(frozen=True)
class Share:
    """Which rows of every batch this process trains on."""

    rank: int = 0
    processes: int = 1


ALL = Share()


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


@dataclass(frozen=True)
class Chunk:
    """Lists of like length: their item tokens, which of them are hidden, and what a model sees."""

    items: Numbers  # (B, T)
    to_predict: NDArray[np.bool_]  # (B, T)
    tokens: Tokens


class BatchBuilder:
    """Turns numbers of lists into masked batches."""

    def __init__(self, corpus: Corpus, alphabet: Alphabet, rates: MaskingRates) -> None:
        self.corpus = corpus
        self.alphabet = alphabet
        self.rates = rates
        self.categories = category_table(corpus.vocabulary.categories, alphabet)

    def build(self, lists: Numbers, ratio: float, seed: Sequence[int], share: Share = ALL) -> MaskedBatch:
        """A masked batch; every process masks the whole batch alike and keeps its own rows."""
        random = np.random.default_rng(seed)
        chunks = [self._chunk(lists[rows], ratio, random) for rows in by_length(self.corpus.lengths[lists])]
        own = slice(share.rank, None, share.processes)
        hidden = np.concatenate([chunk.to_predict[own].ravel() for chunk in chunks])
        stood = np.concatenate([chunk.items[own].ravel() for chunk in chunks])
        return MaskedBatch(
            chunks=[chunk.tokens.rows(own) for chunk in chunks],
            masked=torch.from_numpy(np.flatnonzero(hidden)),
            labels=torch.from_numpy(stood[hidden]),
            lists=len(lists),
            positions=sum(int(chunk.to_predict.sum()) for chunk in chunks),
        )

    def _chunk(self, lists: Numbers, ratio: float, random: np.random.Generator) -> Chunk:
        lengths = self.corpus.lengths[lists]
        targets = target_lengths(lengths)
        starts = self.corpus.offsets[lists]
        layout = lay_out(lengths - targets, targets)
        inputs = gather(self.corpus, starts, lengths - targets)
        items = fill(layout, inputs, gather(self.corpus, starts + lengths - targets, targets), self.alphabet)
        shown, to_predict = mask(items, layout, ratio, self.rates, self.alphabet, random)
        return Chunk(items, to_predict, tokens_of(shown, layout, self.categories))
