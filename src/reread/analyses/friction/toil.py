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
from .prose import pasted_lines
from .refusals import refused_by
from .scene import Scene

FEWEST_ASKS = 3
_HOST = re.compile(r"https?://([^/\s:]+)")
_FEWEST_PASTED = 4
_LOOKED_AT = 2000
_ANNOUNCING = (
    "output",
    " log",
    "result",
    "error",
    "trace",
    "console",
    "terminal",
    ":\n",
    "ausgabe",
    "sortie",
    "salida",
    "saída",
    "出力",
    "エラー",
    "输出",
    "报错",
    "错误",
)
_STACK_WORDS = ("Traceback", "    at ", "\tat ", 'File "', "panic", "goroutine", "Exception", "npm ERR!")
_SHELL_PROMPT = re.compile(
    r"^(?:[\w.-]+@[\w.-]+[^\n$#%>]{0,80}[$#%>❯]|[A-Z]:\\[^>\n]{0,120}>"
    r"|(?:\([\w.-]+\) )?[~/][^\n$#%>]{0,80}[$#%❯]|[$❯]) ?\S",
    re.MULTILINE,
)
_STACK = re.compile(
    r"Traceback \(most recent call last\)|^\s+at [\w.$<>]+ ?\(|^\s+File \"[^\"]+\", line \d+|^panic: |^goroutine \d+ \["
    r"|^Exception in thread |^thread '[^']*' panicked|^npm ERR!|^\w*(?:Error|Exception): .+\n\s+at ",
    re.MULTILINE,
)
_ANNOUNCED = re.compile(
    r"\b(?:here(?:'s| is| are)|this is|that's|below is)\b[^\n.]{0,40}\b(?:output|log|logs|result|results|error"
    r"|trace|traceback|console|terminal)\b"
    r"|\b(?:it|which) (?:says|prints|printed|shows|outputs)\b[^\n]{0,20}:\s*\n"
    r"|\bhere(?:'s| is) [^\n]{0,60}:\s*\n(?=[^\n]*\n)"
    r"|\b(?:output|log|error message|stack ?trace)(?: is| was)?:\s*\n|\bi (?:ran|tried|executed) (?:it|this"
    r"|that|them)\b[^\n]{0,60}:\s*\n"
    r"|\b(?:hier ist|das ist) die (?:ausgabe|fehlermeldung)|\bvoici (?:la sortie|l'erreur)|\besta es la salida"
    r"|\baqui está a saída"
    r"|出力(?:は|です)|以下が(?:出力|エラー)|(?:输出|报错|错误信息)(?:如下|是|：)",
)


class ManualStep(Detector):
    """The person ran a command or carried an output over by hand."""

    kind = Kind.MANUAL_STEP
    exact = "shell lines typed with `!`"
    heuristics = "pasted stack traces and terminal sessions: 0.8; an output that is announced: 0.7"

    def find(self, scene: Scene) -> Iterator[Event]:
        for record in scene.lines_of(Speaker.SHELL):
            command = shell_input(record.text) or ""
            yield scene.event(
                self.kind, record, f"! {command}", Cause.ENVIRONMENT, 1.0, about=prefix_of(command), how="shell"
            )
        for record in scene.lines_of(Speaker.PROMPT):
            text = record.text
            if "\n" in text and (found := _carried_over(text)) is not None:
                how, confidence = found
                yield scene.event(self.kind, record, text, Cause.ENVIRONMENT, confidence, about=how, how=how)


def _carried_over(text: str) -> tuple[str, float] | None:
    looked_at = text[:_LOOKED_AT]
    if any(word in looked_at for word in _STACK_WORDS) and _STACK.search(looked_at):
        return "stack_trace", 0.8
    if any(sign in looked_at for sign in "$%#>❯") and _SHELL_PROMPT.search(looked_at):
        return "terminal", 0.8
    lowered = looked_at.lower()
    announced = _ANNOUNCED.search(lowered) if any(word in lowered for word in _ANNOUNCING) else None
    if announced is not None and looked_at.count("\n", announced.start()) >= 1:
        return "output", 0.7
    return ("log", 0.6) if pasted_lines(looked_at) >= _FEWEST_PASTED and _is_mostly_pasted(looked_at) else None


def _is_mostly_pasted(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    return "```" not in text and pasted_lines(text) > len(lines) / 2


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
