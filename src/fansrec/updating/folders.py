"""An update from one folder of a model to another."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fansrec.artifact import read_artifact
from fansrec.artifact.manifest import MANIFEST, refuse_inside
from fansrec.data.reading import Reading
from fansrec.errors import BadSetting
from fansrec.files import refuse_existing
from fansrec.printable import counted
from fansrec.updating.report import Report
from fansrec.updating.update import check_updatable, update, write_updated


@dataclass(frozen=True)
class Sources:
    """Where changes are read from: files, dataframes or Python lists, and how; None: there are no such changes."""

    lists: Any
    items: Any
    remove: Any  # ids of lists
    reading: Reading


def update_folder(
    run: Path, out: Path, sources: Sources, keep_newest: int | None, force: bool, report: Callable[[str], None]
) -> Report:
    """Write the model of the folder `run` with the changes of `sources` to the folder `out`; return what changed.

    `report` gets one line per stage.
    """
    if keep_newest is None and sources.lists is None and sources.items is None and sources.remove is None:
        raise BadSetting("there is nothing to change; give --lists, --items, --remove or --keep-newest")
    refuse_inside(run, out)
    refuse_existing(out, "the model", force, [MANIFEST])
    artifact = read_artifact(run)
    check_updatable(artifact)
    from fansrec.updating.sources import read_changes  # needs polars

    changes = read_changes(sources.lists, sources.items, sources.remove, sources.reading, report)
    report(f"read: {counted(len(changes), 'change')}")
    updated, found = update(artifact, changes, keep_newest)
    write_updated(out, updated, force)
    report(f"written: {out}")
    return found
