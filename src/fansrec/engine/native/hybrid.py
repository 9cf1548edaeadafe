"""The hybrid model as the native kernel takes it: pointers to network, list memory and linear part."""

import ctypes
import weakref
from itertools import pairwise

import torch
from torch import Tensor

from fansrec.engine.native.library import NO_MEMORY, check_outcome, library
from fansrec.engine.native.structures import (
    Head,
    Hybrid,
    ItemVectors,
    LinearPart,
    ListMemory,
    Model,
    Pair,
    SparseParts,
    TiedClassifier,
)
from fansrec.engine.native.weights import Weights
from fansrec.errors import BadArtifact
from fansrec.models.hybrid.model import HybridFans

ARRAYS = {
    "items": torch.int32,
    "places": torch.int32,
    "starts": torch.int64,
    "lists": torch.int32,
    "list_places": torch.int32,
    "list_starts": torch.int64,
}
KERNEL = ("sharpness", "recency", "before", "near", "aligned")


class HybridWeights(Weights):
    """A hybrid model opened in the kernel; keeps alive what the kernel points to and its buffers."""

    entry = "fans_hybrid_continue"

    def __init__(self, model: HybridFans) -> None:
        self._kept = []
        weights = model.config.weights
        self.model = Model(kind=0, categories_of=self.array(model._categories), encoder=self.encoder(model))
        self.model.head = Head(items=model.config.alphabet.items)  # all that tokens need of it
        hybrid = Hybrid(
            model=ctypes.addressof(self.model),
            tied=self.tied_classifier(model),
            parts=SparseParts(self.memory(model), self.linear(model), weights.memory, weights.linear),
            network_weight=weights.network,
        )
        check_outcome(library().fans_hybrid_check(ctypes.byref(hybrid), ctypes.sizeof(hybrid)))
        handle = library().fans_hybrid_open(ctypes.byref(hybrid), ctypes.sizeof(hybrid))
        if handle is None:
            check_outcome(NO_MEMORY)
        self.address = handle
        weakref.finalize(self, library().fans_hybrid_close, handle)

    def tied_classifier(self, model: HybridFans) -> TiedClassifier:
        tied, one_category = model.tied, model.tied.category is None
        starts = (0, tied.starts[-1]) if one_category else tied.starts
        # No halves: the sums over all items weigh the network against the other parts, so they need all 32 bits.
        item = ItemVectors(self.tensor(model.embed.items.weight), self.tensor(tied.bias), model.config.network.width)
        return TiedClassifier(
            items=starts[-1],
            categories=len(starts) - 1,
            read_categories=tied.requested,
            width=model.config.network.width,
            starts=self.array(starts),
            transform=self.pair(tied.transform.linear),
            transform_norm=self.pair(tied.transform.norm),
            category=Pair(None, None) if one_category else self.pair(tied.category),
            item=item,
            scale=self.tensor(tied.scale),
            prior=self.tensor(tied.prior),
            highest_prior=self.tensor(_highest(tied.prior, starts)),
        )

    def memory(self, model: HybridFans) -> int | None:
        """Return the address of the list memory, or None if the model has none."""
        memory, kernel = model.memory, model.config.memory
        if memory is None:
            return None
        arrays = {name: getattr(memory, name) for name in ARRAYS}
        members = {len(array) for name, array in arrays.items() if ARRAYS[name] == torch.int32}
        if len(members) != 1:
            raise BadArtifact("the arrays of the list memory differ in length; train the model again")
        return self.keep(ListMemory(
            **{name: self.tensor(array, ARRAYS[name]) for name, array in arrays.items()},
            known=len(memory),
            longest=max(int(array.numpy().max(initial=0)) for array in (memory.places, memory.list_places)),
            vocabulary=memory.vocabulary,
            members=members.pop(),
            **{name: getattr(kernel, name) for name in KERNEL},
            neighbors=kernel.neighbors,
        ))  # fmt: skip

    def linear(self, model: HybridFans) -> int | None:
        """Return the address of the linear part, or None if the model has none."""
        linear = model.linear
        if linear is None:
            return None
        return self.keep(LinearPart(
            items=self.tensor(linear.items, torch.int32),
            weights=self.tensor(linear.weights),
            width=linear.width,
            vocabulary=len(linear.items),
            decay=model.config.linear.decay,
        ))  # fmt: skip


def _highest(prior: Tensor, starts: tuple[int, ...]) -> Tensor:
    """Return the highest prior of every category, shape (categories,)."""
    return torch.stack(
        [prior[first:last].max() if last > first else prior.new_zeros(()) for first, last in pairwise(starts)]
    )
