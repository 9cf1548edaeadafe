"""Reading slices of the arrays in a model file, which is mapped: on a CPU nothing is copied."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from fansrec.engine.interface import CategoryLookup
from fansrec.models.validation import check_tensor

ITEMS = "embed.items.weight"

Rows = Callable[[str, slice], Tensor]
Fetch = Callable[[NDArray[np.int64]], Any]  # of the vectors of distinct items in ascending order


@contextmanager
def open_rows(path: Path) -> Iterator[Rows]:
    """Yield a function that returns some rows of an array, which were checked."""
    with safe_open(path, framework="pt") as file:

        def rows(name: str, which: slice) -> Tensor:
            read: Tensor = file.get_slice(name)[which]
            check_tensor(name, read)
            return read

        yield rows


def coordinator_weights(path: Path, elsewhere: tuple[str, ...], items: int) -> dict[str, Tensor]:
    """Return all arrays but those `elsewhere`, and of the item table only the rows of special tokens."""
    with safe_open(path, framework="pt") as file:
        here = [name for name in file.keys() if name != ITEMS and not name.startswith(elsewhere)]  # noqa: SIM118
        return {name: file.get_tensor(name) for name in here} | {ITEMS: file.get_slice(ITEMS)[items:]}


class FetchedItems(nn.Module):
    """Replaces the item table: rows are fetched when they are looked up; those of the special tokens are held here."""

    def __init__(self, specials: Tensor, items: int, fetch: Fetch) -> None:
        super().__init__()
        self.weight = nn.Parameter(specials, requires_grad=False)  # (4, D)
        self.items, self.fetch = items, fetch

    def forward(self, tokens: Tensor) -> Tensor:
        indices, inverse = torch.unique(tokens, return_inverse=True)  # ascending, so that the specials come last
        is_item = indices < self.items
        specials = self.weight[indices[~is_item] - self.items]
        fetched = self.fetch(indices[is_item].cpu().numpy())
        rows = specials if fetched is None else torch.cat([torch.as_tensor(fetched).to(specials), specials])
        return rows[inverse]


def fetch_items(model: Any, config: Any, weights: dict[str, Tensor], fetch: Fetch) -> None:
    """Let a model that was built with one item per category read its item vectors with `fetch`.

    `config` is that of the whole model; `weights` are the other ones, and under `ITEMS` the rows of special tokens.
    """
    model.embed.items = FetchedItems(weights[ITEMS], config.alphabet.items, fetch)
    model.fetch_vectors = fetch  # for ItemTraits
    model.config, model._categories = config, CategoryLookup(config.category_starts)
    model.load_state_dict({name: weight.float() for name, weight in weights.items()}, assign=True)
    model.train(False)
