"""Friction in a lake: every prompt and moment once, whichever sessions repeat it, and how often things go wrong."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import tzinfo
from typing import NamedTuple

from msgspec import Struct

from reread.archive.friction_report import LEAST_CONFIDENCE
from reread.archive.usage_report import PERIODS, Calendar
from reread.features.activity import Rate

# What two sessions tell belongs to the earlier, as `archive.friction_report.FrictionHistory` has it.
_AGED = """SELECT key, id, project, started, {0}, row_number() OVER (
        ORDER BY coalesce(epoch_ms(started), 0), coalesce(epoch_ms(ended), 0), key) AS age
    FROM session WHERE len({0}) > 0"""
PROMPT = f"""
WITH aged AS ({_AGED.format("typed")}
), told AS (SELECT key, id, project, age, unnest(typed) AS said FROM aged
), dated AS (SELECT *, CASE WHEN said.time IS NULL THEN age ELSE min(age) OVER (PARTITION BY said.time, said.mark) END
        AS first FROM told)
SELECT id AS session, key AS session_key, project, make_timestamp(epoch_us(said.time)) AS time
FROM dated WHERE first = age
"""  # noqa: S608  our own names
MOMENT_ONCE = f"""
WITH aged AS ({_AGED.format("moments")}
), told AS (SELECT key, id, project, age, unnest(moments) AS seen FROM aged
), lines AS (SELECT *, CASE WHEN seen.uuid IS NULL THEN age ELSE min(age) OVER (PARTITION BY seen.kind, seen.uuid) END
        AS first FROM told
), times AS (SELECT * EXCLUDE first, CASE WHEN seen.time IS NULL THEN age
        ELSE min(age) OVER (PARTITION BY seen.kind, seen.time, seen.mark) END AS first FROM lines WHERE first = age)
SELECT id AS session, key AS session_key, project, make_timestamp(epoch_us(seen.time)) AS time, seen.kind AS kind,
    seen.uuid AS uuid, seen.agent AS agent, seen.confidence AS confidence, seen.cause AS cause, seen.about AS about,
    seen.evidence AS evidence, seen.seconds AS seconds, seen.tokens AS tokens
FROM times WHERE first = age
"""  # noqa: S608  our own names
SURE = f"agent IS NULL AND confidence >= {LEAST_CONFIDENCE}"
"""What a retrospective shows unless it is asked for more."""
# Whole milliseconds: a sum of fractions would depend on the order of its parts.
BY_DAY = f"""
SELECT strftime(time, '%Y-%m-%d') AS day, project, kind, count(*) AS moments,
    coalesce(sum(round(seconds * 1000)::BIGINT), 0) / 1000 AS seconds, 0 AS prompts
FROM moment WHERE {SURE} GROUP BY ALL
UNION ALL
SELECT strftime(time, '%Y-%m-%d') AS day, project, NULL, 0, 0, count(*) FROM prompt GROUP BY ALL
ORDER BY day, project, kind
"""  # noqa: S608  our own names


class FrictionCell(NamedTuple):
    """Moments of a kind, or prompts where it is None, of a project in a quarter of an hour."""

    quarter: int
    project: str | None
    kind: str | None
    number: int


class FrictionWeek(Struct, frozen=True, kw_only=True):
    """How often things went wrong in a project's week."""

    project: str | None
    week: str
    """Its Monday."""
    rate: Rate
    kinds: dict[str, int]


def by_week(cells: Iterable[FrictionCell], zone: tzinfo | None) -> list[FrictionWeek]:
    """Weeks of projects in which anything was typed or went wrong; what has no time is in none."""
    calendar = Calendar(zone)
    prompts: dict[tuple[str | None, str], int] = {}
    kinds: dict[tuple[str | None, str], dict[str, int]] = {}
    for cell in cells:
        day = calendar.day(cell.quarter)
        if day is None:
            continue
        place = cell.project, PERIODS["week"](day)
        if cell.kind is None:
            prompts[place] = prompts.get(place, 0) + cell.number
        else:
            found = kinds.setdefault(place, {})
            found[cell.kind] = found.get(cell.kind, 0) + cell.number
    return [
        FrictionWeek(
            project=place[0],
            week=place[1],
            rate=Rate(sum(kinds.get(place, {}).values()), prompts.get(place, 0)),
            kinds=dict(sorted(kinds.get(place, {}).items())),
        )
        for place in sorted({*prompts, *kinds}, key=lambda each: (each[0] or "", each[1]))
    ]
