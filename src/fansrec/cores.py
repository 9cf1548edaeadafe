"""How many cores this process may use, which in a container are often fewer than the machine has."""

import math
import os
from collections.abc import Iterator
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """Return the number of cores that this process may use, at least 1.

    It is the number in the affinity mask or, if that is less, the CPU quota of the control groups, rounded up. `root`
    contains /proc and /sys.
    """
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([there, *map(math.ceil, _quotas(root))]))


def _quotas(root: Path) -> Iterator[float]:
    """Yield the quotas, in cores, of all control groups, of version 1 and 2, that contain this process."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, name = (line.split(":", 2) + ["", ""])[:3]
        if not name or (controllers and "cpu" not in controllers.split(",")):
            continue
        # Version 1 has a folder `cpu`, which is a link to the folder `cpu,cpuacct` or, on some systems, missing.
        for mount in {"cpu", controllers} if controllers else {""}:
            yield from _quotas_in(root / "sys/fs/cgroup" / mount, Path(name.lstrip("/")))


def _quotas_in(top: Path, group: Path) -> Iterator[float]:
    """Yield the quotas of a group and of all groups around it."""
    # A container may see the path of its group on the host, which it does not have; its own files are at the top.
    for folder in (top / group, *(top / parent for parent in group.parents)):
        yield from _quota_of(_read(folder / "cpu.max"))
        yield from _quota_of(f"{_read(folder / 'cpu.cfs_quota_us')} {_read(folder / 'cpu.cfs_period_us')}")


def _quota_of(text: str) -> Iterator[float]:
    """Yield the quota, in cores, from a text of microseconds and their period; `max` or -1 stands for none."""
    numbers = [int(word) for word in text.split() if word.isdecimal()]
    if len(numbers) == 2 and numbers[1]:
        yield numbers[0] / numbers[1]


def _read(path: Path) -> str:
    """Return the text of a file, or nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
