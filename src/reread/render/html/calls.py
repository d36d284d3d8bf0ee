"""Tool calls for a page: what each was asked, what it changed, how it ended."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from markupsafe import Markup, escape

from reread.analyses.edits.changes import twin_of
from reread.analyses.edits.patches import read_hunks
from reread.sessions import Session, Status, ToolCall
from reread.sessions.agents import AGENT_TOOLS
from reread.sessions.calls import is_rejection

from ..calls import MARKS, ending, relative, summary, tool_label, without_error_tags
from ..edits import DiffLine, is_edit, patched, proposed
from ..numbers import duration
from ..text import one_line, tabbed
from .code import coloured, coloured_lines
from .cutting import KEPT_LINES, USUAL, WIDEST, Limits, cut
from .parts import Diff, DiffRow, Part, Question, Todo
from .pictures import Picture, pictures
from .words import words

SHOWN_DIFF = 40
"""Lines of a diff before the fold."""
LONGEST_POINT = 240
LONGEST_INLINE = 100
LONGEST_PROSE = 20_000
LONGEST_LISTING = 200_000
_PROSE = frozenset({"prompt", "plan"})
"""Arguments that are Markdown."""
_NOT_APPLIED = {
    Status.ERROR: "not applied: it failed",
    Status.REJECTED: "not applied: rejected",
    Status.INTERRUPTED: "not applied: interrupted",
    Status.MISSING: "no result: perhaps not applied",
}
_REASON = "the user said:"
"""What a person typed when they refused follows these words of the client (1.0 to 2.1)."""
_PATHS = ("file_path", "notebook_path", "path")
_LANGUAGES = {"command": "bash", "query": "", "pattern": "", "code": "python"}
_NUMBERED = re.compile(r" *(\d{1,9})[→\t](.*)")
"""A line of a file as the client shows it to the model."""
_DECISIONS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_SAID_BY_DIFF = frozenset(
    {"file_path", "notebook_path", "old_string", "new_string", "content", "new_source", "edits", "replace_all"}
)


def mark_of(call: ToolCall) -> str:
    return MARKS[call.status][0]


def name_of(call: ToolCall) -> str:
    return tool_label(call.name)[:80]


def is_decision(call: ToolCall) -> bool:
    """Whether it asks the person to choose or to agree."""
    return call.name in _DECISIONS


def point_of(call: ToolCall, project: str | None) -> str:
    if call.name == "ExitPlanMode":  # the plan stands below, open
        return "plan"
    return one_line(summary(call, project)[: LONGEST_POINT * 4])[:LONGEST_POINT]


def ending_of(call: ToolCall) -> str:
    if call.name == "ExitPlanMode" and call.status is Status.OK:
        return "approved"
    return one_line(ending(call)[: LONGEST_POINT * 4])[:LONGEST_POINT]


def seconds_of(call: ToolCall) -> str:
    """Only what a person would notice."""
    return duration(call.seconds) if call.seconds is not None and call.seconds >= 1 else ""


def diffs_of(call: ToolCall, project: str | None, limits: Limits = USUAL) -> list[Diff]:
    """What it changed, or would have."""
    given = call.input if isinstance(call.input, dict) else {}
    if is_edit(call.name):
        lines = _edited(call, given)
        why = _NOT_APPLIED.get(call.status, "")
        return [diff_of(_path(given), lines, project, why, most=limits.lines)] if lines else []
    changed = twin_of(call).get("bashEditDiff")
    files = changed.get("files") if isinstance(changed, dict) else None
    found = []
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("filePath"), str) and read_hunks(file.get("hunks")):
            lines = patched({"structuredPatch": file["hunks"]})
            found.append(diff_of(file["filePath"], lines, project, "", most=limits.lines))
    return found


def _edited(call: ToolCall, given: Mapping[str, Any]) -> list[DiffLine]:
    return patched(twin_of(call)) or proposed(call.name, given)


def words_of(call: ToolCall) -> Iterator[str]:
    """What it was asked, as its part of a page says it: of an edit, the lines of the diff."""
    yield name_of(call)
    given = call.input
    if is_edit(call.name) and isinstance(given, dict) and (lines := _edited(call, given)):
        yield _path(given)
        yield "\n".join([line.text for line in lines])
        given = {name: value for name, value in given.items() if name not in _SAID_BY_DIFF}
    yield from _told(given)


def _told(value: object) -> Iterator[str]:
    """Strings and numbers, without the names of arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _told(item)
    elif isinstance(value, list):
        for item in value:
            yield from _told(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def proposed_diffs(tool: str, given: Any, project: str | None) -> list[Diff]:
    """What a call would change, by its input alone."""
    lines = proposed(tool, given) if is_edit(tool) else []
    return [diff_of(_path(given), lines, project, "")] if lines else []


def _path(given: Mapping[str, Any]) -> str:
    return next((given[key] for key in _PATHS if isinstance(given.get(key), str)), "")


def diff_of(path: str, lines: list[DiffLine], project: str | None, why: str, *, most: int = KEPT_LINES) -> Diff:
    """Lines of a diff, coloured as what they are a part of; `most` of them."""
    colours = coloured_lines([line.text for line in lines[:most]], path=path)
    rows = [
        DiffRow(line.sign, line.number, html, skips)
        for line, html, skips in zip(lines, colours, _skips(lines), strict=False)
    ]
    end = SHOWN_DIFF if len(rows) > SHOWN_DIFF + 3 else len(rows)
    return Diff(
        path=one_line(relative(path, project) if project else path),
        added=sum(line.sign == "+" for line in lines),
        removed=sum(line.sign == "-" for line in lines),
        rows=rows[:end],
        folded=rows[end:],
        left_out=max(0, len(lines) - most),
        not_applied=why,
    )


def listing_of(call: ToolCall, project: str | None, limits: Limits = USUAL) -> Diff | None:
    """A file as it was read, coloured; None where the result is anything else, or all of a long one is wanted, which
    would take seconds to colour."""
    if call.name != "Read" or call.status is not Status.OK or call.output is None:
        return None
    text = call.output.text
    if limits == WIDEST and (len(text) > LONGEST_LISTING or text.count("\n") > KEPT_LINES):
        return None
    found = [_NUMBERED.fullmatch(line) for line in text[:LONGEST_LISTING].split("\n")]
    lines = [DiffLine(" ", line[2], int(line[1])) for line in found if line is not None]
    given = call.input if isinstance(call.input, dict) else {}
    path = given.get("file_path")
    if not lines:
        return None
    made = diff_of(path if isinstance(path, str) else "", lines, project, "")
    return made._replace(left_out=made.left_out + text.count("\n", LONGEST_LISTING))


def _skips(lines: list[DiffLine]) -> Iterator[bool]:
    """For each line whether the one before it is not the one before it in the file."""
    following: int | None = None
    for line in lines:
        is_new = line.sign != "-" and line.number is not None
        yield is_new and following is not None and line.number != following
        if is_new and line.number is not None:
            following = line.number + 1


def todos_of(call: ToolCall) -> list[Todo]:
    given = call.input.get("todos") if isinstance(call.input, dict) and call.name == "TodoWrite" else None
    return [
        Todo(str(each.get("status") or "pending"), str(each.get("content") or ""))
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, dict)
    ]


