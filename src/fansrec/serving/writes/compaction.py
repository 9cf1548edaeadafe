"""`fans compact`: a new artifact that contains the writes of a log, made while the service writes more of them."""

import os
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from fansrec.artifact import MANIFEST, Artifact, read_artifact
from fansrec.artifact.manifest import refuse_inside
from fansrec.errors import BadInput, BadSetting
from fansrec.files import refuse_existing, write_json
from fansrec.serving.writes.applying import Updated, read_changes
from fansrec.serving.writes.folder import is_locked, locked_folder
from fansrec.serving.writes.position import position_of, section_of
from fansrec.serving.writes.reader import LogReader
from fansrec.serving.writes.records import recover, sync_folder
from fansrec.serving.writes.store import DROP_FILE, FILE
from fansrec.updating.update import check_updatable, update, write_updated


@dataclass(frozen=True)
class Compaction:
    """What `compact` did."""

    log: str  # its id
    seq: int  # number of the newest write in the new artifact
    folded: int  # writes that were applied
    left: int  # newer writes, which stay in the log
    lists: int  # of the new artifact
    items: int
    dropped: str  # what becomes of the writes that the artifact contains: kept in the log, or their removal requested


def compact(
    folder: Path,
    run: Path,
    out: Path,
    drop: bool = False,
    contains: int | None = None,
    copied: bool = False,
    force: bool = False,
) -> Compaction:
    """Write the artifact of `run` with all writes of the log in `folder` to `out`.

    With `drop` the service is requested to remove these writes from its log, when it starts or reloads models all of
    which contain them. `contains` states up to which write the artifact was trained with the lists of the log, `copied`
    that the log was copied while a service wrote it.
    """
    if drop and copied:
        raise BadSetting("--drop cannot remove writes from the log that --copy was made of; use it beside the service")
    path = folder / FILE
    if not path.is_file():
        raise BadInput(f"{folder} has no {FILE}; give the folder of `fans serve --writes FOLDER`, or a copy of it")
    refuse_inside(run, out)
    refuse_existing(out, "the model", force, [MANIFEST])
    running = copied or is_locked(folder)
    with nullcontext() if running else locked_folder(folder, wait_s=0):
        durable, newest = _ends(path, running)
        artifact = read_artifact(run)
        check_updatable(artifact)
        reader = LogReader(path)
        reader.seq = before = _position(artifact, reader, contains, newest)
        last = max(before, durable)  # what the model contains stays in it
        written = _fold(artifact, reader, last)
        write_updated(out, written, force)
        _synchronize(out)
        if drop:
            write_json(folder / DROP_FILE, {"log": reader.id, "seq": last})
    lists, items = written.remembered_lists, len(written.vocabulary)
    return Compaction(reader.id, last, last - before, newest - last, lists, items, "requested" if drop else "kept")


def _ends(path: Path, running: bool) -> tuple[int, int]:
    """Return the number of the newest write that is surely on the disk, and that of the newest one.

    While a service writes, those that were written last may not be synchronized yet; if that fails, they are removed.
    """
    if not running:
        _synchronize_file(path)
    found = recover(path)
    return (found.synced if running else found.last), found.last


def _position(artifact: Artifact, reader: LogReader, contains: int | None, newest: int) -> int:
    """Return the number of the newest write that the artifact contains."""
    if contains is not None:
        if not 0 <= contains <= newest:
            raise BadSetting(
                f"--contains is {contains}, but the log has writes up to {newest}; give a number up to that"
            )
        return contains
    found = position_of(artifact, reader.id) or 0
    if found > newest:
        raise BadInput(
            f"{artifact.folder} contains writes up to number {found}, but the log ends at {newest}; use the newest "
            "copy of the log"
        )
    return found


def _fold(artifact: Artifact, reader: LogReader, last: int) -> Artifact:
    """Return the artifact with the writes up to `last`, and its place in the log."""
    updated = Updated(artifact)
    for chunk in read_changes(reader, last):
        updated.apply([change for _, change in chunk])
    found, _ = update(updated.artifact, updated.pending)  # also without any: the artifact then says what it contains
    return replace(found, config=found.config | section_of(reader.id, last))


def _synchronize(folder: Path) -> None:
    """Make an artifact durable: the log may lose what it contains."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        _synchronize_file(path)
        sync_folder(path.parent)
    sync_folder(folder.parent)


def _synchronize_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
