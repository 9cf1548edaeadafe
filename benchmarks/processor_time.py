"""Processor time of the workers of a local Ray."""

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def worker_seconds(driver: int | None = None) -> dict[int, float]:
    """Return the processor time so far of each worker below the process `driver` (default: this one), by process id."""
    driver = os.getpid() if driver is None else driver
    parents, seconds = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            name = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(stat[1])
        if name.startswith(b"ray::"):
            seconds[int(folder.name)] = (int(stat[11]) + int(stat[12])) / TICKS
    return {process: spent for process, spent in seconds.items() if _is_below(process, driver, parents)}


def _is_below(process: int, driver: int, parents: dict[int, int]) -> bool:
    while process in parents and process != driver:
        process = parents[process]
    return process == driver
