"""The person or a rule said stop: interrupts, rejections and denials, blocks by hooks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reread.records import Attachment, HookBlockingError, Record, StopHookSummary, User
from reread.records.system import Informational
from reread.sessions import Kind as Speaker
from reread.sessions import Status

from .calls import Call
from .detector import Detector
from .events import Cause, Event, Kind
from .scene import Scene

_FEEDBACK = re.compile(r"the user said:\s*(.*?)(?:\n\nNote: |$)", re.DOTALL)
_ABORTED = "Permission prompt was aborted"
_BY_HOOK = re.compile(
    r"\s*(\w+)(?::\w+)? hook (?:blocking )?(?:error|stopped)[^:\n]*:?\s*(?:\[[^\]\n]*\]:\s*)?(.*)", re.DOTALL
)
_STOPPED_BY_HOOK = "Operation stopped by hook"
_STOP_FEEDBACK = "Stop hook feedback"


def is_said_by_hook(text: str) -> bool:
    """Whether a line in the person's name is a hook's: the client writes some of them as prompts."""
    return text.startswith((_STOPPED_BY_HOOK, _STOP_FEEDBACK))


class Interrupt(Detector):
    """Esc: the person stopped the model or a running tool."""

    kind = Kind.INTERRUPT
    exact = "an interrupt line; a tool result marked as interrupted where no such line follows"

    def find(self, scene: Scene) -> Iterator[Event]:
        for stretch in scene.stretches:
            if not stretch.notices and not stretch.troubled:
                continue
            lines = [notice for notice in stretch.notices if notice.what == "interrupted"]
            cut = [call for call in stretch.troubled if call.status is Status.INTERRUPTED]
            # Saying no in the permission dialog writes an interrupt line too: that is the rejection again.
            if lines and any(is_by_person(call) for call in stretch.calls[-_PARALLEL:]):
                continue
            running = (cut or stretch.calls)[-1] if stretch.calls else None
            for notice in lines:
                is_tool = "for tool use" in notice.text
                yield self._at(scene, notice.record, running if is_tool else None)
            if cut and not lines:
                yield self._at(scene, cut[-1].proof, cut[-1])

    def _at(self, scene: Scene, record: Record, running: Call | None) -> Event:
        name = running.name if running is not None else ""
        evidence = f"stopped while {name} was running" if name else "stopped while the model was answering"
        return scene.event(self.kind, record, evidence, Cause.AGENT, 1.0, about=name or "answer")


_PARALLEL = 12
"""How many calls of one response are looked at for the refusal that an interrupt line belongs to."""


def is_by_person(call: Call) -> bool:
    """Whether the person turned it down, or left the dialog that asked."""
    return call.status is not Status.OK and refused_by(call) == "person"


def refused_by(call: Call) -> str | None:
    """Who refused a call: `person`, `rule` or `hook`; None where nobody did.

    `toolDenialKind` names a hook's block a rule (2.1.325); `permissionDecision.source` is right where it is there.
    """
    if call.output is None:
        return None
    record = call.proof if isinstance(call.proof, User) else None
    if is_block_of_hook(call):
        return "hook"
    if call.status is not Status.REJECTED:
        is_aborted = call.status is Status.ERROR and call.text.startswith(_ABORTED)
        return "person" if is_aborted else None
    decision = record.permission_decision if record is not None else None
    if decision is not None and decision.source:
        return "person" if decision.source.startswith("user") else "rule"
    if record is not None and record.tool_denial_kind is not None:
        return "person" if record.tool_denial_kind == "user-rejected" else "rule"
    return "rule" if call.text[:40].lstrip().startswith("Permission") else "person"


def is_block_of_hook(call: Call) -> bool:
    if call.status not in (Status.ERROR, Status.REJECTED):
        return False
    record = call.proof
    decision = record.permission_decision if isinstance(record, User) else None
    return (decision is not None and decision.source == "hook") or bool(_BY_HOOK.match(call.text[:300]))


def reason_given(call: Call) -> str:
    """What the person wrote when they said no."""
    record = call.proof
    if isinstance(record, User) and record.user_feedback:
        return record.user_feedback.strip()
    found = _FEEDBACK.search(call.text)
    return found[1].strip() if found else ""


class Rejection(Detector):
    """A tool call was turned down: by the person, with or without a reason, or by a permission rule."""

    kind = Kind.REJECTION
    exact = "permissionDecision, toolDenialKind, the client's own wording of a refusal"

    def find(self, scene: Scene) -> Iterator[Event]:
        for call in scene.troubled:
            by = refused_by(call)
            if by not in ("person", "rule"):
                continue
            reason = reason_given(call)
            yield scene.event(
                self.kind,
                call.proof,
                reason or f"{call.name} was turned down by a {by}",
                Cause.AGENT if by == "person" else Cause.ENVIRONMENT,
                1.0,
                about=call.name,
                by=by,
                reason=reason[:500] or None,
            )


class HookBlock(Detector):
    """A hook refused a call, a prompt or the end of a turn."""

    kind = Kind.HOOK_BLOCK
    exact = "a hook_blocking_error, a tool result that opens with the hook's name, a prevented continuation"
    heuristics = "a stop hook that reports errors without preventing anything: 0.8"

    def find(self, scene: Scene) -> Iterator[Event]:
        for call in scene.troubled:
            if is_block_of_hook(call):
                found = _BY_HOOK.match(call.text)
                said = found[2] if found else call.text
                yield self._at(scene, call.proof, said, found[1] if found else "PreToolUse", call.name)
        yield from self._beside(scene)
        for speaker in (Speaker.PROMPT, Speaker.META):
            for record in scene.lines_of(speaker):
                text = record.text
                if is_said_by_hook(text):
                    is_stop = text.startswith(_STOP_FEEDBACK)
                    said = text.partition(":")[2]
                    yield self._at(scene, record, said, "Stop" if is_stop else "UserPromptSubmit", "")

    def _beside(self, scene: Scene) -> Iterator[Event]:
        beside = scene.conversation.beside
        for record in beside.get(Attachment, ()):
            body = record.attachment if isinstance(record, Attachment) else None
            if isinstance(body, HookBlockingError):
                event = (body.hook_event or body.hook_name or "").partition(":")[0]
                yield self._at(scene, record, _said_by(record), event, "")
        for record in beside.get(Informational, ()):
            if record.text.startswith(_STOPPED_BY_HOOK):
                yield self._at(scene, record, record.text.partition(":")[2], "UserPromptSubmit", "")
        for record in beside.get(StopHookSummary, ()):
            if isinstance(record, StopHookSummary) and (record.prevented_continuation or record.hook_errors):
                said = record.stop_reason or " ".join(str(error) for error in record.hook_errors or ())
                yield self._at(scene, record, said, "Stop", "", 1.0 if record.prevented_continuation else 0.8)

    def _at(self, scene: Scene, record: Record, said: str, hook: str, tool: str, confidence: float = 1.0) -> Event:
        evidence = said.strip() or f"blocked by a {hook} hook"
        return scene.event(self.kind, record, evidence, Cause.ENVIRONMENT, confidence, about=hook, tool=tool or None)


def _said_by(record: Record) -> str:
    """The hook's own words, which stand in an object inside the error or are the error itself."""
    body = record.data.get("attachment")
    error = body.get("blockingError") if isinstance(body, dict) else None
    said = error.get("blockingError") if isinstance(error, dict) else error
    return said if isinstance(said, str) else ""
