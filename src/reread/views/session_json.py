"""Sessions, steps and events of a stream as JSON. Field names are a contract, because scripts rely on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import asdict

from reread.archive.answers import FoundPrompts, FoundThought, ThinkingAnswer
from reread.archive.health import Health
from reread.archive.listing import project_of
from reread.billing.cost import Rated
from reread.blocks.model import CallBlock, NoticeBlock, PromptBlock, ShownBlock, ThinkingBlock, TurnBlocks, WordsBlock
from reread.blocks.of_session import SessionBlocks, prompt_block
from reread.features.tool_use import ToolCount
from reread.live import events
from reread.live.events import Event
from reread.records import Usage
from reread.sessions import Branch, Session, Subagent, split_tool_name
from reread.sessions.client_facts import client_facts

from .numbers import by_version
from .session_list import mark_fields
from .values import Document, each_picked, picked, tokens_document


def sessions_document(sessions: Iterable[Session]) -> Document:
    return {"schema": "reread.sessions/1", "sessions": [session_row(session) for session in sessions]}


def session_document(
    session: Session, branches: Iterable[Branch], turns: range | None, kept: Document | None = None
) -> Document:
    """`kept` holds the fields that only the archive knows; None for a session that was read from a file."""
    made = SessionBlocks(session)
    return {
        "schema": "reread.session/1",
        "session": {
            **session_row(session),
            "unsaid": len(session.every_unsaid),
            "client": asdict(client_facts(session)),
            **(kept or {}),
        },
        "turns": [
            turn_document(made.turn(session, turn))
            for branch in branches
            for turn in branch.turns
            if turns is None or turn.index in turns
        ],
        "branches": [
            {**picked(branch, "id leaf active forked_at certain"), "turns": len(branch.turns)}
            for branch in session.branches
        ],
        "subagents": [agent_row(agent) | _lone_turns(made, agent) for agent in session.subagents],
        "coverage": {
            **picked(session.coverage, "records placed"),
            "unplaced": [{"line": left.record.line, "reason": left.reason} for left in session.coverage.unplaced],
        },
        **_wire(session),
    }


def session_row(session: Session) -> Document:
    return {
        **picked(session, "id project title started ended versions"),
        "prompts": len(session.prompts),
        "turns": sum(turn.prompt is not None for turn in session.turns),
        "requests": session.total_usage.requests,
        "tool_calls": len(session.every_call),
        "tool_errors": session.failed_calls,
        "thoughts": len(session.thinking()),
        **picked(session.total_usage, "output_tokens cost_usd=cost"),
        "subagents": len(session.working_agents),
        "branches": len(session.branches),
        "compactions": len(session.compactions),
        "continued_in": client_facts(session).continued_in or None,
        "files": list(session.files),
        "bytes": session.size,
        "present": True,
        "archived": False,
        "expires": None,
        "belongs_to": project_of(session.project) or None,
        "places": [],
        "copied_from": [],  # not known from one session alone
        "copied_cost_usd": None,
        **mark_fields(session.mark),
    }


def agent_row(agent: Subagent) -> Document:
    return {
        **picked(agent, "id kind type"),
        "call": agent.call.id if agent.call is not None else None,
        **picked(agent, "parent from_progress=is_from_progress"),
        "usage": tokens_document(agent.usage),
    }


def _lone_turns(made: SessionBlocks, agent: Subagent) -> Document:
    """The turns of an agent that no call names; the turns of other agents follow the step of their call."""
    return {"turns": [turn_document(turn) for turn in made.agent(agent).turns]} if agent.call is None else {}


def turn_document(turn: TurnBlocks) -> Document:
    result = turn.result
    return {
        **picked(turn.rule, "index branch"),
        "prompt": None if turn.prompt is None else prompt_document(turn.prompt),
        "steps": [document for step in turn.steps for document in step_documents(step)],
        "usage": None if result is None else tokens_document(result.usage.tokens),
        "duration_ms": None if result is None else result.duration_ms,
    }


def prompt_document(prompt: PromptBlock) -> Document:
    return picked(prompt, "uuid=place.uuid text timestamp=place.time images kind")


def step_documents(step: ShownBlock) -> list[Document]:
    """One document per step; a call that started an agent is followed by a document with the agent's turns."""
    place = picked(step.place, "uuid message_id timestamp=time")
    kind, document = _STEPS[type(step)]
    if isinstance(step, NoticeBlock) and step.is_unsaid:
        kind, document = "unsaid", _words
    found = [{"kind": kind, **place, **document(step), **_fate(step.withdrawn)}]
    agent = step.agent if isinstance(step, CallBlock) else None
    if agent is not None:
        turns = [turn_document(turn) for turn in agent.turns]
        found.append({"kind": "agent", **picked(agent, "id type"), "turns": turns})
    return found


def _fate(withdrawn: str | None) -> Document:
    """Only for a step that was taken back after it was shown."""
    return {"withdrawn": withdrawn} if withdrawn is not None else {}


def _thinking(thought: ThinkingBlock) -> Document:
    display = getattr(thought.place.record, "thinking_display", None)
    return {"text": thought.text, "redacted": thought.is_redacted, **({"display": display} if display else {})}


def _words(words: WordsBlock | NoticeBlock) -> Document:
    return {"text": words.text}


def _notice(notice: NoticeBlock) -> Document:
    """Every record of a run of retries is told."""
    about = {"what": notice.what, "text": notice.text, **({"detail": notice.detail} if notice.detail else {})}
    run = each_picked(notice.repeats, "uuid=place.uuid timestamp=place.time text")
    return about | ({"retries": run} if run else {})


