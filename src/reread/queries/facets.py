"""Where the hits of a search lie: counted over all of them, not over those that are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, tzinfo

from msgspec import Struct

from reread.analyses.texts import Field

from .listing import Listed

MOST = 100_000
"""Matches that are counted, the newest: that takes a fifth of a second."""
FIELDS = tuple(Field)


class Cell(Struct, frozen=True):
    """Hits of one session in one field within an hour."""

    session: int
    field: Field
    hour: int | None
    """Since 1970; None where a line has no time."""
    hits: int


class Cells(Struct, frozen=True):
    """What was counted, in every field that a query does not rule out."""

    cells: tuple[Cell, ...]
    fields: frozenset[Field]
    """Where hits are looked for."""
    is_bounded: bool
    """Whether there are more than were counted."""


class Facets(Struct, frozen=True):
    """Each from what has most hits to what has least; months from the newest to the oldest."""

    total: int
    sessions: int
    is_bounded: bool
    fields: tuple[tuple[Field, int], ...]
    """Also those that were not looked into."""
    projects: tuple[tuple[str, int], ...]
    months: tuple[tuple[str, int], ...]
    models: tuple[tuple[str, int], ...]
    """Of the sessions the hits are in: one with two models counts for both."""


def facets(found: Cells, sessions: Mapping[int, Listed], zone: tzinfo | None) -> Facets:
    """Months are those of the zone."""
    fields: Counter[Field] = Counter()
    by_session: Counter[int] = Counter()
    by_hour: Counter[int | None] = Counter()
    for cell in found.cells:
        fields[cell.field] += cell.hits
        if cell.field in found.fields:
            by_session[cell.session] += cell.hits
            by_hour[cell.hour] += cell.hits
    projects: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for session, hits in by_session.items():
        each = sessions.get(session)
        if each is not None:
            projects[each.project] += hits
            models.update(dict.fromkeys(each.stored.row.models, hits))
    return Facets(
        total=sum(by_session.values()),
        sessions=len(by_session),
        is_bounded=found.is_bounded,
        fields=tuple((field, fields[field]) for field in Field),
        projects=tuple(projects.most_common()),
        months=tuple(_months(by_hour.items(), zone)),
        models=tuple(models.most_common()),
    )


def _months(hours: Iterable[tuple[int | None, int]], zone: tzinfo | None) -> list[tuple[str, int]]:
    months: Counter[str] = Counter()
    for hour, hits in hours:
        if hour is not None:
            months[datetime.fromtimestamp(hour * 3600, UTC).astimezone(zone).strftime("%Y-%m")] += hits
    return sorted(months.items(), reverse=True)
