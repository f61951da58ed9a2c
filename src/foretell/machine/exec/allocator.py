"""The C library's memory allocator: keep freed memory for the next batch.

A batch of a few hundred thousand events needs some 50 MB of arrays, which are freed when it is done. By its defaults
glibc then returns the memory to the system, and the next batch faults it in again, page by page: 11,000 page faults,
20 of 90 ms for a million events of w3. With a higher threshold the memory is reused.
"""

from __future__ import annotations

import ctypes
import os
import sys

#: Freed memory that the process keeps at most.
KEPT_BYTES = 256 * 2**20
#: Smaller blocks come from the heap, which is reused; glibc allows no higher limit.
_MMAP_BYTES = 32 * 2**20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_SETTINGS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Set glibc's thresholds unless the environment does; whether it was done. Other allocators are left alone."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _SETTINGS):
        return False
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  # glibc has it, musl does not
        mallopt = library.mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
