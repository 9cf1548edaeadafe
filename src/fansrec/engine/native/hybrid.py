"""The hybrid model as the native kernel takes it: pointers to network, list memory and linear part."""

from ctypes import Structure

import torch

from fansrec.engine.native.structures import (
    Affine,
    Head,
    Hybrid,
    LinearPart,
    ListMemory,
    SparseParts,
    TiedClassifier,
)
from fansrec.engine.native.weights import Weights
from fansrec.errors import BadArtifact
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.layers.transformer import Transform

ARRAYS = dict.fromkeys(("items", "places", "lists", "list_places"), torch.int32)
ARRAYS |= {"starts": torch.int64, "list_starts": torch.int64}
SETTINGS = ("sharpness", "recency", "before", "near", "aligned", "newer", "neighbors")


class HybridWeights(Weights):
    """A hybrid model opened in the kernel."""

    def fill(self, model: HybridFans) -> None:
        weights = model.config.weights
        self.model.encoder = self.encoder(model)
        self.model.head = Head(items=model.config.alphabet.items)  # all that tokens need of it
        self.model.hybrid = self.keep(Hybrid(
            tied=self.tied_classifier(model),
            parts=SparseParts(self.memory(model), self.linear(model), weights.memory, weights.linear),
            network_weight=weights.network,
            next_share=model.config.network.next_share,
            read_masks=model.config.network.read_masks,
        ))  # fmt: skip

    def tied_classifier(self, model: HybridFans) -> Structure:
        tied, one_category = model.tied, model.tied.category is None
        starts = (0, tied.starts[-1]) if one_category else tied.starts
        transform = tied.transform if isinstance(tied.transform, Transform) else None
        sizes = torch.diff(torch.tensor(starts))
        highest = torch.segment_reduce(tied.prior, "max", lengths=sizes, initial=0.0)  # priors are not negative
        return TiedClassifier(
            items=starts[-1],
            categories=len(starts) - 1,
            read_categories=tied.requested,
            width=model.config.network.width,
            starts=self.array(starts),
            transform=self.affine(transform and transform.linear),
            transform_norm=self.affine(transform and transform.norm),
            category=self.affine(tied.category),
            item=Affine(self.tensor(model.embed.items.weight), self.tensor(tied.bias)),
            rounded=self.rounded(starts, model.vectors),
            scale=self.tensor(tied.scale),
            prior=self.tensor(tied.prior),
            highest_prior=self.tensor(highest),
        )

    def memory(self, model: HybridFans) -> int | None:
        """Return the address of the list memory, or None if the model has none or gives it no weight."""
        memory = model.memory
        if memory is None or not model.config.weights.memory:
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
            **{name: getattr(model.config.memory, name) for name in SETTINGS},
        ))  # fmt: skip

    def linear(self, model: HybridFans) -> int | None:
        """Return the address of the linear part, or None if the model has none or gives it no weight."""
        linear = model.linear
        if linear is None or not model.config.weights.linear:
            return None
        return self.keep(LinearPart(
            items=self.tensor(linear.items, torch.int32),
            weights=self.tensor(linear.weights),
            width=linear.width,
            vocabulary=len(linear.items),
            decay=model.config.linear.decay,
        ))  # fmt: skip
