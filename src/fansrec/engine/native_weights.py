"""A model's weights as the kernel takes them: pointers to where torch has them, nothing copied."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor

from fansrec.engine.native_library import CausalLayer, Encoder, EncoderLayer, Head, Model, Pair
from fansrec.models.bert4rec import Bert4Rec
from fansrec.models.fans import Fans
from fansrec.models.sasrec import SasRec
from fansrec.models.two_stage import TwoStageClassifier

KINDS = {Fans: 0, Bert4Rec: 1, SasRec: 2}


class Weights:
    """Keeps alive what it points to."""

    entry = "fans_continue"  # what the library calls the function that takes them

    def __init__(self, model: Any) -> None:
        self._kept: list[Any] = []
        config = model.config
        self.model = Model(kind=KINDS[type(model)], categories_of=self.array(model._categories))
        if isinstance(model, SasRec):
            self.model.encoder = self.embeddings(model, model.embed.positions, width=config.width)
            self.model.causal = self.layers(CausalLayer, model.layers, lambda layer, name: getattr(layer, name))
            self.model.last_norm = self.pair(model.norm)
            self.model.head = self.one_category(model, self.tied(model))
        else:
            self.model.encoder = self.encoder(model)
            self.model.head = self.head(model)
        self.address = ctypes.addressof(self.model)

    def tensor(self, tensor: Tensor | None) -> int | None:
        if tensor is None:
            return None
        held = tensor.detach().contiguous()
        self._kept.append(held)
        return held.data_ptr()

    def array(self, values: Any) -> int:
        held = np.ascontiguousarray(values, dtype=np.int64)
        self._kept.append(held)
        return held.ctypes.data

    def pair(self, module: Any) -> Pair:
        return Pair(self.tensor(module.weight), self.tensor(module.bias))

    def layers(self, kind: type[Any], layers: Any, part: Callable[[Any, str], Any]) -> int:
        """One structure a layer, each of its fields from the part of that name."""
        names = [field[0] for field in kind._fields_]
        made = (kind * len(layers))(*(kind(*(self.pair(part(layer, name)) for name in names)) for layer in layers))
        self._kept.append(made)
        return ctypes.addressof(made)

    def embeddings(self, model: Any, places: Any, **more: Any) -> Encoder:
        config, embed = model.config, model.embed
        return Encoder(
            layers=config.layers,
            heads=config.heads,
            positions=config.positions,
            items=self.tensor(embed.items.weight),
            categories=self.tensor(None if embed.categories is None else embed.categories.weight),
            places=self.tensor(places.weight),
            **more,
        )

    def encoder(self, model: Any) -> Encoder:
        """What FANS and BERT4Rec share (models/encoder.py)."""

        def part(layer: Any, name: str) -> Any:
            return getattr(layer.attention if name in ("qkv", "out") else layer, name)

        return self.embeddings(
            model,
            model.embed.positions,
            width=model.config.width,
            feedforward=model.config.feedforward,
            segments=self.tensor(model.embed.segments.weight),
            norm=self.pair(model.embed.norm),
            layer=self.layers(EncoderLayer, model.layers, part),
        )

    def head(self, model: Any) -> Head:
        classifier = model.classifier
        if not isinstance(classifier, TwoStageClassifier):
            transform = classifier.transform
            head = self.one_category(model, self.pair(classifier.items))
            head.local, head.local_norm = self.pair(transform.linear), self.pair(transform.norm)
            return head
        local = classifier.local
        return Head(
            items=classifier.starts[-1],
            categories=classifier.ranks,
            width=model.config.width,
            starts=self.array(classifier.starts),
            transform=self.pair(classifier.transform.linear),
            transform_norm=self.pair(classifier.transform.norm),
            category=self.pair(classifier.category),
            local=Pair(self.tensor(local.weight), self.tensor(local.bias)),
            local_norm=Pair(self.tensor(local.norm_weight), self.tensor(local.norm_bias)),
            item=self.pair(classifier.items),
        )

    def one_category(self, model: Any, item: Pair) -> Head:
        """All items in one softmax."""
        items = model.config.alphabet.items
        return Head(items=items, categories=1, width=model.config.width, starts=self.array([0, items]), item=item)

    def tied(self, model: SasRec) -> Pair:
        return Pair(self.tensor(model.embed.items.weight), None)
