"""What a person is asked: whether a tool may run, which of some answers they choose, whether a plan is good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from reread.blocks.diffs import is_edit, proposed
from reread.blocks.model import AskedQuestion, questions_in
from reread.live.events import Permission

from .calls import point_of, relative, tool_label
from .terminal import diff_lines
from .text import clip, harmless, shorten, wrap
from .values import View

_MOST_INPUT_LINES = 20
_MOST_PLAN_LINES = 200
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


def permission_lines(asked: Permission, project: str | None, view: View) -> Iterator[str]:
    """The tool, what it would do, and why that is asked."""
    paint = view.style.paint
    label = tool_label(asked.tool)
    point = "" if asked.tool == "Bash" else point_of(asked.tool, asked.input, project)
    by = " (an agent)" if asked.agent is not None else ""
    head = paint("? ", "yellow", "bold") + paint(f"{label}{by}", "bold")
    yield head + (f"  {shorten(point, view.width - len(label) - len(by) - 4)}" if _is_short(asked) and point else "")
    yield from (f"    {line}" for line in _would_do(asked, view._replace(width=view.width - 4)))
    for why in reasons(asked, project):
        yield from (paint(f"  {line}", "dim") for line in wrap(why, view.width - 2))


def _is_short(asked: Permission) -> bool:
    return is_edit(asked.tool) or asked.tool in ("Read", "Glob", "Grep", "WebFetch", "WebSearch", "Task", "Agent")


def _would_do(asked: Permission, view: View) -> Iterator[str]:
    if asked.tool == "Bash" and isinstance(asked.input, dict) and isinstance(asked.input.get("command"), str):
        yield from _capped(asked.input["command"], view)
    elif is_edit(asked.tool):
        yield from diff_lines(proposed(asked.tool, asked.input), view)
    elif not _is_short(asked):
        yield from _capped(json.dumps(asked.input, ensure_ascii=False, indent=2), view)


def _capped(text: str, view: View) -> Iterator[str]:
    found = list(wrap(text, view.width))
    yield from found[:_MOST_INPUT_LINES]
    if len(found) > _MOST_INPUT_LINES:
        yield view.style.paint(f"… {len(found) - _MOST_INPUT_LINES:,} more lines", "dim")


def reasons(asked: Permission, project: str | None) -> Iterator[str]:
    """Why it is asked, as the client says."""
    if asked.description and not is_edit(asked.tool):
        yield asked.description
    if asked.reason:
        yield f"asked because: {asked.reason}"
    if asked.blocked_path:
        yield f"because of {relative(asked.blocked_path, project) if project else asked.blocked_path}"


def in_words(suggestion: Any) -> str:
    """What a suggestion of the client would change: `allow Bash(touch:*) in this project`."""
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
    return harmless(f"{what} {where}".strip())


def _rules(rules: Any) -> str:
    found = [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []
    named = (
        f"{rule.get('toolName')}({rule['ruleContent']})" if rule.get("ruleContent") else f"{rule.get('toolName')}"
        for rule in found
    )
    return ", ".join(named) or "it"


def key_line(asked: Permission, view: View) -> Iterator[str]:
    """The keys that answer, and what `always` would have remembered: everything suggested, or by number one of it."""
    paint = view.style.paint
    keys = [("y", "es"), ("n", "o"), *([("a", "lways")] if asked.suggestions else []), ("e", "dit"), ("q", "uit turn")]
    yield "  " + " ".join(f"{paint(f'[{key}]', 'bold')}{rest}" for key, rest in keys)
    is_one = len(asked.suggestions) == 1
    if asked.suggestions and not is_one:
        yield paint("  a = all of these, a number = that one:", "dim")
    for number, suggestion in enumerate(asked.suggestions, 1):
        lead = "  a = " if is_one else f"    {number} = "
        for row, line in enumerate(wrap(in_words(suggestion), view.width - len(lead))):
            yield paint((lead if row == 0 else " " * len(lead)) + line, "dim")


def plan_lines(asked: Permission, view: View) -> Iterator[str]:
    paint = view.style.paint
    plan = asked.input.get("plan") if isinstance(asked.input, dict) else None
    yield paint("? ", "yellow", "bold") + paint("a plan", "bold")
    text = plan if isinstance(plan, str) else json.dumps(asked.input, ensure_ascii=False, indent=2)
    found = list(wrap(text.strip(), view.width - 2))
    yield from (f"  {line}" for line in found[:_MOST_PLAN_LINES])
    if len(found) > _MOST_PLAN_LINES:
        yield paint(f"  … {len(found) - _MOST_PLAN_LINES:,} more lines", "dim")


def questions_of(asked: Permission) -> list[AskedQuestion]:
    """The questions of AskUserQuestion that can be asked."""
    return list(questions_in(asked.input, {}))


def menu_lines(question: AskedQuestion, view: View) -> Iterator[str]:
    """A question with its numbered options."""
    paint = view.style.paint
    header = f"{harmless(question.header)}: " if question.header else ""
    for number, line in enumerate(wrap(f"{header}{question.text}", view.width - 2)):
        yield paint("? ", "yellow", "bold") + paint(line, "bold") if number == 0 else paint(f"  {line}", "bold")
    for number, option in enumerate(question.options, 1):
        yield clip(f"  {paint(f'[{number}]', 'bold')} {shorten(option.label, view.width - 8)}", view.width)
        yield from (paint(f"      {line}", "dim") for line in wrap(option.about, view.width - 6) if option.about)
    yield f"  {paint('[o]', 'bold')} something else"
