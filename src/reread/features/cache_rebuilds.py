"""What the cache did for every request: what it saved, where it had to be built again, what that cost, and why.

Requests follow each other in chains, one per file or agent, in the order of time. After a rewind the conversation goes
on from an earlier request, so that one is what its prompt is held against: going back loses no cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter

from msgspec import Struct

from reread.billing import Doubt, Prices
from reread.lazy import NamedTuple
from reread.records import Assistant, Attachment, MicrocompactBoundary, Record, RedactedThinking, Thinking, User
from reread.sessions import Conversation, Request, Session
from reread.times import EARLIEST, milliseconds

COMPACTION = "compaction"
MODEL_CHANGED = "model_changed"
VERSION_CHANGED = "version_changed"
EXPIRED = "expired"
RESUMED_OR_FORKED = "resumed_or_forked"
UNKNOWN = "unknown"
"""Causes that are inferred. What the API tells is an open set of names, some of them the same as these."""

_FIVE_MINUTES, _HOUR = 300_000, 3_600_000
"""In milliseconds, as all times here."""
_CHARACTERS_PER_TOKEN = 4
_RESUME_HOOK = "SessionStart:resume"
_RESUME_ANSWER = "No response requested."
"""Put in the model's mouth when a session is resumed."""


class Rebuild(Struct, frozen=True, kw_only=True):
    """Most of the cache was gone, and a prompt was written into it again."""

    tokens: int
    """Written again: no more than was written, nor than was lost."""
    nanodollars: int | None
    """What they cost above reading them; None where a price is unknown."""
    cause: str
    is_told: bool
    """Whether the API told the cause; else it is inferred."""


class Measured(Struct, frozen=True, kw_only=True):
    """One request and what the cache did for it. The calls of advisors inside it are not in here."""

    request: Request
    saved: int | None
    """Nano-dollars against sending everything as input; may be negative, None where a price is unknown."""
    rebuild: Rebuild | None

    @property
    def prompt(self) -> int:
        """Tokens of the context that was sent."""
        return self.request.prompt

    @property
    def hit_rate(self) -> float | None:
        """None where nothing was sent."""
        return self.request.cache_read / self.request.prompt if self.request.prompt else None


class Chain(Struct, frozen=True, kw_only=True):
    """The requests of a file, or of an agent inside one, in the order of time."""

    agent: str | None
    """None for the conversation the file is about."""
    requests: tuple[Measured, ...]


class LastRequest(NamedTuple):
    """What a request is held against: the one before it."""

    prompt: int
    written: int
    model: str | None
    version: str | None
    session: str | None
    is_forked: bool
    is_copied: bool


class Walked(NamedTuple):
    """How far a walk over a conversation came: all that the requests which follow are held against."""

    last: LastRequest | None = None
    marks: tuple[str, ...] = ()
    """What was noted since then."""
    used_at: int | None = None
    lifetime: int | None = None
    time: int = EARLIEST
    """No line before it is later than this."""


def chains(
    conversation: Conversation, prices: Prices, copied: Collection[str] = (), after: Walked | None = None
) -> list[Chain]:
    """The chains of a file, or of the lines that follow what was walked before; `copied` names the requests that were
    made in another session."""
    found = []
    for agent, requests in _by_agent(conversation).items():
        walk = _Walk(conversation if agent is None else None, prices, frozenset(copied), after)
        found.append(Chain(agent=agent, requests=tuple(walk.measure(requests))))
    return found


def walked(conversation: Conversation, prices: Prices, after: Walked | None = None) -> Walked | None:
    """Where a walk over its own requests ends; None where lines are older than what was walked before them."""
    walk = _Walk(conversation, prices, frozenset(), after)
    for _ in walk.measure(_by_agent(conversation).get(None, ())):
        pass
    return walk.end() if walk.is_in_order else None


def _by_agent(conversation: Conversation) -> dict[str | None, list[Request]]:
    inline = _inline_agents(conversation)
    found: dict[str | None, list[Request]] = {}
    for request in conversation.requests:
        agent = inline.get(id(request.winner)) if request.is_sidechain else None
        found.setdefault(agent, []).append(request)
    return found


