"""Refusals by the person, a rule or a hook; changes of instruction files; and how a session ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from reread.records import Attachment, HookBlockingError, Record, StopHookSummary, User
from reread.records.attachments import HookCancelled, HookNonBlockingError, HookStoppedContinuation
from reread.records.json_parts import objects_in
from reread.records.state import PrLink
from reread.records.system import HOOK_FAILED, Informational
from reread.sessions import MAIN, CallStatus
from reread.sessions import Speaker as Speaker
from reread.sessions.calls import BY_PERSON
from reread.sessions.speaker import PROMPT_BELOW, STOP_FEEDBACK

from .call_results import tests_of
from .command_lines import commands_in, is_commit, is_pull_request, is_push, prefix_of
from .detection import (
    EDITS,
    Cause,
    ConversationUnderTest,
    DetectedCall,
    Detector,
    FrictionKind,
    Moment,
    TurnInContext,
    file_name,
    quote,
    verdict_in,
)
from .stated import NAMES

_SUBJECT = 80
"""Letters of a command or a path in a quote."""
_FEEDBACK = re.compile(r"the user said:\s*(.*?)(?:\n\nNote: |$)", re.DOTALL)
_OF_CLIENT = ("The user wants to clarify these questions.", "The user has indicated that they have provided enough")
"""Beginnings of what the client writes in the person's name when questions are turned down."""
_ABORTED = "Permission prompt was aborted"
_BY_HOOK = re.compile(
    r"\s*(\w+)(?::\w+)? hook (?:blocking )?(?:error|stopped)[^:\n]*:?\s*(?:\[[^\]\n]*\]:\s*)?(.*)", re.DOTALL
)
_STOPPED_BY_HOOK = "Operation stopped by hook"
_BLOCKED_BY_HOOK = " operation blocked by hook"


def is_from_hook(text: str) -> bool:
    """Whether a hook wrote a line in the person's name: the client writes some of them as prompts."""
    return text.startswith((_STOPPED_BY_HOOK, STOP_FEEDBACK))


class Interrupt(Detector):
    """Esc: the person stopped the model or a running tool."""

    kind = FrictionKind.INTERRUPT
    exact = "an interrupt line; a tool result marked as interrupted where no such line follows"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for context in subject.turns:
            # Refusing in the permission dialog also writes an interrupt line: that belongs to the rejection.
            if context.was_interrupted:
                if not any(is_by_person(call) for call in context.calls[-_PARALLEL:]):
                    yield from self._of_lines(subject, context)
            elif cut := _interrupted(context):
                yield self._at(subject, cut[-1].proof, cut[-1])

    def _of_lines(self, subject: ConversationUnderTest, context: TurnInContext) -> Iterator[Moment]:
        running = next(reversed(_interrupted(context) or context.calls), None)
        for notice in context.notices:
            if notice.what == "interrupted":
                yield self._at(subject, notice.record, running if "for tool use" in notice.text else None)

    def _at(self, subject: ConversationUnderTest, record: Record, running: DetectedCall | None) -> Moment:
        name = running.name if running is not None else ""
        evidence = f"stopped while {name} was running" if name else "stopped while the model was answering"
        return subject.event(self.kind, record, evidence, Cause.AGENT, 1.0, about=name or "answer")


def _interrupted(context: TurnInContext) -> list[DetectedCall]:
    return [call for call in context.troubled if call.status is CallStatus.INTERRUPTED]


_PARALLEL = 12
"""How many calls at the end of a turn are searched for the refusal that an interrupt line belongs to."""


def is_by_person(call: DetectedCall) -> bool:
    """Whether the person refused the call, or left the dialog that asked."""
    return call.status is not CallStatus.OK and refused_by(call) == "person"


def refused_by(call: DetectedCall) -> str | None:
    """Who refused a call: `person`, `rule` or `hook`; None if it was not refused.

    `toolDenialKind` calls a hook's block a rule (2.1.325); `permissionDecision.source`, if present, is correct.
    """
    if call.output is None:
        return None
    if is_block_of_hook(call):
        return "hook"
    if call.status is not CallStatus.REJECTED:
        is_aborted = call.status is CallStatus.ERROR and call.text.startswith(_ABORTED)
        return "person" if is_aborted else None
    return "person" if _is_no_of_person(call) else "rule"


def _is_no_of_person(call: DetectedCall) -> bool:
    """Whether a person, and no rule, turned down a call."""
    if call.decided_by:
        return call.is_asked
    denial = call.proof.tool_denial_kind if isinstance(call.proof, User) else None
    return denial == BY_PERSON if denial is not None else not call.text[:40].lstrip().startswith("Permission")


def is_block_of_hook(call: DetectedCall) -> bool:
    if call.status not in (CallStatus.ERROR, CallStatus.REJECTED):
        return False
    return call.decided_by == "hook" or _BY_HOOK.match(call.text[:300]) is not None


