"""The weights that a started training run begins with: those of a trained model, for the items of a grown corpus.

Rows of items move with their ids. A new item gets the mean of the rows of the items that share training lists with it
(models/hybrid/new_items.py). A category gets the mean of the rows of the categories that its items were in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from fansrec.artifact import Artifact
from fansrec.data.corpus import Corpus
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import write_atomically
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.hybrid.new_items import bias_shifts, category_means, composed_vectors, new_biases
from fansrec.training.starting.items import Known, NewItems

START = "start.safetensors"  # beside the plan, so that a run can be resumed without the trained model
# Tensors with a row for every item or category; those of tokens have rows of special tokens after them.
ITEM_TOKENS, ITEM_VECTORS = "embed.items.weight", ("classifier.items.weight", "choice.weight")
ITEM_BIASES = ("tied.bias", "classifier.items.bias", "choice.bias")
ITEM_PRIOR = "tied.prior"
CATEGORY_TOKENS = "embed.categories.weight"
CATEGORIES = ("tied.category.weight", "tied.category.bias", "classifier.category.weight", "classifier.category.bias")
LOCAL = "classifier.local."  # transforms, of which a mean is not one
POSITIONS = "embed.positions.weight"

Weights = dict[str, Tensor]


def write_start(weights: Weights, path: Path) -> None:
    """Write the weights that training begins with."""
    write_atomically(path, lambda temporary: save_file(weights, temporary))


def load_start(network: Any, path: Path) -> None:
    """Give the network the weights that `write_start` wrote."""
    try:
        network.load_state_dict(load_file(path))
    except (OSError, RuntimeError, ValueError) as error:
        raise BadArtifact(f"{path} cannot be read ({error}); start the training again") from error


def started_weights(run: Artifact, network: Any, corpus: Corpus) -> Weights:
    """Return the weights that training of `network` on `corpus` begins with, by name, in its shapes."""
    old, moved = run.model.state_dict(), _Moved.of(run, corpus)
    if isinstance(network, HybridFans):
        network.tied.start(torch.from_numpy(np.bincount(corpus.flat("train")[0], minlength=len(corpus.vocabulary))))
    weights = {}
    for name, fresh in network.state_dict().items():
        rows = fresh.clone() if name == ITEM_PRIOR else moved.tensor(name, old[name], fresh)
        if rows.shape != fresh.shape:
            raise BadSetting(
                f"{run.folder} has the tensor {name} of shape {list(old[name].shape)}, and the grown "
                f"corpus needs {list(fresh.shape)}; train without --start"
            )
        weights[name] = rows.to(fresh.dtype).contiguous()
    return weights


@dataclass(frozen=True)
class _Moved:
    """How rows of the trained model become rows of the new one."""

    known: Known
    new: NewItems
    starts: NDArray[np.int64]  # of the categories of the trained model
    counts: NDArray[np.int64]  # (M of the trained model,): lists of each of its items

    @classmethod
    def of(cls, run: Artifact, corpus: Corpus) -> "_Moved":
        known = Known.of(run.vocabulary, corpus)
        counts = known.counts if run.counts is None else run.counts
        return cls(known, NewItems.of(known, corpus), run.vocabulary.starts, counts)

    def tensor(self, name: str, old: Tensor, fresh: Tensor) -> Tensor:
        """Return a tensor of the trained model for the items and categories of the new one."""
        items, categories = len(self.counts), len(self.starts) - 1
        if name == ITEM_TOKENS:
            return torch.cat([self._items(old[:items], self._vectors), old[items:]])
        if name in ITEM_VECTORS:
            return self._items(old, self._vectors)
        if name in ITEM_BIASES:
            return self._items(old, self._biases)
        if name == CATEGORY_TOKENS:
            return torch.cat([self._mean(old[:categories]), old[categories:]])
        if name in CATEGORIES:
            return self._mean(old)
        if name.startswith(LOCAL):
            return old[torch.from_numpy(self.known.shares.argmax(1))]
        if name == POSITIONS:  # positions beyond the trained ones share the last one, as in the trained model
            return torch.cat([old, old[-1:].expand(len(fresh) - len(old), -1)])
        return old

    def _items(self, old: Tensor, compose: Callable[[NDArray[Any]], NDArray[Any]]) -> Tensor:
        rows = self.known.rows
        out = old[torch.from_numpy(np.maximum(rows, 0))].clone()
        if len(self.new.items):
            out[torch.from_numpy(self.new.items)] = torch.from_numpy(compose(old.numpy())).to(out.dtype)
        return out

    def _vectors(self, old: NDArray[np.float32]) -> NDArray[np.float32]:
        means = (self.known.shares @ category_means(old, self.starts))[self.new.categories].astype(np.float32)
        return composed_vectors(old, *self.new.pairs, self.new.counts, means)

    def _biases(self, old: NDArray[np.float32]) -> NDArray[np.float32]:
        closest = self.known.shares.argmax(1)[self.new.categories]
        shifts = bias_shifts(old, self.counts, self.starts)
        return new_biases(shifts, float((self.counts + 1).sum()), closest, self.new.counts)

    def _mean(self, old: Tensor) -> Tensor:
        shares = torch.from_numpy(self.known.shares).to(old.dtype)
        return (shares @ old.flatten(1)).view(-1, *old.shape[1:]) if old.ndim > 1 else shares @ old
