"""What tool calls show: the files they name, how often tools ran and failed, and questions with their answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from reread import lazy
from reread.records import User
from reread.records.json_parts import list_of, object_of, objects_in
from reread.sessions import CallStatus, Conversation, ToolCall, split_tool_name

_PATH_KEYS = ("file_path", "notebook_path", "path")


class _Paths(Struct, frozen=True, gc=False):
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None


_decode = msgspec.json.Decoder(_Paths).decode
"""Skips all other arguments: decoding a written file's content would cost more than the rest of the call."""


def paths_of(call: ToolCall) -> list[str]:
    """The paths among a call's arguments. Shell commands are not searched for paths."""
    try:
        paths = _decode(call.block.raw_input)
    except (msgspec.DecodeError, UnicodeDecodeError):  # not an object, or values of unexpected types
        named = (call.fields.get(key) for key in _PATH_KEYS)
        return [path for path in named if isinstance(path, str)]
    return [path for path in (paths.file_path, paths.notebook_path, paths.path) if path is not None]


def twin_of(call: ToolCall) -> dict[str, Any]:
    """The structured twin of a call's result; empty if there is none."""
    return call.output.whole_twin if call.output is not None else {}


class ToolCount(Struct, kw_only=True):
    name: str
    server: str | None
    tool: str
    calls: int = 0
    errors: int = 0
    rejected: int = 0
    interrupted: int = 0
    missing: int = 0
    seconds: float = 0.0
    """Total time from call to result, including waiting for the person."""

    @property
    def error_rate(self) -> float:
        return self.errors / self.calls if self.calls else 0.0


_COUNTER: dict[str, str] = {
    CallStatus.ERROR: "errors",
    CallStatus.REJECTED: "rejected",
    CallStatus.INTERRUPTED: "interrupted",
    CallStatus.MISSING: "missing",
}


def count_tools(calls: Iterable[ToolCall]) -> list[ToolCount]:
    """Counts of calls by tool, the most used first, then by name."""
    return sum_tools((call.name, call.status.value, 1, call.seconds or 0.0) for call in calls)


def sum_tools(sums: Iterable[tuple[str, str, int, float]]) -> list[ToolCount]:
    """The same from rows of name, status, number of calls and total seconds."""
    counts: dict[str, ToolCount] = {}
    for name, status, calls, seconds in sums:
        count = counts.get(name)
        if count is None:
            server, tool = split_tool_name(name)
            count = counts[name] = ToolCount(name=name, server=server, tool=tool)
        count.calls += calls
        count.seconds += seconds
        if status in _COUNTER:
            setattr(count, _COUNTER[status], getattr(count, _COUNTER[status]) + calls)
    return sorted(counts.values(), key=lambda count: (-count.calls, count.name))


ASKING = "AskUserQuestion"
_SAID = lazy.pattern(r'"((?:[^"\\]|\\.)*)"="((?:[^"\\]|\\.)*)"')
"""How the result's text gives answers, used where its twin is missing."""
_SAID_SO_FAR = lazy.pattern(r'^- "(.*?)"\n[ \t]*Answer: (.*)$', re.MULTILINE)
"""How it gives the answers of a person who then chose to talk instead."""
_REASON = lazy.pattern(r"the user said:\s*(.*?)(?:\n\nNote: |$)", re.DOTALL)
_CANNED = ("The user wants to clarify these questions", "The user has indicated they have provided enough answers")
"""What the client writes in the person's name when they leave the questions and continue in the conversation."""


class Option(Struct, frozen=True):
    label: str
    description: str = ""


class Decision(Struct, frozen=True, kw_only=True):
    """One question and its answer."""

    session: str
    project: str | None
    agent: str | None
    uuid: str | None
    time: datetime | None
    question: str
    header: str
    options: tuple[Option, ...]
    is_multiple: bool
    answer: str | None
    """What was chosen or typed; None without an answer."""
    note: str = ""
    """What the person added to the choice, or wrote when refusing."""
    status: str
    """answered, rejected, interrupted, unanswered."""

    @property
    def chosen(self) -> list[str]:
        """The parts of the answer, such as labels of options; several where several could be chosen."""
        return chosen(self.answer, [option.label for option in self.options]) if self.answer is not None else []

    @property
    def is_free(self) -> bool:
        """Whether the answer or a part of it is in the person's own words."""
        return self.answer is not None and any(
            part not in {option.label for option in self.options} for part in self.chosen
        )


