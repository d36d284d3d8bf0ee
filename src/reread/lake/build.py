"""Builds a lake: makes a plan, has an engine process the shares, and commits what they wrote.

An engine (processes of this machine, or Spark) hands out shares and collects the results. A worker writes files that no
commit names yet, with names that depend only on their sources. So if a worker or an executor dies, its shares are
simply made again and give the same files.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from reread import billing, errors
from reread.times import milliseconds
from reread.workers import in_order

from .delta import DeltaLake, WrittenFile
from .plan import (
    AGE,
    PLACE,
    SESSION_MARK,
    SHARE,
    CopiedFile,
    ForgottenMarks,
    KnownFile,
    LakePlan,
    list_files,
    make_plan,
    share_name,
    shares_of,
)
from .share import ShareJob, ShareOptions, take_share
from .storage import key_of, uri_of, write_parquet
from .tables import EXTRACTOR, FILE, FORGOTTEN, MONTH, NO_MONTH, SESSION, SHARED, arrow_table
from .upkeep import Recount


class LakeBuilt(Struct, frozen=True, kw_only=True):
    """The result of a build."""

    engine: str
    sessions: int
    unchanged: int
    failed: int
    too_old: int
    """How many sessions ended before the limit of `forget --older-than`."""
    bytes_read: int
    rows: dict[str, int]
    problems: list[str]


def plan_build(lake: DeltaLake, places: Sequence[str], options: ShareOptions) -> LakePlan:
    """What a build would do, without writing anything."""
    _refuse_other(lake, options)
    problems: list[str] = []
    files = list_files(places, problems)
    plan = make_plan(files, known_files(lake), forgotten_in(lake), read_again=lake.exists and not lake.is_whole)
    plan.problems.extend(problems)
    return plan


def _refuse_other(lake: DeltaLake, options: ShareOptions) -> None:
    """Refuses other options than those of earlier builds: all sessions must be kept alike, and some may no longer exist
    to be read again."""
    held = lake.last.get("what"), lake.last.get("redact")
    if lake.exists and held != (options.what, options.redact):
        had = f"{lake.uri} was built with --what {held[0]} --redact {held[1]}"
        raise errors.BadInput(f"{had}; build anything else into a place of its own")


def forgotten_in(lake: DeltaLake) -> ForgottenMarks:
    rows = lake.rows(FORGOTTEN.name)
    marks: dict[str | None, dict[str, int]] = {}
    ages = [0]
    for row in rows.select([name for name in FORGOTTEN.columns if name in rows.column_names]).to_pylist():
        if row.get("before") is not None:
            ages.append(milliseconds(row["before"]) or 0)
        else:
            marks.setdefault(row.get("what"), {})[row["mark"]] = milliseconds(row["time"]) or 0
    return ForgottenMarks(
        sessions=frozenset(
            (*marks.get(SESSION_MARK, ()), *marks.get(None, ()))
        ),  # rows of an earlier version have no `what`
        places=frozenset(marks.get(PLACE, ())),
        aged=marks.get(AGE, {}),
        before=max(ages) or None,
    )


def known_files(lake: DeltaLake) -> dict[str, KnownFile]:
    rows = lake.rows(FILE.name, KnownFile._fields)
    return {row["key"]: KnownFile(**row) for row in rows.to_pylist()}


def build(
    lake: DeltaLake,
    places: Sequence[str],
    options: ShareOptions,
    engine: str,
    master: str | None,
    report: Callable[[int, int], None] | None = None,
) -> LakeBuilt:
    """Brings a lake up to date with its sources. If it is interrupted before the last commit, nothing becomes
    visible."""
    run = engine_called(engine, master)
    prices = billing.load_prices(options.prices)
    plan = plan_build(lake, places, options)
    options = replace(options, before=forgotten_in(lake).before)
    done: list[ShareDone] = []
    if not lake.exists or not plan.is_empty or lake.last.get("prices") != prices.digest:
        lake.begin()
        for share in _shares_read(lake, plan, options, run):
            done.append(share)
            if report is not None:
                report(sum(each.bytes_read for each in done), plan.size)
        with Recount(lake, prices) as recount:
            gone = _replace_rows(lake, plan, done)
            _remember_old(lake, done)
            recount.after(gone, {key for each in done for key in each.keys})
        about: dict[str, Any] = {"action": "build", "engine": engine, "what": options.what, "redact": options.redact}
        about |= {"sessions": sum(each.sessions for each in done), "bytes": sum(each.bytes_read for each in done)}
        about["cpu_seconds"] = sum(each.cpu_seconds for each in done)
        lake.commit({**about, "prices": prices.digest, "extractor": EXTRACTOR})
    return _built(lake, engine, plan, done)


def _built(lake: DeltaLake, engine: str, plan: LakePlan, done: Sequence[ShareDone]) -> LakeBuilt:
    read, old = sum(each.sessions for each in done), sum(len(each.too_old) for each in done)
    return LakeBuilt(
        engine=engine,
        sessions=read,
        unchanged=plan.unchanged,
        failed=len(plan.jobs) - read - old,
        too_old=old,
        bytes_read=plan.bytes_read + sum(each.bytes_read for each in done),
        rows={table.name: lake.count(table.name) for table in SHARED},
        problems=[*plan.problems, *(problem for each in done for problem in each.problems)],
    )


def _shares_read(lake: DeltaLake, plan: LakePlan, options: ShareOptions, run: Engine) -> Iterable[ShareDone]:
    cores = os.cpu_count() or 1
    shares = shares_of(plan.jobs, max(1, min(SHARE, plan.size // (2 * cores) + 1)))
    tasks = [ShareTask(lake.uri, jobs, options) for jobs in shares]
    return run(tasks) if tasks else ()


def _replace_rows(lake: DeltaLake, plan: LakePlan, done: Sequence[ShareDone]) -> set[str]:
    """Replaces the rows of the files that were read; files that could not be read keep theirs. Gives the keys of the
    files whose rows were removed."""
    files = [file for each in done for file in each.files]
    taken = {key for each in done for key in each.keys} | {key_of(each.file.location) for each in plan.copies}
    stale = [row for row in plan.stale if row.key in taken]
    unread = {job.key for job in plan.jobs if key_of(job.all[0].location) not in taken}
    gone = {key: month for key, month in plan.stale_sessions.items() if key not in unread}
    removed = {row.key: row.month for row in stale}
    for table in SHARED:
        column = "key" if table in (FILE, SESSION) else "file"
        lake.remove(table.name, column, gone if table is SESSION else removed)
        lake.add(table.name, [file for file in files if file.table == table.name])
    if plan.copies:
        lake.append(FILE.name, arrow_table(FILE, [_copy_row(each) for each in plan.copies]))
    return set(removed)


def _remember_old(lake: DeltaLake, done: Sequence[ShareDone]) -> None:
    """Notes the sessions that were too old, so that they are not read again."""
    now = milliseconds(datetime.now(UTC))
    rows = [{"mark": mark, "what": AGE, "time": now} for each in done for mark in each.too_old]
    if rows:
        lake.append(FORGOTTEN.name, arrow_table(FORGOTTEN, rows))


def _copy_row(copied: CopiedFile) -> dict[str, Any]:
    file = copied.file
    return {
        "key": key_of(file.location),
        "session": "",
        "uri": uri_of(file.path),
        "kind": file.kind.value,
        "agent": file.agent,
        "size": file.size,
        "mtime_ns": file.mtime_ns,
        "lines": 0,
        "malformed": 0,
        "is_torn": False,
        "names": copied.names,
        "copy_of": copied.original,
        MONTH: NO_MONTH,
    }


ENGINES = ("local", "spark")


class ShareTask(Struct, frozen=True):
    """A share as an engine passes it to a worker."""

    lake: str
    jobs: list[ShareJob]
    options: ShareOptions


class ShareDone(Struct, frozen=True):
    """The result of a share."""

    files: list[WrittenFile]
    keys: list[str]
    """Keys of the source files that were read."""
    problems: list[str]
    too_old: list[str]
    """Marks of sessions that were too old and not imported."""
    sessions: int
    bytes_read: int
    cpu_seconds: float


Engine = Callable[[Sequence[ShareTask]], Iterable[ShareDone]]
"""Runs `write_share` on each task, anywhere and in any order."""


def write_share(task: ShareTask) -> ShareDone:
    """Makes the rows of a share and writes them to files that no commit names yet. Runs in workers and executors."""
    began = time.process_time()
    share = take_share(task.jobs, task.options)
    name = share_name(task.jobs, f"{EXTRACTOR} {task.options.what} {task.options.redact} {task.options.before}")
    files = []
    for table, rows in share.tables.items():
        for month in pc.unique(rows[MONTH]).to_pylist():
            part = rows.filter(pc.equal(rows[MONTH], month)).drop_columns([MONTH])
            path = f"{MONTH}={month}/part-{name}.parquet"
            size = write_parquet(part, task.lake, f"{table}/{path}")
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
    """Runs shares in processes of this machine, or in this process if there is little to read."""
    size = sum(job.size for task in tasks for job in task.jobs) if len(tasks) > 1 else 0
    yield from (done for _, done in in_order(write_share, tasks, len(tasks), size))


def engine_called(name: str, master: str | None) -> Engine:
    """The engine of that name. Raises `BadInput` for an unknown one."""
    if name not in ENGINES:
        raise errors.BadInput(f"there is no engine {name!r}; try {', '.join(ENGINES)}")
    return run_local if name == "local" else _spark(master)


def _spark(master: str | None) -> Engine:
    """Runs shares on a Spark master, by default the one that `spark-submit` set."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise errors.BadInput(
            f"Spark is not here ({missing.name}): pip install 'reread[spark]', or use spark-submit"
        ) from missing

    def run(tasks: Sequence[ShareTask]) -> Iterable[ShareDone]:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        maker = SparkSession.builder.appName("reread lake build").config("spark.ui.showConsoleProgress", "false")
        try:
            session = (maker.master(master) if master is not None else maker).getOrCreate()
        except (PySparkException, OSError, RuntimeError) as error:
            raise errors.BadInput(
                f"Spark does not start ({str(error).partition(chr(10))[0]}); it needs Java"
            ) from error
        try:
            done: list[ShareDone] = session.sparkContext.parallelize(tasks, len(tasks)).map(write_share).collect()
        finally:
            session.stop()
        return done

    return run
