"""A model's weights as the kernel takes them: pointers to where torch has them, and items in 16 bits besides."""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.native.library import (
    CausalLayer,
    Encoder,
    EncoderLayer,
    Head,
    Model,
    Pair,
    check_outcome,
    library,
)
from fansrec.errors import BadArtifact
from fansrec.models.fans import Fans, TwoStageClassifier
from fansrec.models.sequence.bert4rec import Bert4Rec
from fansrec.models.sequence.sasrec import SasRec

HALVED = 2_000_000  # items at most whose vectors are kept in 16 bits beside their own 32: beyond, memory counts more
SIDE_BY_SIDE = 16
LARGEST = 60_000.0  # that 16 bits can hold

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
            starts = model.config.category_starts if self.model.head.categories > 1 else (0, self.model.head.items)
            self.halve(self.model.head, starts, model.classifier.items.weight)
        self.address = ctypes.addressof(self.model)
        check_outcome(library().fans_check(self.address, ctypes.sizeof(self.model)))

    def tensor(self, tensor: Tensor | None, dtype: torch.dtype = torch.float32) -> int | None:
        """Return where a tensor lies; raise BadArtifact if its numbers are not of the type that the kernel reads."""
        if tensor is None:
            return None
        if tensor.dtype != dtype or tensor.device.type != "cpu":
            raise BadArtifact(f"a tensor is {tensor.dtype} on {tensor.device.type}, not {dtype} on cpu; train it again")
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
        sizes, embed = sizes_of(model), model.embed
        return Encoder(
            layers=sizes.layers,
            heads=sizes.heads,
            positions=model.config.positions,
            tokens=len(embed.items.weight),
            category_rows=0 if embed.categories is None else len(embed.categories.weight),
            items=self.tensor(embed.items.weight),
            categories=self.tensor(None if embed.categories is None else embed.categories.weight),
            places=self.tensor(places.weight),
            **more,
        )

    def encoder(self, model: Any) -> Encoder:
        """What FANS and BERT4Rec share (models/layers/encoder.py)."""

        def part(layer: Any, name: str) -> Any:
            return getattr(layer.attention if name in ("qkv", "out") else layer, name)

        return self.embeddings(
            model,
            model.embed.positions,
            width=sizes_of(model).width,
            feedforward=sizes_of(model).feedforward,
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

    def halve(self, head: Head, starts: Sequence[int], vectors: Tensor) -> None:
        """The items' vectors again in 16 bits, 16 items side by side, categories filled up to whole sixteens."""
        if len(vectors) > HALVED:
            return
        sizes = np.diff(starts)
        filled = np.concatenate([[0], np.cumsum(-(-sizes // SIDE_BY_SIDE) * SIDE_BY_SIDE)])
        places = np.arange(len(vectors)) + np.repeat(filled[:-1] - np.array(starts[:-1]), sizes)
        head.longest = float(vectors.detach().norm(dim=1).max())
        if head.longest < LARGEST:  # not so if one of them is not a number
            halves = torch.zeros(int(filled[-1]), vectors.shape[1], dtype=torch.float16)
            halves[torch.from_numpy(places)] = vectors.detach().half()
            side_by_side = halves.view(-1, SIDE_BY_SIDE, vectors.shape[1]).transpose(1, 2)
            head.halves = self.tensor(side_by_side, torch.float16)
            head.half_starts = self.array(filled)

    def one_category(self, model: Any, item: Pair) -> Head:
        """All items in one softmax."""
        items = model.config.alphabet.items
        return Head(items=items, categories=1, width=model.config.width, starts=self.array([0, items]), item=item)

    def tied(self, model: SasRec) -> Pair:
        return Pair(self.tensor(model.embed.items.weight), None)


def sizes_of(model: Any) -> Any:
    """Return what has the sizes of a model's Transformer: its configuration, or the hybrid model's section of it."""
    return getattr(model.config, "network", model.config)