def questions_of(call: ToolCall) -> list[Question]:
    given = call.input.get("questions") if isinstance(call.input, dict) and call.name == "AskUserQuestion" else None
    said = twin_of(call).get("answers")
    answers = said if isinstance(said, dict) else {}
    asked = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return [_question(each, str(answers.get(str(each.get("question")), ""))) for each in asked]


def _question(asked: Mapping[str, Any], answer: str) -> Question:
    offered = asked.get("options")
    found = [each for each in offered if isinstance(each, dict)] if isinstance(offered, list) else []
    options = [(str(each.get("label") or ""), str(each.get("description") or "")) for each in found]
    chosen = [label for label, _ in options if label and label in answer]
    return Question(
        text=str(asked.get("question") or ""),
        options=[(label, about, label in chosen) for label, about in options],
        answer="" if chosen else answer,
    )


def parts_of(call: ToolCall, *, has_diff: bool, limits: Limits = USUAL) -> list[Part]:
    return arguments_of(call.name, call.input, has_diff=has_diff, limits=limits)


def arguments_of(tool: str, given: Any, *, has_diff: bool, limits: Limits = USUAL) -> list[Part]:
    """The arguments of a call, but for those that a diff or a list shows better."""
    if not isinstance(given, dict):
        return [] if given in (None, "") else [_part("input", given, limits)]
    by_tool = {"TodoWrite": {"todos"}, "AskUserQuestion": {"questions"}, "Read": {"file_path", "offset", "limit"}}
    skipped = _SAID_BY_DIFF if has_diff and is_edit(tool) else by_tool.get(tool, set())
    said = given.get("command") if tool == "Bash" else None
    if isinstance(said, str) and len(said) <= LONGEST_INLINE and "\n" not in said:
        skipped = {"command"}  # its line has all of it
    named = sorted(given.items(), key=lambda each: each[0] != "plan")  # what is to be read, before what it asks for
    return [_part(str(key), value, limits) for key, value in named if key not in skipped]


def _part(name: str, value: Any, limits: Limits) -> Part:
    label = one_line(name)[:60]
    if name in _PROSE and isinstance(value, str) and len(value) < LONGEST_PROSE:
        return Part(label, words(value), "prose")
    language = _LANGUAGES.get(name, "") if isinstance(value, str) else "json"
    text = value if isinstance(value, str) else _json(value)
    if len(text) <= LONGEST_INLINE and "\n" not in text:
        return Part(label, _code(text, language), "inline")
    parts = cut(text, kept=limits.characters)
    return Part(label, _code(parts.head, language), "code", parts if parts.rest or parts.left_out else None)


def _code(text: str, language: str) -> Markup:
    return coloured(text, language=language) if language else escape(text)


def _json(value: Any) -> str:
    return tabbed(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def output_of(session: Session, call: ToolCall) -> str:
    """What it gave back; the words that the client puts around a refusal or an edit say nothing."""
    text = session.full_output(call)
    if call.status is Status.OK and _is_shown_otherwise(call):
        return ""
    if call.status is Status.REJECTED and is_rejection(text):
        return text.partition(_REASON)[2].strip()
    return without_error_tags(text) if call.status is Status.ERROR else text


def _is_shown_otherwise(call: ToolCall) -> bool:
    """Whether a result says again what a diff, a list or the answers show."""
    if call.name == "AskUserQuestion":
        return bool(twin_of(call).get("answers"))
    return is_edit(call.name) or call.name in ("TodoWrite", "ExitPlanMode")


def report_of(call: ToolCall) -> Markup:
    """What an agent reported: its words, as the model's own."""
    if call.name not in AGENT_TOOLS or call.status is not Status.OK or call.output is None:
        return Markup("")
    return words(call.output.text) if len(call.output.text) < LONGEST_PROSE else Markup("")


def pictures_of(call: ToolCall) -> list[Picture]:
    content = call.output.block.content if call.output is not None else None
    return list(pictures(content)) if isinstance(content, list) else []


def raw_of(fields: Mapping[str, Any]) -> str:
    """A record for people: indented, nothing left out."""
    return _json(fields)
