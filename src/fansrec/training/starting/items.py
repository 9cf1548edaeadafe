"""Which items of a grown corpus a trained model knows, and what the training lists say about the others."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import Corpus
from fansrec.models.linear.popularity import list_counts
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.updating.evidence import gather
from fansrec.updating.memory import NAMES, Memory
from fansrec.vocabulary import Vocabulary

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Known:
    """The items of a corpus as a trained model knows them."""

    rows: Indices  # (M,): the index of each item in the trained model; -1 for a new item
    shares: Floats  # (N, N of the trained model): the share of a category's known items that each old category had
    counts: Indices  # (M of the trained model,): training lists of the corpus with each of its items

    @classmethod
    def of(cls, trained: Vocabulary, corpus: Corpus) -> "Known":
        """Return what a model with the vocabulary `trained` knows of the items of a corpus; ids decide."""
        index = {id_: row for row, id_ in enumerate(trained.ids)}
        rows = np.array([index.get(id_, -1) for id_ in corpus.vocabulary.ids], dtype=np.int64)
        there = rows >= 0
        table = np.zeros((len(corpus.vocabulary.starts) - 1, len(trained.starts) - 1))
        np.add.at(table, (corpus.vocabulary.categories[there], trained.categories[rows[there]]), 1)
        empty = table.sum(1) == 0
        table[empty] = np.diff(trained.starts)  # a category of new items only: the mean over all items
        counts = np.zeros(len(trained), dtype=np.int64)
        counts[rows[there]] = list_counts(*corpus.flat("train"), len(rows))[there]
        return cls(rows, table / table.sum(1, keepdims=True), counts)


@dataclass(frozen=True)
class NewItems:
    """The items of a corpus that a trained model does not know, and the known items that share lists with them."""

    items: Indices  # (A,)
    categories: Indices  # (A,)
    counts: Floats  # (A,): training lists of each
    pairs: tuple[Indices, Indices, Floats]  # a new item (index into `items`), an item of the model, lists of both

    @classmethod
    def of(cls, known: Known, corpus: Corpus) -> "NewItems":
        new = np.flatnonzero(known.rows < 0)
        memory = _memory(corpus)
        evidence = gather(memory, new, [()] * len(new))
        rows, others, weights = evidence.together
        there = known.rows[others] >= 0
        pairs = rows[there], known.rows[others[there]], weights[there]
        return cls(new, corpus.vocabulary.categories[new], evidence.counts, pairs)


def _memory(corpus: Corpus) -> Memory:
    """Return the lists of the training part, by item."""
    arrays = ListMemory.of(len(corpus.vocabulary), *corpus.flat("train")).state_dict()
    return Memory(*(arrays[name].numpy() for name in NAMES))
