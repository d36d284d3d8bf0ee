"""Suggests changes for what repeats: a ready draft for each, checked against the archive, with the lines that prove it.

A draft is made only from a verified cause, and never repeats what the project's files already say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from .command_lines import prefix_of
from .detection import FrictionKind, Moment, money_of
from .patterns import FEWEST_SESSIONS, PatternKind, PatternMoment, RepeatedPattern, by_project
from .prompt_text import words_of
from .stated import Stated, is_against, statement_of

MOST = 5
"""People read a few good ones; the others are shown on request."""
_MOST_EVIDENCE = 20
_MEMORY, _SETTINGS = "CLAUDE.md", ".claude/settings.json"
_FEWEST_LINES_TYPED = 3
_STRESSED = "- IMPORTANT: "
_OPENING_STEPS = 2
_FEWEST_TELLING = 2
_MANY_SESSIONS = 5


class SuggestionKind(StrEnum):
    """What kind of change it is, which decides the file it goes to."""

    MEMORY = "memory"
    """A line for CLAUDE.md."""
    SKILL = "skill"
    HOOK = "hook"
    PERMISSION = "permission"
    COMMAND = "command"
    """A slash command, an alias or a script."""


_MINUTES = {SuggestionKind.MEMORY: 2.0, SuggestionKind.PERMISSION: 0.25}
_SOME_MINUTES = 0.5
"""Minutes that one moment takes to notice, type and wait, where the transcript does not show it."""
_ONE_CALL = 0.25
"""Minutes of a call for nothing and the answer to it."""


class Worth(NamedTuple):
    """What the change would have saved, as far as lines show."""

    minutes: float
    nanodollars: int | None
    """What is known of it; None if moments were paid for and none of them has a price."""
    how: str
    """How the minutes were estimated."""
    is_partial: bool = False
    """Whether some of the money is unknown."""


class Suggestion(Struct, frozen=True, kw_only=True):
    kind: SuggestionKind
    title: str
    draft: str
    """The text to put into the file."""
    place: str
    """The file it belongs in."""
    evidence: tuple[str, ...]
    """uuids of lines that show the need."""
    sessions: int
    count: int
    days: int = 0
    """The number of days on which it happened; 0 if the lines have no time."""
    project: str | None = None
    """The project in which all of it happened; None if in several."""
    matched: int = 0
    """How many of the moments the draft would have matched."""
    went_well: int = 0
    """How many moments that went well the draft would also have matched."""
    checked: str = ""
    """What it would have done in other sessions than those it was made from."""
    worth: Worth = Worth(0.0, 0, "")
    kind_of_pattern: str = ""
    """What it was made from, so that what comes later can be matched: the kind of a pattern or of moments,"""
    about: str = ""
    """and what that was about."""
    minutes: float | None = None
    """What one moment takes, as far as that is assumed; None for what is usual for its kind."""
    last: datetime | None = None
    """When the last session began in which it happened."""

    @property
    def key(self) -> str:
        """Names the draft, so that it can be remembered without its text."""
        named = f"{self.place}\n{self.draft}"
        return f"{crc32(named.encode('utf-8', 'surrogatepass')):08x}"


_NOTHING = Stated()


class Basis(NamedTuple):
    """What suggestions are made from besides patterns."""

    projects: Mapping[str, str | None] = {}
    """The project of each session."""
    began: Mapping[str, datetime | None] = {}
    stated: Mapping[str, Stated] = {}
    """What files already state, by project; `""` is for what applies to all projects."""
    by_line: Mapping[str | None, list[Moment]] = {}
    """All moments by the line that proves them."""
    told: Mapping[str, list[str]] = {}
    """What the person told several times, by project; `""` is for sessions without one."""

    def projects_of(self, sessions: Iterable[str]) -> set[str | None]:
        return {self.projects.get(session) for session in sessions}

    def stated_in(self, project: str | None) -> Stated:
        return self.stated.get(project or "", _NOTHING)


def suggest(
    patterns: Iterable[RepeatedPattern], events: Iterable[Moment] = (), basis: Basis | None = None
) -> list[Suggestion]:
    """Suggestions, the one that would have saved most first."""
    repeated = list(patterns)
    by_line: dict[str | None, list[Moment]] = {}
    for event in events:
        by_line.setdefault(event.uuid, []).append(event)
    given = basis or Basis()
    given = given._replace(by_line=by_line, told=_rules_told(repeated, given))
    found = list(_distinct((pattern, made) for pattern in repeated for made in _first_fitting(pattern, given)))
    found += (each for each in _maps(repeated, given) if _fits(each, given))
    placed = [_with_worth(each, given) for each in found]
    by_draft = {(each.project, each.place, each.draft): each for each in placed}
    return sorted(by_draft.values(), key=lambda each: (-each.worth.minutes, -each.sessions, -each.count, each.title))


def _rules_told(patterns: Iterable[RepeatedPattern], basis: Basis) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pattern in patterns:
        if pattern.kind in (PatternKind.INSTRUCTION, PatternKind.CORRECTION):
            for project in basis.projects_of(pattern.sessions):
                found.setdefault(project or "", []).append(pattern.example)
    return found


def _first_fitting(pattern: RepeatedPattern, basis: Basis) -> Iterator[Suggestion]:
    """The suggestion for all sessions with a pattern, or else for those of one project: what one project forbids or
    already has, another may need."""
    make = _FROM.get(pattern.kind)
    if make is None:
        return
    for part in (pattern, *by_project(pattern, basis.projects)):
        made = make(part, basis)
        if made is not None and _fits(placed := _placed(made, part.sessions, basis), basis):
            yield placed
            return


def _fits(each: Suggestion, basis: Basis) -> bool:
    return not _is_stated(each, basis) and not _contradicts(each, basis)


def _distinct(made: Iterable[tuple[RepeatedPattern, Suggestion]]) -> Iterator[Suggestion]:
    """The suggestions, without workflows that differ in a single step from a more frequent one of the same project."""
    taken: list[tuple[str | None, set[str]]] = []
    for pattern, suggestion in made:
        if pattern.kind is PatternKind.WORKFLOW:
            project, steps = suggestion.project, set(pattern.about.split(" > "))
            if any(project == other and len(steps & known) >= len(steps) - 1 for other, known in taken):
                continue
            taken.append((project, steps))
        yield suggestion


def _made(kind: SuggestionKind, pattern: RepeatedPattern, title: str, draft: str, place: str) -> Suggestion:
    days = {moment.time.date() for moment in pattern.moments if moment.time is not None}
    return Suggestion(
        kind=kind,
        title=title,
        draft=draft,
        place=place,
        evidence=_uuids(pattern.moments),
        sessions=len(pattern.sessions),
        count=pattern.count,
        days=len(days),
        matched=pattern.count,
        checked=_replayed(pattern.counts),
        kind_of_pattern=pattern.kind,
        about=pattern.about.removesuffix(" <arguments>"),
    )


def _replayed(counts: Sequence[int], would: str = "changed {} moment{s}", but: str = "") -> str:
    """What a draft made of the first sessions would have done in the later ones; `counts` are those of all sessions.

    The sessions a draft is made from cannot check it: it fits them by construction.
    """
    made_from = min(len(counts), FEWEST_SESSIONS)
    later = counts[made_from:]
    if not later:
        return f"made from {made_from} sessions; no later one to try it on yet{but}"
    sessions = "one later session" if len(later) == 1 else f"{len(later)} later sessions"
    done = would.format(sum(later), s="" if sum(later) == 1 else "s")
    return f"made from the first {made_from}; in {sessions} it would have {done}{but}"


def _uuids(moments: Sequence[PatternMoment]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(moment.uuid for moment in moments))[:_MOST_EVIDENCE]


def _placed(each: Suggestion, sessions: Collection[str], basis: Basis) -> Suggestion:
    """The suggestion with its project, if all of its sessions belong to one, and with its last session."""
    projects = basis.projects_of(sessions)
    times = [time for session in sessions if (time := basis.began.get(session)) is not None]
    return replace(each, project=projects.pop() if len(projects) == 1 else None, last=max(times, default=None))


def _with_worth(each: Suggestion, basis: Basis) -> Suggestion:
    """Adds what it is worth, unless that is known. For rules and failures a part of the lost time is measured."""
    if each.worth.how:
        return each
    wanted = set(each.evidence) if each.kind is SuggestionKind.MEMORY and each.minutes is None else set()
    losses = [event.loss for uuid in wanted for event in basis.by_line.get(uuid, ())]
    measured = [loss.seconds for loss in losses if loss.seconds]
    minutes = each.minutes if each.minutes is not None else _MINUTES.get(each.kind, _SOME_MINUTES)
    assumed = max(0, each.count - len(measured)) * minutes
    how = f"{len(measured)} of {each.count} measured, the others " if measured else ""
    how += f"{minutes:g} minutes each by assumption" if assumed else "as measured"
    dollars, unpriced = money_of(losses)
    return replace(each, worth=Worth(round(sum(measured) / 60 + assumed, 1), dollars, how, is_partial=unpriced > 0))


def _is_stated(each: Suggestion, basis: Basis) -> bool:
    """Whether the files of its project already say it. Rules that are still broken are handled by `_rule`."""
    return any(_covers(basis.stated_in(project), each) for project in (each.project, None))


def _contradicts(each: Suggestion, basis: Basis) -> bool:
    """Whether a draft runs what a file or the person says not to run."""
    commands = _COMMANDS.findall(each.draft) if each.kind is not SuggestionKind.MEMORY else []
    commands += [each.title.partition(" was run")[0]] if each.kind is SuggestionKind.HOOK else []
    if not commands:
        return False
    # What goes into the settings for all projects must suit each of them.
    concerned = ("", each.project) if each.project else (*basis.stated, *basis.told)
    said = [rule for name in concerned for rule in basis.told.get(name, ())]
    rules = [*said, *(line for name in concerned for line in basis.stated_in(name).text.split("\n"))]
    return any(is_against(rules, command) for command in commands)


_COMMANDS = re.compile(r"^(?:\d+\. |- Run )`([^`]+)`$", re.MULTILINE)


def _covers(stated: Stated, each: Suggestion) -> bool:
    if each.kind is SuggestionKind.PERMISSION:
        return stated.allowed.issuperset(chain.from_iterable(json.loads(each.draft)["permissions"].values()))
    if each.kind is SuggestionKind.HOOK:
        return each.title.partition(" was run")[0] in stated.hooks
    if each.kind is SuggestionKind.MEMORY:
        return not each.draft.startswith(_STRESSED) and statement_of(stated, each.draft) is not None
    steps = [prefix_of(line) for line in _COMMANDS.findall(each.draft)] if each.kind is SuggestionKind.SKILL else []
    return _name_in(each.place) in stated.commands or (bool(steps) and all(map(stated.text.__contains__, steps)))


def _name_in(place: str) -> str:
    parts = place.split("/")
    return parts[-2] if parts[-1] == "SKILL.md" else parts[-1].removesuffix(".md")


def _rule(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:
    """A rule in the person's own words, given several times or as a correction."""
    rule = _sentence(pattern.example)
    kinds = [{event.kind for event in basis.by_line.get(moment.uuid, ())} for moment in pattern.moments]
    is_corrected = all(FrictionKind.CORRECTION in each for each in kinds)
    verb = "Corrected" if pattern.kind is PatternKind.CORRECTION or is_corrected else "Told"
    made = _made(SuggestionKind.MEMORY, pattern, "", f"- {rule}", _MEMORY)
    days = f" on {made.days} days" if made.days > 1 else ""
    made = replace(
        made, title=f"{verb} {_times(pattern.count)} in {len(pattern.sessions)} sessions{days}: put it into CLAUDE.md"
    )
    stated = broken_since(pattern, rule, basis)
    return made if stated is None else _still_broken(made, *stated)


