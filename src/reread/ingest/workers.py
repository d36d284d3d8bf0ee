"""What all worker processes share."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

ALONE_BELOW = 8_000_000
"""Fewer source bytes than this are read in the process itself: starting workers costs 0.2 s."""


def prepare_worker(parent: int) -> None:
    """Ctrl-C is the parent's to deal with; records hold no cycles, so collecting rarely saves a tenth."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(200_000, 50, 100)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """A worker whose parent was killed would wait for work for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def give_back_memory() -> None:
    """What was freed goes back to the system, where the C library has to be asked for that: glibc keeps it."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
