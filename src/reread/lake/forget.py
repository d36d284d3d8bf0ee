"""Removes sessions for good: by name, by person or by age; from every table, and their bytes from the disk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from msgspec import Struct

from reread.billing import Prices
from reread.errors import AmbiguousSession, UnknownSession
from reread.index.meta import session_mark
from reread.times import milliseconds

from .counts import Recount
from .delta import DeltaLake
from .people import people_of, prefixes_of, put_people
from .plan import AGE, PLACE, SESSION_MARK, marks_above, place_mark
from .query import LakeAnswers
from .tables import CALL, FILE, FORGOTTEN, REQUEST, SESSION, SHARED, WORDS, arrow_table
from .upkeep import vacuum


class Chosen(Struct, frozen=True, kw_only=True):
    """What is to be forgotten."""

    ids: Sequence[str]
    """Of sessions, wherever they lie."""
    person: str | None = None
    places: Sequence[str] = ()
    """Below which nothing is taken again."""
    before: datetime | None = None
    """Sessions that ended before it are not taken again."""


class LakeForgotten(Struct, frozen=True, kw_only=True):
    """What went."""

    sessions: int
    files: int
    """Source files that the lake knew."""
    rows: int
    files_removed: int
    """Of the tables, on disk."""


def by_session(lake: DeltaLake, wanted: str) -> Chosen:
    """The session whose id a text begins; raises where none does, or several."""
    ids: list[str] = sorted(set(lake.rows(SESSION.name, ["id"])["id"].to_pylist()))
    found = [name for name in ids if name == wanted] or [name for name in ids if wanted and name.startswith(wanted)]
    if len(found) > 1:
        raise AmbiguousSession(wanted, found)
    if not found:
        raise UnknownSession(wanted, (Path(lake.uri),))
    return Chosen(ids=found)


def by_person(lake: DeltaLake, name: str, prices: Prices) -> Chosen:
    """Every session with a file of a person. Raises `BadInput` for one that nobody knows."""
    places = prefixes_of(people_of(lake), name)
    with LakeAnswers.of(lake, prices) as answers:
        return Chosen(ids=answers.sessions_of(name), person=name, places=places)


def by_age(lake: DeltaLake, before: datetime) -> Chosen:
    """Every session whose last moment lies before a time."""
    rows = lake.rows(SESSION.name, ["id", "ended"]).filter(pc.field("ended") < before)
    return Chosen(ids=sorted(set(rows["id"].to_pylist())), before=before)


def forget(lake: DeltaLake, chosen: Chosen, prices: Prices) -> LakeForgotten:
    """Removes what was chosen from every table and from the disk; no build takes it again."""
    ids = set(chosen.ids)
    of_session = lake.rows(SESSION.name, ["key", "id", "month"]).to_pylist()
    keys = {row["key"]: row["month"] for row in of_session if row["id"] in ids}
    known = lake.rows(FILE.name, ["key", "session", "uri", "copy_of", "month"]).to_pylist()
    files = {row["key"]: row["month"] for row in known if row["session"] in keys}
    marks = {place_mark(place) for place in chosen.places}
    copies = {
        row["key"]: row["month"]
        for row in known
        if row["copy_of"] in files or (row["copy_of"] is not None and not marks.isdisjoint(marks_above(row["uri"])))
    }
    before = sum(lake.count(table.name) for table in SHARED)
    lake.begin()
    with Recount(lake, prices) as recount:
        for table in (REQUEST, CALL, WORDS):
            lake.remove(table.name, "file", files)
        lake.remove(FILE.name, "key", files | copies)
        lake.remove(SESSION.name, "key", keys)
        recount.after(files.keys(), ())
    lake.append(FORGOTTEN.name, arrow_table(FORGOTTEN, list(_remembered(chosen))))
    if chosen.person is not None:
        put_people(lake, [each for each in people_of(lake) if each.person != chosen.person])
    lake.commit({"action": "forget", "sessions": len(keys), "prices": prices.digest})
    rows = before - sum(lake.count(table.name) for table in SHARED)
    removed = vacuum(lake, hours=0, compacts=False)
    return LakeForgotten(sessions=len(keys), files=len(files | copies), rows=rows, files_removed=removed)


def _remembered(chosen: Chosen) -> Iterable[dict[str, Any]]:
    """Rows of `forgotten`; digests alone, so that nothing of what went can be read there."""
    now = milliseconds(datetime.now(UTC))
    what = SESSION_MARK if chosen.before is None else AGE
    yield from ({"mark": session_mark(name), "what": what, "time": now} for name in chosen.ids)
    yield from ({"mark": place_mark(place), "what": PLACE, "time": now} for place in chosen.places)
    if chosen.before is not None:
        yield {"what": AGE, "before": milliseconds(chosen.before), "time": now}
