"""The output folder of a batch: its manifest, the finished pieces, and the summary of a finished batch."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fansrec.cluster.batch_pieces import Piece, split_files
from fansrec.cluster.storage import StoredFile, join_url, list_names, make_folder, open_file, remove, write_file
from fansrec.errors import BadSetting
from fansrec.files import json_text

FORMAT = 1
MANIFEST, SUMMARY = "manifest.json", "summary.json"


def open_folder(
    folder: str, files: Sequence[StoredFile], size: int, about: dict[str, Any]
) -> tuple[list[Piece], dict[str, Any] | None]:
    """Return the pieces to answer into the folder, and the summary of the batch if all of them are answered.

    Answers to inputs that have changed are removed.
    """
    names = {name for name in list_names(folder) if not name.startswith(".")}
    inputs = [asdict(file) for file in files]
    manifest = _read_manifest(folder, names)
    if manifest is not None:
        size = manifest["piece_bytes"]
        _check_same_batch(folder, manifest, files, about)
    pieces = split_files(files, size)
    answers = {piece.name for piece in pieces}
    if manifest is not None and manifest["inputs"] == inputs and names >= answers | {SUMMARY}:
        return pieces, _read(folder, SUMMARY)
    outdated = names & _outdated(manifest, files)
    if others := names - {MANIFEST, SUMMARY} - outdated - answers:
        raise BadSetting(f"{folder} contains other files ({min(others)}); choose another folder for the continuations")
    make_folder(folder)  # here only: a worker that does not see this folder must fail
    for name in outdated | (names & {SUMMARY}):
        remove(join_url(folder, name))
    _write(folder, MANIFEST, {"format": FORMAT, "piece_bytes": size, "about": about, "inputs": inputs})
    return pieces, None


def finish(folder: str, pieces: Sequence[Piece], summary: dict[str, Any]) -> None:
    """Remove temporary files of killed workers, then write the summary, which marks the batch as finished."""
    answers = {piece.name for piece in pieces}
    for name in list_names(folder):
        if name.startswith(".") and name[1:].rpartition(".")[0] in answers:  # the names of write_atomically
            remove(join_url(folder, name))
    _write(folder, SUMMARY, summary)


def digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _read_manifest(folder: str, names: set[str]) -> dict[str, Any] | None:
    if not names:
        return None
    if MANIFEST not in names:
        raise BadSetting(f"{folder} contains other files ({min(names)}); choose another folder for the continuations")
    content = _read(folder, MANIFEST)
    if content.get("format") != FORMAT or not {"piece_bytes", "about", "inputs"} <= content.keys():
        raise BadSetting(f"{folder}/{MANIFEST} is not a manifest of continuations; choose another folder")
    return content


def _check_same_batch(
    folder: str, manifest: dict[str, Any], files: Sequence[StoredFile], about: dict[str, Any]
) -> None:
    changed = [name for name, value in about.items() if manifest["about"].get(name) != value]
    if [file["url"] for file in manifest["inputs"]] != [file.url for file in files]:
        changed.append("input files")
    if changed:
        raise BadSetting(
            f"{folder} contains continuations with other {', '.join(changed)}; use the same, or choose another folder"
        )


def _outdated(manifest: dict[str, Any] | None, files: Sequence[StoredFile]) -> set[str]:
    """Return the names of the answers to inputs that have changed."""
    if manifest is None:
        return set()
    old = [StoredFile(**file) for file in manifest["inputs"]]
    changed = {a.url for a, b in zip(old, files, strict=True) if a != b}
    return {piece.name for piece in split_files(old, manifest["piece_bytes"]) if piece.url in changed}


def _read(folder: str, name: str) -> dict[str, Any]:
    try:
        with open_file(join_url(folder, name)) as file:
            return dict(json.loads(file.read()))
    except (ValueError, TypeError) as error:
        raise BadSetting(f"{folder}/{name} is damaged; remove the folder, or choose another") from error


def _write(folder: str, name: str, content: dict[str, Any]) -> None:
    write_file(join_url(folder, name), lambda path: path.write_text(json_text(content), encoding="utf-8"))
