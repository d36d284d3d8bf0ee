"""The retrospective as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .numbers import nano
from .retro import MOST_SUGGESTIONS
from .values import Document, dollars, utc

if TYPE_CHECKING:
    from reread.analyses.friction.events import Event
    from reread.analyses.friction.patterns import Pattern
    from reread.analyses.friction.suggestions import Suggestion
    from reread.analyses.rates import Rate
    from reread.queries.retro import Group, Retro
    from reread.queries.trends import Changed


def retro_document(found: Retro, limit: int | None = None, *, only_suggestions: bool = False) -> Document:
    suggestions = [_suggestion(each, found) for each in found.suggestions[: limit or MOST_SUGGESTIONS]]
    if only_suggestions:
        return {"schema": "reread.retro/1", "events": [], "patterns": [], "suggestions": suggestions}
    return {
        "schema": "reread.retro/1",
        "since": utc(found.since),
        "until": utc(found.until),
        "session": found.session.row.uuid if found.session is not None else None,
        "sessions": found.sessions,
        "prompts": found.prompts,
        "baseline": {"sessions": found.sessions_before, "prompts": found.prompts_before}
        if found.prompts_before
        else None,
        "kinds": [_group(group) for group in found.kinds],
        "subjects": [_group(group) for group in found.subjects[:limit]],
        "causes": {cause.value: _group(group) if group is not None else None for cause, group in found.causes.items()},
        "weeks": [{"week": week.week, **_rate(week.rate), "kinds": week.kinds} for week in found.weeks],
        "changes": [_changed(each) for each in found.changes],
        "outcomes": found.outcomes._asdict(),
        "left_out": found.spared._asdict(),
        "events": [_event(event, found) for event in found.events[:limit]],
        "patterns": [_pattern(pattern) for pattern in found.patterns[:limit]],
        "suggestions": suggestions,
    }


def _event(event: Event, found: Retro) -> Document:
    return {
        "kind": event.kind.value,
        "session": event.session,
        "uuid": event.uuid,
        "timestamp": utc(event.time),
        "evidence": event.evidence,
        "confidence": event.confidence,
        "cause": event.cause.value,
        "about": event.about,
        "agent": event.agent,
        "seconds": event.loss.seconds,
        "tokens": event.loss.tokens,
        "cost_usd": dollars(nano(event.loss.nanodollars)),
        "details": event.details,
        "wrong": (event.uuid, event.kind) in found.wrong,
    }


def _group(group: Group) -> Document:
    return {
        "kind": group.kind.value,
        "about": group.about,
        "sessions": group.sessions,
        "seconds": group.seconds,
        "tokens": group.tokens,
        "cost_usd": dollars(nano(group.nanodollars)),
        "hurt": group.hurt,
        "causes": group.causes,
        **_rate(group.rate),
        "before": _rate(group.before) if group.before is not None else None,
        "change": group.change,
        "example": {"session": group.example.session, "uuid": group.example.uuid, "evidence": group.example.evidence},
    }


def _rate(rate: Rate) -> Document:
    interval = rate.interval
    return {
        "count": rate.count,
        "prompts": rate.exposure,
        "per_100_prompts": _rounded(rate.per_hundred),
        "interval": [_rounded(interval[0]), _rounded(interval[1])] if interval is not None else None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _changed(each: Changed) -> Document:
    return {
        "what": each.what,
        "name": each.name,
        "timestamp": utc(each.time),
        "session": each.session,
        "uuid": each.uuid,
        "before": _rate(each.before),
        "after": _rate(each.after),
        "change": each.change,
    }


def _pattern(pattern: Pattern) -> Document:
    return {
        "kind": pattern.kind.value,
        "count": pattern.count,
        "sessions": list(pattern.sessions),
        "example": pattern.example,
        "about": pattern.about,
        "moments": [
            {"session": moment.session, "uuid": moment.uuid, "timestamp": utc(moment.time), "text": moment.text}
            for moment in pattern.moments
        ],
        "details": pattern.details,
    }


def _suggestion(each: Suggestion, found: Retro) -> Document:
    return {
        "kind": each.kind.value,
        "title": each.title,
        "draft": each.draft,
        "place": each.place,
        "evidence": list(each.evidence),
        "moments": [{"session": found.homes.get(uuid), "uuid": uuid} for uuid in each.evidence],
        "sessions": each.sessions,
        "count": each.count,
        "days": each.days,
        "project": each.project,
        "replay": {"matched": each.matched, "went_well": each.went_well, "checked": each.checked},
        "worth": {
            "minutes": each.worth.minutes,
            "cost_usd": dollars(nano(each.worth.nanodollars)),
            "estimated": each.worth.how,
        },
    }


def labelled_document(uuid: str, kinds: Sequence[str], session: str, *, is_wrong: bool) -> Document:
    return {"schema": "reread.label/1", "uuid": uuid, "kinds": list(kinds), "session": session, "wrong": is_wrong}