def reason_given(call: DetectedCall) -> str:
    """What the person wrote when refusing."""
    record = call.proof
    found = _FEEDBACK.search(call.text)
    given = record.user_feedback if isinstance(record, User) else None
    whole = call.text if isinstance(record, User) and record.is_persons_answer else ""
    reason = (given or (found[1] if found else whole)).strip()
    return "" if reason.startswith(_OF_CLIENT) else reason


def why_refused(call: DetectedCall) -> str:
    """The reason given for a refusal, by the person or by the hook that stopped the call; empty if there is none.

    The client's own sentences about a refusal are not a reason.
    """
    by_hook = _BY_HOOK.match(call.text)
    return by_hook[2].strip() if by_hook and is_block_of_hook(call) else reason_given(call)


class Rejection(Detector):
    """A tool call was turned down: by the person, with or without a reason, or by a permission rule."""

    kind = FrictionKind.REJECTION
    exact = "permissionDecision, toolDenialKind, the client's own wording of a refusal"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for call in subject.troubled:
            by = refused_by(call)
            if by not in ("person", "rule"):
                continue
            reason = reason_given(call)
            what = call.command or call.path or call.name
            yield subject.event(
                self.kind,
                call.proof,
                f"{quote(what)[:_SUBJECT]}: {reason or f'turned down by a {by}'}",
                Cause.AGENT if by == "person" else Cause.ENVIRONMENT,
                1.0,
                about=_turned_down(call),
                by=by,
                command=bool(call.command) or None,
                reason=reason[:500] or None,
            )


def _turned_down(call: DetectedCall) -> str:
    """What a refusal was about: of several commands the one that cannot be taken back."""
    if call.command:
        ran = commands_in(call.command)
        lasting = next((part for asked in (is_push, is_commit) for part in ran if asked(part)), None)
        return call.step if lasting is None else prefix_of(lasting)
    return call.name


class HookBlock(Detector):
    """A hook refused a call, a prompt or the end of a turn."""

    kind = FrictionKind.HOOK_BLOCK
    exact = "a hook_blocking_error, a tool result that opens with the hook's name, a turn it ended or kept going"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for call in subject.troubled:
            if is_block_of_hook(call):
                found = _BY_HOOK.match(call.text)
                reason = found[2] if found else call.text
                yield self._at(subject, call.proof, reason, found[1] if found else "PreToolUse", call.name)
        reported = set()
        for record in (*subject.lines_of(Speaker.PROMPT), *subject.lines_of(Speaker.META)):
            if is_from_hook(record.text):
                reason = record.text.partition(":")[2].strip()
                reported.add(reason)
                is_stop = record.text.startswith(STOP_FEEDBACK)
                yield self._at(subject, record, reason, "Stop" if is_stop else "UserPromptSubmit", "")
        for blocks in (_attached_blocks, _blocked_prompts, _blocked_ends):
            yield from (self._at(subject, *block, "") for block in blocks(subject, reported))

    def _at(self, subject: ConversationUnderTest, record: Record, text: str, hook: str, tool: str) -> Moment:
        evidence = text.strip() or f"blocked by a {hook} hook"
        return subject.event(self.kind, record, evidence, Cause.ENVIRONMENT, 1.0, about=hook, tool=tool or None)


Block = tuple[Record, str, str]
"""A line outside the conversation, why a hook blocked something, and which hook."""


def _attached_blocks(subject: ConversationUnderTest, reported: set[str]) -> Iterator[Block]:
    for record in subject.conversation.beside_of(Attachment):
        body = record.attachment
        if isinstance(body, HookStoppedContinuation):
            yield record, body.message or "", _event_of(body)
        elif isinstance(body, HookBlockingError) and body.message.strip() not in reported:
            yield record, body.message, _event_of(body)


def _blocked_prompts(subject: ConversationUnderTest, reported: set[str]) -> Iterator[Block]:
    for record in subject.conversation.beside_of(Informational):
        reason = _of_prompt(record.text)
        if reason is not None and reason not in reported:
            yield record, reason, "UserPromptSubmit"


def _blocked_ends(subject: ConversationUnderTest, reported: set[str]) -> Iterator[Block]:
    for record in subject.conversation.beside_of(StopHookSummary):
        untold = [error for error in record.blocks if error.strip() not in reported]
        if record.prevented_continuation or untold:
            yield record, record.stop_reason or " ".join(untold), "Stop"


class HookError(Detector):
    """A hook failed by itself: it stopped nothing, and did not do what it is there for."""

    kind = FrictionKind.HOOK_ERROR
    exact = "a hook_non_blocking_error, a hook that timed out; the failures of a stop_hook_summary without such lines"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        reported = set()
        for record in subject.conversation.beside_of(Attachment):
            body = record.attachment
            if isinstance(body, HookNonBlockingError):
                reported.add(body.tool_use_id)
                yield self._at(subject, record, body.stderr or "", _event_of(body), body.command)
            elif isinstance(body, HookCancelled) and body.timed_out:
                after = f" after {body.timeout_ms / 1000:g} s" if body.timeout_ms is not None else ""
                yield self._at(subject, record, f"timed out{after}", _event_of(body), body.command)
        for summary in subject.conversation.beside_of(StopHookSummary):
            if summary.tool_use_id not in reported:
                for error in summary.failures:
                    yield self._at(subject, summary, error, "Stop", None)

    def _at(self, subject: ConversationUnderTest, record: Record, text: str, hook: str, command: str | None) -> Moment:
        evidence = verdict_in(text.removeprefix(HOOK_FAILED).strip()) or f"a {hook} hook failed"
        return subject.event(self.kind, record, evidence, Cause.ENVIRONMENT, 1.0, about=hook, command=command)


