"""What the client asks a person: whether a tool may run, which option to choose, whether a plan is good."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import asdict

from reread.blocks.model import AskedQuestion, path_of, questions_in
from reread.features.edits.patches import proposed
from reread.live.approvals import Approval, ApprovalQueue, GivenAnswer, WaitingElsewhere
from reread.live.events import Permission

from .calls import relative, tool_label
from .markdown_flow import markdown_lines
from .numbers import duration
from .session_list import last_part
from .terminal import whole_diff_lines
from .text import cells, clip, hanging, harmless, joined, one_line, shorten, wrap
from .values import Document, View, each_picked, picked, utc, when

_PLACES = {
    "session": "in this session",
    "localSettings": "in this project",
    "projectSettings": "in this project, for everybody",
    "userSettings": "in all projects",
}
_MODES = {
    "acceptEdits": "accept every edit",
    "bypassPermissions": "allow everything",
    "plan": "only plan",
    "default": "ask as usual",
    "dontAsk": "deny whatever is not allowed",
}


_OPENED_BY_MODE = {
    "acceptEdits": "every file of the project may be changed unasked",
    "bypassPermissions": "every tool and every command run unasked",
}
Keys = Sequence[tuple[str, str]]
"""Keys, each with the rest of its word."""
LEAVES: Keys = (("q", "uit turn"),)
NO_PLAN_TOLD = "(The client does not say what the plan is: it asked without one, and nothing was said before.)"


class InputValue(NamedTuple):
    """A text, a number or an empty collection in an input, and where in it."""

    path: tuple[str | int, ...]
    text: str

    @property
    def name(self) -> str:
        """`env.PATH`, `edits[0].note`."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return one_line("".join(steps).removeprefix(".")) or "input"

    @property
    def pattern(self) -> _Pattern:
        return tuple(None if isinstance(step, int) else step for step in self.path)


_Pattern = tuple[str | None, ...]
"""The path of a value; None for any number."""
_FIRST = (("command",), ("file_path",), ("notebook_path",), ("path",), ("url",))
_IN_DIFF: dict[str, set[_Pattern]] = {
    "Edit": {("old_string",), ("new_string",)},
    "Write": {("content",)},
    "NotebookEdit": {("new_source",)},
    "MultiEdit": {("edits", None, "old_string"), ("edits", None, "new_string")},
}
_IN_MENU: set[_Pattern] = {
    ("questions", None, "question"),
    ("questions", None, "header"),
    ("questions", None, "options", None),
    ("questions", None, "options", None, "label"),
    ("questions", None, "options", None, "description"),
}
_DEEPEST = 50


def unshown_values(permission: Permission) -> list[InputValue]:
    """The values of the input that no diff, menu or plan shows. What would be done comes first, and what the model
    calls it last: a description may say anything."""
    patterns, exact = _IN_MENU if permission.is_question else set(), {(("plan",), permission.plan)}
    if proposed(permission.tool, permission.input):
        patterns = _IN_DIFF.get(permission.tool, set())
        exact = {(path, path_of(permission.input)) for path in _FIRST}
    found = [
        value
        for value in _values(permission.input, ())
        if not (value.pattern in patterns or (value.path, value.text) in exact or _is_said_by_menu(value))
    ]
    return sorted(found, key=lambda value: (value.path == ("description",), value.path not in _FIRST))


def _is_said_by_menu(value: InputValue) -> bool:
    return value.pattern == ("questions", None, "multiSelect") and value.text in ("true", "false")


def _values(given: Any, path: tuple[str | int, ...]) -> Iterator[InputValue]:
    if isinstance(given, dict | list) and given and len(path) < _DEEPEST:
        for step, item in given.items() if isinstance(given, dict) else enumerate(given):
            yield from _values(item, (*path, step))
    elif path or given not in (None, "", {}):
        yield InputValue(path, given if isinstance(given, str) and given else json.dumps(given, ensure_ascii=False))


def permission_lines(permission: Permission, project: str | None, view: View) -> Iterator[str]:
    """The tool, its whole input, and why the client asks."""
    paint = view.style.paint
    diff = proposed(permission.tool, permission.input)
    by = " (an agent)" if permission.agent is not None else ""
    path = f"  {path_of(permission.input)}" if diff else ""
    yield from (
        paint("? ", "yellow", "bold") + paint(line, "bold") if number == 0 else f"    {line}"
        for number, line in enumerate(wrap(f"{tool_label(permission.tool)}{by}{path}", view.width - 4))
    )
    inner = view._replace(width=view.width - 4)
    yield from (f"    {line}" for line in (*value_lines(permission, inner), *whole_diff_lines(diff, inner)))
    for why in reasons(permission, project):
        yield from (paint(f"  {line}", "dim") for line in wrap(why, view.width - 2))


def value_lines(permission: Permission, view: View) -> Iterator[str]:
    """The values of the input that are shown nowhere else, whole: what is permitted may be at the end of a long one."""
    for value in unshown_values(permission):
        named = value.text if value.path == ("command",) else f"{value.name}: {value.text}"
        yield from wrap(named, view.width)


