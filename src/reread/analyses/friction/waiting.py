"""Time and money that went by without getting further: stalls, compactions, abandoned branches."""

from __future__ import annotations

from collections.abc import Iterator

from reread.records import ApiError, Assistant, Record
from reread.records.system import ApiRetry
from reread.sessions import Notice

from .calls import Call
from .detector import Detector
from .events import Cause, Event, Kind, Loss
from .scene import Scene, Stretch

_STALL_SECONDS = 10.0
_STALL_RETRIES = 3
_LONG_CALL = 600.0
_LONGEST_WAIT = 3600.0
"""What is longer was a night or a weekend, and cost nobody anything."""
_TEN_MINUTES = len("2026-01-05T09:0")
_WAITS_FOR_SOMEBODY = frozenset(
    {"Task", "Agent", "AskUserQuestion", "ExitPlanMode", "TaskOutput", "BashOutput", "Monitor", "Workflow"}
)
"""Their time is somebody's work, or a person's thinking."""


class Stall(Detector):
    """The model could not be reached, was rate limited, or a tool kept everybody waiting."""

    kind = Kind.STALL
    exact = "api_error lines with a retry, local notices of a rate limit in the model's name"
    heuristics = "a call that took ten minutes or longer: 0.6"

    def find(self, scene: Scene) -> Iterator[Event]:
        for stretch in scene.stretches:
            if stretch.notices:
                yield from self._retries(scene, stretch)
            for call in stretch.calls:
                seconds = _long_wait(call)
                if seconds is not None:
                    yield self._wait(scene, call, seconds)

    def _wait(self, scene: Scene, call: Call, seconds: float) -> Event:
        """Commands end after ten minutes at most: what takes longer waited for the person, who may have been away.

        That is no time a machine lost: it is told, and counts for nothing.
        """
        is_of_person = _waited_for_person(call)
        told = "waited for you" if is_of_person else "took"
        return scene.event(
            self.kind,
            call.record,
            f"{call.name} {told} {seconds / 60:.0f} minutes",
            Cause.PROMPT if is_of_person else Cause.ENVIRONMENT,
            0.6,
            about="waited_for_you" if is_of_person else "long_call",
            loss=None if is_of_person else Loss(seconds=round(min(seconds, _LONGEST_WAIT), 3)),
            tool=call.name,
            waited=round(seconds),
        )

    def _retries(self, scene: Scene, stretch: Stretch) -> Iterator[Event]:
        """Retries that follow each other are one stall, told at the first of them."""
        errors = [notice for notice in stretch.notices if notice.what == "api_error"]
        if not errors:
            return
        waits = [notice for notice in errors if isinstance(notice.record, ApiError | ApiRetry)]
        seconds = sum(_delay(notice.record) for notice in waits)
        if seconds >= _STALL_SECONDS or len(waits) >= _STALL_RETRIES:
            yield scene.event(
                self.kind,
                waits[0].record,
                f"{len(waits)} retries, {seconds:.0f} s of waiting",
                Cause.ENVIRONMENT,
                1.0,
                about="retries",
                loss=Loss(seconds=round(seconds, 3)),
                retries=len(waits),
            )
        yield from (self._limit(scene, notice) for notice in errors if _is_limit(notice))

    def _limit(self, scene: Scene, notice: Notice) -> Event:
        return scene.event(self.kind, notice.record, notice.text, Cause.ENVIRONMENT, 1.0, about="rate_limit")


def _delay(record: Record) -> float:
    delay = record.retry_in_ms if isinstance(record, ApiError) else None
    delay = record.retry_delay_ms if isinstance(record, ApiRetry) else delay
    return (delay or 0.0) / 1000


def _is_limit(notice: Notice) -> bool:
    record = notice.record
    if not isinstance(record, Assistant):
        return False
    words = f"{bytes(record.error).decode('utf-8', 'replace')} {notice.text[:200]}".lower()
    return "rate_limit" in words or "limit reached" in words or "overloaded" in words or "hit your limit" in words


def _long_wait(call: Call) -> float | None:
    """Ten minutes or more. Stamps are compared as text first: parsing every one costs as much as decoding."""
    if call.output is None:
        return None
    began, ended = call.record.timestamp, call.output.record.timestamp
    if isinstance(began, str) and isinstance(ended, str) and began[:_TEN_MINUTES] == ended[:_TEN_MINUTES]:
        return None
    seconds = call.call.seconds
    if seconds is None or seconds < _LONG_CALL or call.name in _WAITS_FOR_SOMEBODY:
        return None
    return seconds


def _waited_for_person(call: Call) -> bool:
    """Whether a permission was waited for: the client noted who decided, or the call cannot take so long by itself."""
    decision = getattr(call.proof, "permission_decision", None)
    if decision is not None:
        return (decision.source or "").startswith("user")
    return not call.name.startswith("mcp__")


class Compaction(Detector):
    """The context was full and was summarised: details get lost, and the new context is paid for again."""

    kind = Kind.COMPACTION
    exact = "compact_boundary lines"

    def find(self, scene: Scene) -> Iterator[Event]:
        for record in scene.conversation.compactions:
            metadata = record.compact_metadata
            before = metadata.pre_tokens if metadata is not None else None
            after = metadata.post_tokens if metadata is not None else None
            trigger = (metadata.trigger if metadata is not None else None) or "unknown"
            milliseconds = metadata.duration_ms if metadata is not None else None
            yield scene.event(
                self.kind,
                record,
                f"{trigger} compaction" + (f" of {before:,} tokens" if before else ""),
                Cause.PROMPT if trigger == "manual" else Cause.ENVIRONMENT,
                1.0,
                about=trigger,
                loss=scene.spent.after(record, milliseconds / 1000 if milliseconds else None),
                before_tokens=before,
                after_tokens=after,
            )


class Rewind(Detector):
    """The person went back and took another way; what was done on the way left behind was for nothing."""

    kind = Kind.REWIND
    exact = "two prompts that follow the same line"
    heuristics = "a fork that nothing else explains: 0.5"

    def find(self, scene: Scene) -> Iterator[Event]:
        for branch in scene.conversation.branches:
            if branch.active or not branch.turns:
                continue
            records = [record for turn in branch.turns for record in turn.records]
            first = next((turn.prompt for turn in branch.turns if turn.prompt is not None), None)
            loss = scene.spent.on(records)
            yield scene.event(
                self.kind,
                first.record if first is not None else records[0],
                first.text if first is not None else "a way that was left",
                Cause.AGENT if loss.tokens else Cause.PROMPT,
                1.0 if branch.certain else 0.5,
                about="answered" if loss.tokens else "taken_back",
                loss=loss,
                turns=len(branch.turns),
            )
