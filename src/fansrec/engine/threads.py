"""The number of threads of the engines that need no torch."""

import os
import sys

from fansrec.cores import usable_cores

VARIABLE = "OMP_NUM_THREADS"  # as torch reads it


def thread_count() -> int:
    """Return torch's number of threads if it is loaded, else OMP_NUM_THREADS or the number of usable cores."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    given = os.environ.get(VARIABLE, "")
    return max(1, int(given)) if given.isdecimal() else usable_cores()


def use_one_thread() -> None:
    """Have engines of this process use one thread: several processes run in parallel instead."""
    os.environ[VARIABLE] = "1"
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
