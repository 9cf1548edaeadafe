"""The processes of a service: their roles, memory and processor time."""

import os
from collections.abc import Iterator
from pathlib import Path

CHILD_OF = {"front": "supervisor", "supervisor": "model host", "model host": "worker"}
PROC = Path("/proc")
MARK = "STARTED_BY_SCRIPT"


class Processes:
    """All processes with a mark in their environment; a role follows from the parent's role and is remembered."""

    def __init__(self, front: int, mark: str) -> None:
        self._mark = f"{MARK}={mark}\0".encode()
        self._roles = {front: "front"}

    def look(self) -> dict[int, str]:
        """Return the ids and roles of all living processes."""
        parents = dict(self._living())
        for pid in sorted(parents):  # parents have lower ids than children, unless ids wrap around
            if pid not in self._roles:
                self._roles[pid] = _role(pid, CHILD_OF.get(self._roles.get(parents[pid], ""), "worker"))
        return {pid: self._roles[pid] for pid in parents}

    def of(self, role: str) -> list[int]:
        return [pid for pid, its in self.look().items() if its == role]

    def _living(self) -> Iterator[tuple[int, int]]:
        """Yield the id and the parent's id of every living process."""
        for entry in PROC.iterdir():
            if entry.name.isdigit() and (int(entry.name) in self._roles or self._is_marked(entry)):
                fields = _read(entry / "stat").rpartition(")")[2].split()  # a name may contain spaces
                if fields and fields[0] not in "ZX":  # not a zombie
                    yield int(entry.name), int(fields[1])

    def _is_marked(self, entry: Path) -> bool:
        try:
            return self._mark in (entry / "environ").read_bytes()
        except OSError:
            return False

    def megabytes(self) -> dict[str, float]:
        """Return private memory by role; shared pages are counted once."""
        found: dict[str, float] = {}
        for pid, role in self.look().items():
            found[role] = found.get(role, 0.0) + _own(pid) / 1024
        return found

    def descriptors(self) -> int:
        return sum(_count(PROC / str(pid) / "fd") for pid in self.look())

    def threads(self) -> int:
        return sum(_count(PROC / str(pid) / "task") for pid in self.look())

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time so far, by role."""
        seconds: dict[str, float] = {}
        for pid, role in self.look().items():
            fields = _read(PROC / str(pid) / "stat").rpartition(")")[2].split()
            if len(fields) > 12:
                ticks = int(fields[11]) + int(fields[12])
                seconds[role] = seconds.get(role, 0.0) + ticks / os.sysconf("SC_CLK_TCK")
        return seconds


def _role(pid: int, likely: str) -> str:
    """Return the role; the front process also starts processes that build search indexes or validate large bodies."""
    command = _read(PROC / str(pid) / "cmdline")
    if "fansrec.serving.validation.process" in command:
        return "validator"
    return likely if "fansrec.serving.processes.supervisor_process" in command else "indexer"


def _own(pid: int) -> int:
    """Return the kilobytes that are not mapped files; a page that n processes share counts as 1/n.

    Mapped files (libraries, weights) are left out: their share depends on which other processes have them open.
    """
    lines = _read(PROC / str(pid) / "smaps_rollup").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has ended
        return ""


def _count(folder: Path) -> int:
    try:
        return len(list(folder.iterdir()))
    except OSError:
        return 0
