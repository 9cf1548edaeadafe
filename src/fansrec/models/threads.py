"""Work that is divided among threads: numpy and torch release the lock of the interpreter in long operations."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_in_threads(function: Callable[[Task], Result], tasks: Sequence[Task], device: str = "cpu") -> list[Result]:
    """Return the result for each task, in order, computed by as many threads as torch may use.

    Inside them, torch uses one thread each. Tasks for a device other than the CPU follow one another in this thread:
    several threads would only wait for the device.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(tasks) <= 1 or device != "cpu":
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        try:
            return list(pool.map(function, tasks))
        finally:
            torch.set_num_threads(threads)  # also for threads that are started later
