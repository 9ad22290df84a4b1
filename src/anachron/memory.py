"""Keeping the memory of a process small while large tables come and go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

M_MMAP_THRESHOLD = -3
MAPPED_FROM_BYTES = 1 << 17


@contextmanager
def thrifty_memory() -> Iterator[None]:
    """Give memory back while many models pass, each with tens of megabytes of text.

    Arrow's own pool keeps what it was given, so the system's is used. The C library (glibc) raises the size
    from which it maps blocks apart after the first large one is freed, and then keeps them; here it stays fixed.
    """
    import ctypes

    import pyarrow

    before = pyarrow.default_memory_pool()
    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    with suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, MAPPED_FROM_BYTES)
    try:
        yield
    finally:
        pyarrow.set_memory_pool(before)


def give_back() -> None:
    """Return freed memory to the system, where the C library (glibc) keeps it for later use.

    Worth a call after a large table is gone and before the next one comes: the two peaks then do not add up.
    """
    import ctypes

    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
