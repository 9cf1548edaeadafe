"""V-STAN: the items of the training lists most similar to the input, weighted by their positions.

V-STAN (Ludewig et al., UMUAI 2020; its code is part of the framework session-rec) combines STAN (Garg et al., SIGIR
2019) with V-SKNN. The last item of the input has age 0, the one before it age 1. The training lists most similar to the
input are its neighbors, and a neighbor votes for all of its items:

    similarity of n   sum over the input items in n of exp(-age / input_decay), divided by the root of the number of
                      distinct items of n, times exp(-age of n / list_decay)
    vote of n for i   similarity of n * exp(-|position of i - position of the last shared item in n| / item_decay)
                      * exp(-age of the last input item in n / shared_decay) * (1 + idf_weight * idf of i)

STAN has no shared_decay and no idf_weight, and its last shared item is the one that comes last in the input; here, as
in session-rec, it is the one that comes last in n.

Differences: lists have no dates, so the age of a list is the share of training lists that come after it in the corpus.
The decays of positions are given in mean lengths of training lists, as in the search ranges of session-rec, so that
they suit short and long lists. All lists that share an item with the input are compared with it unless `sample_size` is
set. A repeated item counts at its last position in an input and at its first position in a training list, and idf
counts lists instead of occurrences. Votes are divided by the highest, so the norm of the input is left out of the
cosine; equal scores are ordered by popularity. Of equally similar lists, the newest are neighbors.
"""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fansrec.models.contract import Inputs
from fansrec.models.linear.config import TIE
from fansrec.models.linear.item_weights import shares
from fansrec.models.linear.popularity import ClosedFormModel
from fansrec.models.neighbors.config import VstanConfig
from fansrec.models.neighbors.list_memory import ListMemory
from fansrec.models.neighbors.vstan_votes import Votes


class Vstan(ClosedFormModel):
    name: ClassVar[str] = "vstan"
    title: ClassVar[str] = "V-STAN"
    search: ClassVar[dict[str, tuple[float, ...]]] = {  # more than of other models, since fitting takes no time
        "neighbors": (100, 300),
        "input_decay": (0.0, 0.25),
        "list_decay": (0.0, 2.0),
        "shared_decay": (0.125, 0.25),
        "idf_weight": (0.0, 0.2, 5.0),
    }
    scoring: ClassVar[tuple[str, ...]] = tuple(search)
    popularity: Tensor

    def __init__(self, config: VstanConfig) -> None:
        super().__init__(config)
        items = config.category_starts[-1]
        self.memory = ListMemory(items, config.memory_lists, config.memory_items)
        self.register_buffer("popularity", torch.zeros(items))

    def fit(self, items: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Store the lists `items[offsets[i]:offsets[i + 1]]`; their number becomes part of `config`."""
        self.memory.fit(items, offsets)
        self.popularity = shares(self.memory.list_starts.diff().numpy())
        self.config = replace(self.config, memory_lists=len(self.memory), memory_items=len(self.memory.items))

    def score_next(self, inputs: Inputs) -> Tensor:
        """Return the scores (B, M) of the next item."""
        votes = Votes({name: buffer.numpy() for name, buffer in self.memory.named_buffers()}, self.config)
        rows = np.stack([votes(np.asarray(given, dtype=np.int64)) for given in inputs])
        return torch.from_numpy(rows).to(self.popularity) + TIE * self.popularity
