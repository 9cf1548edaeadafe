"""A memory of the training lists, by list and by item, from which similar lists vote (list_votes.py)."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.neighbors.list_search import MAX_LISTS_OF_ITEM
from fansrec.models.neighbors.list_votes import Lookup
from fansrec.models.threads import map_in_threads
from fansrec.models.validation import check_memory

CELLS_AT_ONCE = 1 << 20  # lists, items and entries of lists, for the inputs that are looked up together

Indices = NDArray[np.int64]


class ListMemory(nn.Module):
    """The distinct items of every training list, and the lists of every item."""

    items: Tensor
    places: Tensor
    starts: Tensor
    lists: Tensor
    list_places: Tensor
    list_starts: Tensor

    def __init__(self, vocabulary: int, lists: int, memberships: int) -> None:
        super().__init__()
        # torch.empty takes no memory until it is written, so a model that is about to be loaded takes it once.
        self.register_buffer("items", torch.empty(memberships, dtype=torch.int32))  # list after list
        self.register_buffer("places", torch.empty(memberships, dtype=torch.int32))  # position of each in its list
        self.register_buffer("starts", torch.zeros(lists + 1, dtype=torch.int64))
        self.register_buffer("lists", torch.empty(memberships, dtype=torch.int32))  # item after item
        self.register_buffer("list_places", torch.empty(memberships, dtype=torch.int32))
        self.register_buffer("list_starts", torch.zeros(vocabulary + 1, dtype=torch.int64))
        self._lookup: Lookup | None = None

    @classmethod
    def of(cls, vocabulary: int, items: NDArray[np.int32], offsets: Indices) -> "ListMemory":
        """Return a memory of these lists; `vocabulary` is the number of items."""
        memory = cls(vocabulary, 0, 0)
        memory.fit(items, offsets)
        return memory

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ListMemory":
        """Ignore `.to(device)`: a lookup is many small steps, for which numpy is five times as fast as torch."""
        return self

    def fit(self, items: NDArray[np.int32], offsets: Indices) -> None:
        """Store the lists `items[offsets[i]:offsets[i + 1]]`; a repeated item counts at its first position."""
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        first = np.sort(np.unique(lists * self.vocabulary + items, return_index=True)[1])
        places = (first - offsets[lists[first]]).astype(np.int32)
        items, lists = np.asarray(items[first], dtype=np.int32), lists[first].astype(np.int32)
        by_item = np.argsort(items, kind="stable")
        self.items, self.places = torch.from_numpy(items), torch.from_numpy(places)
        self.starts = torch.from_numpy(_starts(lists, len(offsets) - 1))
        self.lists, self.list_places = torch.from_numpy(lists[by_item]), torch.from_numpy(places[by_item])
        self.list_starts = torch.from_numpy(_starts(items, self.vocabulary))
        self._lookup = None

    def check_arrays(self) -> None:
        """Raise BadArtifact if an index is out of range."""
        check_memory(dict(self.named_buffers()))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def vocabulary(self) -> int:
        return len(self.list_starts) - 1

    def lookup(self) -> Lookup:
        """Return what computes votes; it is made once, and its arrays are those of the buffers."""
        if self._lookup is None:
            self._lookup = Lookup({name: buffer.numpy() for name, buffer in self.named_buffers()})
        return self._lookup

    def _most_entries(self, inputs: Sequence[Indices], config: MemoryConfig) -> int:
        """Return how many entries of lists an input needs on average: of all its items, or of all lists that vote."""
        lists_of_item = np.minimum(np.diff(self.list_starts.numpy()), MAX_LISTS_OF_ITEM)
        shared = lists_of_item[np.concatenate([np.empty(0, dtype=np.int64), *inputs])].sum() // max(1, len(inputs))
        return max(int(shared), min(config.neighbors, len(self)) * len(self.items) // max(1, len(self)))

    def votes(self, inputs: Sequence[Indices], config: MemoryConfig) -> Tensor:
        """Return the votes (B, M) of the neighbors for every item, scaled to a maximum of 1; input items get 0."""
        lookup = self.lookup()
        out = np.empty((len(inputs), self.vocabulary), dtype=np.float32)
        step = max(1, CELLS_AT_ONCE // max(1, len(self), self.vocabulary, self._most_entries(inputs, config)))

        def vote(first: int) -> None:
            lookup(inputs[first : first + step], config, out[first : first + step])

        map_in_threads(vote, range(0, len(inputs), step))
        return torch.from_numpy(out)


def _starts(groups: NDArray[np.int32], count: int) -> Indices:
    """Return where each of `count` groups starts once the entries are sorted by group, and the end of the last."""
    return np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=count))])
