"""The folder of answers: whose it is, what of it is finished, and when all of it is."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fansrec.cluster.many_pieces import Piece, cut
from fansrec.cluster.storage import Stored, inside, make_folder, names_in, opened, remove, write_whole
from fansrec.errors import BadSetting
from fansrec.files import json_text

FORMAT = 1
MANIFEST, SUMMARY = "manifest.json", "summary.json"


def open_folder(folder: str, files: Sequence[Stored], size: int, about: dict[str, Any]) -> list[Piece]:
    """The pieces whose answers belong in the folder; those of inputs that have changed since are taken out of it."""
    names = {name for name in names_in(folder) if not name.startswith(".")}
    before = _manifest(folder, names)
    if before is not None:
        size = before["piece_bytes"]
        _refuse_another(folder, before, files, about)
    pieces = cut(files, size)
    outdated = names & _outdated(before, files)
    if others := names - {MANIFEST, SUMMARY} - outdated - {piece.name for piece in pieces}:
        raise BadSetting(f"{folder} holds other things ({min(others)}); choose another folder for the continuations")
    make_folder(folder)
    for name in outdated | (names & {SUMMARY}):
        remove(inside(folder, name))
    inputs = [asdict(file) for file in files]
    _write(folder, MANIFEST, {"format": FORMAT, "piece_bytes": size, "about": about, "inputs": inputs})
    return pieces


def finished(folder: str, files: Sequence[Stored], about: dict[str, Any]) -> dict[str, Any] | None:
    """The summary, where the same work has been done to its end."""
    names = set(names_in(folder))
    before = _manifest(folder, names) if SUMMARY in names else None
    if before is None or before["about"] != about or before["inputs"] != [asdict(file) for file in files]:
        return None
    whole = all(piece.name in names for piece in cut(files, before["piece_bytes"]))
    return _read(folder, SUMMARY) if whole else None


def finish(folder: str, pieces: Sequence[Piece], summary: dict[str, Any]) -> None:
    """Sweep up what workers that were killed have left, and say that all is there."""
    answers = {piece.name for piece in pieces}
    for name in names_in(folder):
        if name.startswith(".") and name[1:].rpartition(".")[0] in answers:  # as write_atomically names them
            remove(inside(folder, name))
    _write(folder, SUMMARY, summary)


def digest(values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _manifest(folder: str, names: set[str]) -> dict[str, Any] | None:
    if not {name for name in names if not name.startswith(".")}:
        return None
    if MANIFEST not in names:
        raise BadSetting(f"{folder} holds other things ({min(names)}); choose another folder for the continuations")
    content = _read(folder, MANIFEST)
    if content.get("format") != FORMAT or not {"piece_bytes", "about", "inputs"} <= content.keys():
        raise BadSetting(f"{folder}/{MANIFEST} is not of continuations; choose another folder")
    return content


def _refuse_another(folder: str, before: dict[str, Any], files: Sequence[Stored], about: dict[str, Any]) -> None:
    changed = [name for name, value in about.items() if before["about"].get(name) != value]
    if [file["url"] for file in before["inputs"]] != [file.url for file in files]:
        changed.append("input files")
    if changed:
        raise BadSetting(
            f"{folder} holds continuations with other {', '.join(changed)}; give the same, or choose another folder"
        )


def _outdated(before: dict[str, Any] | None, files: Sequence[Stored]) -> set[str]:
    """The names of the answers to inputs that are no longer what they were."""
    if before is None:
        return set()
    old = [Stored(**file) for file in before["inputs"]]
    changed = {a.url for a, b in zip(old, files, strict=True) if a != b}
    return {piece.name for piece in cut(old, before["piece_bytes"]) if piece.url in changed}


def _read(folder: str, name: str) -> dict[str, Any]:
    try:
        with opened(inside(folder, name)) as file:
            return dict(json.loads(file.read()))
    except (ValueError, TypeError) as error:
        raise BadSetting(f"{folder}/{name} is damaged; remove the folder, or choose another") from error


def _write(folder: str, name: str, content: dict[str, Any]) -> None:
    write_whole(inside(folder, name), lambda path: path.write_text(json_text(content), encoding="utf-8"))
