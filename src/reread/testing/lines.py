"""Lines of a transcript and their content blocks, one builder per thing that can happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

Json = dict[str, Any]


class ContentBlock(Struct, frozen=True):
    """One content block; an id that is UNSET is numbered when the session is written."""

    fields: Json


def as_block(given: str | ContentBlock | Json) -> ContentBlock:
    """A string is a text block; a dict is taken as it stands."""
    if isinstance(given, ContentBlock):
        return given
    return ContentBlock({"type": "text", "text": given} if isinstance(given, str) else given)


def a_thought(text: str = "", *, signature: str = "c2ln", **fields: Any) -> ContentBlock:
    """A thinking block; without text it is what clients store since 2.1.70."""
    return ContentBlock({"type": "thinking", "thinking": text, "signature": signature, **fields})


def a_tool_call(
    name: str = "Bash",
    input: Json | None = None,  # noqa: A002
    *,
    id: str | UnsetType = UNSET,  # noqa: A002
    **fields: Any,
) -> ContentBlock:
    """A tool_use block; it may also stand in a session by itself, as a reply that says nothing else."""
    return ContentBlock({"type": "tool_use", "id": id, "name": name, "input": input or {}, **fields})


def an_image(data: str = "iVBORw0KGgo=", media_type: str = "image/png") -> ContentBlock:
    return ContentBlock({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})


def a_usage(
    input: int = 10,  # noqa: A002
    output: int = 20,
    *,
    cache_read: int = 0,
    cache_write: int = 0,
    cache_write_1h: int | None = None,
    web_searches: int | None = None,
    **fields: Any,
) -> Json:
    """The `usage` of a response; the cache split is there only if `cache_write_1h` is given."""
    usage: Json = {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    }
    if cache_write_1h is not None:
        five_minutes = max(0, cache_write - cache_write_1h)
        usage["cache_creation"] = {
            "ephemeral_5m_input_tokens": five_minutes,
            "ephemeral_1h_input_tokens": cache_write_1h,
        }
    if web_searches is not None:
        usage["server_tool_use"] = {"web_search_requests": web_searches}
    return {**usage, **fields}


Name = str | None | UnsetType
Where = Literal["below", "beside", "inside"]

NODES = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types whose lines carry a uuid and hang from each other; all others only apply to what follows them."""


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that happened, as one line of the file or several."""

    lines: tuple[Json, ...]
    """Without ids, parents and times; fields that are UNSET are filled in with them."""
    uuid: str | None = None
    to: Name = UNSET
    text: str | None = None
    """What `to=` of other entries may call it by."""
    names: tuple[tuple[str, str | None], ...] = ()
    """Fields that name another entry the way `to=` does."""
    is_node: bool = True


class Agent(Struct, frozen=True, kw_only=True):
    """A subagent with a file of its own, or (`inside`, clients of 1.0) as sidechain lines of the trunk."""

    entries: tuple[Entry | ContentBlock, ...]
    id: str
    meta: Json | None
    where: Where
    workflow: str | None


def a_line(type: str, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:  # noqa: A002
    """A line of any type; it has a uuid if its type usually has one, or if one is given."""
    is_node = type in NODES or uuid is not None
    return Entry(lines=({"type": type, **fields},), uuid=uuid, to=to, is_node=is_node)


def a_prompt(*parts: str | ContentBlock | Json, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """What a person typed: one string is written as a string, everything else as a list of blocks."""
    is_plain = len(parts) == 1 and isinstance(parts[0], str)
    content: Any = parts[0] if is_plain else [as_block(part).fields for part in parts]
    return _user(content, uuid, to, text=_first_text(parts), **fields)


def a_reply(
    *parts: str | ContentBlock | Json,
    thinking: str | None = None,
    id: str | UnsetType | None = UNSET,  # noqa: A002
    model: str | None = "claude-opus-4-8",
    usage: Json | Sequence[Json | None] | None = None,
    stop_reason: str | UnsetType | None = UNSET,
    uuid: str | None = None,
    to: Name = UNSET,
    **fields: Any,
) -> Entry:
    """One API response: a line per block, all with its id and usage, or each with its own usage if a list is given."""
    thoughts = [] if thinking is None else [a_thought(thinking)]
    blocks = [*thoughts, *(as_block(part) for part in parts)]
    calls = any(block.fields.get("type") == "tool_use" for block in blocks)
    message = {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": ("tool_use" if calls else "end_turn") if stop_reason is UNSET else stop_reason,
    }
    usages = usage if isinstance(usage, list | tuple) else [a_usage() if usage is None else usage] * len(blocks)
    lines = tuple(
        {
            "type": "assistant",
            "message": {**message, "content": [block.fields], "usage": used},
            "requestId": UNSET,
            **fields,
        }
        for block, used in zip(blocks, usages, strict=True)
    )
    return Entry(lines=lines, uuid=uuid, to=to, text=_first_text(parts))


def a_tool_result(
    output: str | Sequence[ContentBlock | Json] = "",
    *,
    of: str | UnsetType = UNSET,
    is_error: bool | None = None,
    twin: Any = UNSET,
    uuid: str | None = None,
    to: Name = UNSET,
    **fields: Any,
) -> Entry:
    """The result of a call, by default of the first one still open; it hangs from the line of its call."""
    content: Any = output if isinstance(output, str) else [as_block(part).fields for part in output]
    block: Json = {"type": "tool_result", "tool_use_id": of, "content": content}
    if is_error is not None:
        block["is_error"] = is_error
    if twin is not UNSET:
        fields["toolUseResult"] = twin
    return _user([block], uuid, to, text=output if isinstance(output, str) else None, **fields)


def a_command(name: str, arguments: str = "", *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """A slash command as the interactive client records it."""
    text = (
        f"<command-name>{name}</command-name>\n<command-message>{name.lstrip('/')}</command-message>\n"
        f"<command-args>{arguments}</command-args>"
    )
    return _user(text, uuid, to, text=name, **fields)


def an_interrupt(*, for_tool: bool = False, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """The line Esc leaves."""
    text = f"[Request interrupted by user{' for tool use' if for_tool else ''}]"
    return _user([{"type": "text", "text": text}], uuid, to, text=text, **fields)


def a_task_notification(
    summary: str, *, task: str, call: str, uuid: str | None = None, to: Name = UNSET, **fields: Any
) -> Entry:
    """A background task reporting back in the user's name."""
    text = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
        f"<status>completed</status>\n<summary>{summary}</summary>\n</task-notification>"
    )
    return _user(text, uuid, to, text=summary, **{"origin": {"kind": "task-notification"}, **fields})


