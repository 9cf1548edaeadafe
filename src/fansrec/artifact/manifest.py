"""The manifest of an artifact: its format and the SHA-256 sums of all files, itself included."""

import hashlib
import os
from pathlib import Path, PurePosixPath
from typing import Any

from safetensors import SafetensorError

from fansrec import __version__
from fansrec.errors import BadArtifact, BadSetting
from fansrec.files import json_text, read_json, sha256, write_text
from fansrec.vocabulary import CATEGORIES_FILE, ITEMS_FILE

FORMAT = 2
READABLE = (1, 2)  # formats; folder.py knows the difference
MANIFEST = "manifest.json"
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
COUNTS = "item_counts.json"  # absent from artifacts of earlier versions, as is LISTS_FILE
NEEDED = {CONFIG, WEIGHTS, ITEMS_FILE, CATEGORIES_FILE}
NOT_LISTED = "checkpoints"  # state of an unfinished training run
MOST_FILES = 10_000  # in a manifest
LONGEST_NAME = 255  # characters of a file name in it
# Exceptions that reading an untrusted file may raise.
UNREADABLE = (
    OSError, ValueError, TypeError, AttributeError, RuntimeError, ArithmeticError, LookupError, SafetensorError
)  # fmt: skip


def seal(folder: Path) -> None:
    """Write a manifest of all files in the folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    files = {name: sha256(path) for name, path in names.items() if not name.startswith((NOT_LISTED, "."))}
    write_text(folder / MANIFEST, _manifest_text({"format": FORMAT, "fansrec": __version__, "files": files}))


def _manifest_text(content: dict[str, Any]) -> str:
    """Return the text of a manifest, with its own checksum, in the only form that is accepted."""
    content = {name: value for name, value in content.items() if name != "sha256"}
    return json_text(content | {"sha256": hashlib.sha256(json_text(content).encode()).hexdigest()})


def check(folder: Path) -> str:
    """Return the hash of an artifact; raise BadArtifact if a file is missing or does not match its checksum."""
    manifest = _read_manifest(folder)
    for name, expected in manifest["files"].items():
        path = _listed(folder, name)
        if not os.path.isfile(path):  # not a pipe, a device or a name that is too long
            raise BadArtifact(f"{path} is missing; copy the whole folder again, or train it again")
        if sha256(path) != expected:
            raise BadArtifact(f"{path} was changed or damaged; copy the whole folder again, or train it again")
    return str(manifest["sha256"])


def refuse_inside(run: Path, out: Path) -> None:
    """Raise BadSetting if `out` is in the folder of the model, whose files it could replace."""
    if (run / MANIFEST).exists() and out.parent.resolve().is_relative_to(run.resolve()):
        raise BadSetting(f"--out {out} is inside the folder of the model, {run}; choose a path outside of it")


def is_sealed(folder: Path, name: str) -> bool:
    """Return whether the manifest of an artifact, which `check` has accepted, has the checksum of a file."""
    return name in read_json(folder / MANIFEST)["files"]


def _listed(folder: Path, name: str) -> Path:
    """Return the path of a file in the manifest; raise BadArtifact if it is not inside the folder."""
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
        advice = (
            "Its training is unfinished: resume it with `fans train … --resume`"
            if unfinished
            else "Train one with `fans train`"
        )
        raise BadArtifact(f"{folder} is not a trained model: {MANIFEST} is missing. {advice}")
    try:
        manifest = read_json(path)
        content = path.read_bytes().decode()
        newer = isinstance(manifest["format"], int) and manifest["format"] > FORMAT
        intact = content == _manifest_text(manifest) and manifest["format"] in READABLE
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
