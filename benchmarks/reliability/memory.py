"""Sample the memory of a service in the background."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from benchmarks.reliability.processes import Processes


class Measured(Protocol):
    """A service, or one that is started again and has other processes then."""

    @property
    def processes(self) -> Processes: ...


class Memory:
    """Samples of the memory of all processes together."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.megabytes: list[float] = []
        self.by_role: list[dict[str, float]] = []

    def growth(self) -> float:
        """Return the megabytes gained from the first to the last quarter."""
        quarter = max(1, len(self.megabytes) // 4)
        return float(np.median(self.megabytes[-quarter:]) - np.median(self.megabytes[:quarter]))

    def peaks(self) -> tuple[float, float]:
        """Return the peaks of the first and the last quarter, for memory that varies all the time."""
        quarter = max(1, len(self.megabytes) // 4)
        return max(self.megabytes[:quarter], default=0.0), max(self.megabytes[-quarter:], default=0.0)

    def row(self) -> dict[str, Any]:
        """Return the samples, and memory by role at the start and at the end, for a file."""
        ends = {"start": self.by_role[0], "end": self.by_role[-1]} if self.by_role else {}
        return {"megabytes": [round(value, 1) for value in self.megabytes], "by_role": ends}

    def slope(self) -> float:
        """Return the growth over the last half in megabytes per minute."""
        half = len(self.seconds) // 2
        if len(self.seconds) - half < 3:
            return float("nan")
        return float(np.polyfit(self.seconds[half:], self.megabytes[half:], 1)[0] * 60)


@contextmanager
def memory_of(running: Measured, every: float = 0.5) -> Iterator[Memory]:
    """Sample the memory for the duration of the block."""
    memory, over, began = Memory(), threading.Event(), time.monotonic()

    def watch() -> None:
        while not over.wait(every):
            memory.by_role.append(running.processes.megabytes())
            memory.megabytes.append(sum(memory.by_role[-1].values()))
            memory.seconds.append(time.monotonic() - began)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield memory
    finally:
        over.set()
        watcher.join()
