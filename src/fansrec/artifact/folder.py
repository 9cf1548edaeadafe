"""A trained model as one folder: config, weights, vocabulary, and a manifest that notices every changed byte."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import init
from torch.overrides import TorchFunctionMode

from fansrec import __version__
from fansrec.artifact.weights import check_header, outline_of
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import json_text, read_json, sha256, write_atomically, write_bytes, write_json, write_text
from fansrec.models.contract import ContinuationModel
from fansrec.models.registry import MODELS, build, is_known
from fansrec.models.validation import check_model
from fansrec.printable import printable
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE, Vocabulary, read_vocabulary

FORMAT = 1
MANIFEST = "manifest.json"
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
NEEDED = {CONFIG, WEIGHTS, ITEMS_FILE, CATEGORIES_FILE}
RANDOM = (torch.Tensor.normal_, torch.Tensor.uniform_, init.normal_, init.uniform_, init.kaiming_uniform_)
NOT_LISTED = "checkpoints"  # the state of a training that still runs
MOST_FILES = 10_000  # in a manifest
LONGEST_NAME = 255  # characters of a file in it
# What reading a file that somebody else wrote may raise.
UNREADABLE = (
    OSError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError, LookupError, SafetensorError
)  # fmt: skip


@dataclass(frozen=True)
class Artifact:
    folder: Path
    model: ContinuationModel
    vocabulary: Vocabulary
    config: dict[str, Any]
    hash: str  # of the manifest, and so of everything in it


def write_artifact(
    folder: Path, model: ContinuationModel, vocabulary: Vocabulary, config: dict[str, Any], card: str
) -> None:
    """Write all parts and, last, the manifest: without it the folder is not an artifact yet."""
    weights = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    write_atomically(folder / WEIGHTS, lambda path: save_file(weights, path))
    for name, content in vocabulary.files().items():
        write_bytes(folder / name, content)
    write_json(folder / CONFIG, config)
    write_text(folder / "README.md", card)
    seal(folder)


def seal(folder: Path) -> None:
    """Write the manifest over whatever files the folder holds."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    files = {name: sha256(path) for name, path in names.items() if not name.startswith((NOT_LISTED, "."))}
    write_text(folder / MANIFEST, _manifest_text({"format": FORMAT, "fansrec": __version__, "files": files}))


def _manifest_text(content: dict[str, Any]) -> str:
    """The manifest with a checksum of itself, in the one form that is accepted."""
    content = {name: value for name, value in content.items() if name != "sha256"}
    return json_text(content | {"sha256": hashlib.sha256(json_text(content).encode()).hexdigest()})


def read_artifact(folder: Path) -> Artifact:
    """Check every byte, then build the model and check its arrays; nothing in the folder is trusted before."""
    manifest_hash = check(folder)
    config = read_config(folder)
    vocabulary = read_vocabulary(folder)
    try:
        if vocabulary.starts.tolist() != config["config"]["category_starts"]:
            raise BadArtifact(
                f"{folder} holds the vocabulary of another model; copy the whole folder again, or train it again"
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
    """Return the content of `config.json`, in which the model, its settings and the recipe have their types."""
    try:
        config = read_json(folder / CONFIG)
        training = config.get("training", {})
        known = is_known(config["model"]) if isinstance(config["model"], str) else False
        plain = isinstance(config["config"], dict) and isinstance(training.get("recipe", "paper"), str)
    except UNREADABLE as error:
        raise unfit(folder, error) from error
    if not known:
        raise BadArtifact(
            f"{folder} is a {config['model']!r:.80} model, which comes from a package that is not installed"
        )
    if not plain:
        raise unfit(folder, ValueError(f"{CONFIG} has settings or a recipe of another type"))
    return dict(config)


def recipe_of(config: Mapping[str, Any]) -> str:
    """Return the recipe by which a model was trained."""
    return str(config.get("training", {}).get("recipe", "paper"))


def unfit(folder: Path, error: Exception) -> BadArtifact:
    """Return the error to raise for a folder whose parts cannot be read or do not fit together."""
    reason = printable(str(error)[:500])  # it may quote what a stranger wrote
    return BadArtifact(f"{folder} does not hold a model this fansrec can build ({reason}); train it again")


def _read_model(folder: Path, config: Mapping[str, Any]) -> Any:
    """Return the model with its weights, which are compared with its settings before anything of their size is made."""
    named = config["model"], config["config"], recipe_of(config)
    with NoRandomStart():
        check_header(folder / WEIGHTS, outline_of(_sketch(*named)))
        model = build(*named)
    # The file's tensors become the model's own, not copies of them. They are the file itself, mapped into memory: read
    # when first used, and held once for all processes that use it. The mapping is private, so that a write to a
    # weight changes a copy of that page and never the file.
    model.load_state_dict(load_file(folder / WEIGHTS), assign=True)
    model.train(False)
    return model


def _sketch(name: str, settings: dict[str, Any], recipe: str) -> Any:
    """Return the model without memory for its weights."""
    try:
        with torch.device("meta"):
            return build(name, settings, recipe)
    except RuntimeError:
        if name in MODELS:
            raise
        return build(name, settings, recipe)  # a model of another package may need its tensors at once


class NoRandomStart(TorchFunctionMode):
    """Weights that will be replaced by trained ones need no random numbers, which take longer than all the rest."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def check(folder: Path) -> str:
    """The hash of an undamaged artifact; anything else is refused."""
    manifest = _read_manifest(folder)
    for name, expected in manifest["files"].items():
        path = _listed(folder, name)
        if not os.path.isfile(path):  # a pipe, a device or a name that is too long is none
            raise BadArtifact(f"{path} is missing; copy the whole folder again, or train it again")
        if sha256(path) != expected:
            raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train it again")
    return str(manifest["sha256"])


def _listed(folder: Path, name: str) -> Path:
    """Return the path of a file in the manifest; only what lies inside the folder may be listed."""
    plain = (
        len(name) <= LONGEST_NAME and name.isprintable() and "\\" not in name and ".." not in PurePosixPath(name).parts
    )
    plain = plain and PurePosixPath(name).as_posix() == name and not name.startswith(("/", "."))
    inside = plain and Path(os.path.realpath(folder / name)).is_relative_to(os.path.realpath(folder))
    if not inside:
        raise BadArtifact(f"{folder / MANIFEST} lists {name!r:.200}, which is not inside the folder; do not use it")
    return folder / name


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = _listed(folder, MANIFEST)
    if not path.is_file():
        unfinished = (folder / NOT_LISTED).is_dir()
        advice = "its training has not ended; go on with --resume" if unfinished else "make one with `fans train`"
        raise BadArtifact(f"{folder} is no trained model ({MANIFEST} is missing); {advice}")
    try:
        manifest = read_json(path)
        content = path.read_bytes().decode()
        newer = isinstance(manifest["format"], int) and manifest["format"] > FORMAT
        intact = content == _manifest_text(manifest) and manifest["format"] == FORMAT
        intact = intact and isinstance(manifest["files"], dict) and {*manifest["files"]} >= NEEDED
    except UNREADABLE as error:
        raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train it again") from error
    if newer:
        raise BadArtifact(
            f"{folder} has format {manifest['format']}, and this fansrec {__version__} reads up to {FORMAT}; "
            f"upgrade fansrec"
        )
    if not intact or len(manifest["files"]) > MOST_FILES:
        raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train it again")
    return dict(manifest)
