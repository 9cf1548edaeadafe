"""The memory that this process may use."""

from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # of this process, as containers mount it


def available_memory() -> int:
    """Return the bytes that this process can use without swapping, within the limit of its container; 0: unknown."""
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return 0
    available = next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)
    return min(available, _left_in_container(available))


def _left_in_container(otherwise: int) -> int:
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
    except OSError:
        return otherwise
    return otherwise if limit == "max" else max(0, int(limit) - int(used))
