"""What a model can be updated from: its trained items, the lists that it holds, and what is known of new items.

Everything else of an updated model follows from this state, so that it does not depend on the order of updates. Inside
an update the items are in the working order: those that were trained, in their order, then the new ones by their ids.
The state of an artifact that was never updated is the artifact itself: all of its items were trained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact import Artifact
from fansrec.errors import BadArtifact
from fansrec.models.hybrid.new_items import bias_shifts
from fansrec.models.stored import StoredModel
from fansrec.printable import printable
from fansrec.updating.borrowed import without_borrowed
from fansrec.updating.memory import NAMES, Indices, Memory, starts_of
from fansrec.vocabulary import ListNames, Vocabulary

UPDATES = "updates"  # the section of config.json
MEMORY, BIAS = "memory.", "tied.bias"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """What an update needs to know of the model as it was trained, by category.

    V-STAN has no network: its counts are those of items without lists, its bias shifts and weights are 0.
    """

    sizes: Indices  # (N,): the number of trained items
    counts: Indices  # (N,): the sum over these items of their number of lists plus 1
    bias_shifts: Floats  # (N,): see models/hybrid/new_items.py
    linear_neighbors: int  # columns of the linear part
    network_weight: float  # in the mixture
    linear_weight: float

    @property
    def starts(self) -> Indices:
        return starts_of(self.sizes)

    @property
    def items(self) -> int:
        return int(self.sizes.sum())

    @property
    def categories(self) -> Indices:
        """The category of every trained item."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


@dataclass(frozen=True)
class State:
    """The state of a model. Indices of items in the memory are those of the working order."""

    trained: Trained
    ids: list[str]  # of the items in the working order
    places: Indices  # (M,): the index in the artifact of each of them
    described: frozenset[str]  # new items that were described: they stay, even if no list contains them
    categories: Mapping[str, str]  # the names of the categories that were given for new items
    trained_lists: int  # how many lists of the memory, the first ones, the model was trained with
    memory: Memory  # without borrowed lists
    names: ListNames


def read_state(artifact: Artifact) -> State:
    """Return the state of a model that has a list memory; raise BadArtifact if its parts do not fit together."""
    vocabulary, section = artifact.vocabulary, _read_section(artifact)
    trained, ids = section.trained, list(vocabulary.ids)
    places = _working_order(trained, vocabulary.starts, ids)
    assert isinstance(artifact.stored, StoredModel)
    held = Memory(**{name: artifact.stored.arrays[MEMORY + name] for name in NAMES})
    memory = without_borrowed(held, section.borrowed)
    working = inverse(places)
    names = artifact.list_names or ListNames([None] * len(memory))
    ordered = [ids[place] for place in places.tolist()] if len(ids) > trained.items else ids
    memory = memory.with_items(working, len(ids))
    return State(trained, ordered, places, section.described, section.categories, section.trained_lists, memory, names)


def trained_weights(artifact: Artifact) -> dict[str, float]:
    """Return the settings of the mixture that an updated hybrid model was trained with; none of other models."""
    stored = artifact.stored
    if artifact.config.get(UPDATES) is None or not isinstance(stored, StoredModel) or BIAS not in stored.arrays:
        return {}
    trained = _read_section(artifact).trained
    return {"network_weight": trained.network_weight, "linear_weight": trained.linear_weight}


def check_section(artifact: Artifact) -> None:
    """Raise BadArtifact if what earlier updates kept in the configuration of a model cannot be read."""
    _read_section(artifact)


def section_of(
    trained: Trained,
    trained_lists: int,
    described: frozenset[str],
    categories: Mapping[str, str],
    borrowed: Sequence[str],
) -> dict[str, Any]:
    """Return the section of config.json from which the state can be read again."""
    return {
        "trained_items": trained.sizes.tolist(),
        "trained_counts": trained.counts.tolist(),
        "bias_shifts": trained.bias_shifts.tolist(),
        "linear_neighbors": trained.linear_neighbors,
        "network_weight": trained.network_weight,
        "linear_weight": trained.linear_weight,
        "trained_lists": trained_lists,
        "described": sorted(described),
        "categories": dict(sorted(categories.items())),
        "borrowed": sorted(borrowed),
    }


@dataclass(frozen=True)
class _Section:
    """The section of config.json on earlier updates, or what it would be in a model that was not updated."""

    trained: Trained
    described: frozenset[str]
    categories: Mapping[str, str]
    trained_lists: int
    borrowed: Indices


