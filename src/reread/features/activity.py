"""What a session is doing now, how fast its turns were, and its state at any of its moments.

Money is that of the whole session up to a moment, including other branches and agents: it was spent by then, even if a
branch was rewound later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import accumulate
from math import exp, lgamma, sqrt
from typing import NamedTuple

from msgspec import Struct

from reread.billing import Doubt
from reread.billing.cost import Rated
from reread.billing.response import settle_all
from reread.records import Assistant, Record, TurnDuration
from reread.sessions import (
    Branch,
    CallStatus,
    Conversation,
    Notice,
    Said,
    Session,
    ToolCall,
    Turn,
    requests_of,
    responses_in,
    spoken_groups,
)
from reread.sessions.agents import AGENT_TOOLS

ANSWERS_WITHIN = 5.0
"""Seconds within which most tools give a result; a call without one for longer may be waiting for a permission."""
SETTLES_WITHIN = 10.0
"""Seconds after which text that nothing follows is taken as the last of a turn."""
GONE_AFTER = 600.0
"""Seconds of silence in the middle of a turn after which it is unknown whether the client still runs."""
CLOSED_AFTER = 120.0
"""Seconds after the end of a turn after which the person may well have left."""
QUESTION, PLAN = "AskUserQuestion", "ExitPlanMode"
_ENDINGS = frozenset({"end_turn", "stop_sequence", "max_tokens", "refusal"})


class Doing(StrEnum):
    THINKING = "thinking"
    WRITING = "writing"
    WORKING = "working"
    ASKING = "asking"
    """A permission, a question or a plan is waiting for the person."""
    WAITING = "waiting"
    """It waits for the next prompt."""
    SILENT = "silent"
    ENDED = "ended"


class Activity(Struct, frozen=True):
    doing: Doing
    tool: str = ""
    """The tool that is running, or that the person is asked about."""
    is_guess: bool = False

    @property
    def needs_person(self) -> bool:
        return self.doing is Doing.ASKING


def activity_of(session: Session, quiet: float) -> Activity:
    """What a session does whose files have been quiet for `quiet` seconds. Its last lines are enough."""
    turn = session.turns[-1] if session.turns else None
    if turn is None or _has_ended(turn, quiet):
        return Activity(Doing.WAITING, is_guess=quiet > CLOSED_AFTER)
    pending = _pending(turn)
    asked = next((name for name in pending if name in (QUESTION, PLAN)), None)
    if asked is not None:
        return Activity(Doing.ASKING, asked, is_guess=quiet > GONE_AFTER)
    if quiet > GONE_AFTER:
        return Activity(Doing.SILENT, is_guess=True)
    return _at_work(pending, quiet)


def _at_work(pending: Sequence[str], quiet: float) -> Activity:
    if not pending:
        return Activity(Doing.THINKING)
    silent = [name for name in pending if name not in AGENT_TOOLS]
    if silent and quiet > ANSWERS_WITHIN:
        return Activity(Doing.ASKING, silent[-1], is_guess=True)
    return Activity(Doing.WORKING, pending[-1])


def _pending(turn: Turn) -> list[str]:
    """The tools whose results are missing."""
    return [call.name for call in turn.calls if call.status is CallStatus.MISSING]


def _has_ended(turn: Turn, quiet: float) -> bool:
    last = turn.steps[-1] if turn.steps else None
    if turn.duration_ms is not None or (isinstance(last, Notice) and last.what in ("interrupted", "api_error")):
        return True
    if not isinstance(last, Said):
        return False
    reason = last.record.api_message.stop_reason if isinstance(last.record, Assistant) else None
    # Older clients do not write the reason.
    return reason in _ENDINGS or (reason is None and quiet > SETTLES_WITHIN)


class TimedTurn(Struct, frozen=True, kw_only=True):
    """Something the client timed as one turn."""

    output_tokens: int
    milliseconds: float


class Throughput(Struct, frozen=True, kw_only=True):
    """The sum of all turns that can be judged. Only the interactive client times turns."""

    turns: int
    output_tokens: int
    milliseconds: float
    left_out: int
    """Timed turns left out because the output count is only that of the beginning, or because agents still ran."""

    @property
    def tokens_per_second(self) -> float | None:
        """None where no turn was timed."""
        return self.output_tokens * 1000 / self.milliseconds if self.milliseconds else None


def throughput(conversation: Conversation) -> Throughput:
    """Over all branches of a conversation, rewound ones included."""
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
    """The timed turns among the lines of one prompt; there may be several. None for one that must be left out.

    A duration without a request before it does not measure throughput and is skipped.
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


_Z = 1.959964
"""Leaves one fortieth on each side of a normal distribution."""
_ONE_SIDE = 1 / 40


class Rate(Struct, frozen=True):
    """A number of events per exposure, for example per prompts."""

    count: int
    exposure: int

    @property
    def per_hundred(self) -> float | None:
        """None without any exposure."""
        return 100 * self.count / self.exposure if self.exposure else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Confidence interval of `per_hundred`."""
        if not self.exposure:
            return None
        low, high = poisson(self.count)
        return 100 * low / self.exposure, 100 * high / self.exposure


def poisson(count: int) -> tuple[float, float]:
    """Confidence limits for the mean of a count of independent events: Byar's approximation of the exact limits."""
    low = count * (1 - 1 / (9 * count) - _Z / (3 * sqrt(count))) ** 3 if count else 0.0
    more = count + 1
    return low, more * (1 - 1 / (9 * more) + _Z / (3 * sqrt(more))) ** 3


