"""A trained model as one folder: config, weights, vocabulary, and a manifest that notices every changed byte."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch.nn import init
from torch.overrides import TorchFunctionMode

from fansrec import __version__
from fansrec.errors import BadArtifact, FansError
from fansrec.files import json_text, sha256, write_atomically, write_bytes, write_json, write_text
from fansrec.models.registry import build, is_known
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE, Vocabulary, read_vocabulary

FORMAT = 1
MANIFEST = "manifest.json"
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
NEEDED = {CONFIG, WEIGHTS, ITEMS_FILE, CATEGORIES_FILE}
RANDOM = (torch.Tensor.normal_, torch.Tensor.uniform_, init.normal_, init.uniform_, init.kaiming_uniform_)
NOT_LISTED = "checkpoints"  # the state of a training that still runs


@dataclass(frozen=True)
class Artifact:
    folder: Path
    model: Any  # models.contract.ContinuationModel
    vocabulary: Vocabulary
    config: dict[str, Any]
    hash: str  # of the manifest, and so of everything in it


def write_artifact(folder: Path, model: Any, vocabulary: Vocabulary, config: dict[str, Any], card: str) -> None:
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
    """Check every byte, then build the model."""
    manifest_hash = check(folder)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not is_known(config["model"]):
            raise BadArtifact(
                f"{folder} is a {config['model']!r} model, which comes from a package that is not installed"
            )
        with NoRandomStart():
            model = build(config["model"], config["config"], config.get("training", {}).get("recipe", "paper"))
        _put_weights(model, load_file(folder / WEIGHTS))
        model.train(False)
    except FansError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise BadArtifact(f"{folder} does not hold a model this fansrec can build ({error}); train it anew") from error
    vocabulary = read_vocabulary(folder)
    if tuple(vocabulary.starts.tolist()) != tuple(model.config.category_starts):
        raise BadArtifact(f"{folder} holds the vocabulary of another model; copy the whole folder again, or train anew")
    return Artifact(folder, model, vocabulary, config, manifest_hash)


class NoRandomStart(TorchFunctionMode):
    """Weights that will be replaced by trained ones need no random numbers, which take longer than all the rest."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def _put_weights(model: Any, weights: Mapping[str, torch.Tensor]) -> None:
    """Make a file's tensors the model's own, not copies of them.

    They are the file itself, mapped into memory: read when first used, and held once for all processes that use it.
    The mapping is private, so that whoever writes to a weight changes a copy of that page and never the file.
    """
    types = {name: tensor.dtype for name, tensor in model.state_dict().items()}
    model.load_state_dict({name: w.to(types.get(name, w.dtype)) for name, w in weights.items()}, assign=True)


def check(folder: Path) -> str:
    """The hash of an undamaged artifact; anything else is refused."""
    manifest = _read_manifest(folder)
    for name, expected in manifest["files"].items():
        path = folder / name
        if not path.is_file():
            raise BadArtifact(f"{path} is missing; copy the whole folder again, or train anew")
        if sha256(path) != expected:
            raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train anew")
    return str(manifest["sha256"])


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        unfinished = (folder / NOT_LISTED).is_dir()
        advice = "its training has not ended; go on with --resume" if unfinished else "make one with `fans train`"
        raise BadArtifact(f"{folder} is no trained model ({MANIFEST} is missing); {advice}")
    try:
        content = path.read_bytes().decode()
        manifest = json.loads(content)
        newer = isinstance(manifest["format"], int) and manifest["format"] > FORMAT
        intact = content == _manifest_text(manifest) and manifest["format"] == FORMAT and {*manifest["files"]} >= NEEDED
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train anew") from error
    if newer:
        raise BadArtifact(
            f"{folder} has format {manifest['format']}, and this fansrec {__version__} reads up to {FORMAT}; "
            f"upgrade fansrec"
        )
    if not intact:
        raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train anew")
    return dict(manifest)
