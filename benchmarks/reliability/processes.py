"""The processes of a service: their roles, memory and processor time."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

STARTED = {  # modules that the front process runs
    "fansrec.serving.processes.supervisor_process": "supervisor",
    "fansrec.serving.validation.process": "validator",
    "fansrec.serving.search.index": "indexer",
}
STARTING = "starting"  # a child of the front process that does not run its program yet
CHILD_OF = {"supervisor": "model host", "model host": "worker"}
PROC = Path("/proc")
MARK = "STARTED_BY_SCRIPT"


class Process(NamedTuple):
    pid: int
    started: int  # in clock ticks since the machine was started


class Processes:
    """All processes with a mark in their environment; a role follows from the parent's role and is remembered.

    Ids are used again, so a process is known by its id and the moment it was started.
    """

    def __init__(self, front: int, mark: str) -> None:
        self._mark, self._front = f"{MARK}={mark}\0".encode(), front
        self._roles: dict[Process, str] = {}

    def look(self) -> dict[int, str]:
        """Return the ids and roles of all living processes."""
        living = {process.pid: (process, parent) for process, parent in self._living()}
        roles = {pid: self._role(pid, living) for pid in living}
        self._roles = {living[pid][0]: role for pid, role in roles.items() if role != STARTING}
        return roles

    def of(self, role: str) -> list[int]:
        return [pid for pid, its in self.look().items() if its == role]

    def _role(self, pid: int, living: Mapping[int, tuple[Process, int]]) -> str:
        """Return the role; the front process also starts processes that build search indexes or validate bodies."""
        process, parent = living[pid]
        if pid == self._front:
            return "front"
        if process in self._roles:
            return self._roles[process]
        if parent != self._front:
            return CHILD_OF.get(self._role(parent, living) if parent in living else "", "worker")
        command = _read(PROC / str(pid) / "cmdline")
        return next((role for module, role in STARTED.items() if module in command), STARTING)

    def _living(self) -> Iterator[tuple[Process, int]]:
        """Yield every living process and the id of its parent."""
        for entry in PROC.iterdir():
            if not entry.name.isdigit():
                continue
            fields = _read(entry / "stat").rpartition(")")[2].split()  # a name may contain spaces
            if fields and fields[0] not in "ZX":  # not a zombie
                process = Process(int(entry.name), int(fields[19]))
                if process.pid == self._front or process in self._roles or self._is_marked(entry):
                    yield process, int(fields[1])

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
