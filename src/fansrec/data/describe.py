"""Statistics of a set of lists: the lengths of the lists and the frequencies of the items."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fansrec.data.corpus import read_corpus
from fansrec.data.locating import locate
from fansrec.data.public import PUBLIC, Statistics
from fansrec.data.shards import Items, read_blocks
from fansrec.errors import BadInput


@dataclass(frozen=True)
class Description:
    title: str
    lengths: NDArray[np.int64]  # of every list
    counts: NDArray[np.int64]  # of every item that occurs, descending

    @property
    def statistics(self) -> Statistics:
        lists, items, interactions = len(self.lengths), len(self.counts), int(self.lengths.sum())
        return Statistics(
            lists=lists,
            items=items,
            interactions=interactions,
            average=interactions / lists,
            shortest=int(self.lengths.min()),
            longest=int(self.lengths.max()),
            density=100 * interactions / (lists * items),
        )

    @property
    def top(self) -> int:
        return max(1, len(self.counts) // 100)

    @property
    def top_share(self) -> float:
        """The percentage of all interactions that belong to the most frequent 1% of the items."""
        return float(100 * self.counts[: self.top].sum() / self.counts.sum())


def describe_source(source: str) -> Description:
    """Describe a corpus folder, a file of lists, or a public set as published."""
    path = Path(source)
    if path.is_dir() and (source not in PUBLIC or (path / "summary.json").is_file()):
        corpus = read_corpus(path)
        return describe(path.resolve().name, corpus.lengths, corpus.items)
    from fansrec.data.sources import read_lists  # needs polars, which a corpus does not

    file = locate(source) if source in PUBLIC and not path.is_file() else path
    lists = read_lists(file).lists
    return describe(f"{source} as published" if file != path else path.name, lists.lengths, lists.items)


def describe(title: str, lengths: NDArray[np.int64], items: Items) -> Description:
    """Describe lists given by their lengths and their concatenated items."""
    if not len(items):
        raise BadInput(f"{title} contains no lists; nothing to describe")
    counts = np.zeros(int(items.max()) + 1, dtype=np.int64)
    for block in read_blocks(items):
        counts += np.bincount(block, minlength=len(counts))
    return Description(title, lengths, np.sort(counts[counts > 0])[::-1])
