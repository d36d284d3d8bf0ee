"""Work for all processors: pools of processes, and forks of this one, which start in milliseconds."""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from reread.errors import WorkerLost

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

ALONE_BELOW = 8_000_000
"""Fewer source bytes than this are read in the process itself: starting a pool costs 0.2 s."""
_MOST_WORKERS = 61
"""Windows waits for no more processes at once: with more, `ProcessPoolExecutor` refuses there."""
_NUMBER = struct.Struct("<I")
_MOST_NUMBERS = 10_000
"""As many numbers as a pipe holds before anything reads from it: 64 KiB."""
_J = TypeVar("_J")
_R = TypeVar("_R")


@contextlib.contextmanager
def worker_pool() -> Iterator[ProcessPoolExecutor]:
    """A pool of as many processes as there are processors, with an explicit start method; raises WorkerLost.

    A fork is fastest and requires nothing of a caller's script, but a lock that another thread holds stays locked for
    ever in the child; so only a process with a single thread is forked. `forkserver` does not help: its children are
    not ours and would not end with us.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("fork" if is_safe_to_fork() else "spawn")
    with ProcessPoolExecutor(
        min(os.cpu_count() or 1, _MOST_WORKERS), mp_context=context, initializer=prepare_worker, initargs=(os.getpid(),)
    ) as pool:
        try:
            yield pool
        except BrokenProcessPool as problem:
            raise WorkerLost from problem


def in_order(
    work: Callable[[_J], _R], jobs: Iterable[_J], ahead: int, size: int = ALONE_BELOW
) -> Generator[tuple[_J, _R], None, None]:
    """Each job with its result from a pool, in the order of the jobs; up to `ahead` of them are started in advance.

    If `size`, the bytes of all jobs together, is small, they are done in this process.
    """
    waiting = iter(jobs)
    if is_alone(size):
        for job in waiting:
            yield job, work(job)
        return
    with worker_pool() as pool:
        try:
            running = deque((job, pool.submit(work, job)) for job in islice(waiting, ahead))
            while running:
                job, answer = running.popleft()
                found = answer.result()
                running.extend((each, pool.submit(work, each)) for each in islice(waiting, 1))
                yield job, found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def in_order_by_shares(
    work: Callable[[_J], _R], jobs: Iterable[_J], size_of: Callable[[_J], int], enough: int, ahead: int, size: int
) -> Iterator[tuple[_J, _R]]:
    """Like `in_order`, where many jobs may be small: a worker gets jobs of `enough` bytes together."""
    for share, found in in_order(partial(_each, work), in_shares(jobs, size_of, enough), ahead, size):
        yield from zip(share, found, strict=True)


def _each(work: Callable[[_J], _R], share: list[_J]) -> list[_R]:
    return [work(job) for job in share]


def in_shares(items: Iterable[_J], size_of: Callable[[_J], int], enough: int) -> Iterator[list[_J]]:
    """Items in their order, in shares of at least `enough` bytes, so that handing one to a worker is worth it."""
    share: list[_J] = []
    size = 0
    for item in items:
        share.append(item)
        size += size_of(item)
        if size >= enough:
            yield share
            share, size = [], 0
    if share:
        yield share


def is_alone(size: int) -> bool:
    """Whether this many bytes are processed fastest by this process alone, or must be."""
    return size < ALONE_BELOW or (os.cpu_count() or 1) == 1 or not (is_safe_to_fork() or _may_spawn())


def _may_spawn() -> bool:
    """Whether processes may be spawned: a spawned process runs the main script once more.

    Our own program may be run again, and a prompt or a notebook has no script, but a caller's script would do all its
    work a second time unless it is guarded against that.
    """
    main, program = sys.modules.get("__main__"), Path(sys.argv[0] if sys.argv else "")
    has_script = getattr(main, "__spec__", None) is not None or hasattr(main, "__file__")
    return not has_script or program.stem == "reread" or program.parts[-2:] == ("reread", "__main__.py")


def is_safe_to_fork() -> bool:
    """Whether this process has one thread, including those of C libraries. Only Linux reports these: elsewhere a fork
    is unsafe or may be."""
    if sys.platform != "linux":
        return False
    try:
        return sum(1 for _ in Path("/proc/self/task").iterdir()) == 1
    except OSError:
        return False


def prepare_worker(parent: int) -> None:
    """Leaves Ctrl-C to the parent, collects garbage rarely (records have no cycles, and it saves a tenth of the time),
    and ends with the parent."""
    import threading

    _leave_alone()
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _leave_alone() -> None:
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(200_000, 50, 100)


def _end_with_parent(parent: int) -> None:
    """Ends a worker whose parent was killed: it would wait for work for ever."""
    import time

    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def give_back_memory() -> None:
    """Returns freed memory to the system: glibc keeps it unless it is asked."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)


