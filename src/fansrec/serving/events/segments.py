"""The files of the event log: segments, of which the oldest is removed when all together become too large."""

import logging
from pathlib import Path

from fansrec.serving.writes.log import Log, create_log, open_log
from fansrec.serving.writes.records import sync_folder

FOLDER = "events"  # in the folder of the writes
PATTERN = "events-*.log"
SEGMENTS = 8  # that the limit of all of them is divided into

log = logging.getLogger("fansrec.serving")


def segment_files(folder: Path) -> list[Path]:
    """Return the segments in a folder, the oldest first."""
    return sorted(folder.glob(PATTERN))


def open_newest(folder: Path) -> Log:
    """Return the segment that records are appended to; the first one is created."""
    files = segment_files(folder)
    return open_log(files[-1] if files else _create(folder, 0))


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
