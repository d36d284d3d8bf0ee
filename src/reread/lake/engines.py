"""The engines that make shares: processes of this machine, or Spark.

Either hands out shares and gets back what became of each. Whoever makes one writes its files where no commit names them
yet, under names made of what is in them: a worker or an executor that dies has its shares made again, and they are the
same files.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow.compute as pc
from msgspec import Struct

from reread.errors import BadInput
from reread.index.meta import EXTRACTOR
from reread.workers import ALONE_BELOW, worker_pool

from .delta import WrittenFile
from .plan import share_name
from .share import ShareJob, ShareOptions, take_share
from .storage import write_parquet
from .tables import FILE, MONTH

ENGINES = ("local", "spark")


class ShareTask(Struct, frozen=True):
    """A share as an engine hands it to whoever makes it."""

    lake: str
    jobs: list[ShareJob]
    options: ShareOptions


class ShareDone(Struct, frozen=True):
    """What a share came to."""

    files: list[WrittenFile]
    keys: list[str]
    """Of the source files that were read."""
    problems: list[str]
    too_old: list[str]
    """Marks of sessions that were not taken."""
    sessions: int
    bytes_read: int
    cpu_seconds: float


Engine = Callable[[Sequence[ShareTask]], Iterable[ShareDone]]
"""Runs `write_share` on each task, anywhere and in any order."""


def write_share(task: ShareTask) -> ShareDone:
    """Makes the rows of a share and writes them where no commit names them yet. Runs in workers and executors."""
    began = time.process_time()
    share = take_share(task.jobs, task.options)
    name = share_name(task.jobs, f"{EXTRACTOR} {task.options.what} {task.options.redact} {task.options.before}")
    files = []
    for table, rows in share.tables.items():
        for month in pc.unique(rows[MONTH]).to_pylist():
            part = rows.filter(pc.equal(rows[MONTH], month)).drop_columns([MONTH])
            path = f"{MONTH}={month}/part-{name}.parquet"
            size = write_parquet(part, f"{task.lake}/{table}/{path}")
            files.append(WrittenFile(table, path, size, part.num_rows, month))
    return ShareDone(
        files=files,
        keys=share.tables[FILE.name]["key"].to_pylist(),
        problems=share.problems,
        too_old=share.too_old,
        sessions=share.sessions,
        bytes_read=share.bytes_read,
        cpu_seconds=time.process_time() - began,
    )


def run_local(tasks: Sequence[ShareTask]) -> Iterator[ShareDone]:
    """In processes of this machine; little is done in this one."""
    size = sum(job.size for task in tasks for job in task.jobs)
    if size < ALONE_BELOW or len(tasks) < 2 or (os.cpu_count() or 1) == 1:
        yield from map(write_share, tasks)
        return
    with worker_pool() as pool:
        yield from pool.map(write_share, tasks)


def engine_called(name: str, master: str | None) -> Engine:
    """Raises `BadInput` for a name that is none."""
    if name not in ENGINES:
        raise BadInput(f"there is no engine {name!r}; try {', '.join(ENGINES)}")
    return run_local if name == "local" else _spark(master)


def _spark(master: str | None) -> Engine:
    """Runs shares on a master, or on the one that `spark-submit` named."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise BadInput(
            f"Spark is not here ({missing.name}): pip install 'reread[spark]', or use spark-submit"
        ) from missing

    def run(tasks: Sequence[ShareTask]) -> Iterable[ShareDone]:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        maker = SparkSession.builder.appName("reread lake build").config("spark.ui.showConsoleProgress", "false")
        try:
            session = (maker.master(master) if master is not None else maker).getOrCreate()
        except (PySparkException, OSError, RuntimeError) as error:
            raise BadInput(f"Spark does not start ({str(error).partition(chr(10))[0]}); it needs Java") from error
        try:
            done: list[ShareDone] = session.sparkContext.parallelize(tasks, len(tasks)).map(write_share).collect()
        finally:
            session.stop()
        return done

    return run
