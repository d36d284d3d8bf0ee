"""What the file system says about a file, as numbers that a row can hold: 64 bits with a sign."""

from __future__ import annotations

import os

_LARGEST = (1 << 63) - 1


def changed_at(status: os.stat_result) -> int:
    """When it was last changed, in nanoseconds since 1970; a time after April 2262, from a wrong clock, as the last
    that fits."""
    return fitting_time(status.st_mtime_ns)


def fitting_time(nanoseconds: int) -> int:
    return max(-_LARGEST, min(nanoseconds, _LARGEST))


def identity(number: int) -> int:
    """An inode or a device. NTFS and some network file systems give numbers of 64 bits without a sign, Windows' ReFS
    even of 128; they are cut to 64, and equal numbers stay equal."""
    return (number + _LARGEST + 1) % (1 << 64) - _LARGEST - 1
