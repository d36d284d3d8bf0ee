"""What to change, from what repeats: a ready draft for each, and the lines that prove it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from .events import Event, Kind
from .patterns import Moment, Pattern, PatternKind

_MOST_EVIDENCE = 20
_MEMORY, _SETTINGS = "CLAUDE.md", ".claude/settings.json"
_FEWEST_BLOCKS = 3
_FEWEST_PASTES = 3


class SuggestionKind(StrEnum):
    """Where the change goes."""

    MEMORY = "memory"
    """A line for CLAUDE.md."""
    SKILL = "skill"
    HOOK = "hook"
    PERMISSION = "permission"
    COMMAND = "command"
    """A slash command, an alias or a script."""


class Suggestion(Struct, frozen=True, kw_only=True):
    kind: SuggestionKind
    title: str
    draft: str
    """Ready to be put where it belongs."""
    place: str
    """The file it belongs into."""
    evidence: tuple[str, ...]
    """uuids of lines that show the need."""
    sessions: int
    count: int


def suggest(patterns: Iterable[Pattern], events: Iterable[Event] = ()) -> list[Suggestion]:
    """What would have spared most, first."""
    found = [made for pattern in _distinct(patterns) if (made := _FROM[pattern.kind](pattern)) is not None]
    found += _from_events(list(events))
    return sorted(found, key=lambda each: (-each.sessions, -each.count, each.title))


def _distinct(patterns: Iterable[Pattern]) -> Iterator[Pattern]:
    """Without workflows that differ from a more frequent one in a single step."""
    taken: list[set[str]] = []
    for pattern in patterns:
        if pattern.kind is PatternKind.WORKFLOW:
            steps = set(pattern.about.split(" > "))
            if any(len(steps & others) >= len(steps) - 1 for others in taken):
                continue
            taken.append(steps)
        yield pattern


def _made(kind: SuggestionKind, pattern: Pattern, title: str, draft: str, place: str) -> Suggestion:
    return Suggestion(
        kind=kind,
        title=title,
        draft=draft,
        place=place,
        evidence=_uuids(pattern.moments),
        sessions=len(pattern.sessions),
        count=pattern.count,
    )


def _uuids(moments: Sequence[Moment]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(moment.uuid for moment in moments))[:_MOST_EVIDENCE]


def _instruction(pattern: Pattern) -> Suggestion:
    rule = _sentence(pattern.example)
    title = f"Told in {len(pattern.sessions)} sessions: put it into CLAUDE.md"
    return _made(SuggestionKind.MEMORY, pattern, title, f"- {rule}", _MEMORY)


def _re_ask(pattern: Pattern) -> Suggestion:
    name = _slug(pattern.example)
    title = f"Asked for in {len(pattern.sessions)} sessions: make it /{name}"
    draft = f"{pattern.example}\n\n$ARGUMENTS"
    return _made(SuggestionKind.COMMAND, pattern, title, draft, f".claude/commands/{name}.md")


def _workflow(pattern: Pattern) -> Suggestion:
    steps = [_as_code(step) for step in pattern.about.split(" > ")]
    name = _slug(pattern.about.replace(" > ", " "))
    told = ", ".join(steps)
    lines = "\n".join(f"{number}. Run {step}." for number, step in enumerate(steps, 1))
    draft = (
        f"---\nname: {name}\ndescription: Runs {told} in this order. Use it where these are due.\n---\n\n{lines}\n"
        f"\nStop at the first step that fails and say what it printed."
    )
    title = f"Done in {len(pattern.sessions)} sessions: {told}"
    return _made(SuggestionKind.SKILL, pattern, title, draft, f".claude/skills/{name}/SKILL.md")


_FORMATTERS = {
    "ruff format": "ruff format", "ruff check": "ruff check --fix", "black": "black", "prettier": "prettier --write",
    "npx prettier": "npx prettier --write", "eslint": "eslint --fix", "npx eslint": "npx eslint --fix",
    "gofmt": "gofmt -w",
    "go fmt": "gofmt -w", "goimports": "goimports -w", "cargo fmt": "rustfmt", "rustfmt": "rustfmt", "isort": "isort",
    "swiftformat": "swiftformat", "clang-format": "clang-format -i", "terraform fmt": "terraform fmt",
    "biome": "biome check --write",
}  # fmt: skip


def _after_edit(pattern: Pattern) -> Suggestion | None:
    """Only what may run after every edit by itself; a test suite may take minutes."""
    if pattern.about not in _FORMATTERS:
        return None
    command = f"jq -r '.tool_input.file_path' | xargs {_FORMATTERS[pattern.about]}"
    hook = {"matcher": "Edit|Write|MultiEdit", "hooks": [{"type": "command", "command": command}]}
    title = f"{pattern.about} was run by hand after edits in {len(pattern.sessions)} sessions: let a hook do it"
    return _made(SuggestionKind.HOOK, pattern, title, _settings({"hooks": {"PostToolUse": [hook]}}), _SETTINGS)


_RISKY = re.compile(
    r"\((?:rm|sudo|curl|wget|ssh|scp|dd|mkfs|chmod|chown|kill|pkill|git push|git reset|git clean|git rebase"
    r"|git branch|git checkout|npm publish"
    r"|cargo publish|terraform|kubectl|helm|aws|gcloud|az|docker|eval|bash|sh|zsh|python3?|node|psql|mysql)\b"
)


_OWN_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "PowerShell", "Read", "Task", "Agent"})
"""To deny one of these whole would leave an agent that can do nothing; what was turned down was one use of it."""


def _permission(pattern: Pattern) -> Suggestion | None:
    """To allow what is harmless and was granted, to deny what was turned down; neither where it is not clear."""
    refused = int(pattern.details.get("refused", 0))
    rule = pattern.about
    if refused == pattern.count and len(pattern.sessions) > 1:
        if rule in _OWN_TOOLS:
            return None
        title = f"Turned down {refused} times: deny {rule} for good"
        return _made(SuggestionKind.PERMISSION, pattern, title, _settings({"permissions": {"deny": [rule]}}), _SETTINGS)
    if refused * 4 > pattern.count or _RISKY.search(rule) is not None:
        return None
    title = f"Asked for {pattern.count} times: allow {rule}"
    return _made(SuggestionKind.PERMISSION, pattern, title, _settings({"permissions": {"allow": [rule]}}), _SETTINGS)


def _shell_line(pattern: Pattern) -> Suggestion:
    name = _slug(pattern.about)
    title = f"Typed {pattern.count} times with `!`: make it an alias"
    command = pattern.about.replace("'", "'\\''")
    return _made(SuggestionKind.COMMAND, pattern, title, f"alias {name}='{command}'", "~/.bashrc")


_ADVICE = {
    "not_read": "Read a file before editing it, and again if something else may have changed it.",
    "edit_mismatch": "Copy `old_string` from a fresh read, with enough lines around it to be unique.",
}


def _tool_error(pattern: Pattern) -> Suggestion | None:
    why, subject = str(pattern.details.get("class", "")), str(pattern.details.get("subject", ""))
    cure = str(pattern.details.get("cure", ""))
    if why in _ADVICE:
        draft = f"- {_ADVICE[why]}"
    elif why == "not_found" and cure and subject and not cure.startswith(subject) and "\n" not in cure:
        draft = f"- `{subject}` is not on the path here; what works is `{cure}`."
    elif why == "timeout" and subject:
        draft = (
            f"- `{subject}` takes longer than the default time-out here: run it in the background or give it more time."
        )
    elif why == "permission" and subject:
        draft = f"- `{subject}` is not permitted in this environment: ask before trying it."
    else:
        return None
    title = f"{subject or why} failed in {len(pattern.sessions)} sessions ({why.replace('_', ' ')})"
    return _made(SuggestionKind.MEMORY, pattern, title, draft, _MEMORY)


_FROM: dict[PatternKind, Callable[[Pattern], Suggestion | None]] = {
    PatternKind.INSTRUCTION: _instruction,
    PatternKind.RE_ASK: _re_ask,
    PatternKind.WORKFLOW: _workflow,
    PatternKind.AFTER_EDIT: _after_edit,
    PatternKind.PERMISSION: _permission,
    PatternKind.SHELL_LINE: _shell_line,
    PatternKind.TOOL_ERROR: _tool_error,
}


_RUN_IT_YOURSELF = (
    "Run commands and read logs yourself instead of asking for their output; ask only for what you cannot reach."
)


def _from_events(events: Sequence[Event]) -> list[Suggestion]:
    """From single moments that say the same thing often enough."""
    blocked: dict[str, list[Event]] = {}
    for event in events:
        if event.kind is Kind.HOOK_BLOCK and event.uuid is not None and event.about != "Stop":
            blocked.setdefault(event.evidence, []).append(event)
    found = [
        _gathered(same, f"A hook said it {len(same)} times: say it beforehand", f"- {_sentence(said)}")
        for said, same in blocked.items()
        if len(same) >= _FEWEST_BLOCKS
    ]
    pasted = [
        event for event in events if event.kind is Kind.MANUAL_STEP and event.about in ("terminal", "stack_trace")
    ]
    if len(pasted) >= _FEWEST_PASTES:
        title = f"Terminal output was pasted {len(pasted)} times"
        found.append(_gathered(pasted, title, f"- {_RUN_IT_YOURSELF}"))
    return found


def _gathered(events: Sequence[Event], title: str, draft: str) -> Suggestion:
    return Suggestion(
        kind=SuggestionKind.MEMORY,
        title=title,
        draft=draft,
        place=_MEMORY,
        evidence=tuple(dict.fromkeys(event.uuid for event in events if event.uuid is not None))[:_MOST_EVIDENCE],
        sessions=len({event.session for event in events}),
        count=len(events),
    )


def _settings(change: dict[str, object]) -> str:
    return json.dumps(change, indent=2, ensure_ascii=False)


def _sentence(text: str) -> str:
    text = text.strip().rstrip(".!…")
    return f"{text[:1].upper()}{text[1:]}."


def _as_code(step: str) -> str:
    return f"`{step}`"


def _slug(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.lower())[:5]
    return "-".join(words) or "again"
