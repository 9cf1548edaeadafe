"""Settings of the C library's allocator for training on a CPU."""

import ctypes

# glibc's mallopt, malloc.h
M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3


def keep_freed_memory() -> None:
    """Let glibc reuse large freed blocks instead of requesting zeroed pages from the system each time.

    This saves a seventh of the time of an epoch of FANS_TSC on AotM. With another C library nothing happens.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(M_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
    except (OSError, AttributeError):
        pass
