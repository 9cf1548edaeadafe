"""The hybrid model as the native kernel takes it: pointers to network, list memory and linear part."""

from collections.abc import Mapping
from ctypes import Structure
from typing import ClassVar

import numpy as np

from fansrec.engine.native.list_memory import list_memory
from fansrec.engine.native.structures import Affine, Head, Hybrid, LinearPart, SparseParts, TiedClassifier
from fansrec.engine.native.weights import Weights

SETTINGS = ("sharpness", "recency", "before", "near", "aligned", "newer", "neighbors")


class HybridWeights(Weights):
    """A hybrid model opened in the kernel."""

    kinds: ClassVar[Mapping[str, int]] = {"fans-hybrid": 3}

    def fill(self, name: str) -> None:
        config = self.config
        weights, network = config.weights, config.network
        self.model.encoder = self.encoder(network, network.causal)
        self.model.head = Head(items=config.alphabet.items)  # all that tokens need of it
        self.model.hybrid = self.keep(Hybrid(
            tied=self.tied_classifier(),
            parts=SparseParts(self.memory(), self.linear(), weights.memory, weights.linear),
            network_weight=weights.network,
            next_share=network.next_share,
            read_masks=network.read_masks,
        ))  # fmt: skip

    def tied_classifier(self) -> Structure:
        network, starts = self.config.network, self.config.category_starts
        categories = len(starts) - 1 if network.classifier == "two-stage" else 0
        bounds = starts if categories else (0, starts[-1])
        highest = np.maximum.reduceat(self.arrays["tied.prior"], bounds[:-1])
        return TiedClassifier(
            items=starts[-1],
            categories=len(bounds) - 1,
            read_categories=min(network.asked_categories, categories),
            width=network.width,
            starts=self.integers(bounds),
            transform=self.affine("tied.transform.linear"),
            transform_norm=self.affine("tied.transform.norm"),
            category=self.affine("tied.category"),
            item=Affine(self.array("embed.items.weight"), self.array("tied.bias")),
            rounded=self.rounded(bounds, self.arrays["embed.items.weight"][: starts[-1]]),
            scale=self.array("tied.scale"),
            prior=self.array("tied.prior"),
            highest_prior=self.address(highest),
        )

    def memory(self) -> int | None:
        """Return the address of the list memory, or None if the model has none or gives it no weight."""
        if "memory.items" not in self.arrays or not self.config.weights.memory:
            return None
        settings = {name: getattr(self.config.memory, name) for name in SETTINGS}
        return self.keep(list_memory(self, **settings))

    def linear(self) -> int | None:
        """Return the address of the linear part, or None if the model has none or gives it no weight."""
        if "linear.items" not in self.arrays or not self.config.weights.linear:
            return None
        items, width = self.arrays["linear.items"].shape
        return self.keep(LinearPart(
            items=self.array("linear.items", np.int32),
            weights=self.array("linear.weights"),
            width=width,
            vocabulary=items,
            decay=self.config.linear.decay,
        ))  # fmt: skip
