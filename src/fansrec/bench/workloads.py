"""Generated corpora with the sizes of real sets: benchmarks need no data, and anybody can repeat them."""

from dataclasses import dataclass

import numpy as np

from fansrec.data.corpus import Corpus
from fansrec.vocabulary import Vocabulary


@dataclass(frozen=True)
class Workload:
    """Sizes after preparation; list lengths fall off exponentially from `shortest` to the given mean."""

    lists: int
    items: int
    shortest: int
    longest: int
    mean: float
    categories: int = 10


WORKLOADS = {
    "aotm": Workload(lists=12_940, items=6_264, shortest=10, longest=59, mean=12.53),
    "spotify": Workload(lists=2_560, items=104_695, shortest=20, longest=300, mean=94.4),
}


def make_corpus(workload: Workload, random: np.random.Generator) -> Corpus:
    """Lists of Zipf-distributed items, split 8:1:1."""
    beyond = random.exponential(workload.mean - workload.shortest, workload.lists)
    lengths = np.minimum(workload.shortest + np.rint(beyond).astype(np.int64), workload.longest)
    shares = 1 / (np.arange(workload.items) + 10)
    items = random.permutation(workload.items)[
        random.choice(workload.items, int(lengths.sum()), p=shares / shares.sum())
    ]
    parts = np.zeros(workload.lists, dtype=np.uint8)
    parts[int(0.8 * workload.lists) :] = 1
    parts[int(0.9 * workload.lists) :] = 2
    return Corpus(
        items=items.astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        parts=parts,
        vocabulary=_vocabulary(workload),
        summary={"lists": workload.lists, "items": workload.items, "categories": workload.categories},
    )


def _vocabulary(workload: Workload) -> Vocabulary:
    starts = np.linspace(0, workload.items, workload.categories + 1).astype(np.int64)
    names = [str(number) for number in range(workload.categories)]
    return Vocabulary([str(number) for number in range(workload.items)], starts, category_names=names)
