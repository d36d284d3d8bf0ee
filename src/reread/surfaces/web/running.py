"""The sessions that run: those of this server's clients, and those of other terminals by what their files tell."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from reread.analyses.activity import Activity, Doing, activity_of
from reread.archive import Listed, StoredSession
from reread.errors import RereadError
from reread.loading import last_of
from reread.render.activity import activity_words
from reread.render.listing import last_part
from reread.sessions import Session

from . import pages
from .library import link_name

RECENT = timedelta(minutes=30)
"""A session whose file did not grow for longer is not listed: nobody knows whether its terminal is still open."""
MOST_OTHERS = 30
_ORDER = {Doing.ASKING: 0, Doing.WAITING: 2, Doing.SILENT: 3, Doing.ENDED: 4}
_RUNS = 1
"""Where the others come: they work by themselves."""


class Snapshot(NamedTuple):
    """A client of this server, as the loop knew it a moment ago."""

    id: str
    session: str
    title: str
    folder: str
    activity: Activity
    since: datetime
    problem: str


class Row(NamedTuple):
    href: str
    title: str
    project: str
    place: str
    """The whole path of the project."""
    activity: Activity
    words: str
    time: datetime | None
    is_here: bool
    problem: str = ""


def runs_of(site: pages.Site) -> list[Snapshot]:
    """Inside the loop, or where a moment's difference does no harm."""
    return [
        Snapshot(run.id, run.session_id, run.title, str(run.wanted.folder), run.activity, run.began, run.problem)
        for run in site.driver.runs
    ]


def running(site: pages.Site, runs: Sequence[Snapshot]) -> dict[str, Any]:
    """What the list shows, and what it says in the title of a tab."""
    rows = [*map(_of_run, runs), *_others(site, {run.session for run in runs})]
    rows.sort(key=lambda row: (_ORDER.get(row.activity.doing, _RUNS), row.activity.is_guess))
    return {"running": rows, "waiting": _waiting([row.activity for row in rows])}


def _waiting(activities: Sequence[Activity]) -> str:
    """`(2) ` where two wait for the person, `(1?) ` where one may."""
    asking = [each for each in activities if each.needs_person]
    certain = [each for each in asking if not each.is_guess]
    if certain:
        return f"({len(certain)}) "
    return f"({len(asking)}?) " if asking else ""


def _of_run(run: Snapshot) -> Row:
    return Row(
        href=f"/live/{run.id}",
        title=run.title,
        project=last_part(run.folder) or run.folder,
        place=run.folder,
        activity=run.activity,
        words=activity_words(run.activity),
        time=run.since,
        is_here=True,
        problem=run.problem,
    )


def _others(site: pages.Site, driven: set[str]) -> list[Row]:
    now = site.settings.now
    recent = [
        each
        for each in site.library.sessions()
        if is_recent(each.stored, now) and each.stored.row.uuid not in driven and not each.stored.mark.hidden
    ]
    return [_of_other(each) for each in recent[:MOST_OTHERS]]


def is_recent(stored: StoredSession, now: datetime) -> bool:
    return stored.present and (stored.mtime_ns or 0) / 1e9 >= (now - RECENT).timestamp()


def _of_other(each: Listed) -> Row:
    stored, row = each.stored, each.stored.row
    activity = activity_now(stored)
    return Row(
        href=f"/s/{link_name(stored)}",
        title=row.title or "(no title)",
        project=last_part(row.project) or "no project",
        place=row.project or "",
        activity=activity,
        words=activity_words(activity),
        time=stored.ended,
        is_here=False,
    )


def activity_now(stored: StoredSession) -> Activity:
    """By the last lines of its transcript, and by when anything was last written to its files."""
    written = [status.st_mtime for path in stored.files if (status := _status(path)) is not None]
    trunk = next((path for path in stored.files if Path(path).name == f"{stored.row.uuid}.jsonl"), None)
    status = _status(trunk) if trunk is not None else None
    if trunk is None or status is None:
        return Activity(Doing.SILENT, is_guess=True)
    try:
        session = _last_of(trunk, status.st_mtime_ns, status.st_size)
    except (RereadError, OSError):  # it vanished, or may not be read any more
        return Activity(Doing.SILENT, is_guess=True)
    return activity_of(session, max(0.0, time.time() - max(written)))


def _status(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except OSError:
        return None


@lru_cache(maxsize=MOST_OTHERS)
def _last_of(path: str, _written: int, _size: int) -> Session:
    """Read again when the file has changed."""
    return last_of(Path(path))