def _event_of(body: HookBlockingError | HookStoppedContinuation | HookNonBlockingError | HookCancelled) -> str:
    return (body.hook_event or body.hook_name or "").partition(":")[0]


def _of_prompt(text: str) -> str | None:
    """Why a hook kept a prompt from the model; None if the line is about something else."""
    opening, _, reason = text.partition(":")
    if opening != _STOPPED_BY_HOOK and not opening.endswith(_BLOCKED_BY_HOOK):
        return None
    return reason.partition(PROMPT_BELOW)[0].strip()


_MEMORY_LINE = b"<user-memory-input>"
UNTOLD = "CLAUDE.md"
"""A line added with `#` does not show which of the files it went into."""


class InstructionEdit(Struct, frozen=True, kw_only=True, gc=False):
    """A change of an instruction file."""

    path: str
    uuid: str | None
    time: datetime | None


def changes_of(subject: ConversationUnderTest) -> tuple[InstructionEdit, ...]:
    """Edits that succeeded, and lines the person added with `#`."""
    return tuple(sorted(_changes(subject), key=lambda each: (each.time is not None, each.time)))


def _changes(subject: ConversationUnderTest) -> Iterator[InstructionEdit]:
    for call in subject.main_calls:
        if call.name in EDITS and call.status is CallStatus.OK and file_name(call.path) in NAMES:
            yield InstructionEdit(path=call.path, uuid=call.proof.uuid, time=call.proof.time)
    for speaker in Speaker:
        for record in subject.lines_of(speaker):
            if _MEMORY_LINE in record.raw:
                yield InstructionEdit(path=UNTOLD, uuid=record.uuid, time=record.time)


class SessionOutcome(Struct, frozen=True, kw_only=True):
    """Signs of success or failure; none of them is a verdict."""

    last_test: str | None = None
    """`passed` or `failed`; None if no test was run."""
    last_test_uuid: str | None = None
    commits: int = 0
    last_commit_uuid: str | None = None
    pushes: int = 0
    pull_requests: int = 0
    todos_done: int = 0
    todos_open: int = 0
    ended: str = "unanswered"
    """`answered`, `interrupted`, `failed` (the API gave up) or `unanswered`."""


def outcome_of(subject: ConversationUnderTest) -> SessionOutcome:
    """The outcome of a conversation, on the branch it ended on."""
    commits: list[DetectedCall] = []
    pushes = asked = 0
    for call in subject.commands:
        if call.worked:
            commits += [call] if is_commit(call.command) else []
            pushes += is_push(call.command)
            asked += is_pull_request(call.command)
    tested = ((call, tests_of(call.command, call.call)) for call in reversed(subject.commands))
    test, ended = next((each for each in tested if each[1] is not None), (None, None))
    done, left = _todos(subject)
    links = {record.pr_url for record in subject.conversation.beside_of(PrLink)}
    return SessionOutcome(
        last_test=ended,
        last_test_uuid=test.proof.uuid if test is not None else None,
        commits=len(commits),
        last_commit_uuid=commits[-1].proof.uuid if commits else None,
        pushes=pushes,
        pull_requests=max(asked, len(links)),
        todos_done=done,
        todos_open=left,
        ended=_ended(subject),
    )


def _todos(subject: ConversationUnderTest) -> tuple[int, int]:
    """Done and open todos: from the last list written, or else counted over tasks that were updated one at a time."""
    tasks: dict[str, object] = {}
    created = 0
    for call in reversed(subject.main_calls):
        if call.name == "TodoWrite":
            states = [todo.get("status") for todo in objects_in(call.call.fields.get("todos"))]
            return states.count("completed"), len(states) - states.count("completed")
        if call.name == "TaskUpdate" and (state := call.call.fields.get("status")) is not None:
            tasks.setdefault(str(call.call.fields.get("taskId")), state)
        created += call.name == "TaskCreate"
    states = list(tasks.values())
    done = states.count("completed")
    return done, max(0, max(created, len(states)) - done - states.count("deleted"))


def _ended(subject: ConversationUnderTest) -> str:
    last = next((context for context in reversed(subject.turns) if context.turn.branch == MAIN), None)
    if last is None or not (last.is_answered or last.notices):
        return "unanswered"
    marks = [notice.what for notice in last.notices if notice.what in ("interrupted", "api_error")]
    if marks[-1:] == ["interrupted"]:
        return "interrupted"
    if last.said is not None:
        return "answered"
    return "failed" if marks else "unanswered"
