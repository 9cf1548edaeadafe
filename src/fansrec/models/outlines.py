"""The arrays in the file of a model: names, types and shapes, which follow from its configuration. Needs no torch.

They are those of the `state_dict` of the model's torch module; tests/models/test_stored.py compares the two.
"""

from typing import Any

from fansrec.models.config import ItemsConfig
from fansrec.models.hybrid.config import HybridConfig
from fansrec.models.linear.config import ItemWeightsConfig
from fansrec.models.neighbors.config import VstanConfig
from fansrec.models.sequence.config import Bert4RecConfig, FansConfig, SasRecConfig

Outline = dict[str, tuple[str, tuple[int, ...]]]  # type, as safetensors writes it, and shape of every array, by name


def fans(config: FansConfig) -> Outline:
    """Return the arrays of models/fans.py."""
    return _encoder(config, config) | (_two_stage(config) if config.classifier == "two-stage" else _vanilla(config))


def bert4rec(config: Bert4RecConfig) -> Outline:
    """Return the arrays of models/sequence/bert4rec.py."""
    return _encoder(config, config) | _vanilla(config)


def sasrec(config: SasRecConfig) -> Outline:
    """Return the arrays of models/sequence/sasrec.py."""
    width, outline = config.width, _embeddings(config, config)
    for layer in range(config.layers):
        place = f"layers.{layer}."
        outline |= _norm(place + "attention_norm", width) | _linear(place + "qkv", width, 3 * width)
        outline |= _norm(place + "feedforward_norm", width)
        outline |= _linear(place + "first", width, width) | _linear(place + "second", width, width)
    return outline | _norm("norm", width)


def hybrid(config: HybridConfig) -> Outline:
    """Return the arrays of models/hybrid/model.py."""
    items, network, linear = config.category_starts[-1], config.network, config.linear
    outline = _encoder(config, network) | _floats({"tied.scale": (), "tied.bias": (items,), "tied.prior": (items,)})
    if network.transform:
        outline |= _transform("tied.transform", network.width)
    if network.classifier == "two-stage":
        outline |= _linear("tied.category", network.width, config.alphabet.categories)
    if config.memory.lists:
        outline |= _memory(items, config.memory.lists, config.memory.items)
    return outline | (_table("linear", items, linear.neighbors) if linear.neighbors else {})


def item_weights(config: ItemWeightsConfig) -> Outline:
    """Return the arrays of models/linear/item_weights.py."""
    items, width = config.items, config.width
    weights = _floats({"weights.matrix": (items, items)}) if width is None else _table("weights", items, width)
    return weights | _floats({"weights.popularity": (items,)})


def popularity(config: ItemsConfig) -> Outline:
    """Return the arrays of models/linear/popularity.py."""
    return _floats({"counts": (config.category_starts[-1],)})


def vstan(config: VstanConfig) -> Outline:
    """Return the arrays of models/neighbors/vstan.py."""
    items = config.category_starts[-1]
    return _memory(items, config.memory_lists, config.memory_items) | _floats({"popularity": (items,)})


def _encoder(config: Any, sizes: Any) -> Outline:
    """Return the arrays of models/layers/encoder.py: Encoder."""
    width, wide = sizes.width, sizes.feedforward
    outline = _embeddings(config, sizes) | _floats({"embed.segments.weight": (2, width)}) | _norm("embed.norm", width)
    for layer in range(sizes.layers):
        place = f"layers.{layer}."
        outline |= _linear(place + "attention.qkv", width, 3 * width) | _linear(place + "attention.out", width, width)
        outline |= _norm(place + "attention_norm", width) | _norm(place + "feedforward_norm", width)
        outline |= _linear(place + "widen", width, wide) | _linear(place + "narrow", wide, width)
    return outline


def _embeddings(config: Any, sizes: Any) -> Outline:
    alphabet, width = config.alphabet, sizes.width
    rows = {"items": alphabet.size, "positions": config.positions}
    if sizes.use_categories:
        rows["categories"] = alphabet.categories + 1
    return _floats({f"embed.{name}.weight": (count, width) for name, count in rows.items()})


def _two_stage(config: FansConfig) -> Outline:
    """Return the arrays of models/fans.py: TwoStageClassifier."""
    width, categories = config.width, config.alphabet.categories
    outline = _transform("classifier.transform", width) | _linear("classifier.category", width, categories)
    outline |= _floats({"classifier.local.weight": (categories, width, width)})
    vectors = ("bias", "norm_weight", "norm_bias")
    outline |= _floats({f"classifier.local.{name}": (categories, width) for name in vectors})
    return outline | _linear("classifier.items", width, config.alphabet.items)


def _vanilla(config: Any) -> Outline:
    return _transform("classifier.transform", config.width) | _linear(
        "classifier.items", config.width, config.alphabet.items
    )


def _memory(items: int, lists: int, members: int) -> Outline:
    """Return the arrays of models/neighbors/list_memory.py."""
    outline: Outline = {f"memory.{name}": ("I32", (members,)) for name in ("items", "places", "lists", "list_places")}
    return outline | {"memory.starts": ("I64", (lists + 1,)), "memory.list_starts": ("I64", (items + 1,))}


def _table(name: str, items: int, width: int) -> Outline:
    """Return the arrays of models/linear/item_weights.py: SparseWeights."""
    return {f"{name}.items": ("I32", (items, width)), f"{name}.weights": ("F32", (items, width))}


def _transform(name: str, width: int) -> Outline:
    return _linear(f"{name}.linear", width, width) | _norm(f"{name}.norm", width)


def _linear(name: str, inputs: int, outputs: int) -> Outline:
    return _floats({f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)})


def _norm(name: str, width: int) -> Outline:
    return _floats({f"{name}.weight": (width,), f"{name}.bias": (width,)})


def _floats(shapes: dict[str, tuple[int, ...]]) -> Outline:
    return {name: ("F32", shape) for name, shape in shapes.items()}
