"""Tool calls for a page: input, changes, ending, and what the client asks about a call."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from markupsafe import Markup, escape

from reread.blocks.model import AskedQuestion, CallBlock, path_of
from reread.features.edits.patches import DiffLine, is_edit, proposed
from reread.live.events import Permission
from reread.records import ToolResult, User
from reread.sessions import CallStatus
from reread.sessions.agents import AGENT_TOOLS
from reread.sessions.calls import is_rejection
from reread.views.calls import MARKS, ending, relative, summary, tool_label, without_error_tags
from reread.views.numbers import duration
from reread.views.permissions import NO_PLAN_TOLD, InputValue, in_words, questions_of, reasons, unshown_values
from reread.views.text import one_line, tabbed

from .content import KEPT_LINES, USUAL, WIDEST, CutLimits, Picture, coloured, coloured_lines, cut, pictures, words
from .parts import Diff, PagePart, Todo

SHOWN_DIFF = 40
"""Lines of a diff that are shown before the fold."""
_SIGNS = {"+": " added", "-": " removed"}
LONGEST_POINT = 240
_BORDERS = dict.fromkeys(range(0x2500, 0x2580), " ")
"""Lines drawn around a message say nothing of it."""
LONGEST_INLINE = 100
LONGEST_PROSE = 20_000
LONGEST_LISTING = 200_000
LONGEST_INPUT = 30_000
"""Characters up to which an input can be edited, because it is sent back in a form."""
MOST_SUGGESTIONS = 10
_PROSE = frozenset({"prompt", "plan"})
"""Arguments that are shown as Markdown."""
_NOT_APPLIED = {
    CallStatus.ERROR: "not applied: it failed",
    CallStatus.REJECTED: "not applied: rejected",
    CallStatus.INTERRUPTED: "not applied: interrupted",
    CallStatus.MISSING: "no result: perhaps not applied",
}
_REASON = "the user said:"
"""In the result of a refused call, what the person typed follows these words of the client (1.0 to 2.1)."""
_LANGUAGES = {"command": "bash", "query": "", "pattern": "", "code": "python"}
_NUMBERED = re.compile(r"^ *(\d{1,9})[→\t](.*)$", re.MULTILINE)
"""A line of a file as the client shows it to the model."""
_DECISIONS = frozenset({"AskUserQuestion", "ExitPlanMode"})
_SAID_BY_DIFF = frozenset(
    {"file_path", "notebook_path", "old_string", "new_string", "content", "new_source", "edits", "replace_all"}
)


def mark_of(call: CallBlock) -> str:
    return MARKS[call.status][0]


def tool_name(call: CallBlock) -> str:
    return tool_label(call.name)[:80]


def is_decision(call: CallBlock) -> bool:
    """Whether it asks the person to choose or to agree."""
    return call.name in _DECISIONS


def point_of(call: CallBlock, project: str | None) -> str:
    if call.name == "ExitPlanMode":  # the plan itself is shown below, unfolded
        return "plan"
    return one_line(summary(call, project)[: LONGEST_POINT * 4])[:LONGEST_POINT]


def ending_of(call: CallBlock) -> str:
    if call.name == "ExitPlanMode" and call.status is CallStatus.OK:
        return "approved"
    return one_line(ending(call)[: LONGEST_POINT * 4].translate(_BORDERS))[:LONGEST_POINT]


def seconds_of(call: CallBlock) -> str:
    """How long the call took; empty below a second."""
    return duration(call.seconds) if call.seconds is not None and call.seconds >= 1 else ""


def diffs_of(call: CallBlock, project: str | None, limits: CutLimits = USUAL) -> list[Diff]:
    """The diffs of what a call changed, or would have changed."""
    why = _NOT_APPLIED.get(call.status, "") if is_edit(call.name) else ""
    return [diff_of(diff.path, diff.lines, project, why, most=limits.lines) for diff in call.diffs]


def words_of(call: CallBlock) -> Iterator[str]:
    """The texts of a call as its part of a page shows them; for an edit, the lines of the diff."""
    yield tool_name(call)
    tool_input = call.input
    if is_edit(call.name) and isinstance(tool_input, dict) and call.diffs:
        yield call.diffs[0].path
        yield "\n".join([line.text for line in call.diffs[0].lines])
        tool_input = {name: value for name, value in tool_input.items() if name not in _SAID_BY_DIFF}
    yield from _texts_in(tool_input)


def _texts_in(value: object) -> Iterator[str]:
    """The strings and numbers in a value, without the names of arguments."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def diff_of(path: str, lines: Sequence[DiffLine], project: str | None, why: str, *, most: int = KEPT_LINES) -> Diff:
    """A diff with its lines coloured by the type of the file; at most `most` of them."""
    signs, texts, numbers = ([*column] for column in zip(*lines, strict=True)) if lines else ([], [], [])
    return _diff(path, project, signs, numbers, texts, most)._replace(not_applied=why)