def broken_since(
    pattern: RepeatedPattern, rule: str, basis: Basis
) -> tuple[str, datetime | None, list[PatternMoment]] | None:
    """The first file that states a rule, since when, and the moments after that; None if none states it."""
    for project in [*sorted(filter(None, basis.projects_of(pattern.sessions))), ""]:
        stated = statement_of(basis.stated_in(project), rule)
        if stated is not None:
            name, changed = stated
            since = [moment for moment in pattern.moments if changed and moment.time and moment.time > changed]
            return name, changed, since
    return None


def _still_broken(
    made: Suggestion, name: str, changed: datetime | None, since: Sequence[PatternMoment]
) -> Suggestion | None:
    """A suggestion for a rule that a file states, if it was broken at least twice since then."""
    if changed is None or len(since) < _OPENING_STEPS:
        return None
    title = f"Stated in {name}, and broken {_times(len(since))} since {changed:%Y-%m-%d}"
    return replace(
        made,
        title=title,
        draft=_STRESSED + made.draft.removeprefix("- "),
        evidence=_uuids(since),
        count=len(since),
        matched=len(since),
        checked=f"{len(since)} moments after the file was last changed",
    )


def _re_ask(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:  # noqa: ARG001
    """A command for a prompt that is typed repeatedly; with the steps that were taken for it, if it opens sessions.

    A word or two are typed as fast as a command, and the agent knows by then what is meant.
    """
    if len(words_of(pattern.example)) < _FEWEST_LINES_TYPED:
        return None
    steps = str(pattern.details.get("steps", ""))
    name = _slug(pattern.example)
    listed = "".join(f"\n- {step.replace(' ', ' `', 1)}`" for step in steps.split("\n") if step)
    draft = _open_ended(pattern) + (f"\n\nUsually this takes:{listed}\n" if listed else "")
    title = f"Typed in {len(pattern.sessions)} sessions: make it /{name}"
    made = _made(SuggestionKind.COMMAND, pattern, title, draft, f".claude/commands/{name}.md")
    return replace(made, checked=_replayed(pattern.counts, "stood for {} prompt{s}"))


def _open_ended(pattern: RepeatedPattern) -> str:
    """The prompt with `$ARGUMENTS` instead of the one word that varies, or else at the end."""
    others = [moment.text for moment in pattern.moments if moment.text != pattern.example]
    kept = set(pattern.example.split()).intersection(*(text.split() for text in others))
    differ = [word for word in pattern.example.split() if word not in kept]
    if len(differ) == 1 and len(pattern.moments) > 1:
        return pattern.example.replace(differ[0], "$ARGUMENTS")
    return f"{pattern.example}\n\n$ARGUMENTS"


def _workflow(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:
    """A skill with the command lines of one project; None if they are not known or say little more than the names of
    the steps, if no later session had use for it, or if every agent knows the steps."""
    steps = pattern.about.split(" > ")
    lines = [str(pattern.details.get(f"step {number}", "")) for number in range(1, len(steps) + 1)]
    telling = [
        line
        for step, line in zip(steps, lines, strict=True)
        if line not in (step, f"{step} <arguments>") and not _OF_VERSIONS.match(line)
    ]
    if (
        len(basis.projects_of(pattern.sessions)) > 1
        or not all(lines)
        or len(telling) < _FEWEST_TELLING
        or len(pattern.sessions) <= FEWEST_SESSIONS
    ):
        return None
    name = _slug(pattern.about.replace(" > ", " "))
    told = ", ".join(f"`{step}`" for step in steps)
    listed = "\n".join(f"{number}. `{line}`" for number, line in enumerate(lines, 1))
    filled = "Fill in what stands in angle brackets. " if "<" in listed else ""
    draft = (
        f"---\nname: {name}\ndescription: Runs {told} in this order. Use it where these are due.\n---\n\n{listed}\n"
        f"\n{filled}Stop at the first step that fails and say what it printed."
    )
    title = f"Done in {len(pattern.sessions)} sessions: {told}"
    made = _made(SuggestionKind.SKILL, pattern, title, draft, f".claude/skills/{name}/SKILL.md")
    return replace(made, checked=_replayed(pattern.counts, "stood for {} run{s} of these commands"))


_OF_VERSIONS = re.compile(r"(?:\w+ )?(?:git|gh|jj) ")
"""What every agent knows, behind a wrapper too."""
_PYTHON, _SCRIPT = "*.py", "*.js|*.jsx|*.ts|*.tsx|*.css|*.json|*.md"
_FORMATTERS = {
    "ruff format": ("ruff format", _PYTHON),
    "ruff check": ("ruff check --fix", _PYTHON),
    "black": ("black", _PYTHON),
    "isort": ("isort", _PYTHON),
    "prettier": ("prettier --write", _SCRIPT),
    "npx prettier": ("npx prettier --write", _SCRIPT),
    "eslint": ("eslint --fix", "*.js|*.jsx|*.ts|*.tsx"),
    "npx eslint": ("npx eslint --fix", "*.js|*.jsx|*.ts|*.tsx"),
    "biome": ("biome check --write", "*.js|*.jsx|*.ts|*.tsx|*.json"),
    "gofmt": ("gofmt -w", "*.go"),
    "go fmt": ("gofmt -w", "*.go"),
    "goimports": ("goimports -w", "*.go"),
    "cargo fmt": ("cargo fmt --", "*.rs"),
    "rustfmt": ("rustfmt", "*.rs"),
    "swiftformat": ("swiftformat", "*.swift"),
    "clang-format": ("clang-format -i", "*.c|*.cc|*.cpp|*.h|*.hpp"),
    "terraform fmt": ("terraform fmt", "*.tf"),
}


_OFTEN_BY_HAND = 0.25


def _after_edit(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:
    """A hook, only for formatters that can run after every edit of files of their kind; a test suite may take
    minutes. What few sessions of a project do by hand is no reason to do it after every edit."""
    concerned = basis.projects_of(pattern.sessions)
    every = sum(project in concerned for project in basis.projects.values())
    is_rare = pattern.kind is PatternKind.AFTER_EDIT and len(pattern.sessions) < _OFTEN_BY_HAND * every
    if pattern.about not in _FORMATTERS or is_rare:
        return None
    formatter, suffixes = _FORMATTERS[pattern.about]
    command = (
        "jq -r '.tool_input.file_path' | while IFS= read -r file; do "
        f'case "$file" in {suffixes}) {formatter} "$file" ;; esac; done'
    )
    hook = {"matcher": "Edit|Write|MultiEdit", "hooks": [{"type": "command", "command": command}]}
    title = f"{pattern.about} was run by hand after edits in {len(pattern.sessions)} sessions: let a hook do it"
    made = _made(
        SuggestionKind.HOOK, pattern, title, json.dumps({"hooks": {"PostToolUse": [hook]}}, indent=2), _SETTINGS
    )
    return replace(made, checked=_replayed(pattern.counts, "spared {} run{s}", "; files of other kinds are left alone"))


_RISKY = re.compile(
    r"\((?:rm|sudo|curl|wget|ssh|scp|dd|mkfs|chmod|chown|kill|pkill|git push|git reset|git clean|git rebase"
    r"|git branch|git checkout|npm publish"
    r"|cargo publish|terraform|kubectl|helm|aws|gcloud|az|docker|eval|bash|sh|zsh|python3?|node|psql|mysql)\b"
)
_OWN_TOOLS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "PowerShell", "Task", "Agent"})
"""Allowing one of these without limits would be a permission mode, not a rule."""


def _permission(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:  # noqa: ARG001
    """Allows what is harmless, was granted each time and never refused.

    Never denies anything: clients before 2.1.325 record refusals only, so what looks refused each time may have run
    a hundred times.
    """
    rule = pattern.about
    if int(pattern.details.get("refused", 0)) or rule in _OWN_TOOLS or _RISKY.search(rule) is not None:
        return None
    title = f"Asked for {_times(pattern.count)} and granted each time: allow {rule}"
    named = rule.partition("(")[2].removesuffix(":*)")
    opens = f"; it opens every other `{named} …`, too" if rule.endswith(":*)") else ""
    made = _made(
        SuggestionKind.PERMISSION, pattern, title, json.dumps({"permissions": {"allow": [rule]}}, indent=2), _SETTINGS
    )
    return replace(made, checked=_replayed(pattern.counts, "answered {} question{s}", f"; none was refused{opens}"))


def _tool_error(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:
    """From messages that name their cause, and from time-outs of the client: no other cause is sure enough."""
    why, subject, works = (str(pattern.details.get(name, "")) for name in ("class", "subject", "works_as"))
    ran_well = int(pattern.details.get("ran_well", 0))
    if works and pattern.details.get("missing"):
        why, subject = "missing", str(pattern.details["missing"])
    has_skill = any(subject in basis.stated_in(each).commands for each in basis.projects_of(pattern.sessions))
    # A program that ran well is found in some places, and a skill that a later session lists was added since.
    is_over = {"missing": ran_well > 0, "unknown_skill": has_skill}
    if why not in _CURES or not subject or is_over.get(why):
        return None
    said, draft = _CURES[why]
    title = f"{said.format(subject)} in {len(pattern.sessions)} sessions"
    made = _made(SuggestionKind.MEMORY, pattern, title, f"- {draft.format(subject, works)}", _MEMORY)
    is_counted = why in ("missing", "timeout")
    well = f", and touched {ran_well or 'none'} that went well" if is_counted else ""
    checked = _replayed(pattern.counts, "changed {} failure{s}", well)
    return replace(made, went_well=ran_well, checked=checked, minutes=None if why == "timeout" else _ONE_CALL)


_CURES = {
    "missing": ("{} was not found", "`{}` is not on the path here: run it as `{}`."),
    "timeout": (
        "{} timed out",
        "`{}` can take longer than the default time-out: give it more time or run it in the background.",
    ),
    "unknown_skill": (
        "The skill {} was called, which does not exist,",
        "There is no skill `{}`: do what the word says yourself.",
    ),
    "unmatched_pattern": (
        "{} stopped lines with a pattern that matched no file",
        "The shell is {}: a pattern that matches no file stops the whole line, even with `2>/dev/null`. Use `find`"
        " where there may be none.",
    ),
}
"""What a failure showed and the cure, by class."""


def _refusal(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:  # noqa: ARG001
    """To be asked before what the person turns down again and again."""
    if pattern.count < _MANY_SESSIONS or pattern.about not in _LASTING:
        return None
    title = f"You turned down `{pattern.about}` {_times(pattern.count)} in {len(pattern.sessions)} sessions"
    draft = f"- Before `{pattern.about}`, show me {_LASTING[pattern.about]} and wait for my go."
    made = _made(SuggestionKind.MEMORY, pattern, title, draft, _MEMORY)
    return replace(made, minutes=_SOME_MINUTES, checked=_replayed(pattern.counts, "spared {} refusal{s}"))


_LASTING = {
    "git commit": "the message and what it would contain",
    "git push": "what would be pushed, and where",
    "jj describe": "the description",
    "jj commit": "the description and what it would contain",
    "gh pr create": "the title and the text",
    "gh pr merge": "what would be merged",
    "npm publish": "what would be published",
    "terraform apply": "the plan",
}
"""What cannot be taken back easily, and what a person looks at before it."""


_MOST_FILES = 10
_FEWEST_FILES = 3


def _maps(patterns: Sequence[RepeatedPattern], basis: Basis) -> Iterator[Suggestion]:
    """For each project a map of the files that its sessions read again and again, with what they say they are."""
    by_project: dict[str, list[RepeatedPattern]] = {}
    for pattern in patterns:
        if pattern.kind is PatternKind.READ_AGAIN and pattern.details["title"]:
            by_project.setdefault(basis.projects.get(pattern.sessions[0]) or "", []).append(pattern)
    by_project.pop("", None)
    for project, files in by_project.items():
        files.sort(key=lambda each: -int(each.details["tokens"]))
        stated = basis.stated_in(project).text
        unnamed = [each for each in files if each.about not in stated][:_MOST_FILES]
        if len(unnamed) >= _FEWEST_FILES:
            yield _map_of(unnamed, basis)


def _map_of(files: Sequence[RepeatedPattern], basis: Basis) -> Suggestion:
    tokens = sum(int(each.details["tokens"]) for each in files)
    sessions = {session for each in files for session in each.sessions}
    made = Suggestion(
        kind=SuggestionKind.MEMORY,
        title=f"{len(files)} files are read again in most sessions, {tokens:,} tokens so far: a map of them",
        draft="\n".join(f"- `{each.about}`: {each.details['title']}" for each in files),
        place=_MEMORY,
        evidence=tuple(each.moments[0].uuid for each in files),
        sessions=len(sessions),
        count=sum(each.count for each in files),
        checked=f"each was read whole in {min(len(each.sessions) for each in files)} sessions or more",
        minutes=_A_READ,
        kind_of_pattern=PatternKind.READ_AGAIN,
        about="\n".join(each.about for each in files),
    )
    return _placed(made, sessions, basis)


_A_READ = 0.05
"""Minutes of reading a file that was not needed."""


def _habit(pattern: RepeatedPattern, basis: Basis) -> Suggestion | None:
    """What works instead of a line that fails nearly always; for a formatter's check a hook that formats."""
    line, cure = str(pattern.details["line"]), str(pattern.details["cure"])
    well = int(pattern.details["well"])
    formatter = next((name for name in _FORMATTERS if cure == name or cure.startswith(f"{name} ")), None)
    if pattern.details["class"] in _FOUND_SOMETHING:
        is_check = formatter is not None and "--check" in line
        return _after_edit(replace(pattern, about=formatter or ""), basis) if is_check else None
    title = f"`{line}` failed {pattern.count} of {pattern.count + well} times in {len(pattern.sessions)} sessions"
    draft = f"- `{line}` fails here: run `{cure}` instead."
    made = _made(SuggestionKind.MEMORY, pattern, title, draft, _MEMORY)
    but = f", and touched {well} that went well" if well else ", and touched none that went well"
    checked = _replayed(pattern.counts, "spared {} failure{s}", but)
    return replace(made, went_well=well, minutes=_ONE_CALL, checked=checked)


_FOUND_SOMETHING = frozenset({"lint", "test_failure", "compile_error", "no_match", "network", "timeout"})
"""Failures in which a program did what it is for, or that another line would have had, too."""


_FROM: dict[PatternKind, Callable[[RepeatedPattern, Basis], Suggestion | None]] = {
    PatternKind.INSTRUCTION: _rule,
    PatternKind.CORRECTION: _rule,
    PatternKind.RE_ASK: _re_ask,
    PatternKind.WORKFLOW: _workflow,
    PatternKind.AFTER_EDIT: _after_edit,
    PatternKind.PERMISSION: _permission,
    PatternKind.TOOL_ERROR: _tool_error,
    PatternKind.HABIT: _habit,
    PatternKind.REFUSAL: _refusal,
}


def _sentence(text: str) -> str:
    text = _ADDRESS.sub("", text.strip()).rstrip(".!…")
    return f"{text[:1].upper()}{text[1:]}."


_ADDRESS = re.compile(
    r"^(?:(?:no|again|ok(?:ay)?|please|and|but|so|also|hey|wait|actually|remember)[,:;.! ]+)+", re.IGNORECASE
)


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == _OPENING_STEPS else f"{count} times"


def _slug(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.lower())[:5]
    return "-".join(words) or "again"
