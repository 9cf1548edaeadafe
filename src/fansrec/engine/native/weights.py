"""The arrays of a model as the native kernel takes them: pointers to them, and item vectors in 16 bits."""

import ctypes
import weakref
from collections.abc import Mapping, Sequence
from ctypes import Structure
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from fansrec.engine.native.library import check_outcome, library
from fansrec.engine.native.structures import Affine, CausalLayer, Encoder, EncoderLayer, Head, Model, RoundedVectors
from fansrec.errors import BadArtifact
from fansrec.models.alphabet import token_categories
from fansrec.models.stored import StoredModel

MAX_ROUNDED_ITEMS = 2_000_000  # larger catalogs get no second copy of their vectors: it would take too much memory
ROUNDED_AT_ONCE = 10_000  # items
SIDE_BY_SIDE = 16
LARGEST = 32_767  # of the numbers of a rounded vector


class Weights:
    """A model opened in the kernel; keeps alive what the kernel points to and its buffers."""

    kinds: ClassVar[Mapping[str, int]] = {"fans": 0, "bert4rec": 1, "sasrec": 2}  # Kind of models.h, by model

    def __init__(self, model: StoredModel) -> None:
        self.config, self.arrays = model.config, model.arrays
        self._kept: list[Any] = []
        categories = token_categories(model.config.category_starts)
        self.model = Model(kind=self.kinds[model.name], categories_of=self.integers(categories))
        self.fill(model.name)
        handle = ctypes.c_void_p()
        check_outcome(library().fans_open(ctypes.byref(self.model), ctypes.byref(handle)))
        self.handle = handle.value
        weakref.finalize(self, library().fans_close, self.handle)

    def fill(self, name: str) -> None:
        """Fill the structure of the model."""
        config = self.config
        if name == "sasrec":
            self.model.encoder = self.embeddings(config)
            self.model.causal = self.layers(CausalLayer, config.layers)
            self.model.last_norm = self.affine("norm")
            self.model.head = self.one_category(Affine(self.array("embed.items.weight"), None))
            return
        self.model.encoder = self.encoder(config)
        self.model.head = self.head()
        starts = config.category_starts if self.model.head.categories > 1 else (0, self.model.head.items)
        self.model.head.rounded = self.rounded(starts, self.arrays["classifier.items.weight"])

    def array(self, name: str, dtype: DTypeLike = np.float32) -> int | None:
        """Return the address of an array, or None if the model has none of this name.

        Raises BadArtifact if the array does not have the type that the kernel reads.
        """
        array = self.arrays.get(name)
        if array is None:
            return None
        if array.dtype != dtype:
            raise BadArtifact(f"{name} is {array.dtype}, not {np.dtype(dtype)}; train the model again")
        return self.address(array)

    def integers(self, values: Any) -> int:
        """Return the address of the values as int64."""
        return self.address(np.asarray(values, dtype=np.int64))

    def address(self, array: NDArray[Any]) -> int:
        """Return the address of the elements of an array, row after row."""
        kept = np.ascontiguousarray(array)
        self._kept.append(kept)
        return kept.ctypes.data

    def keep(self, structure: Structure | ctypes.Array[Any]) -> int:
        """Return the address of a structure or an array of them."""
        self._kept.append(structure)
        return ctypes.addressof(structure)

    def affine(self, name: str) -> Structure:
        """Return weight and bias of a layer; both are null if the model does not have it."""
        return Affine(self.array(f"{name}.weight"), self.array(f"{name}.bias"))

    def layers(self, kind: type[Any], count: int) -> int:
        """Return the address of one structure per layer."""
        names = [field[0] for field in kind._fields_]
        places = {name: f"attention.{name}" for name in ("qkv", "out")} if kind is EncoderLayer else {}
        structures = (
            kind(*(self.affine(f"layers.{layer}.{places.get(name, name)}") for name in names)) for layer in range(count)
        )
        return self.keep((kind * count)(*structures))

    def embeddings(self, sizes: Any, **more: Any) -> Structure:
        """Return an encoder structure with sizes and embeddings, and the fields in `more`."""
        categories = self.arrays.get("embed.categories.weight")
        return Encoder(
            width=sizes.width,
            layers=sizes.layers,
            heads=sizes.heads,
            positions=self.config.positions,
            tokens=len(self.arrays["embed.items.weight"]),
            category_rows=0 if categories is None else len(categories),
            item_embedding=self.array("embed.items.weight"),
            category_embedding=self.array("embed.categories.weight"),
            position_embedding=self.array("embed.positions.weight"),
            **more,
        )

    def encoder(self, sizes: Any, causal: bool = False) -> Structure:
        """Return the encoder of FANS, BERT4Rec or the hybrid model (models/layers/encoder.py)."""
        return self.embeddings(
            sizes,
            feedforward=sizes.feedforward,
            causal=causal,
            segment_embedding=self.array("embed.segments.weight"),
            norm=self.affine("embed.norm"),
            layer=self.layers(EncoderLayer, sizes.layers),
        )

    def head(self) -> Structure:
        """Return the two-stage or the vanilla classifier."""
        if getattr(self.config, "classifier", "vanilla") != "two-stage":
            head = self.one_category(self.affine("classifier.items"))
            head.local = self.affine("classifier.transform.linear")
            head.local_norm = self.affine("classifier.transform.norm")
            return head
        starts, local = self.config.category_starts, "classifier.local."
        return Head(
            items=starts[-1],
            categories=len(starts) - 1,
            width=self.config.width,
            starts=self.integers(starts),
            transform=self.affine("classifier.transform.linear"),
            transform_norm=self.affine("classifier.transform.norm"),
            category=self.affine("classifier.category"),
            local=Affine(self.array(local + "weight"), self.array(local + "bias")),
            local_norm=Affine(self.array(local + "norm_weight"), self.array(local + "norm_bias")),
            item=self.affine("classifier.items"),
        )

    def rounded(self, starts: Sequence[int], vectors: NDArray[np.float32]) -> Structure:
        """Return the item vectors, shape (M, D), in 16 bits; empty if there are too many or some are not finite.

        Numbers are stored in pairs, those of 16 items side by side; categories are padded to multiples of 16 items and
        vectors to an even width.
        """
        steps = np.maximum(np.maximum(vectors.max(1), -vectors.min(1)) / LARGEST, np.float32(1e-30))
        if len(vectors) > MAX_ROUNDED_ITEMS or not bool(np.isfinite(steps).all()):
            return RoundedVectors()
        sizes = np.diff(starts)
        padded_starts = np.concatenate([[0], np.cumsum(-(-sizes // SIDE_BY_SIDE) * SIDE_BY_SIDE)])
        rows = np.arange(len(vectors)) + np.repeat(padded_starts[:-1] - np.array(starts[:-1]), sizes)
        width = vectors.shape[1]
        numbers = np.zeros((int(padded_starts[-1]), -(-width // 2) * 2), dtype=np.int16)
        for first in range(0, len(vectors), ROUNDED_AT_ONCE):  # a float32 copy of all of them would take much memory
            part = slice(first, first + ROUNDED_AT_ONCE)
            numbers[rows[part], :width] = np.rint(vectors[part] / steps[part, None])
        padded_steps = np.zeros(len(numbers), dtype=np.float32)
        padded_steps[rows] = steps
        pairs = numbers.reshape(-1, SIDE_BY_SIDE, numbers.shape[1] // 2, 2).transpose(0, 2, 1, 3)
        return RoundedVectors(
            self.address(pairs), self.address(padded_steps), self.integers(padded_starts), float(steps.max())
        )

    def one_category(self, item: Structure) -> Structure:
        """Return a head with one softmax over all items."""
        items = self.config.alphabet.items
        return Head(items=items, categories=1, width=self.config.width, starts=self.integers([0, items]), item=item)
