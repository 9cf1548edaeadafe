"""A trained model as one folder: configuration, weights, vocabulary, and a manifest with the checksums of all files."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.nn import init
from torch.overrides import TorchFunctionMode

from fansrec.artifact.manifest import CONFIG, UNREADABLE, WEIGHTS, check, seal
from fansrec.artifact.weights import check_header, outline_of
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import read_json, write_atomically, write_bytes, write_json, write_text
from fansrec.models.config import nested_settings
from fansrec.models.contract import ContinuationModel
from fansrec.models.registry import MODELS, build, entry, is_known, model_name
from fansrec.models.validation import check_model
from fansrec.printable import printable
from fansrec.vocabulary import Vocabulary, read_vocabulary

RANDOM = (torch.Tensor.normal_, torch.Tensor.uniform_, init.normal_, init.uniform_, init.kaiming_uniform_)


@dataclass(frozen=True)
class Artifact:
    """A trained model that was read from its folder."""

    folder: Path
    model: ContinuationModel
    vocabulary: Vocabulary
    config: dict[str, Any]
    hash: str  # of the manifest, and so of all files


def write_artifact(
    folder: Path, model: ContinuationModel, vocabulary: Vocabulary, config: dict[str, Any], card: str
) -> None:
    """Write all files and the manifest last: without it the folder is not an artifact."""
    weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, lambda path: save_file(weights, path))
    for name, content in vocabulary.files().items():
        write_bytes(folder / name, content)
    write_json(folder / CONFIG, config)
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
        model = _read_model(folder, config)
    except (*UNREADABLE, BadSetting) as error:
        raise unfit(folder, error) from error
    try:
        check_model(model)
    except BadArtifact as error:
        raise BadArtifact(f"{folder / WEIGHTS}: {error}; copy the whole folder again, or train it again") from error
    return Artifact(folder, model, vocabulary, config, manifest_hash)


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


def _read_model(folder: Path, config: Mapping[str, Any]) -> Any:
    """Return the model with its weights; their header is compared with the settings before memory is allocated."""
    named = config["model"], config["config"]
    with NoRandomStart():
        check_header(folder / WEIGHTS, outline_of(_sketch(*named)))
        model = build(*named)
    # The model uses the mapped file and copies nothing: pages are read when they are first used, and all processes
    # share them. The mapping is private, so that a write to a weight changes a copy of that page and never the file.
    model.load_state_dict(load_file(folder / WEIGHTS), assign=True)
    model.train(False)
    return model


def _sketch(name: str, settings: dict[str, Any]) -> Any:
    """Return the model without memory for its weights."""
    try:
        with torch.device("meta"):
            return build(name, settings)
    except RuntimeError:
        if name in MODELS:
            raise
        return build(name, settings)  # a model of another package may need real tensors


class NoRandomStart(TorchFunctionMode):
    """Skips the random initialization of weights that are about to be replaced, which would take most of the time."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)
