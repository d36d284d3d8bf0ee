"""Tool calls and their results, paired by `tool_use_id` alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from msgspec import Struct

from reread import lazy
from reread.billing.response import is_unique
from reread.records import (
    Record,
    ResultTwin,
    ServerToolResult,
    ServerToolUse,
    Spoken,
    ToolResult,
    ToolUse,
    User,
    result_twin,
)
from reread.records.base import version_numbers
from reread.records.json_parts import object_of, objects_in, text_or_none
from reread.records.lenient import ABSENT, parse_or_none

from .captured import ToolPermission, Withdrawal, WithdrawnBlock


class FromLine(Struct, frozen=True, kw_only=True, gc=False):
    """Something in a line of the transcript."""

    record: Record

    @property
    def uuid(self) -> str | None:
        return self.record.uuid

    @property
    def time(self) -> datetime | None:
        return self.record.time

    @property
    def message_id(self) -> str | None:
        """The API response it is part of."""
        return message_of(self.record)

    @property
    def withdrawn(self) -> Withdrawal | None:
        """Why it was taken back after it was shown; None if it was not taken back."""
        return self.record.reason if isinstance(self.record, WithdrawnBlock) else None


def message_of(record: Record) -> str | None:
    """The API response that a line is part of."""
    if isinstance(record, Spoken):
        return record.api_message.id
    return record.message_id if isinstance(record, WithdrawnBlock) else None


_REJECTIONS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
    "Permission for this tool use was denied",
    "Permission to use ",
)
BY_PERSON = "user-rejected"
"""The kind of denial that comes from the person."""
_TELLS_WHAT_NEVER_RAN = (2, 1, 327)
_INTERRUPT = "[Request interrupted by user"
"""The whole result in 1.0.x; after `Exit code 137` in 2.0 and 2.1.50."""
_PERSISTED = lazy.pattern(r"<persisted-output>.*?saved to:?\s*(\S[^\n]*)", re.DOTALL)


class CallStatus(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    MISSING = "missing"


MADE_BY_API = 16
"""Ids of the API have at least 16 characters and never repeat; gateways number calls and messages from one."""


def call_identity(name: str | None, time: object) -> tuple[object, ...] | None:
    """What all copies of a call have in common; None for a call that cannot be distinguished from others."""
    if name is None:
        return None
    if name.startswith(("toolu_", "srvtoolu_")) and len(name) >= MADE_BY_API:
        return (name,)
    return (name, time) if time is not None else None


def given_id(name: str) -> str:
    """The id in the transcript of a call with this `ToolCall.id`."""
    given, mark, number = name.rpartition("#")
    return given if mark and number.isdigit() else name


class ToolOutput(FromLine, frozen=True, kw_only=True, gc=False):
    block: ToolResult | ServerToolResult

    @property
    def text(self) -> str:
        return self.block.as_text

    @property
    def is_error(self) -> bool:
        return bool(self.block.is_error)

    @property
    def user_line(self) -> User | None:
        """Its line, if that holds no other result: otherwise the structured twin may belong to another call."""
        if not isinstance(self.record, User):
            return None
        blocks = self.record.blocks
        is_alone = len(blocks) == 1 or [type(block) for block in blocks].count(ToolResult) == 1
        return self.record if is_alone else None

    @property
    def twin(self) -> ResultTwin:
        """What is always asked of the structured twin.

        Reading it means a look through all of it, and a third of a transcript's bytes are twins. So the status of a
        call, which is asked for again and again, is cached on the call.
        """
        line = self.user_line
        return result_twin(line) if line is not None else ResultTwin()

    @property
    def whole_twin(self) -> dict[str, Any]:
        """All of the structured twin; empty if there is none."""
        line = self.user_line
        return object_of(line.tool_use_result) if line is not None else {}


class ToolCall(FromLine, frozen=True, kw_only=True, gc=True, dict=True):
    id: str | None
    """Unique in its conversation: where a gateway gives an id again, it is followed by `#2`, `#3` and so on."""
    block: ToolUse
    output: ToolOutput | None
    permission: ToolPermission | None = None
    """How it was allowed or refused, where the run was captured and the client asked."""

    def __repr__(self) -> str:
        return f"<ToolCall {self.name} {self.status}, line {self.record.line}>"

    @property
    def identity(self) -> tuple[object, ...] | None:
        """What all its copies have in common; the time is read only where the id alone is not enough."""
        return call_identity(self.block.id, None) or call_identity(self.block.id, self.time)

    @property
    def name(self) -> str:
        return self.block.name or "(unnamed)"

    @property
    def input(self) -> Any:
        return self.block.input

    @property
    def fields(self) -> dict[str, Any]:
        """The input where it is an object, as nearly always."""
        return object_of(self.block.input)

    @property
    def server(self) -> str | None:
        """The MCP server, for tools that come from one."""
        return split_tool_name(self.name)[0]

    @cached_property
    def status(self) -> CallStatus:
        if self.output is not None:
            return status_of(self.output, self.permission)
        # The API's own tools answer inside the same message, and some gateways leave the answer out.
        return CallStatus.OK if isinstance(self.block, ServerToolUse) else CallStatus.MISSING

    @property
    def persisted(self) -> str | None:
        """Base name of the side file that holds the whole output, when the line holds only its beginning."""
        return None if self.output is None else _persisted_name(self.output)

    @property
    def seconds(self) -> float | None:
        """From the time of the call's line to the time of its result's."""
        return self.seconds_since(self.time)

    def seconds_since(self, began: datetime | None) -> float | None:
        """The same, where the time of the call's line is already known."""
        ended = self.output.record.time if self.output is not None else None
        return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())