def decisions_of(conversation: Conversation, session: str, agent: str | None = None) -> Iterator[Decision]:
    """Every question of a conversation, in the order they were asked."""
    for call in conversation.tool_calls:
        if call.name == ASKING:
            yield from decisions_in(call, session, conversation.project, agent)


def decisions_in(call: ToolCall, session: str, project: str | None, agent: str | None) -> Iterator[Decision]:
    """The questions of one call."""
    twin = twin_of(call)
    answers = _answers(call, twin)
    for question in objects_in(twin.get("questions") or call.fields.get("questions")):
        text = str(question.get("question") or "")
        answer = answers.get(text)
        yield Decision(
            session=session,
            project=project,
            agent=agent,
            uuid=call.uuid,
            time=call.time,
            question=text,
            header=str(question.get("header") or ""),
            options=tuple(_options(question.get("options"))),
            is_multiple=question.get("multiSelect") is True,
            answer=answer,
            note=_note(call, twin, text),
            status="answered" if answer is not None else _STATUS.get(call.status, "unanswered"),
        )


_STATUS = {CallStatus.REJECTED: "rejected", CallStatus.INTERRUPTED: "interrupted", CallStatus.ERROR: "rejected"}


def _answers(call: ToolCall, twin: dict[str, Any]) -> dict[str, str]:
    answers = twin.get("answers")
    if isinstance(answers, dict):
        return {question: _answer(answer) for question, answer in answers.items()}
    if call.output is None:
        return {}
    if call.status is not CallStatus.OK:
        return dict(_SAID_SO_FAR.findall(call.output.text)) if _is_canned(_feedback(call)) else {}
    return {_unquoted(question): _unquoted(answer) for question, answer in _SAID.findall(call.output.text)}


def _answer(answer: Any) -> str:
    return ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def _unquoted(text: str) -> str:
    return text.replace('\\"', '"')


def _note(call: ToolCall, twin: dict[str, Any], question: str) -> str:
    notes = object_of(object_of(twin.get("annotations")).get(question)).get("notes")
    if isinstance(notes, str):
        return notes
    feedback = _feedback(call)
    return "" if _is_canned(feedback) else feedback


def _feedback(call: ToolCall) -> str:
    """What the person wrote when refusing, as the record has it."""
    record = call.output.record if call.output is not None else None
    if isinstance(record, User) and record.user_feedback:
        return record.user_feedback.strip()
    match = _REASON.search(call.output.text) if call.output is not None and call.status is CallStatus.REJECTED else None
    return match[1].strip() if match else ""


def _is_canned(text: str) -> bool:
    return text.startswith(_CANNED)


def _options(value: Any) -> Iterator[Option]:
    for option in list_of(value):
        if isinstance(option, dict):
            yield Option(str(option.get("label") or ""), str(option.get("description") or ""))
        elif isinstance(option, str):
            yield Option(option)


def chosen(answer: str, labels: list[str]) -> list[str]:
    """The parts of an answer. Labels may contain commas, so they are searched for first, starting with the longest."""
    if answer in labels or not answer:
        return [answer] if answer else []
    parts: list[tuple[int, str]] = []
    rest = answer
    for label in sorted(labels, key=len, reverse=True):
        found = re.search(rf"(?:^|, ){re.escape(label)}(?=, |$)", rest) if label else None
        if found:
            parts.append((found.start(), label))
            rest = rest[: found.start()] + "\0" * (found.end() - found.start()) + rest[found.end() :]
    for free in re.finditer(r"[^\0]+", rest):
        words = free[0].strip().removeprefix(", ").removesuffix(",").strip()
        if words:
            parts.append((free.start(), words))
    return [part for _, part in sorted(parts)]