def _diff(
    path: str,
    project: str | None,
    signs: Sequence[str],
    numbers: Sequence[int | None],
    texts: Sequence[str],
    most: int = KEPT_LINES,
) -> Diff:
    """Takes columns: an object for each line of every file that a session read took as long as making the HTML."""
    columns = zip(signs, numbers, coloured_lines(texts[:most], path=path), _skips(signs, numbers), strict=False)
    rows = [_diff_line(sign, number, html, skips) for sign, number, html, skips in columns]
    end = SHOWN_DIFF if len(rows) > SHOWN_DIFF + 3 else len(rows)
    return Diff(
        path=one_line(relative(path, project) if project else path),
        added=signs.count("+"),
        removed=signs.count("-"),
        rows=rows[:end],
        folded=rows[end:],
        left_out=max(0, len(texts) - most),
        not_applied="",
    )


def _diff_line(sign: str, number: int | None, html: str, skips: bool) -> str:
    start, middle = _around_number(sign, skips)
    return f"{start}{'' if number is None else int(number)}{middle}{html}</code></div>"


@lru_cache(maxsize=16)
def _around_number(sign: str, skips: bool) -> tuple[str, str]:
    classes = f"line{_SIGNS.get(sign, '')}{' skips' if skips else ''}"
    shown = escape(tabbed(sign).encode("utf-8", "replace").decode())
    return f'<div class="{classes}"><span class="n" data-n="', f'"></span><span class="sign">{shown}</span><code>'


def listing_of(
    call: CallBlock, project: str | None, limits: CutLimits = USUAL, *, is_plain: bool = False
) -> Diff | None:
    """A file that was read, coloured. None if the result is anything else, or if the whole of a long file is wanted,
    which would take seconds to colour. With `is_plain`, only the first line, because the listing is sent later."""
    if call.name != "Read" or call.status is not CallStatus.OK or call.output is None:
        return None
    text = call.output.text
    if limits == WIDEST and (len(text) > LONGEST_LISTING or text.count("\n") > KEPT_LINES):
        return None
    shown = text[:LONGEST_LISTING]
    first = _NUMBERED.search(shown)
    if first is None:
        return None
    lines = [first.groups()] if is_plain else _NUMBERED.findall(shown)
    numbers, texts = [int(number) for number, _ in lines], [line for _, line in lines]
    path = call.input.get("file_path") if isinstance(call.input, dict) else None
    made = _diff(path if isinstance(path, str) else "", project, [" "] * len(lines), numbers, texts)
    return made._replace(left_out=made.left_out + text.count("\n", LONGEST_LISTING))


def _skips(signs: Sequence[str], numbers: Sequence[int | None]) -> Iterator[bool]:
    """For each line, whether lines of the file are left out before it."""
    following: int | None = None
    for sign, number in zip(signs, numbers, strict=True):
        if sign == "-" or number is None:
            yield False
        else:
            yield following is not None and number != following
            following = number + 1


def todos_of(call: CallBlock) -> list[Todo]:
    todos = call.input.get("todos") if isinstance(call.input, dict) and call.name == "TodoWrite" else None
    return [
        Todo(str(each.get("status") or "pending"), str(each.get("content") or ""))
        for each in (todos if isinstance(todos, list) else ())
        if isinstance(each, dict)
    ]


def arguments_of(
    tool: str, tool_input: Any, *, has_diff: bool, limits: CutLimits = USUAL, is_plain: bool = False
) -> list[PagePart]:
    """The arguments of a call, without those that a diff or a list already shows. With `is_plain`, without colours,
    because they are sent later."""
    if not isinstance(tool_input, dict):
        return [] if tool_input in (None, "") else [_part("input", tool_input, limits, is_plain)]
    by_tool = {"TodoWrite": {"todos"}, "AskUserQuestion": {"questions"}, "Read": {"file_path", "offset", "limit"}}
    skipped = _SAID_BY_DIFF if has_diff and is_edit(tool) else by_tool.get(tool, set())
    command = tool_input.get("command") if tool == "Bash" else None
    if isinstance(command, str) and len(command) <= LONGEST_INLINE and "\n" not in command:
        skipped = {"command"}  # the line of the call shows all of it
    named = sorted(
        tool_input.items(), key=lambda each: each[0] != "plan"
    )  # what is to be read, before what it asks for
    return [_part(str(key), value, limits, is_plain) for key, value in named if key not in skipped]


def _part(name: str, value: Any, limits: CutLimits, is_plain: bool) -> PagePart:
    label = one_line(name)[:60]
    if name in _PROSE and isinstance(value, str) and len(value) < LONGEST_PROSE:
        return PagePart(label, escape(value) if is_plain else words(value), "prose")
    language = "" if is_plain else _LANGUAGES.get(name, "") if isinstance(value, str) else "json"
    text = value if isinstance(value, str) else _json(value)
    if len(text) <= LONGEST_INLINE and "\n" not in text:
        return PagePart(label, _code(text, language), "inline")
    parts = cut(text, kept=limits.characters)
    return PagePart(label, _code(parts.head, language), "code", parts if parts.rest or parts.left_out else None)


