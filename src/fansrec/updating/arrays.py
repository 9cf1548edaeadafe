"""The arrays of updated models. Those of trained items stay as they are, at their new places."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.models.hybrid.config import MixtureWeights
from fansrec.models.hybrid.new_items import category_means, composed_vectors, new_biases
from fansrec.updating.evidence import Evidence
from fansrec.updating.linear import Fitted, new_weights
from fansrec.updating.memory import NAMES, Indices, Memory, starts_of
from fansrec.updating.state import BIAS, MEMORY, Trained

Arrays = Mapping[str, NDArray[Any]]
# Times the length of trained vectors: a mean of vectors points less exactly to the lists that its item fits in than a
# trained vector does, so that a new item of the same length would be behind trained ones.
LENGTH = 1.5
# Network and linear part learned nothing from the other lists of the memory: they weigh the share of the trained lists
# to this power, but at least a share of their trained weights.
STALENESS, LEAST_WEIGHT = 3.0, 0.25
EMBEDDINGS, PRIOR, LINEAR = "embed.items.weight", "tied.prior", ("linear.items", "linear.weights")


@dataclass(frozen=True)
class Change:
    """The items of a model before and after an update, and what is known of the new ones."""

    trained: Trained
    trained_share: float  # of the lists of the memory
    places: Indices  # (T,): the index of every trained item before the update
    order: Indices  # (M,): the items of the working order in their new order
    indices: Indices  # (M,): the new index of every item of the working order
    categories: Indices  # (M,) in the working order
    memory: Memory  # with items in the working order
    held: Memory  # the same with the lists that items borrow, as the updated model has it
    evidence: Evidence

    @property
    def new(self) -> Indices:
        return np.arange(self.trained.items, len(self.order))


def hybrid(arrays: Arrays, config: Any, change: Change) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return the arrays and the configuration of an updated hybrid model."""
    trained = {name: arrays[name][change.places] for name in (BIAS, PRIOR)}
    specials = arrays[EMBEDDINGS][config.alphabet.items :]
    vectors = arrays[EMBEDDINGS][change.places]
    rows = np.concatenate([vectors, _vectors(vectors, change)])[change.order]
    categories, counts = change.categories[change.new], change.evidence.counts
    biases = new_biases(change.trained.bias_shifts, float(change.trained.counts.sum()), categories, counts)
    priors = np.asarray((counts + 1) / change.trained.counts[categories], dtype=np.float32)
    found = {
        EMBEDDINGS: np.concatenate([rows, specials]),
        BIAS: np.concatenate([trained[BIAS], biases])[change.order],
        PRIOR: np.concatenate([trained[PRIOR], priors])[change.order],
    }
    width = change.trained.linear_neighbors
    if width:
        items, weights = _linear(arrays, change)
        found |= dict(zip(LINEAR, (items, weights), strict=True))
        width = items.shape[1]
    sizes = {"lists": len(change.held), "items": len(change.held.items)}
    memory, linear = replace(config.memory, **sizes), replace(config.linear, neighbors=width)
    return found, replace(config, memory=memory, linear=linear, weights=_weights(config.weights, change))


def _weights(weights: MixtureWeights, change: Change) -> MixtureWeights:
    """Return the weights of the mixture: parts that learned from fewer of the lists weigh less beside the memory."""
    if not weights.memory:
        return weights
    factor = max(change.trained_share**STALENESS, LEAST_WEIGHT)
    trained = change.trained
    return replace(weights, network=factor * trained.network_weight, linear=factor * trained.linear_weight)


def _vectors(vectors: NDArray[np.float32], change: Change) -> NDArray[np.float32]:
    """Return the vectors (A, D) of the new items from the items that share lists with them, and their categories."""
    if not len(change.new):
        return vectors[:0]
    rows, others, weights = change.evidence.together
    known = others < change.trained.items
    means = category_means(vectors, change.trained.starts).astype(np.float32)
    of_categories = means[change.categories[change.new]]
    pairs = rows[known], others[known], weights[known]
    return composed_vectors(vectors, *pairs, change.evidence.counts, of_categories) * np.float32(LENGTH)


def _linear(arrays: Arrays, change: Change) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the linear part with columns for new items, or as it was trained if there are none."""
    items, weights = (arrays[name] for name in LINEAR)
    fitted = Fitted(items, weights, change.places, change.trained.linear_neighbors)
    added = new_weights(fitted, change.memory, change.new, change.evidence) if len(change.new) else None
    return fitted.arranged(change.indices, added)


def vstan(arrays: Arrays, config: Any, change: Change) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return the arrays and the configuration of an updated V-STAN."""
    counts = change.memory.counts[change.order]
    shares = np.asarray(counts / max(counts.sum(), 1), dtype=np.float32)
    config = replace(config, memory_lists=len(change.memory), memory_items=len(change.held.items))
    return {"popularity": shares}, config


UPDATES: dict[str, Callable[[Arrays, Any, Change], tuple[dict[str, NDArray[Any]], Any]]] = {
    "fans-hybrid": hybrid,
    "vstan": vstan,
}


def updated_arrays(name: str, arrays: Arrays, config: Any, change: Change) -> tuple[dict[str, NDArray[Any]], Any]:
    """Return all arrays of an updated model, in their order, and its configuration."""
    found, config = UPDATES[name](arrays, config, change)
    memory = change.held.with_items(change.indices, len(change.indices))
    found |= {MEMORY + name: getattr(memory, name) for name in NAMES}
    starts = tuple(starts_of(np.bincount(change.categories)).tolist())
    return {name: found.get(name, array) for name, array in arrays.items()}, replace(config, category_starts=starts)