def _read_section(artifact: Artifact) -> _Section:
    vocabulary, section = artifact.vocabulary, artifact.config.get(UPDATES)
    try:
        trained = _new(artifact) if section is None else _read_trained(section, vocabulary)
        described, categories = _read_new(section or {})
        lists = _read_trained_lists(artifact, section)
        return _Section(trained, described, categories, lists, _read_borrowed(section or {}, vocabulary))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else printable(str(error)[:500])
        raise BadArtifact(
            f"{artifact.folder} was updated by another version of fansrec, or its section {UPDATES} is damaged "
            f"({reason}); update the model again that it was made of"
        ) from error


def _new(artifact: Artifact) -> Trained:
    """Return what is known of a model that was not updated before."""
    assert isinstance(artifact.stored, StoredModel)
    starts, arrays = artifact.vocabulary.starts, artifact.stored.arrays
    counts = np.diff(arrays[MEMORY + "list_starts"]) if artifact.counts is None else artifact.counts
    shifts = np.zeros(len(starts) - 1)
    if BIAS in arrays:
        shifts = bias_shifts(arrays[BIAS], counts, starts)
    else:  # nothing was trained, so that nothing remembers the training lists
        counts = np.zeros_like(counts)
    sums, config = np.add.reduceat(counts + 1, starts[:-1]), artifact.stored.config
    if BIAS not in arrays:
        return Trained(np.diff(starts), sums, shifts, 0, 0.0, 0.0)
    weights = float(config.weights.network), float(config.weights.linear)
    return Trained(np.diff(starts), sums, shifts, config.linear.neighbors, *weights)


def _read_trained(section: Mapping[str, Any], vocabulary: Vocabulary) -> Trained:
    keys = ("trained_items", "trained_counts", "bias_shifts")
    sizes, counts, shifts = (section[key] for key in keys)
    whole = all(type(count) is int and 0 < count < 2**40 for count in [*sizes, *counts])
    numbers = all(type(shift) is float and abs(shift) < 1e6 for shift in shifts)
    width, most = section["linear_neighbors"], np.diff(vocabulary.starts)
    weights = section["network_weight"], section["linear_weight"]
    numbers = numbers and all(type(weight) is float and 0 <= weight < 1e6 for weight in weights)
    fits = len(sizes) == len(counts) == len(shifts) == len(most) and whole and bool((np.array(sizes) <= most).all())
    if not (fits and numbers and type(width) is int and width >= 0):
        raise ValueError(f"the section {UPDATES} of its configuration does not fit its vocabulary")
    integers = [np.array(values, dtype=np.int64) for values in (sizes, counts)]
    return Trained(integers[0], integers[1], np.array(shifts, dtype=np.float64), width, *weights)


def _read_trained_lists(artifact: Artifact, section: Mapping[str, Any] | None) -> int:
    """Return how many lists of the memory the model was trained with; V-STAN counts none, since nothing is trained."""
    if section is None:
        assert isinstance(artifact.stored, StoredModel)
        return artifact.remembered_lists if BIAS in artifact.stored.arrays else 0
    lists = section["trained_lists"]
    if type(lists) is not int or not 0 <= lists <= artifact.remembered_lists:
        raise ValueError(f"the section {UPDATES} of its configuration does not fit its lists")
    return lists


def _read_new(section: Mapping[str, Any]) -> tuple[frozenset[str], dict[str, str]]:
    described, categories = section.get("described", []), dict(section.get("categories", {}))
    if not all(isinstance(text, str) for text in [*described, *categories, *categories.values()]):
        raise ValueError(f"the section {UPDATES} of its configuration has an id or a category that is not text")
    return frozenset(described), categories


def _read_borrowed(section: Mapping[str, Any], vocabulary: Vocabulary) -> Indices:
    """Return the items that are in the memory with borrowed lists only."""
    borrowed = set(section.get("borrowed", []))
    found = [index for index, id_ in enumerate(vocabulary.ids if borrowed else ()) if id_ in borrowed]
    if len(found) != len(borrowed):
        raise ValueError(f"the section {UPDATES} of its configuration has an id that its vocabulary does not have")
    return np.array(found, dtype=np.int64)


def _working_order(trained: Trained, starts: Indices, ids: list[str]) -> Indices:
    """Return the index (M,) in the artifact of each item of the working order."""
    sizes = np.diff(starts)
    if np.array_equal(sizes, trained.sizes):
        return np.arange(len(ids))
    within = np.arange(len(ids)) - np.repeat(starts[:-1], sizes)
    was_trained = within < np.repeat(trained.sizes, sizes)
    new = sorted(np.flatnonzero(~was_trained).tolist(), key=ids.__getitem__)
    return np.concatenate([np.flatnonzero(was_trained), np.array(new, dtype=np.int64)])


def inverse(order: Indices) -> Indices:
    """Return the inverse of a permutation."""
    found = np.empty_like(order)
    found[order] = np.arange(len(order))
    return found
