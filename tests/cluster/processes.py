"""The processes of the Ray cluster that a test started."""

import os
from pathlib import Path


def workers_named(title: str) -> list[int]:
    """Return the ids of the descendants of this process whose title starts with `title`, sorted."""
    parents = {int(path.name): parent_of(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return sorted(pid for pid in parents if descends(pid, parents) and title_of(pid).startswith(title))


def parent_of(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # the process has ended
        return 0


def descends(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()


def title_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