def a_compaction(
    summary: str = "This session is being continued from a previous conversation.",
    *,
    after: Name = UNSET,
    trigger: str = "manual",
    pre_tokens: int = 100_000,
    uuid: str | None = None,
    **metadata: Any,
) -> Entry:
    """The boundary and the summary after it; `after` names the last line before, if it is not the one above."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "logicalParentUuid": UNSET,
        "compactMetadata": {"trigger": trigger, "preTokens": pre_tokens, **metadata},
    }
    return Entry(
        lines=(boundary, {**_message(summary), "isCompactSummary": True, "isVisibleInTranscriptOnly": True}),
        uuid=uuid,
        to=None,
        text=summary,
        names=() if after is UNSET else (("logicalParentUuid", after),),
    )


def a_system_line(subtype: str | None, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    return a_line("system", uuid=uuid, to=to, **({} if subtype is None else {"subtype": subtype}), **fields)


def an_attachment(kind: str, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """An attachment of that type; the fields are its own, not the line's."""
    return a_line("attachment", uuid=uuid, to=to, attachment={"type": kind, **fields})


def a_queued_prompt(text: str, *, uuid: str | None = None, to: Name = UNSET) -> Entry:
    """Text sent while the agent was busy, as clients since 2.1.107 record it."""
    return an_attachment("queued_command", prompt=text, commandMode="prompt", uuid=uuid, to=to)


def a_title(text: str, *, by: Literal["person", "model"] = "person") -> Entry:
    return a_line("custom-title", customTitle=text) if by == "person" else a_line("ai-title", aiTitle=text)


def a_summary(text: str, *, of: str | None) -> Entry:
    """A summary line; `of` names the entry it is about, which may be in another file."""
    return Entry(lines=({"type": "summary", "summary": text},), names=(("leafUuid", of),), is_node=False)


def an_ending(at: str | None = None, *, prompt: str | None = None) -> Entry:
    """The `last-prompt` line that says where the conversation stands."""
    return Entry(
        lines=({"type": "last-prompt", "lastPrompt": prompt},),
        names=() if at is None else (("leafUuid", at),),
        is_node=False,
    )


def a_subagent(
    *entries: Entry | ContentBlock,
    id: str = "a1",  # noqa: A002
    of: str | None = None,
    meta: Json | None = None,
    where: Where = "below",
    workflow: str | None = None,
) -> Agent:
    """An agent's own conversation; `of` names its call in a `.meta.json`, as clients since 2.1.197 do."""
    if of is not None:
        meta = {"agentType": "general-purpose", "toolUseId": of, **(meta or {})}
    return Agent(entries=entries, id=id, meta=meta, where=where, workflow=workflow)


def _user(content: Any, uuid: str | None, to: Name, *, text: str | None, **fields: Any) -> Entry:
    return Entry(lines=({**_message(content), **fields},), uuid=uuid, to=to, text=text)


def _message(content: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _first_text(parts: Sequence[str | ContentBlock | Json]) -> str | None:
    return next((part for part in parts if isinstance(part, str)), None)