class SessionShare(NamedTuple):
    """In how many of the sessions of a period something happened, and in how many of those it is compared with."""

    now: int
    sessions: int
    before: int
    sessions_before: int

    def chance(self, now: int, step: int) -> float:
        """The probability of this number of sessions, or one further out in the direction of `step`, if the same
        sessions were dealt out by chance: Fisher's exact test."""
        both, every = self.now + self.before, self.sessions + self.sessions_before
        total = 0.0
        while max(0, both - self.sessions_before) <= now <= min(both, self.sessions):
            dealt = _ways(both, now) + _ways(every - both, self.sessions - now) - _ways(every, self.sessions)
            total, now = total + exp(dealt), now + step
        return total

    @property
    def is_more(self) -> bool:
        return self.now * self.sessions_before > self.before * self.sessions

    def verdict(self, level: float) -> str | None:
        verdict, step = ("more", 1) if self.is_more else ("less", -1)
        return verdict if self.chance(self.now, step) <= level else None

    @property
    def least_chance(self) -> float:
        """The chance of the most unequal outcome that so many sessions can have."""
        both = self.now + self.before
        least = self.chance(max(0, both - self.sessions_before), -1)
        return min(least, self.chance(min(both, self.sessions), 1))


def verdicts(shares: Sequence[SessionShare]) -> list[str | None]:
    """For each share `more` or `less`, if that is unlikely to be chance; else None.

    Sessions are counted, since the moments of one session come in bunches. Of many comparisons some differ by chance:
    the level is divided by the number of those that could reach it (Tarone 1990), so that all together are as rarely
    wrong as one alone.
    """
    least = [share.least_chance if share.sessions and share.sessions_before else 1.0 for share in shares]
    tests = 1
    while sum(chance <= _ONE_SIDE / tests for chance in least) > tests:
        tests += 1
    level = _ONE_SIDE / tests
    return [share.verdict(level) if chance <= level else None for share, chance in zip(shares, least, strict=True)]


def share_of_high(now: Sequence[float], before: Sequence[float]) -> SessionShare:
    """How many sessions of each have a rate above the median of all."""
    every = sorted([*now, *before])
    median = every[(len(every) - 1) // 2] if every else 0.0
    high, high_before = (sum(rate > median for rate in rates) for rates in (now, before))
    return SessionShare(high, len(now), high_before, len(before))


def _ways(of: int, chosen: int) -> float:
    """The logarithm of the number of ways to choose so many."""
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)


class TimelinePoint(Struct, frozen=True, kw_only=True):
    """A prompt, an answer or a call of a branch."""

    time: datetime
    uuid: str
    turn: int
    what: str
    """`prompt`, `answer`, or the name of a tool."""
    context: int
    """Tokens in the context of the last response up to here; 0 before the first one."""
    nanodollars: int
    """Spent by the whole session up to here, as far as prices are known."""
    is_partial: bool
    """Whether a model without a price was used by then."""


def timeline(session: Session, branch: Branch) -> list[TimelinePoint]:
    """The points of a branch in the order of the conversation, without those that have no time."""
    spent = _Spent(session)
    found: list[TimelinePoint] = []
    context = 0
    for turn in branch.turns:
        sizes = _contexts(turn)
        for time, uuid, what in _places(turn):
            context = sizes.get(uuid, context)
            nanodollars, is_partial = spent.until(time)
            found.append(
                TimelinePoint(
                    time=time,
                    uuid=uuid,
                    turn=turn.index,
                    what=what,
                    context=context,
                    nanodollars=nanodollars,
                    is_partial=is_partial,
                )
            )
    return found


def _places(turn: Turn) -> Iterator[tuple[datetime, str, str]]:
    """Time, uuid and kind of each point; of several calls in one line only the first."""
    seen: set[str] = set()
    if turn.prompt is not None and turn.prompt.uuid and turn.prompt.time is not None:
        yield turn.prompt.time, turn.prompt.uuid, "prompt"
    for step in turn.steps:
        if isinstance(step, Said | ToolCall) and step.uuid and step.time is not None and step.uuid not in seen:
            seen.add(step.uuid)
            yield step.time, step.uuid, step.name if isinstance(step, ToolCall) else "answer"


def _contexts(turn: Turn) -> dict[str, int]:
    """The tokens of context sent for each response, by the uuid of the response's lines."""
    return {
        line.uuid: Rated.of(request.usage, 0).prompt
        for request in requests_of(spoken_groups(turn.records))
        for line in request.lines
        if line.uuid
    }


class _Spent:
    """The cost of a session up to any moment, every response counted once."""

    def __init__(self, session: Session) -> None:
        files = [session.requests, *(agent.requests for agent in session.subagents if not agent.is_recorded_inline)]
        responses = (
            response for number, each in enumerate(files) for _, response in responses_in(f"{number:09}", each)
        )
        dated = [(each.at, session.prices.cost(each, each.model, each.time)) for each in settle_all(responses)]
        known = sorted((time, cost) for time, cost in dated if time is not None and cost is not None)
        self._times = [time for time, _ in known]
        self._sums = [0, *accumulate(cost for _, cost in known)]
        self._unpriced = min((time for time, cost in dated if time is not None and cost is None), default=None)

    def until(self, moment: datetime) -> tuple[int, bool]:
        is_partial = self._unpriced is not None and self._unpriced <= moment
        return self._sums[bisect_right(self._times, moment)], is_partial
