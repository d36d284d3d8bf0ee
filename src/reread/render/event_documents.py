"""Events of a stream as JSON documents, one per line. Field names are a contract: scripts rely on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from reread.billing.cost import Rated
from reread.live import events
from reread.live.events import Event
from reread.records import Usage

from .values import Document, dollars


def event_document(event: Event) -> Document:
    """Which event it is, whose, and of which block; then what it says."""
    fields = asdict(event)
    fields.pop("record", None)  # what it says is in the other fields
    special = _SPECIAL.get(type(event))
    head = {name: fields.pop(name) for name in ("session", "agent", "message_id", "index")}
    return {"event": event.__struct_config__.tag, **head, **(special(event) if special is not None else fields)}


def usage_document(usage: Usage) -> Document:
    """Token counts by the names that every other document uses."""
    told = usage.server_tool_use
    used = Rated.of(usage, (told.web_search_requests or 0) if told is not None else 0)
    return {
        "input_tokens": used.input,
        "output_tokens": used.output,
        "cache_read_tokens": used.cache_read,
        "cache_write_5m_tokens": used.cache_write_5m,
        "cache_write_1h_tokens": used.cache_write_1h,
        "web_searches": used.web_searches,
    }


def _usage(event: events.MessageUsage) -> Document:
    return {
        **usage_document(event.usage),
        "model": event.model,
        "stop_reason": event.stop_reason,
        "ttft_ms": event.ttft_ms,
    }


def _result(event: events.TurnResult) -> Document:
    return {
        "is_error": event.is_error,
        "subtype": event.subtype,
        "text": event.text,
        "cost_usd": dollars(event.cost_usd),
        "terminal_reason": event.terminal_reason,
        "duration_ms": event.duration_ms,
        "turns": event.turns,
        "usage": None if event.usage is None else usage_document(event.usage),
        "models": event.models,
        "errors": event.errors,
        "denials": event.denials,
        "origin": event.origin,
    }


def _notice(event: events.Notice) -> Document:
    return {"what": event.what, "text": event.text, "data": event.data}


def _unknown(event: events.UnknownFrame) -> Document:
    return {
        "reason": event.reason,
        "type": event.record.type,
        "raw": event.record.raw.decode("utf-8", "backslashreplace"),
    }


_SPECIAL: dict[type[Event], Callable[[Any], Document]] = {
    events.MessageUsage: _usage,
    events.TurnResult: _result,
    events.Notice: _notice,
    events.UnknownFrame: _unknown,
}
