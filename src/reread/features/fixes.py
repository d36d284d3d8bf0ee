"""What worked after an error: the same command in another form, or what was run before it was tried again.

A hook imports this after every failed command, so what it needs for that imports nothing but `re`.
"""

from __future__ import annotations

import re

from reread.records.json_parts import text_or_none

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reread.sessions import Session, ToolCall

SHELLS = ("Bash", "PowerShell")
_TELLING = re.compile(
    r"error|not found|no such|cannot|can't|denied|fail|fatal|unknown|invalid|missing|undefined|unrecognized|exception"
    r"|refused|unable|not a |expected",
    re.IGNORECASE,
)
_LAST = re.compile(r"^[\w.]*(?:Error|Exception|Interrupt)\b", re.MULTILINE)
"""How the line of a Python traceback begins that says what went wrong: it is the last."""
_VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f]{7,}|\d+|(?:[A-Za-z]:)?[\w.~-]*(?:[/\\][\w.@~-]+)*[/\\](?=[\w.@~-])")
"""Numbers and folders: they differ from one machine and one day to the next."""
_LONGEST, _READ = 160, 8000
_REACH = 6
"""Calls after an error among which its remedy is looked for."""


def signature(error: str) -> str:
    """The line of an error that says what went wrong, without what varies; empty if none does."""
    lines = [line.strip() for line in error[:_READ].split("\n") if not line.startswith("Exit code")]
    told = [line for line in lines if _LAST.match(line)][-1:] or [line for line in lines if _TELLING.search(line)][:1]
    return " ".join(_VARYING.sub("", told[0]).split()).lower()[:_LONGEST] if told else ""


def recoveries(session: Session) -> Iterator[tuple[str, str]]:
    """The signature of each error of a command, and the command that worked after it."""
    from reread.features.friction.call_results import worked
    from reread.sessions import CallStatus

    for part in (session, *session.working_agents):
        calls = [call for call in part.tool_calls if call.name in SHELLS and command_of(call)]
        has_worked = [worked(command_of(call), call) for call in calls]
        for place, call in enumerate(calls):
            if call.status is CallStatus.ERROR and call.output is not None and (name := signature(call.output.text)):
                found = _remedy(calls[place : place + 1 + _REACH], has_worked[place : place + 1 + _REACH])
                if found is not None:
                    yield name, found


def command_of(call: ToolCall) -> str:
    return " ".join((text_or_none(call.fields.get("command")) or "").split())


def _remedy(calls: Sequence[ToolCall], has_worked: Sequence[bool]) -> str | None:
    """What made the first call work: the one command between it and the same that worked later, or its other form."""
    from reread.features.friction.command_lines import prefix_of
    from reread.features.friction.tool_errors import is_same_work

    failed = command_of(calls[0])
    for place in range(1, len(calls)):
        if not has_worked[place]:
            continue
        command = command_of(calls[place])
        if command == failed:
            between = [command_of(calls[i]) for i in range(1, place) if has_worked[i]]
            return between[0] if len(between) == 1 else None
        if prefix_of(command) == prefix_of(failed) or is_same_work(command, failed):
            return command
    return None
