"""A model of generated lists and random weights, as large as one of real lists."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fansrec.artifact import write_artifact
from fansrec.data.corpus import Corpus
from fansrec.experiments.speed.workloads import Workload, make_corpus
from fansrec.models.hybrid.model import LinearPart
from fansrec.models.linear.popularity import list_counts
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.training.plan import make_plan
from fansrec.vocabulary import ListNames, Vocabulary

SHORTEST, LONGEST, MEAN = 5, 200, 20
CATEGORIES = 50
GROUP_SIZE = 10


def generated_corpus(lists: int, items: int, random: np.random.Generator) -> Corpus:
    """Return generated lists of items with names and groups."""
    return _with_names(make_corpus(Workload(lists, items, SHORTEST, LONGEST, MEAN, CATEGORIES), random))


def _with_names(corpus: Corpus) -> Corpus:
    items = range(len(corpus.vocabulary))
    names, groups = [item_name(item) for item in items], [f"Artist {item // GROUP_SIZE}" for item in items]
    return replace(corpus, vocabulary=replace(corpus.vocabulary, names=names, groups=groups))


def item_name(item: int) -> str:
    return f"Song {item} of day {item % 365}"


def write_model(folder: Path, corpus: Corpus, lists: int, neighbors: int) -> None:
    """Write a hybrid model whose memory has the first lists of a corpus, and whose other weights are random."""
    offsets = corpus.offsets[: lists + 1]
    items = corpus.items[: offsets[-1]]
    vocabulary: Vocabulary = corpus.vocabulary
    torch.manual_seed(0)
    plan = make_plan("fans", {"recipe": "best"}, corpus)
    network = plan.build()
    network.start(items, offsets)
    linear = LinearPart(len(vocabulary), neighbors)
    linear.items = torch.randint(len(vocabulary), linear.items.shape, dtype=torch.int32)
    linear.weights = torch.rand(linear.weights.shape).sort(descending=True).values
    model = network.with_parts(network.config, ListMemory.of(len(vocabulary), items, offsets), linear)
    folder.mkdir()
    config: dict[str, Any] = {"model": plan.model, "config": asdict(model.config), "training": {"recipe": "best"}}
    counts = list_counts(items, offsets, len(vocabulary))
    names = ListNames(
        [f"list-{number:06d}" for number in range(lists)], [f"My list {number}" for number in range(lists)]
    )
    write_artifact(folder, model, vocabulary, config, "# Random weights\n", counts, names)