def _inline_agents(conversation: Conversation) -> dict[int, str]:
    """The agent every line of one inside the file belongs to, by `id()`."""
    if not isinstance(conversation, Session):
        return {}
    inside = (agent for agent in conversation.subagents if agent.is_recorded_inline)
    return {id(record): agent.id for agent in inside for record in agent.records}


def thinking_estimate(request: Request) -> int | None:
    """Tokens of the output that were thought, by the stored text.

    None where the API tells the number, where the text is not stored, and where the output is a stub.
    """
    details = request.usage.output_tokens_details
    if (details is not None and details.thinking_tokens is not None) or request.doubt == Doubt.SUSPECT:
        return None
    characters = 0
    for row in request.lines:
        for block in row.blocks:
            if type(block) is RedactedThinking or (type(block) is Thinking and not block.as_text):
                return None
            if type(block) is Thinking:
                characters += len(block.as_text)
    return min(characters // _CHARACTERS_PER_TOKEN, request.output)


class _Event(NamedTuple):
    """A request, or a line that explains what happens to the cache after it."""

    time: int
    offset: int
    segment: int
    request: Request | None
    mark: str = ""


class _Before(NamedTuple):
    """A request as the ones after it see it."""

    position: int
    request: LastRequest


_NEVER, _LONG_BEFORE, _JUST_BEFORE = -3, -2, -1
"""Positions before the first line: of what was not noted, of the last request, and of what was noted since."""


class _Walk:
    """Goes through a chain once. Without a conversation there are no marks and no branches to look at."""

    def __init__(
        self,
        conversation: Conversation | None,
        prices: Prices,
        copied: frozenset[str],
        after: Walked | None = None,
    ) -> None:
        self._conversation = conversation
        self._prices = prices
        self._copied = copied
        self._segments = _segments(conversation) if conversation is not None else {}
        self._last: dict[int, _Before] = {}
        """The newest request of each segment of the tree."""
        after = after or Walked()
        if after.last is not None:
            self._last[0] = _Before(_LONG_BEFORE, after.last)
        self._marks: dict[tuple[str, int], int] = {(mark, 0): _JUST_BEFORE for mark in after.marks}
        self._used_at = after.used_at
        self._lifetime = after.lifetime
        self._time = after.time
        self.is_in_order = True
        """Whether no line is older than what was walked before."""

    def measure(self, requests: Sequence[Request]) -> Iterator[Measured]:
        events = [self._event(request.lines[0], request) for request in requests]
        if self._conversation is not None:
            events += [self._event(record, None, mark) for mark, record in _marks(self._conversation)]
        events.sort(key=itemgetter(0, 1))
        if events:
            self.is_in_order = events[0].time >= self._time
            self._time = events[-1].time
        for position, event in enumerate(events):
            if event.request is None:
                self._marks[event.mark, event.segment] = position
            else:
                yield self._measured(position, event.segment, event.request)

    def _event(self, record: Record, request: Request | None, mark: str = "") -> _Event:
        time = request.time if request is not None else milliseconds(record.time)
        segment = self._segments.get(id(record), 0)
        return _Event(EARLIEST if time is None else time, record.offset, segment, request, mark)

    def _measured(self, position: int, segment: int, request: Request) -> Measured:
        path = self._path(segment)
        before = self._before(path)
        rebuild = self._rebuild(request, before, path) if before is not None else None
        saved = self._prices.savings(request, request.model, request.time)
        self._last[segment] = _Before(position, self._as_last(request))
        self._used_at = request.time
        if _written(request):
            self._lifetime = _HOUR if request.cache_write_1h >= request.cache_write_5m else _FIVE_MINUTES
        return Measured(request=request, saved=saved, rebuild=rebuild)

    def end(self) -> Walked:
        """On the branch that the conversation ended on."""
        path = self._path(self._conversation.tree.active) if self._conversation is not None else [0]
        before = self._before(path)
        since = before.position if before is not None else _LONG_BEFORE
        marks = tuple(mark for mark in (COMPACTION, RESUMED_OR_FORKED) if self._is_marked(mark, since, path))
        last = before.request if before is not None else None
        return Walked(last, marks, self._used_at, self._lifetime, self._time)

    def _before(self, path: list[int]) -> _Before | None:
        if len(path) == 1:
            return self._last.get(path[0])
        return max((self._last[each] for each in path if each in self._last), default=None)

    def _as_last(self, request: Request) -> LastRequest:
        line = request.winner
        is_copied = bool(self._copied) and self._is_copied(request)
        about = request.model, line.version, line.session_id, bool(line.forked_from)
        return LastRequest(request.prompt, _written(request), *about, is_copied)

    def _path(self, segment: int) -> list[int]:
        """The segments of the tree that lead to this one: only what was said on them is in the prompt."""
        return self._conversation.tree.path(segment) if self._segments and self._conversation is not None else [0]

    def _rebuild(self, request: Request, before: _Before, path: list[int]) -> Rebuild | None:
        if 2 * request.cache_read >= before.request.prompt or _written(request) <= before.request.written:
            return None
        reason, missed = _reported_miss(request)
        lost = before.request.prompt - request.cache_read if missed is None else missed
        tokens = max(0, min(_written(request), lost))
        return Rebuild(
            tokens=tokens,
            nanodollars=self._prices.premium(request, tokens, request.model, request.time),
            cause=reason or self._inferred(request, before, path),
            is_told=reason is not None,
        )

    def _inferred(self, request: Request, before: _Before, path: list[int]) -> str:
        """The first that fits, the surest first."""
        if self._is_marked(COMPACTION, before.position, path):
            return COMPACTION
        if request.model != before.request.model:
            return MODEL_CHANGED
        if request.winner.version != before.request.version:
            return VERSION_CHANGED
        if self._is_expired(request.time):
            return EXPIRED
        is_resumed = self._is_marked(RESUMED_OR_FORKED, before.position, path)
        return RESUMED_OR_FORKED if is_resumed or self._is_forked(request, before.request) else UNKNOWN

    def _is_marked(self, mark: str, since: int, path: list[int]) -> bool:
        return any(self._marks.get((mark, segment), _NEVER) > since for segment in path)

    def _is_expired(self, time: int | None) -> bool:
        """Every use of the cache makes it live on, so what counts is the newest request, whatever branch it is on."""
        if time is None or self._used_at is None or self._lifetime is None:
            return False
        return time - self._used_at > self._lifetime

    def _is_forked(self, request: Request, before: LastRequest) -> bool:
        mine = request.winner
        is_other_session = mine.session_id != before.session or (not mine.forked_from and before.is_forked)
        return is_other_session or (before.is_copied and not self._is_copied(request))

    def _is_copied(self, request: Request) -> bool:
        return request.name_in("") in self._copied


def _written(request: Request) -> int:
    return request.cache_write_5m + request.cache_write_1h


def _reported_miss(request: Request) -> tuple[str | None, int | None]:
    """Why the cache missed and by how much, as the API tells."""
    for row in (request.winner, *request.lines):
        diagnostics = row.message.diagnostics if row.message is not None else None
        reason = diagnostics.cache_miss_reason if diagnostics is not None else None
        if reason is not None and reason.type:
            return reason.type, reason.cache_missed_input_tokens
    return None, None


def _segments(conversation: Conversation) -> dict[int, int]:
    """Where every line stands in the tree, by `id()`; empty when nothing was rewound."""
    tree = conversation.tree
    if len(tree.segments) == 1:
        return {}
    return {id(record): tree.segment_of[i] for i, record in enumerate(conversation.line)}


def _marks(conversation: Conversation) -> Iterator[tuple[str, Record]]:
    """Lines that explain a lost cache. Clients up to 1.0 wrote a summary without a boundary."""
    for record in (*conversation.compactions, *conversation.beside.get(MicrocompactBoundary, ())):
        yield COMPACTION, record
    for record in conversation.beside.get(Attachment, ()):
        if isinstance(record, Attachment) and getattr(record.attachment, "hook_name", None) == _RESUME_HOOK:
            yield RESUMED_OR_FORKED, record
    for spoken in conversation.spoken:
        if type(spoken) is Assistant:
            if spoken.is_synthetic and spoken.text == _RESUME_ANSWER:
                yield RESUMED_OR_FORKED, spoken
        elif isinstance(spoken, User) and spoken.is_compact_summary:
            yield COMPACTION, spoken