def _call(call: CallBlock) -> Document:
    output = call.output
    return {
        "id": call.id,
        "name": call.name,
        "server": split_tool_name(call.name)[0],
        "input": call.input,
        "result": {
            "text": output.whole if output is not None else "",
            "is_error": output.is_error if output is not None else False,
            "status": call.status.value,
        },
        "agent": call.agent.id if call.agent is not None else None,
        **_permission(call),
    }


_STEPS: dict[type[ShownBlock], tuple[str, Callable[[Any], Document]]] = {
    ThinkingBlock: ("thinking", _thinking),
    WordsBlock: ("text", _words),
    NoticeBlock: ("notice", _notice),
    CallBlock: ("tool", _call),
}


def _permission(call: CallBlock) -> Document:
    """Only if the run was captured and the client asked for permission."""
    permission = call.permission
    if permission is None:
        return {}
    names = "asked answered seconds decision message edited_input remembered reason rule"
    return {"permission": picked(permission, names)}


def _wire(session: Session) -> Document:
    """When frames were sent and received, for captured runs."""
    if not session.captures:
        return {}
    captures = [capture.told for capture in session.captures]
    return {
        "wire": {
            "runs": each_picked(captures, "file=path started ended"),
            "messages": [
                picked(message, "message_id began first_token ended ttft_ms")
                for run in captures
                for message in run.timings
            ],
        }
    }


def thinking_document(answer: ThinkingAnswer) -> Document:
    return {
        "schema": "reread.thinking/1",
        "thoughts": [thought_document(found) for found in answer.thoughts],
        **picked(answer, "skipped_short empty_with_signature redacted total"),
    }


def thought_document(found: FoundThought) -> Document:
    thought = found.thought
    return {
        **picked(found, "session agent"),
        **picked(thought, "uuid message_id timestamp=time text"),
        "characters": len(thought.text),
        **picked(thought, "estimated_tokens billed_tokens"),
        **_fate(thought.withdrawn),
    }


def prompts_document(found: FoundPrompts) -> Document:
    return {
        "schema": "reread.prompts/1",
        "total": found.total,
        "prompts": [
            {
                **picked(each, "session project"),
                **prompt_document(prompt_block(each.prompt)),
                "queued": each.prompt.is_queued,
            }
            for each in found.prompts
        ],
    }


def tools_document(counts: Sequence[ToolCount], limit: int | None = None) -> Document:
    return {
        "schema": "reread.tools/1",
        "total": len(counts),
        "tools": [
            {
                **picked(count, "name server tool calls errors rejected interrupted missing"),
                "seconds": round(count.seconds, 3),
            }
            for count in counts[:limit]
        ],
    }


def health_document(health: Health, *, with_fields: bool = False) -> Document:
    fields = {label: {"objects": found.objects, "fields": found.fields} for label, found in health.drift.fields.items()}
    days = float(health.cleanup_period_days)
    return {
        "schema": "reread.doctor/1",
        **picked(health, "files sessions lines records"),
        "malformed": [{"file": str(bad.file), "line": bad.line, "reason": bad.reason} for bad in health.malformed],
        "unreadable": [{"file": str(problem.path), "reason": problem.reason} for problem in health.unreadable],
        "types": dict(health.types.most_common()),
        "unknown_types": dict(health.drift.unknown_types.most_common()),
        "unmodelled_fields": dict(health.drift.unmodelled_fields.most_common()),
        "unexpected_values": dict(health.drift.unexpected_values.most_common()),
        "versions": {version: health.versions[version] for version in sorted(health.versions, key=by_version)},
        "unsaid": {"texts": health.unsaid, "sessions": health.unsaid_sessions},
        **picked(health, "orphan_parents cross_file_duplicates"),
        "retention": {
            "cleanup_period_days": int(days) if days.is_integer() else days,
            "expiring_sessions": health.expiring_sessions,
        },
        **picked(health, "expiring_not_archived=unkept_sessions results_waiting price_table_date"),
        "left_out": picked(health.left_out, "unread forgotten damaged"),
        "beside": [{"path": str(each.path), "transcripts": each.transcripts} for each in health.beside],
        **({"fields": fields} if with_fields else {}),
    }


def event_document(event: Event) -> Document:
    """The kind of event, its session, agent and block; then its own fields."""
    fields = asdict(event)
    fields.pop("record", None)  # the other fields hold its content
    special = _SPECIAL.get(type(event))
    head = {name: fields.pop(name) for name in ("session", "agent", "message_id", "index")}
    return {"event": event.__struct_config__.tag, **head, **(special(event) if special is not None else fields)}


def usage_document(usage: Usage) -> Document:
    """Token counts under the names that all other documents use."""
    server_tools = usage.server_tool_use
    used = Rated.of(usage, (server_tools.web_search_requests or 0) if server_tools is not None else 0)
    return picked(
        used,
        "input_tokens=input output_tokens=output cache_read_tokens=cache_read cache_write_5m_tokens=cache_write_5m"
        " cache_write_1h_tokens=cache_write_1h web_searches",
    )


def _usage(event: events.MessageUsage) -> Document:
    return {**usage_document(event.usage), **picked(event, "model stop_reason ttft_ms")}


def _result(event: events.TurnResult) -> Document:
    return {
        **picked(event, "is_error subtype text cost_usd turn_cost_usd terminal_reason duration_ms turns"),
        "usage": None if event.usage is None else usage_document(event.usage),
        **picked(event, "models errors denials origin"),
    }


def _unknown(event: events.UnknownFrame) -> Document:
    return {**picked(event, "reason type=record.type"), "raw": event.record.raw.decode("utf-8", "backslashreplace")}


_SPECIAL: dict[type[Event], Callable[[Any], Document]] = {
    events.MessageUsage: _usage,
    events.TurnResult: _result,
    events.Notice: lambda event: picked(event, "what text data"),
    events.UnknownFrame: _unknown,
}