def reasons(permission: Permission, project: str | None) -> Iterator[str]:
    """The reasons that the client gives for asking."""
    repeats = permission.input.values() if isinstance(permission.input, dict) else ()
    about = permission.description
    if about and not any(str(each).endswith(about) for each in (permission.tool, *repeats)):
        yield about
    if permission.reason:
        yield f"asked because: {permission.reason}"
    if permission.blocked_path:
        yield f"it concerns {relative(permission.blocked_path, project) if project else permission.blocked_path}"


def in_words(suggestion: Any) -> str:
    """What a suggestion of the client would change and allow: `allow Bash(touch:*) in this project: ...`."""
    if not isinstance(suggestion, dict):
        return harmless(str(suggestion))
    where = _PLACES.get(str(suggestion.get("destination")), str(suggestion.get("destination") or ""))
    kind = suggestion.get("type")
    if kind in ("addRules", "replaceRules", "removeRules"):
        verb = {"replaceRules": "from now on only ", "removeRules": "no longer "}.get(str(kind), "")
        what = f"{verb}{suggestion.get('behavior') or 'allow'} {_rules(suggestion.get('rules'))}"
    elif kind in ("addDirectories", "removeDirectories"):
        verb = "work in" if kind == "addDirectories" else "no longer work in"
        what = f"{verb} {', '.join(str(folder) for folder in suggestion.get('directories') or ())}"
    elif kind == "setMode":
        mode = str(suggestion.get("mode"))
        what = _MODES.get(mode, f"mode {mode}")
    else:
        return harmless(json.dumps(suggestion, ensure_ascii=False))
    opened = _opened(suggestion)
    return harmless(f"{what} {where}".strip() + (f": {opened}" if opened else ""))


def _opened(suggestion: dict[str, Any]) -> str:
    """What the client will no longer ask about, if that is more than the rule itself says."""
    kind = suggestion.get("type")
    if kind == "setMode":
        return _OPENED_BY_MODE.get(str(suggestion.get("mode")), "")
    if kind == "addDirectories":
        return "everything below counts as part of the project"
    if kind not in ("addRules", "replaceRules") or suggestion.get("behavior", "allow") != "allow":
        return ""
    rules = suggestion.get("rules")
    found = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    return " and ".join(filter(None, map(_opened_by_rule, found)))


def _opened_by_rule(rule: dict[str, Any]) -> str:
    tool, content = str(rule.get("toolName")), str(rule.get("ruleContent") or "")
    if not content:
        return "every command" if tool == "Bash" else f"every use of {tool_label(tool)}"
    if tool == "Bash" and content.endswith(("*", ":*")) and content.count("*") == 1:
        return f"every command that begins with {content.removesuffix('*').removesuffix(':').rstrip()}"
    return "any command of that pattern" if tool == "Bash" and "*" in content else ""


def _rules(rules: Any) -> str:
    found = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    named = (
        f"{rule.get('toolName')}({rule['ruleContent']})" if rule.get("ruleContent") else f"{rule.get('toolName')}"
        for rule in found
    )
    return ", ".join(named) or "it"


def key_line(permission: Permission, view: View, leaves: Keys = LEAVES) -> Iterator[str]:
    """The keys that answer or leave, and the rules they remember: `a` the narrowest, a number a wider one."""
    paint = view.style.paint
    narrow = permission.narrowest
    keys = [("y", "es"), ("n", "o"), *([("a", "lways")] if narrow is not None else []), ("e", "dit"), *leaves]
    yield "  " + " ".join(f"{paint(f'[{key}]', 'bold')}{rest}" for key, rest in keys)
    if narrow is not None:
        yield from _key_meaning("  a = ", permission.suggestions[narrow], view)
    wider = wider_suggestions(permission)
    if wider:
        yield paint("  yes, and wider from now on:", "dim")
    for number, suggestion in enumerate(wider, 1):
        yield from _key_meaning(f"    {number} = ", suggestion, view)


def wider_suggestions(permission: Permission) -> list[Any]:
    """All suggestions but the narrowest rule, in the order they are numbered at the terminal."""
    return [each for number, each in enumerate(permission.suggestions) if number != permission.narrowest]


def _key_meaning(lead: str, suggestion: Any, view: View) -> Iterator[str]:
    for row, line in enumerate(wrap(in_words(suggestion), view.width - len(lead))):
        yield view.style.paint((lead if row == 0 else " " * len(lead)) + line, "dim")


def plan_lines(permission: Permission, view: View) -> Iterator[str]:
    paint = view.style.paint
    yield paint("? ", "yellow", "bold") + paint("a plan", "bold")
    if permission.plan_file is not None:
        yield paint(f"  {shorten(permission.plan_file, view.width - 2)}", "dim")
    inner = view._replace(width=view.width - 2)
    yield from (
        f"  {line}" for line in markdown_lines((permission.plan or NO_PLAN_TOLD).strip(), inner.width, view.style)
    )
    yield from (f"  {line}" for line in value_lines(permission, inner))


def questions_of(permission: Permission) -> list[AskedQuestion]:
    """The questions of AskUserQuestion; those that are not objects are skipped."""
    return list(questions_in(permission.input, {}))


