"""The table of detectors, and the one pass over a session that runs all of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from msgspec import Struct

from reread import lazy
from reread.sessions import Session

from . import corrections, cues, detection, material, patterns, phrases, prompt_text, refusals, tool_errors
from .corrections import Correction
from .detection import ConversationUnderTest, Detector, FrictionKind, Moment
from .material import Material, material_of
from .refusals import (
    HookBlock,
    HookError,
    InstructionEdit,
    Interrupt,
    Rejection,
    SessionOutcome,
    changes_of,
    outcome_of,
)
from .repeats import Compaction, Loop, ManualStep, PermissionToil, ReadWaste, ReAsk, RewindDetector, Rework, Stall
from .tool_errors import ToolError
from .unsaid import Unsaid

DETECTORS: tuple[Detector, ...] = (
    Interrupt(),
    Rejection(),
    HookBlock(),
    HookError(),
    ToolError(),
    Correction(),
    ReAsk(),
    Loop(),
    Rework(),
    ReadWaste(),
    RewindDetector(),
    ManualStep(),
    PermissionToil(),
    Stall(),
    Compaction(),
    Unsaid(),
)
"""A new kind of friction needs a new class here. Repeated instructions need many sessions: see `patterns`."""

_ACROSS_SESSIONS: dict[str, str] = {
    FrictionKind.REPEATED_INSTRUCTION: "The person gave the same instruction in several sessions."
}


def kind_meanings() -> dict[str, str]:
    """What each kind of friction means, in a sentence or two for a person."""
    return {**{each.kind: each.meaning for each in DETECTORS}, **_ACROSS_SESSIONS}


_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Findings(Struct, frozen=True, kw_only=True):
    """Everything that is kept of one session for the retrospective."""

    events: tuple[Moment, ...]
    material: Material
    outcome: SessionOutcome
    instructions: tuple[InstructionEdit, ...] = ()
    """Changes of the agent's instruction files."""


def find(session: Session, *, with_agents: bool = False) -> Findings:
    """All findings from one look at the session; import asks for this."""
    subject, *others = _subjects(session, with_agents=with_agents)
    return Findings(
        events=tuple(event for each in (subject, *others) for event in events_of(each)),
        material=material_of(subject),
        outcome=outcome_of(subject),
        instructions=changes_of(subject),
    )


def compile_patterns() -> None:
    """Compiles all patterns, which takes 70 ms: once before worker processes are forked, not again in each."""
    for module in (corrections, material, patterns, phrases, prompt_text, refusals, detection, tool_errors):
        lazy.compile_patterns(module)
    for each in (*cues.REPLY, *cues.THOUGHT, *cues.WORDS, *cues.ALONE, *phrases.ENGLISH):
        _ = each.pattern
    for pattern in prompt_text.KINDS_OF_LINE.values():
        _ = pattern.match


def find_events(session: Session, *, with_agents: bool = False) -> list[Moment]:
    """What went wrong in a session, in the order of time within each conversation; subagents only on request."""
    return [event for subject in _subjects(session, with_agents=with_agents) for event in events_of(subject)]


def _subjects(session: Session, *, with_agents: bool) -> Iterator[ConversationUnderTest]:
    yield ConversationUnderTest(session, session.id)
    for agent in session.working_agents if with_agents else ():
        yield ConversationUnderTest(agent, session.id, agent.id)


def events_of(subject: ConversationUnderTest) -> list[Moment]:
    """The moments of one conversation, in the order of time."""
    found = [event for detector in DETECTORS for event in detector.find(subject)]
    return sorted(found, key=lambda event: event.time or _BEGINNING)
