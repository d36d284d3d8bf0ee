"""The questions asked in many sessions, by topic; a question copied into another session is told once."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from reread.analyses.decisions import ASKING, Decision, decisions_of
from reread.sessions import Conversation, Copies, Session

from .filters import Filter

_BEGINNING = datetime.min.replace(tzinfo=UTC)


def asking(wanted: Filter) -> Filter:
    """The sessions worth reading: those that asked anything. The filter's own tool and limit are for the answer."""
    return wanted._replace(tool=ASKING, limit=None)


def decisions(sessions: Iterable[Session], wanted: Filter, topic: str | None = None) -> list[Decision]:
    """Questions and answers, the newest first. Sessions come oldest first, so that a copy follows what it copies."""
    copies = Copies()
    found: list[Decision] = []
    for session in sessions:
        parts: list[tuple[str | None, Conversation]] = [(None, session)]
        parts += [(agent.id, agent) for agent in session.subagents if not agent.is_recorded_inline]
        for agent, part in parts:
            copied = {record.uuid for record in part.records[: copies.take(part)] if record.uuid is not None}
            found += [
                each
                for each in decisions_of(part, session.id, agent)
                if each.uuid not in copied and wanted.keeps_time(each.time) and _is_about(each, topic)
            ]
    found.sort(key=lambda each: each.time or _BEGINNING, reverse=True)
    return found[: wanted.limit]


def _is_about(decision: Decision, topic: str | None) -> bool:
    """All words of a topic must occur, wherever in the question, its options and the answer."""
    if topic is None:
        return True
    options = (f"{option.label} {option.description}" for option in decision.options)
    text = " ".join((decision.question, decision.header, decision.answer or "", decision.note, *options)).lower()
    return all(word in text for word in topic.lower().split())
