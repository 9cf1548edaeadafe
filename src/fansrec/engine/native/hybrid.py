"""FANS by `--recipe best` as the native kernel takes it: the network, the memory and the linear part where they lie.

The structures mirror engine/native/best.cpp, tied.h, strengths.h, list_memory.h and linear_part.h, field by field.
"""

import ctypes
import weakref
from ctypes import Structure, c_double, c_float, c_int, c_int64, c_void_p
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from fansrec.engine.native.library import NO_MEMORY, Head, Model, Pair, check_outcome, library
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


class ItemVectors(Structure):
    # No halves for these: the sums over them decide how much the network says beside the others, in all bits.
    _fields_ = (
        *((name, c_void_p) for name in ("weight", "bias")),
        ("width", c_int64),
        ("halves", c_void_p),
        ("longest", c_float),
    )


class Tied(Structure):
    _fields_ = (
        *((name, c_int64) for name in ("items", "categories", "asked", "width")),
        ("starts", c_void_p),
        *((name, Pair) for name in ("transform", "transform_norm", "category")),
        ("item", ItemVectors),
        *((name, c_void_p) for name in ("scale", "prior", "most_likely")),
    )


class ListMemory(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ARRAYS),
        *((name, c_int64) for name in ("known", "longest", "vocabulary", "members")),
        *((name, c_double) for name in KERNEL),
        ("neighbours", c_int64),
    )


class LinearPart(Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("items", "weights")),
        *((name, c_int64) for name in ("width", "vocabulary")),
        ("decay", c_double),
    )


class Best(Structure):
    _fields_ = (
        ("model", c_void_p),
        ("tied", Tied),
        *((name, c_void_p) for name in ("memory", "linear")),
        *((name, c_double) for name in ("memory_weight", "linear_weight", "network_weight")),
    )


class BestWeights(Weights):
    """Keeps alive what it points to, and what the kernel fills from list to list."""

    entry = "fans_continue_best"

    def __init__(self, model: HybridFans) -> None:
        self._kept: list[Any] = []
        config = model.config
        self.model = Model(kind=0, categories_of=self.array(model._categories), encoder=self.encoder(model))
        self.model.head = Head(items=config.alphabet.items)  # all that tokens need to know of it
        best = Best(
            model=ctypes.addressof(self.model),
            tied=self.tied_classifier(model),
            memory=self.memory(model),
            linear=self.linear(model),
            **{f"{name}_weight": weight for name, weight in vars(config.weights).items()},
        )
        check_outcome(_library().fans_check_best(ctypes.byref(best), ctypes.sizeof(best)))
        opened = _library().fans_open_best(ctypes.byref(best), ctypes.sizeof(best))
        if opened is None:
            check_outcome(NO_MEMORY)
        self.address = opened
        weakref.finalize(self, _library().fans_close_best, opened)

    def keep(self, structure: Structure) -> int:
        self._kept.append(structure)
        return ctypes.addressof(structure)

    def tied_classifier(self, model: HybridFans) -> Tied:
        tied, one = model.tied, model.tied.category is None
        starts = (0, tied.starts[-1]) if one else tied.starts
        return Tied(
            items=starts[-1],
            categories=len(starts) - 1,
            asked=tied.asked,
            width=model.config.network.width,
            starts=self.array(starts),
            transform=self.pair(tied.transform.linear),
            transform_norm=self.pair(tied.transform.norm),
            category=Pair(None, None) if one else self.pair(tied.category),
            item=ItemVectors(self.tensor(model.embed.items.weight), self.tensor(tied.bias), model.config.network.width),
            scale=self.tensor(tied.scale),
            prior=self.tensor(tied.prior),
            most_likely=self.tensor(_highest(tied.prior, starts)),
        )

    def memory(self, model: HybridFans) -> int | None:
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
            neighbours=kernel.neighbors,
        ))  # fmt: skip

    def linear(self, model: HybridFans) -> int | None:
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


def _library() -> ctypes.CDLL:
    loaded = library()
    loaded.fans_check_best.argtypes, loaded.fans_check_best.restype = (c_void_p, c_int64), c_int
    loaded.fans_open_best.argtypes, loaded.fans_open_best.restype = (c_void_p, c_int64), c_void_p
    loaded.fans_close_best.argtypes, loaded.fans_close_best.restype = (c_void_p,), None
    loaded.fans_continue_best.argtypes, loaded.fans_continue_best.restype = (c_void_p, c_void_p), c_int
    return loaded


def _highest(prior: Tensor, starts: tuple[int, ...]) -> Tensor:
    return torch.stack(
        [prior[first:last].max() if last > first else prior.new_zeros(()) for first, last in pairwise(starts)]
    )