def call_names(calls: Iterable[ToolCall]) -> Iterator[tuple[str, ToolCall]]:
    """The calls of a conversation with their names: the id, or the place for a call without one."""
    for position, call in enumerate(calls):
        yield call.id or f"@{call.record.offset}.{position}", call


def split_tool_name(name: str) -> tuple[str | None, str]:
    """`mcp__desktop-commander__read_file` -> the server and its tool; others have no server."""
    if not name.startswith("mcp__"):
        return None, name
    server, found, tool = name.removeprefix("mcp__").partition("__")
    return (server, tool) if found else (None, name)


def pair_calls(records: Iterable[Spoken], permissions: Mapping[str, ToolPermission]) -> dict[int, ToolCall]:
    """The call that each block makes, with its result, by the `id()` of the block and in file order.

    Clients up to 1.0 repeat calls after a compaction: such a block makes the call it repeats. Some gateways number the
    calls of every response from 0: a result then belongs to the last call before it that has its id.
    """
    uses: dict[str, tuple[Record, ToolUse]] = {}
    outputs: dict[str, ToolOutput] = {}
    made: dict[int, str] = {}
    known: dict[object, str] = {}
    last: dict[str, str] = {}
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for record in records:
        for block in record.blocks:
            if isinstance(block, ToolUse):
                given = block.id or f"unnamed {len(uses)}"
                identity = call_identity(given, _response(record) or record.timestamp or results[given])
                if identity not in known:
                    calls[given] += 1
                    last[given] = known[identity] = given if calls[given] == 1 else f"{given}#{calls[given]}"
                    uses[last[given]] = record, block
                made[id(block)] = known[identity]
            elif isinstance(block, ToolResult | ServerToolResult) and block.tool_use_id is not None:
                results[block.tool_use_id] += 1
                answered = last.get(block.tool_use_id, block.tool_use_id)
                outputs.setdefault(answered, ToolOutput(record=record, block=block))
    found = {
        name: ToolCall(
            id=name if use.id else None,
            record=record,
            block=use,
            output=outputs.get(name),
            permission=permissions.get(name) if calls[name] == 1 else None,
        )
        for name, (record, use) in uses.items()
    }
    return {block: found[name] for block, name in made.items()}


def _response(record: Record) -> str | None:
    """The response that a line is part of, if the API named it: gateways may give every response the same id."""
    name = message_of(record)
    return name if name is not None and is_unique(name) else None


def is_rejection(text: str) -> bool:
    """Whether a failed result says, in the client's words, that the person did not let the tool run."""
    return text[:100].lstrip().startswith(_REJECTIONS)


def status_of(output: ToolOutput, permission: ToolPermission | None = None) -> CallStatus:
    """The status by the strongest evidence: a refusal is also marked as an error, an interrupt is not always.

    A call that was allowed and is called rejected all the same was stopped while it ran.
    """
    status = _told_status(output)
    is_allowed = permission is not None and permission.decision == "allow"
    return CallStatus.INTERRUPTED if is_allowed and status is CallStatus.REJECTED else status


def _told_status(output: ToolOutput) -> CallStatus:
    text, twin = output.text[:100].lstrip(), output.twin
    is_error = output.is_error or bool(twin.message)
    if isinstance(output.record, User) and _denial_kind(output.record, output.block.tool_use_id) is not None:
        return CallStatus.INTERRUPTED if _was_running(output.record) else CallStatus.REJECTED
    if is_error and (is_rejection(text) or is_rejection(twin.message)):
        return CallStatus.REJECTED
    if twin.interrupted or (is_error and _INTERRUPT in text):
        return CallStatus.INTERRUPTED
    if output.is_error or text.startswith("<tool_use_error>") or twin.message.startswith("Error: "):
        return CallStatus.ERROR
    return CallStatus.OK


def _denial_kind(result: User, call: str | None) -> str | None:
    """What kept a call from running. A stream says it beside the results, by the ids of their calls (2.1.325)."""
    if result.tool_denial_kind is not None or result.tool_result_meta is ABSENT:
        return result.tool_denial_kind
    own = (each for each in objects_in(parse_or_none(result.tool_result_meta)) if each.get("id") == call)
    return next((kind for each in own if (kind := text_or_none(each.get("non_execution_kind"))) is not None), None)


def _was_running(result: User) -> bool:
    """Whether the person stopped a call that was already running. The client records that as a denial, too; since
    2.1.327 it marks the denied calls that never ran. A call that was asked about, or denied with a reason, never ran
    either."""
    is_recorded = (version_numbers(result.version) or ()) >= _TELLS_WHAT_NEVER_RAN
    was_asked = result.tool_denial_before_run or result.permission_decision is not None or result.user_feedback
    return is_recorded and result.tool_denial_kind == BY_PERSON and not was_asked


def _persisted_name(output: ToolOutput) -> str | None:
    """Base name only: the path in the line is another machine's, or an attempt to leave the session's folder."""
    path = output.twin.persisted_output_path
    if path is None and output.text.startswith("<persisted-output>"):
        saved = _PERSISTED.search(output.text)
        path = saved[1].strip() if saved else None
    if path is None:
        return None
    name = re.split(r"[/\\]+", path.rstrip("/\\"))[-1]
    return name if name not in ("", ".", "..") else None
