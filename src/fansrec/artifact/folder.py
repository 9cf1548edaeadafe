"""A trained model as one folder: configuration, weights, vocabulary, and a manifest with the checksums of all files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from fansrec.artifact.manifest import CONFIG, COUNTS, UNREADABLE, WEIGHTS, check, is_sealed, seal
from fansrec.artifact.weights import check_header, map_arrays
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import MAX_JSON_BYTES, read_json, write_atomically, write_bytes, write_json, write_text
from fansrec.models.config import nested_settings
from fansrec.models.contract import ContinuationModel
from fansrec.models.registry import configured, entry, is_known, model_name
from fansrec.models.stored import KINDS, StoredModel
from fansrec.models.validation import check_arrays, check_model
from fansrec.printable import printable
from fansrec.vocabulary import LISTS_FILE, ListNames, Vocabulary, read_list_names, read_vocabulary

MEMORY_STARTS = "memory.starts"  # the array of a list memory with an entry for every list, and one more
LARGEST_COUNT = 2**40  # of lists with an item, so that sums fit into 64 bits


@dataclass(frozen=True)
class Artifact:
    """A trained model that was read from its folder."""

    folder: Path
    stored: StoredModel | ContinuationModel  # a torch module only if nothing else can read it
    vocabulary: Vocabulary
    config: dict[str, Any]
    hash: str  # of the manifest, and so of all files
    counts: NDArray[np.int64] | None = None  # (M,) in how many training lists each item is; None: not known
    new_names: ListNames | None = field(default=None, repr=False)  # of an artifact that was updated in memory

    @property
    def model(self) -> Any:
        """The model as a torch module; raises MissingExtra if torch is not installed."""
        return self.stored.module if isinstance(self.stored, StoredModel) else self.stored

    @property
    def remembered_lists(self) -> int:
        """The number of training lists in the model's list memory; 0 if it has none."""
        starts = self.stored.arrays.get(MEMORY_STARTS) if isinstance(self.stored, StoredModel) else None
        return 0 if starts is None else len(starts) - 1

    @cached_property
    def list_names(self) -> ListNames | None:
        """The ids and titles of the remembered lists; None if the artifact does not have them. Read when first used."""
        if self.new_names is not None:
            return self.new_names
        if not self.remembered_lists or not is_sealed(self.folder, LISTS_FILE):
            return None
        return read_list_names(self.folder, self.remembered_lists)


def write_artifact(
    folder: Path,
    model: ContinuationModel,
    vocabulary: Vocabulary,
    config: dict[str, Any],
    card: str,
    counts: NDArray[np.int64] | None = None,
    list_names: ListNames | None = None,
) -> None:
    """Write all files and the manifest last: without it the folder is not an artifact.

    `counts` (M,) is the number of training lists of each item; `list_names` are those of the remembered lists.
    """
    from safetensors.torch import save_file  # here, since reading needs no torch

    weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, lambda path: save_file(weights, path))
    for name, content in vocabulary.files().items():
        write_bytes(folder / name, content)
    write_json(folder / CONFIG, config)
    text = "" if counts is None else json.dumps(counts.tolist(), separators=(",", ":"))
    if 0 < len(text) < MAX_JSON_BYTES:  # only a catalog that takes a cluster has a longer text: it goes without
        write_text(folder / COUNTS, text + "\n")
    if list_names is not None:
        write_bytes(folder / LISTS_FILE, list_names.file())
    write_text(folder / "README.md", card)
    seal(folder)


def read_artifact(folder: Path) -> Artifact:
    """Return a trained model; every byte is checked before it is used, and the model's arrays after they are read."""
    manifest_hash = check(folder)
    config = read_config(folder)
    vocabulary = read_vocabulary(folder)
    try:
        if vocabulary.starts.tolist() != config["config"]["category_starts"]:
            raise BadArtifact(
                f"{folder} has the vocabulary of another model; copy the whole folder again, or train it again"
            )
        stored = _read_model(folder / WEIGHTS, config["model"], config["config"])
    except (*UNREADABLE, BadSetting) as error:
        raise unfit(folder, error) from error
    try:
        _check(stored)
    except BadArtifact as error:
        raise BadArtifact(f"{folder / WEIGHTS}: {error}; copy the whole folder again, or train it again") from error
    return Artifact(folder, stored, vocabulary, config, manifest_hash, read_counts(folder, len(vocabulary)))


def read_counts(folder: Path, items: int) -> NDArray[np.int64] | None:
    """Return in how many training lists each of the items is, (M,); None if the artifact does not say."""
    if not is_sealed(folder, COUNTS):
        return None
    try:
        counts = read_json(folder / COUNTS)
        if not (isinstance(counts, list) and len(counts) == items):
            raise ValueError(f"{COUNTS} is not a list of {items:,} numbers")
        if not all(type(count) is int and 0 <= count <= LARGEST_COUNT for count in counts):
            raise ValueError(f"{COUNTS} has an entry that is not a number of lists")
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    return np.array(counts, dtype=np.int64)


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of `config.json` in the current form; model, settings and recipe have the right types."""
    try:
        config = read_json(folder / CONFIG)
        training = config.get("training", {})
        known = is_known(config["model"]) if isinstance(config["model"], str) else False
        plain = isinstance(config["config"], dict) and isinstance(training.get("recipe", "paper"), str)
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    if not known:
        raise BadArtifact(
            f"{folder} is a {config['model']!r:.80} model, which this fansrec does not have; install its package"
        )
    if not plain:
        raise unfit(folder, ValueError(f"{CONFIG} has settings or a recipe of another type"))
    try:
        return _current(config)
    except BadSetting as error:
        raise unfit(folder, error) from error


def _current(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration in the current form: in format 1 the hybrid model is `fans`, with flat settings."""
    name = model_name(config["model"], recipe_of(config))
    if name == config["model"]:
        return dict(config)
    return config | {"model": name, "config": nested_settings(entry(name).config, config["config"])}


def recipe_of(config: Mapping[str, Any]) -> str:
    """Return the recipe that trained a model."""
    return str(config.get("training", {}).get("recipe", "paper"))


def unfit(folder: Path, error: Exception) -> BadArtifact:
    """Return the error for a folder whose files cannot be read or do not fit together."""
    reason = printable(str(error)[:500])  # it may quote untrusted text
    return BadArtifact(f"{folder} does not hold a model this fansrec can build ({reason}); train it again")


def _read_model(path: Path, name: str, settings: dict[str, Any]) -> StoredModel | ContinuationModel:
    """Return the model with its weights; their header is compared with the settings before memory is allocated."""
    if name not in KINDS:
        return _read_module(path, name, settings)
    kind, config = KINDS[name], configured(entry(name), settings)
    outline = kind.outline(config)
    check_header(path, outline)
    return StoredModel(kind, config, map_arrays(path, outline))


def _read_module(path: Path, name: str, settings: dict[str, Any]) -> ContinuationModel:
    """Return a model that only torch can read, as `_read_model` does; its weights are mapped as well."""
    model = entry(name).model  # first: its error says what to install
    from safetensors.torch import load_file

    from fansrec.models.module import outline_of, sketch, with_weights

    check_header(path, outline_of(sketch(name, settings)))
    config = configured(entry(name), settings)
    return cast(ContinuationModel, with_weights(lambda: model(config), load_file(path)))


def _check(stored: StoredModel | ContinuationModel) -> None:
    """Raise BadArtifact if an array of the model cannot be used."""
    if isinstance(stored, StoredModel):
        check_arrays(stored.arrays, stored.config.category_starts[-1])
    else:
        check_model(cast(Any, stored))