def _code(text: str, language: str) -> Markup:
    return coloured(text, language=language) if language else escape(text)


def _json(value: Any) -> str:
    return tabbed(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def output_of(call: CallBlock) -> str:
    """The output of a call, without the standard words of the client about refusals and edits."""
    text = call.output.whole if call.output is not None else ""
    if call.status is CallStatus.OK and _is_shown_otherwise(call):
        return ""
    if call.status in (CallStatus.REJECTED, CallStatus.INTERRUPTED) and is_rejection(text):
        return text.partition(_REASON)[2].strip()
    return without_error_tags(text) if call.status is CallStatus.ERROR else text


def _is_shown_otherwise(call: CallBlock) -> bool:
    """Whether the result only repeats what a diff, a list or the answers already show."""
    if call.name == "AskUserQuestion":
        return call.output is not None and bool(call.output.answers)
    return is_edit(call.name) or call.name in ("TodoWrite", "ExitPlanMode")


def report_of(call: CallBlock, *, is_plain: bool = False) -> Markup:
    """An agent's report as Markdown; with `is_plain`, as plain text, because it is sent later."""
    if call.name not in AGENT_TOOLS or call.status is not CallStatus.OK or call.output is None:
        return Markup("")
    text = call.output.text
    if len(text) >= LONGEST_PROSE:
        return Markup("")
    return escape(text) if is_plain and text.strip() else words(text)


def pictures_of(call: CallBlock) -> list[Picture]:
    record = call.output.place.record if call.output is not None else None
    blocks = record.blocks if isinstance(record, User) else ()
    results = [each for each in blocks if type(each) is ToolResult]
    own = call.output.call if call.output is not None else None
    content = next((each.content for each in results if each.tool_use_id == own), None)
    return list(pictures(content)) if isinstance(content, list) else []


def raw_of(fields: Mapping[str, Any]) -> str:
    """A record as indented JSON, complete."""
    return _json(fields)


class Asking(NamedTuple):
    request: str
    kind: str
    """permission, question or plan."""
    tool: str
    is_agent: bool
    reasons: list[str]
    diffs: list[Diff]
    parts: list[PagePart]
    """Whatever the input has beyond the diff, the questions or the plan."""
    always: str
    """The narrowest rule that the client suggests to remember, in words; empty if it suggests none."""
    wider: list[tuple[int, str]]
    """The other suggestions: each one's number in the client's list, and what it would allow."""
    queries: list[AskedQuestion]
    plan: Markup
    input: str
    """The input as JSON, to be edited; empty if it is too long for that."""


def asking_of(permission: Permission, project: str | None) -> Asking:
    """A question with its whole input: a person permits only what was to be seen."""
    queries = questions_of(permission) if permission.is_question else []
    kind = "question" if queries else "plan" if permission.is_plan else "permission"
    lines = proposed(permission.tool, permission.input)
    edited = json.dumps(permission.input, ensure_ascii=False, indent=2)
    shown = enumerate(permission.suggestions[:MOST_SUGGESTIONS])
    suggested = {number: one_line(in_words(each)) for number, each in shown}
    return Asking(
        request=permission.request_id,
        kind=kind,
        tool=tool_label(permission.tool),
        is_agent=permission.agent is not None,
        reasons=[one_line(why) for why in reasons(permission, project)],
        diffs=[_whole_diff(path_of(permission.input), lines)] if lines else [],
        parts=[_whole_part(value) for value in unshown_values(permission)],
        always=suggested.pop(permission.narrowest, "") if permission.narrowest is not None else "",
        wider=list(suggested.items()),
        queries=queries,
        plan=_plan(permission.plan or NO_PLAN_TOLD) if permission.is_plan else Markup(""),
        input=edited if len(edited) <= LONGEST_INPUT and isinstance(permission.input, dict) else "",
    )


def _whole_diff(path: str, lines: Sequence[DiffLine]) -> Diff:
    made = diff_of(path, lines, None, "", most=len(lines))
    return made._replace(rows=[*made.rows, *made.folded], folded=[])


def _whole_part(value: InputValue) -> PagePart:
    look = "inline" if len(value.text) <= LONGEST_INLINE and "\n" not in value.text else "code"
    return PagePart(value.name, _code(tabbed(value.text), _LANGUAGES.get(value.name, "")), look)


_FENCE = re.compile(r"^ {0,3}(?:`{3,}|~{3,}) *[\w+#-]{0,20}$", re.MULTILINE)


def _plan(text: str) -> Markup:
    """A plan as Markdown; as it is written if that hides some of it, such as where a link leads."""
    rendered, written = words(text), tabbed(text)
    is_whole = _letters(rendered.striptags()) == _letters(_FENCE.sub("", written))
    return rendered if is_whole else Markup("<pre>{}</pre>").format(written)


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text))
