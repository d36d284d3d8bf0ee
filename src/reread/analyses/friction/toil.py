"""What people do by hand that a rule or a tool could do: permissions asked again, outputs pasted, commands run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reread.records import User
from reread.sessions import Kind as Speaker
from reread.sessions import Status
from reread.sessions.kinds import shell_input

from .calls import EDITS, SHELLS, Call, prefix_of
from .detector import Detector
from .events import Cause, Event, Kind
from .refusals import refused_by
from .scene import Scene

FEWEST_ASKS = 3
_HOST = re.compile(r"https?://([^/\s:]+)")


class ManualStep(Detector):
    """The person ran a command or carried an output over by hand."""

    kind = Kind.MANUAL_STEP
    exact = "shell lines typed with `!`"
    heuristics = "terminals, stacks, logs, errors and outputs among what was typed, by learned weights: 0.5 to 0.97"

    def find(self, scene: Scene) -> Iterator[Event]:
        from .judge import model_of

        for record in scene.lines_of(Speaker.SHELL):
            command = shell_input(record.text) or ""
            yield scene.event(
                self.kind, record, f"! {command}", Cause.ENVIRONMENT, 1.0, about=prefix_of(command), how="shell"
            )
        model = model_of(self.kind)
        for each in scene.judged:
            verdict = each.verdict(model)
            if verdict is not None:
                how = next((how for name, how in _HOW if name in each.features), "output")
                yield scene.event(
                    self.kind,
                    each.record,
                    each.text,
                    Cause.ENVIRONMENT,
                    verdict.confidence,
                    about=how,
                    how=how,
                    because="; ".join(verdict.because) or None,
                )


_HOW = (("paste:stack", "stack_trace"), ("paste:prompt", "terminal"), ("paste:4", "log"), ("paste:error", "error"))


class PermissionToil(Detector):
    """The person was asked for the same permission again and again.

    Transcripts before 2.1.325 know refusals only: what was approved by hand leaves no trace there.
    """

    kind = Kind.PERMISSION_TOIL
    exact = "permissionDecision of source user, three times for one prefix"
    heuristics = "three refusals, or calls the client held back for a permission, of one prefix: 0.7"

    def find(self, scene: Scene) -> Iterator[Event]:
        asked: dict[str, list[Call]] = {}
        for call in scene.decided:
            if was_asked(call):
                asked.setdefault(rule_of(call), []).append(call)
        for rule, every in asked.items():
            calls = list(decisions(every))
            if len(calls) < FEWEST_ASKS:
                continue
            granted = sum(call.status is not Status.REJECTED for call in calls)
            waited = sum(call.call.seconds or 0.0 for call in calls)
            yield scene.event(
                self.kind,
                calls[-1].proof,
                f"asked {len(calls)} times for {rule}",
                Cause.ENVIRONMENT,
                0.95 if granted == len(calls) else 0.7,
                about=rule,
                asked=len(calls),
                granted=granted,
                waited=round(waited, 1),
            )


def decisions(calls: list[Call]) -> Iterator[Call]:
    """One for each time the person decided: a no to one of several parallel calls turns down the rest of them."""
    refused: set[str | None] = set()
    for call in calls:
        if call.status is not Status.REJECTED or call.message_id not in refused:
            yield call
        if call.status is Status.REJECTED:
            refused.add(call.message_id)


def was_asked(call: Call) -> bool:
    """Whether the person had to decide on a call, or would have had to."""
    record = call.proof
    decision = record.permission_decision if isinstance(record, User) else None
    if decision is not None:
        return (decision.source or "").startswith("user")
    if call.status is Status.OK:
        return False
    if call.status is Status.ERROR:
        return "haven't granted it yet" in call.text[:400]
    return refused_by(call) is not None and call.name not in ("AskUserQuestion", "ExitPlanMode")


def rule_of(call: Call) -> str:
    """The permission rule that would cover a call, as settings.json writes it."""
    if call.name in SHELLS:
        prefix = prefix_of(call.command)
        words = prefix.split(" ")
        # `npm run test:unit` and `npm run test:api` are one habit.
        words[-1] = words[-1].partition(":")[0] if len(words) > 2 else words[-1]
        return f"{call.name}({' '.join(words)}:*)" if prefix else call.name
    if call.name in EDITS:
        return "Edit"
    host = _HOST.match(call.given.url or "")
    return f"{call.name}(domain:{host[1]})" if host is not None else call.name