def keep_freed_memory() -> None:
    """Lets glibc reuse memory that is freed, up to this much, instead of returning it: a search that unpacks one piece
    after the other would otherwise spend a fifth of its time on pages that the system clears for it."""
    bytes(8 << 20)


class _Fork(NamedTuple):
    pid: int
    answer: int
    """The file descriptor from which its answer is read once no numbers are left."""


def share_out(
    count: int, work: Callable[[Iterator[int]], _R], pack: Callable[[_R], bytes], unpack: Callable[[bytes], _R]
) -> list[_R]:
    """What `work` makes of the numbers below `count`, shared by this process and a fork for every other processor.

    Each takes the next number when it is done with one, and returns one result for all. Where a fork is unsafe there is
    only one result. Numbers that a failed fork took are done again here, so that an error is raised here as well.
    """
    processors = min(os.cpu_count() or 1, count)
    if processors < 2 or count > _MOST_NUMBERS or not is_safe_to_fork():
        return [work(iter(range(count)))]
    queue, end = os.pipe()
    os.write(end, b"".join(map(_NUMBER.pack, range(count))))
    os.close(end)
    forks: list[_Fork] = []
    taken: list[int] = []
    try:
        forks.extend(_fork(queue, work, pack) for _ in range(processors - 1))
        results = [work(_numbers(queue, taken))]
        done = set(taken)
        for fork in list(forks):
            answer = _answer(fork)
            forks.remove(fork)
            if answer is not None:
                (length,) = _NUMBER.unpack_from(answer)
                done.update(each for (each,) in _NUMBER.iter_unpack(answer[4 : 4 + length]))
                results.append(unpack(answer[4 + length :]))
    finally:
        os.close(queue)
        for fork in forks:
            _end(fork)
    left = [number for number in range(count) if number not in done]
    return [*results, work(iter(left))] if left else results


def _numbers(queue: int, taken: list[int]) -> Iterator[int]:
    while len(read := os.read(queue, _NUMBER.size)) == _NUMBER.size:
        (number,) = _NUMBER.unpack(read)
        taken.append(number)
        yield number


def _fork(queue: int, work: Callable[[Iterator[int]], _R], pack: Callable[[_R], bytes]) -> _Fork:
    answer, end = os.pipe()
    pid = os.fork()
    if pid:
        os.close(end)
        return _Fork(pid, answer)
    code = 1
    try:  # never return to the caller's code, which would run on a second time
        _leave_alone()
        os.close(answer)
        taken: list[int] = []
        packed = pack(work(_numbers(queue, taken)))
        numbers = b"".join(map(_NUMBER.pack, taken))
        with os.fdopen(end, "wb") as sink:
            sink.write(_NUMBER.pack(len(numbers)) + numbers + packed)
        code = 0
    finally:
        os._exit(code)


def _answer(fork: _Fork) -> bytes | None:
    with os.fdopen(fork.answer, "rb", closefd=False) as source:
        answer = source.read()
    os.close(fork.answer)
    _, status = os.waitpid(fork.pid, 0)
    return answer if status == 0 else None


def _end(fork: _Fork) -> None:
    import signal

    with contextlib.suppress(OSError):  # closed already if its answer was read
        os.close(fork.answer)
    os.kill(fork.pid, signal.SIGKILL)
    os.waitpid(fork.pid, 0)
