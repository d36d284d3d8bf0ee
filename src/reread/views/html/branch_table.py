"""Two branches of a conversation side by side: their turns in short, and what each changed in files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from reread.features.edits.net import BranchOutcome, Comparison, FileDiff, PartedFile
from reread.features.edits.net import BranchSide as ComparedWay
from reread.records import Text
from reread.sessions import Notice, Said, Session, Step, ToolCall, Turn
from reread.views.calls import shown_path
from reread.views.numbers import count
from reread.views.text import one_line, shorten

from . import parts
from .session import SessionParts, branch_anchor, branch_label, token_facts

MOST_TURNS = 60
"""Turns of one branch; the session's own page has the others."""
MOST_FILES = 60
MOST_LINES = 300
"""Lines of one diff."""
LONGEST_ANSWER = 700
_TOLD = frozenset({"interrupted", "api_error", "compacted"})
"""Notices that are shown in the short form of a turn."""
OUTCOMES = {
    BranchOutcome.DIFFERENT: ("both changed it, differently", "came out differently"),
    BranchOutcome.UNKNOWN: (
        "both changed it; how it ended is not known as a whole",
        "changed on both sides, the end not known",
    ),
    BranchOutcome.LEFT_ONLY: ("changed on the left only",) * 2,
    BranchOutcome.RIGHT_ONLY: ("changed on the right only",) * 2,
    BranchOutcome.SAME: ("both changed it, and it came out the same", "came out the same"),
}
"""Of each what is said of one file, and of several. Files that differ come first."""


class Side(NamedTuple):
    anchor: str
    label: str
    lead: str
    is_active: bool
    facts: list[str]
    tokens: list[tuple[str, str]]
    turns: list[parts.TurnPart]
    left_out: int
    """How many turns are not shown here."""
    next: str
    """A link to the first of them."""


class ComparedFile(NamedTuple):
    path: str
    outcome: str
    verdict: str
    left: parts.Diff | None
    right: parts.Diff | None
    between: parts.Diff | None
    """The difference between the two final contents, if both branches changed the file and both contents are known."""
    notes: list[str]


class Compared(NamedTuple):
    shared: list[parts.OutlineRow]
    left: Side
    right: Side
    files: list[ComparedFile]
    tally: list[str]
    """`2 differ`, `1 came out the same`."""
    left_out: int
    """How many files are not shown."""


def compared_branches(session: Session, found: Comparison) -> Compared:
    made = SessionParts(session, parts.Sections(thinking=False))
    return Compared(
        shared=list(_rows(found.shared)),
        left=_side(session, made, found.left),
        right=_side(session, made, found.right),
        files=[_file(session, file) for file in _ordered(found.files)[:MOST_FILES]],
        tally=_tally(found.files),
        left_out=max(0, len(found.files) - MOST_FILES),
    )


def _rows(turns: Iterable[Turn]) -> Iterable[parts.OutlineRow]:
    for turn in turns:
        if turn.prompt is not None:
            text = shorten(turn.prompt.text[:400], 120) or "(no text)"
            yield parts.OutlineRow(turn.prompt.uuid or "", turn.index, text, turn.prompt.time, 0)


def _side(session: Session, made: SessionParts, way: ComparedWay) -> Side:
    shown, rest = way.turns[:MOST_TURNS], way.turns[MOST_TURNS:]
    prompts = [turn.prompt for turn in way.turns if turn.prompt is not None]
    done = [step for turn in way.turns for step in turn.steps if isinstance(step, ToolCall)]
    bad = sum(step.status in parts.BAD for step in done)
    facts = [
        count(len(prompts), "prompt"),
        count(len(done), "tool call"),
        f"{bad:,} failed or did not run" if bad else "",
    ]
    following = next((turn.prompt.uuid for turn in rest if turn.prompt is not None and turn.prompt.uuid), "")
    return Side(
        anchor=branch_anchor(way.branch.id),
        label=branch_label(way.branch),
        lead=shorten(prompts[0].text[:300], 90) if prompts else "",
        is_active=way.branch.active,
        facts=[fact for fact in facts if fact],
        tokens=token_facts(way.used)[:3],
        turns=[made.turn(session, in_short(turn)) for turn in shown],
        left_out=len(rest),
        next=following,
    )


def in_short(turn: Turn) -> Turn:
    """A turn reduced to its calls, its last words, and notices such as an interruption."""
    last = next((step for step in reversed(turn.steps) if isinstance(step, Said) and step.text.strip()), None)
    steps = [_shortened(step) if step is last else step for step in turn.steps if step is last or _is_listed(step)]
    return replace(turn, steps=tuple(steps))


def _is_listed(step: Step) -> bool:
    return isinstance(step, ToolCall) or (isinstance(step, Notice) and step.what in _TOLD)


def _shortened(step: Step) -> Step:
    """Words cut before the paragraph that makes them too long. Markdown ends a fence that is cut with the text."""
    if not isinstance(step, Said) or len(step.text) <= LONGEST_ANSWER:
        return step
    end = step.text.rfind("\n\n", 0, LONGEST_ANSWER)
    cut = step.text[: end if end > LONGEST_ANSWER // 3 else LONGEST_ANSWER].rstrip()
    return replace(step, block=Text(text=f"{cut} …"))


def _ordered(files: Sequence[PartedFile]) -> list[PartedFile]:
    return sorted(files, key=lambda file: list(OUTCOMES).index(file.outcome))


def _tally(files: Sequence[PartedFile]) -> list[str]:
    numbers = Counter(file.outcome for file in files)
    return [f"{numbers[outcome]:,} {words}" for outcome, (_, words) in OUTCOMES.items() if numbers[outcome]]


def _file(session: Session, file: PartedFile) -> ComparedFile:
    outcome = file.outcome
    sides = [diff for diff in (file.left, file.right) if diff is not None]
    notes = []
    if any(not diff.is_known for diff in sides):
        notes.append("The file is not known as a whole: these are the changes one by one.")
    if any(diff.gaps for diff in sides):
        notes.append("Something outside these sessions changed it in between.")
    return ComparedFile(
        path=one_line(shown_path(file.path, session.project)),
        outcome=outcome.name.lower().replace("_", "-"),
        verdict=OUTCOMES[outcome][0],
        left=_diff(session, file.left),
        right=_diff(session, file.right) if outcome is not BranchOutcome.SAME else None,
        between=_diff(session, file.between) if outcome is BranchOutcome.DIFFERENT else None,
        notes=notes,
    )


def _diff(session: Session, diff: FileDiff | None) -> parts.Diff | None:
    return SessionParts(session, parts.Sections()).file_diff(diff, MOST_LINES) if diff is not None else None
