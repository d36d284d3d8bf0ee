"""The table of detectors, and the one pass over a session that asks them all."""

from __future__ import annotations

from collections.abc import Iterable

from reread.sessions import Conversation, Session

from .corrections import Correction
from .detector import Detector
from .events import Event
from .refusals import HookBlock, Interrupt, Rejection
from .repeats import Loop, ReAsk
from .rework import ReadWaste, Rework
from .scene import Scene
from .toil import ManualStep, PermissionToil
from .tool_errors import ToolError
from .waiting import Compaction, Rewind, Stall

DETECTORS: tuple[Detector, ...] = (
    Interrupt(),
    Rejection(),
    HookBlock(),
    ToolError(),
    Correction(),
    ReAsk(),
    Loop(),
    Rework(),
    ReadWaste(),
    Rewind(),
    ManualStep(),
    PermissionToil(),
    Stall(),
    Compaction(),
)
"""A new kind of friction is a new class here. Repeated instructions need many sessions: see `patterns`."""


def find_events(
    session: Session, *, with_agents: bool = False, detectors: Iterable[Detector] = DETECTORS
) -> list[Event]:
    """What went wrong in a session, in the order of its lines; subagents are left out unless asked for."""
    scenes = [Scene(session, session.id)]
    if with_agents:
        scenes += [Scene(agent, session.id, agent.id) for agent in session.working_agents]
    return [event for scene in scenes for event in events_of(scene, detectors)]


def events_of(scene: Scene, detectors: Iterable[Detector] = DETECTORS) -> list[Event]:
    found = [event for detector in detectors for event in detector.find(scene)]
    if len(found) > 1:
        place = _places(scene.conversation, {event.uuid for event in found})
        found.sort(key=lambda event: place.get(event.uuid, 0))
    return found


def _places(conversation: Conversation, wanted: set[str | None]) -> dict[str | None, int]:
    return {record.uuid: number for number, record in enumerate(conversation.line) if record.uuid in wanted}