def menu_lines(question: AskedQuestion, view: View) -> Iterator[str]:
    """A question with its numbered options."""
    paint = view.style.paint
    header = f"{harmless(question.header)}: " if question.header else ""
    for number, line in enumerate(wrap(f"{header}{question.text}", view.width - 2)):
        yield paint("? ", "yellow", "bold") + paint(line, "bold") if number == 0 else paint(f"  {line}", "bold")
    for number, option in enumerate(question.options, 1):
        key = f"  {paint(f'[{number}]', 'bold')} "
        yield from hanging(option.label, view.width, key, " " * cells(key))
        yield from (paint(f"      {line}", "dim") for line in wrap(option.about, view.width - 6) if option.about)
    yield paint("  or type an answer of your own", "dim")


def approval_head(approval: Approval) -> str:
    """Project, session and how long it has been waiting."""
    waits = f"waits {duration(approval.waits_seconds)}"
    return joined((last_part(approval.project), one_line(approval.title), waits))


def approval_lines(queue: ApprovalQueue, view: View) -> Iterator[str]:
    """Everything that waits for an answer, each with the command that answers it from a shell."""
    paint = view.style.paint
    if not queue.waiting:
        yield "nothing waits for an answer"
    for approval in queue.waiting:
        permission, name = approval.permission, queue.short(approval)
        yield paint(clip(f"{name}  {approval_head(approval)}", view.width), "bold")
        yield from (
            f"  {line}" for line in asked_lines(permission, approval.project, view._replace(width=view.width - 2))
        )
        yield paint(f"  answer: reread approvals {name} {_ways(permission)}", "dim")
    yield from elsewhere_lines(queue.elsewhere, view)


def asked_lines(permission: Permission, project: str, view: View) -> Iterator[str]:
    """What the client asks, and the rules it suggests."""
    questions = questions_of(permission) if permission.is_question else []
    if questions:
        yield from value_lines(permission, view)
        for question in questions:
            # Without the last line, about an answer in other words: the command has an option of its own for that.
            yield from list(menu_lines(question, view))[:-1]
    elif permission.is_plan:
        yield from plan_lines(permission, view)
    else:
        yield from permission_lines(permission, project, view)
        if permission.narrowest is not None:
            yield from _key_meaning("  --always = ", permission.suggestions[permission.narrowest], view)
        for number, suggestion in enumerate(wider_suggestions(permission), 1):
            yield from _key_meaning(f"  --always {number} = ", suggestion, view)
        if not permission.suggestions:
            yield view.style.paint("  Claude Code names no rule that would have allowed it.", "dim")


def _ways(permission: Permission) -> str:
    if permission.is_question and questions_of(permission):
        return "--answer NUMBER|TEXT | --deny [REASON]"
    always = (["--always"] if permission.narrowest is not None else []) + (
        ["--always N"] if wider_suggestions(permission) else []
    )
    return " | ".join(["--allow", *always, "--deny [REASON]"])


def elsewhere_lines(elsewhere: Sequence[WaitingElsewhere], view: View) -> Iterator[str]:
    """Sessions that wait but are not run by this server; they are answered where they were started."""
    if elsewhere:
        yield view.style.paint("in terminals of their own, to be answered there:", "dim")
    for each in elsewhere:
        known = (last_part(each.project), one_line(each.title), each.doing)
        yield clip("  " + joined(known), view.width)


def answered_lines(answered: Sequence[GivenAnswer], view: View) -> Iterator[str]:
    """The log of answers, newest first."""
    if not answered:
        yield "nothing was answered yet"
    for each in answered:
        mark = view.style.paint("✓", "green") if each.allowed else view.style.paint("⊘", "red")
        by = " (chosen at the start)" if each.by_policy else ""
        asked = f"{tool_label(each.tool)}  {each.point}".rstrip()
        yield clip(f"{mark} {when(each.time, view.timezone)}  {one_line(each.title)}: {asked}", view.width)
        yield from (f"    {line}" for line in wrap(f"{each.answer}{by}", view.width - 4))


def approval_document(approval: Approval) -> Document:
    permission = approval.permission
    narrowest = permission.narrowest
    return {
        "id": permission.request_id,
        **picked(approval, "run session title project asked_at waits_seconds"),
        **picked(permission, "tool input"),
        "is_agent": permission.agent is not None,
        "reasons": list(reasons(permission, approval.project)),
        "plan": permission.plan,
        "always": in_words(permission.suggestions[narrowest]) if narrowest is not None else None,
        "wider": [in_words(each) for each in wider_suggestions(permission)],
    }


def queue_document(server: str | None, queue: ApprovalQueue) -> Document:
    waiting = list(map(approval_document, queue.waiting))
    elsewhere = each_picked(queue.elsewhere, "session title project doing")
    return {"schema": "reread.approvals/1", "server": server, "waiting": waiting, "elsewhere": elsewhere}


def log_document(server: str | None, answered: Sequence[GivenAnswer]) -> Document:
    given = [{**asdict(each), "time": utc(each.time)} for each in answered]
    return {"schema": "reread.approvals_log/1", "server": server, "answered": given}
