"""Tiny corpora that can be learned in seconds: every list is a walk around the circle of items of a category."""

from pathlib import Path

import numpy as np
import torch

from fansrec.data.corpus import Corpus, write_corpus
from fansrec.vocabulary import Vocabulary

torch.set_num_threads(1)  # a second thread slows down tensors this small

CATEGORIES = 4
ITEMS_PER_CATEGORY = 15

# A model that trains in seconds and learns the walks.
SMALL = {
    "width": 16,
    "layers": 1,
    "heads": 2,
    "feedforward": 32,
    "dropout": 0.1,
    "batch_size": 16,
    "warmup": 5,
    "patience": 100,
    "checkpoint_seconds": 1e9,
}
# Two curriculum steps of two epochs of two batches, with dropout: everything that a resumed run must repeat exactly.
SHORT = SMALL | {"epochs": 4, "steps": 2, "batch_size": 48}
# The smallest model, for tests that do not depend on how well it learned.
MINUTE = SHORT | {"width": 8, "feedforward": 8, "epochs": 2}


def vocabulary_of(sizes: list[int], ids: list[str] | None = None) -> Vocabulary:
    """Return a vocabulary with categories of these sizes; the ids are i0, i1, … unless given."""
    starts = np.cumsum([0, *sizes])
    return Vocabulary(
        ids=ids or [f"i{n}" for n in range(starts[-1])],
        starts=starts,
        category_names=[f"c{n}" for n in range(len(sizes))],
    )


def corpus_of(lists: list[list[int]], vocabulary: Vocabulary, parts: list[int] | None = None) -> Corpus:
    """Return a corpus of these lists of item indices, all of them training lists unless `parts` is given."""
    offsets = np.cumsum([0, *map(len, lists)])
    in_parts = np.array(parts if parts is not None else [0] * len(lists), dtype=np.uint8)
    counts = np.bincount(in_parts, minlength=3).tolist()
    return Corpus(
        items=np.concatenate(lists).astype(np.int32),
        offsets=offsets.astype(np.int64),
        parts=in_parts,
        vocabulary=vocabulary,
        summary={
            "lists": len(lists),
            "items": len(vocabulary),
            "interactions": int(offsets[-1]),
            "categories": len(vocabulary.starts) - 1,
            "shortest": min(map(len, lists)),
            "longest": max(map(len, lists)),
            "splits": dict(zip(("train", "valid", "test"), counts, strict=True)),
        },
    )


def walks(lists: int = 120, shortest: int = 10, longest: int = 16, seed: int = 0) -> Corpus:
    """Return lists that go from item to item around their category, split 8:1:1."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(lists):
        category, start = random.integers(CATEGORIES), random.integers(ITEMS_PER_CATEGORY)
        steps = np.arange(random.integers(shortest, longest + 1))
        made.append((category * ITEMS_PER_CATEGORY + (start + steps) % ITEMS_PER_CATEGORY).tolist())
    parts = [(0, 0, 0, 0, 0, 0, 0, 0, 1, 2)[n % 10] for n in range(lists)]
    return corpus_of(made, vocabulary_of([ITEMS_PER_CATEGORY] * CATEGORIES), parts)


def write_walks(folder: Path, **shape: int) -> Path:
    """Write `walks` to a folder and return it."""
    write_corpus(folder, walks(**shape))
    return folder
