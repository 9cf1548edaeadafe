"""The files of the event log: segments, of which the oldest is removed when all together become too large."""

import logging
from pathlib import Path

from fansrec.errors import BadArtifact
from fansrec.serving.writes.log import Log, create_log, open_log
from fansrec.serving.writes.records import raw_lines, sync_folder

FOLDER = "events"  # in the folder of the writes
PATTERN = "events-*.log"
SEGMENTS = 8  # that the limit of all of them is divided into

log = logging.getLogger("fansrec.serving")


def segment_files(folder: Path) -> list[Path]:
    """Return the segments in a folder, the oldest first."""
    return sorted(folder.glob(PATTERN))


def open_newest(folder: Path) -> Log:
    """Return the segment that records are appended to; the first one is created, and one after a damaged one."""
    files = segment_files(folder)
    if not files:
        return open_log(_create(folder, 0))
    try:
        return open_log(files[-1])
    except BadArtifact as error:  # what can be read of it is still counted
        log.warning("a new file of events is started, since the last one is damaged: %s", error)
        first, lines = int(files[-1].stem.rpartition("-")[2]), sum(1 for _ in raw_lines(files[-1]))
        return open_log(_create(folder, first + lines))


def start_segment(folder: Path, last: int, max_bytes: int) -> Log:
    """Return a new segment after record `last`, and remove old ones until it has room below `max_bytes`."""
    remove_oldest(folder, max_bytes - max_bytes // SEGMENTS)
    return open_log(_create(folder, last))


def remove_oldest(folder: Path, max_bytes: int) -> None:
    """Remove the oldest segments until the others have at most `max_bytes`; the newest one always stays."""
    files = segment_files(folder)
    sizes = [file.stat().st_size for file in files]
    while len(files) > 1 and sum(sizes) > max_bytes:
        log.info("the oldest events are removed, since all have more than the limit: %s", files[0].name)
        files.pop(0).unlink()
        sizes.pop(0)
    sync_folder(folder)


def _create(folder: Path, last: int) -> Path:
    path = folder / f"events-{last + 1:016d}.log"
    create_log(path, f"{last + 1:016x}", after=last)
    return path
