"""How fast turns went: output tokens per second of a turn, tools and waiting included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from reread.billing import Doubt
from reread.records import Record, TurnDuration
from reread.sessions import Conversation, requests_of, spoken_groups


class TimedTurn(Struct, frozen=True, kw_only=True):
    """What the client timed as one turn."""

    output_tokens: int
    milliseconds: float


class Throughput(Struct, frozen=True, kw_only=True):
    """Turns that can be judged, added up. Only the interactive client times turns."""

    turns: int
    output_tokens: int
    milliseconds: float
    left_out: int
    """Timed turns whose output is only the beginning of the true count, or that left agents running behind."""

    @property
    def tokens_per_second(self) -> float | None:
        """None where no turn was timed."""
        return self.output_tokens * 1000 / self.milliseconds if self.milliseconds else None


def throughput(conversation: Conversation) -> Throughput:
    """Over all branches of a conversation: what was rewound took its time too."""
    timed = [
        judged for branch in conversation.branches for turn in branch.turns for judged in timed_turns(turn.records)
    ]
    kept = [turn for turn in timed if turn is not None]
    return Throughput(
        turns=len(kept),
        output_tokens=sum(turn.output_tokens for turn in kept),
        milliseconds=sum(turn.milliseconds for turn in kept),
        left_out=len(timed) - len(kept),
    )


def timed_turns(records: Iterable[Record]) -> Iterator[TimedTurn | None]:
    """Of the lines of one prompt what the client timed, which may be several times; None for what must be left out.

    A duration without any request before it tells of no throughput and is passed over.
    """
    since: list[Record] = []
    for record in records:
        if not isinstance(record, TurnDuration):
            since.append(record)
            continue
        requests = requests_of(spoken_groups(since))
        since = []
        if requests and record.duration_ms is not None and record.duration_ms > 0:
            is_suspect = any(request.doubt == Doubt.SUSPECT for request in requests)
            output = sum(request.output for request in requests)
            is_left_out = is_suspect or bool(record.pending_background_agent_count)
            yield None if is_left_out else TimedTurn(output_tokens=output, milliseconds=record.duration_ms)
