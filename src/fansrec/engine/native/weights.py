"""The weights of a model as the native kernel takes them: pointers to torch's tensors, and item vectors in 16 bits."""

import ctypes
import weakref
from collections.abc import Callable, Sequence
from ctypes import Structure
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.native.library import check_outcome, library
from fansrec.engine.native.structures import Affine, CausalLayer, Encoder, EncoderLayer, Head, Model, RoundedVectors
from fansrec.errors import BadArtifact
from fansrec.models.fans import Fans, TwoStageClassifier
from fansrec.models.hybrid.model import HybridFans
from fansrec.models.sequence.bert4rec import Bert4Rec
from fansrec.models.sequence.sasrec import SasRec

MAX_ROUNDED_ITEMS = 2_000_000  # larger catalogs get no second copy of their vectors: it would take too much memory
ROUNDED_AT_ONCE = 10_000  # items
SIDE_BY_SIDE = 16
LARGEST = 32_767  # of the numbers of a rounded vector

KINDS = {Fans: 0, Bert4Rec: 1, SasRec: 2, HybridFans: 3}


class Weights:
    """A model opened in the kernel; keeps alive what the kernel points to and its buffers."""

    def __init__(self, model: Any) -> None:
        self._kept: list[Any] = []
        self.model = Model(kind=KINDS[type(model)], categories_of=self.array(model._categories))
        self.fill(model)
        handle = ctypes.c_void_p()
        check_outcome(library().fans_open(ctypes.byref(self.model), ctypes.byref(handle)))
        self.handle = handle.value
        weakref.finalize(self, library().fans_close, self.handle)

    def fill(self, model: Any) -> None:
        """Fill the structure of the model."""
        if isinstance(model, SasRec):
            self.model.encoder = self.embeddings(model)
            self.model.causal = self.layers(CausalLayer, model.layers, lambda layer, name: getattr(layer, name))
            self.model.last_norm = self.affine(model.norm)
            self.model.head = self.one_category(model, Affine(self.tensor(model.embed.items.weight), None))
        else:
            self.model.encoder = self.encoder(model)
            self.model.head = self.head(model)
            starts = model.config.category_starts if self.model.head.categories > 1 else (0, self.model.head.items)
            self.model.head.rounded = self.rounded(starts, model.classifier.items.weight)

    def tensor(self, tensor: Tensor | None, dtype: torch.dtype = torch.float32) -> int | None:
        """Return the address of a tensor; raise BadArtifact if it does not have the type that the kernel reads."""
        if tensor is None:
            return None
        if tensor.dtype != dtype or tensor.device.type != "cpu":
            raise BadArtifact(f"a tensor is {tensor.dtype} on {tensor.device.type}, not {dtype} on cpu; train it again")
        kept = tensor.detach().contiguous()
        self._kept.append(kept)
        return kept.data_ptr()

    def array(self, values: Any) -> int:
        """Return the address of the values as int64."""
        kept = np.ascontiguousarray(values, dtype=np.int64)
        self._kept.append(kept)
        return kept.ctypes.data

    def keep(self, structure: Structure | ctypes.Array[Any]) -> int:
        """Return the address of a structure or an array of them."""
        self._kept.append(structure)
        return ctypes.addressof(structure)

    def affine(self, module: Any | None) -> Structure:
        """Return weight and bias of a layer; both are null if there is none."""
        return Affine() if module is None else Affine(self.tensor(module.weight), self.tensor(module.bias))

    def layers(self, kind: type[Any], layers: Any, part: Callable[[Any, str], Any]) -> int:
        """Return the address of one structure per layer, whose fields come from `part(layer, field name)`."""
        names = [field[0] for field in kind._fields_]
        structures = (kind(*(self.affine(part(layer, name)) for name in names)) for layer in layers)
        return self.keep((kind * len(layers))(*structures))

    def embeddings(self, model: Any, **more: Any) -> Structure:
        """Return an encoder structure with sizes and embeddings, and the fields in `more`."""
        sizes, embed = sizes_of(model), model.embed
        return Encoder(
            width=sizes.width,
            layers=sizes.layers,
            heads=sizes.heads,
            positions=model.config.positions,
            tokens=len(embed.items.weight),
            category_rows=0 if embed.categories is None else len(embed.categories.weight),
            item_embedding=self.tensor(embed.items.weight),
            category_embedding=self.tensor(None if embed.categories is None else embed.categories.weight),
            position_embedding=self.tensor(embed.positions.weight),
            **more,
        )

    def encoder(self, model: Any) -> Structure:
        """Return the encoder of FANS, BERT4Rec or the hybrid model (models/layers/encoder.py)."""

        def part(layer: Any, name: str) -> Any:
            return getattr(layer.attention if name in ("qkv", "out") else layer, name)

        return self.embeddings(
            model,
            feedforward=sizes_of(model).feedforward,
            causal=model.causal,
            segment_embedding=self.tensor(model.embed.segments.weight),
            norm=self.affine(model.embed.norm),
            layer=self.layers(EncoderLayer, model.layers, part),
        )

    def head(self, model: Any) -> Structure:
        """Return the two-stage or the vanilla classifier."""
        classifier = model.classifier
        if not isinstance(classifier, TwoStageClassifier):
            transform = classifier.transform
            head = self.one_category(model, self.affine(classifier.items))
            head.local, head.local_norm = self.affine(transform.linear), self.affine(transform.norm)
            return head
        local = classifier.local
        return Head(
            items=classifier.starts[-1],
            categories=classifier.ranks,
            width=model.config.width,
            starts=self.array(classifier.starts),
            transform=self.affine(classifier.transform.linear),
            transform_norm=self.affine(classifier.transform.norm),
            category=self.affine(classifier.category),
            local=Affine(self.tensor(local.weight), self.tensor(local.bias)),
            local_norm=Affine(self.tensor(local.norm_weight), self.tensor(local.norm_bias)),
            item=self.affine(classifier.items),
        )

    def rounded(self, starts: Sequence[int], vectors: Tensor) -> Structure:
        """Return the item vectors, shape (M, D), in 16 bits; empty if there are too many or some are not finite.

        Items are stored 16 side by side, and categories are padded to multiples of 16.
        """
        vectors = vectors.detach()
        largest = torch.maximum(vectors.amax(1), -vectors.amin(1))  # much faster than abs().amax(1)
        steps = (largest / LARGEST).clamp(min=1e-30)
        if len(vectors) > MAX_ROUNDED_ITEMS or not bool(steps.isfinite().all()):
            return RoundedVectors()
        sizes = np.diff(starts)
        padded_starts = np.concatenate([[0], np.cumsum(-(-sizes // SIDE_BY_SIDE) * SIDE_BY_SIDE)])
        rows = torch.from_numpy(np.arange(len(vectors)) + np.repeat(padded_starts[:-1] - np.array(starts[:-1]), sizes))
        numbers = torch.zeros(int(padded_starts[-1]), vectors.shape[1], dtype=torch.int16)
        for first in range(0, len(vectors), ROUNDED_AT_ONCE):  # a float32 copy of all of them would take much memory
            part = slice(first, first + ROUNDED_AT_ONCE)
            numbers[rows[part]] = (vectors[part] / steps[part, None]).round_().to(torch.int16)
        padded_steps = torch.zeros(len(numbers)).index_copy_(0, rows, steps)
        side_by_side = numbers.view(-1, SIDE_BY_SIDE, vectors.shape[1]).transpose(1, 2)
        return RoundedVectors(
            self.tensor(side_by_side, torch.int16),
            self.tensor(padded_steps),
            self.array(padded_starts),
            float(steps.max()),
        )

    def one_category(self, model: Any, item: Structure) -> Structure:
        """Return a head with one softmax over all items."""
        items = model.config.alphabet.items
        return Head(items=items, categories=1, width=model.config.width, starts=self.array([0, items]), item=item)


def sizes_of(model: Any) -> Any:
    """Return what has the sizes of a model's Transformer: its configuration, or the hybrid model's section of it."""
    return getattr(model.config, "network", model.config)
