"""What the prompt cache did for every request: what it saved, where it had to be built again, the cost, and the cause.

Requests follow each other in chains, one per file or agent, in the order of time. After a rewind the conversation
continues from an earlier request, so the next prompt is compared with that one: going back loses no cache.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct

from reread.billing import Doubt, Prices
from reread.records import Assistant, Attachment, MicrocompactBoundary, Record, RedactedThinking, Thinking, User
from reread.sessions import Conversation, Request, Session
from reread.times import EARLIEST, milliseconds

COMPACTION = "compaction"
MODEL_CHANGED = "model_changed"
VERSION_CHANGED = "version_changed"
EXPIRED = "expired"
RESUMED_OR_FORKED = "resumed_or_forked"
UNKNOWN = "unknown"
"""Causes that we infer. The API reports an open set of names, some of them equal to these."""

_FIVE_MINUTES, _HOUR = 300_000, 3_600_000
"""In milliseconds, like all times here."""
_CHARACTERS_PER_TOKEN = 4
_RESUME_HOOK = "SessionStart:resume"
_RESUME_ANSWER = "No response requested."
"""Written in the model's name when a session is resumed."""


class Rebuild(Struct, frozen=True, kw_only=True):
    """Most of the cache was lost, and the prompt was written into it again."""

    tokens: int
    """Tokens written again: at most the tokens written, and at most those lost."""
    nanodollars: int | None
    """Their cost above that of reading them; None if a price is unknown."""
    cause: str
    by_api: bool
    """Whether the API reported the cause; otherwise it is inferred."""


class Measured(Struct, frozen=True, kw_only=True):
    """One request and what the cache did for it. Calls of advisors inside it are not included."""

    request: Request
    saved: int | None
    """Nano-dollars saved compared with sending everything as input; may be negative; None if a price is unknown."""
    rebuild: Rebuild | None

    @property
    def prompt(self) -> int:
        """Tokens of the context sent."""
        return self.request.prompt


class Chain(Struct, frozen=True, kw_only=True):
    """The requests of a file, or of an agent inside one, in the order of time."""

    agent: str | None
    """None for the file's own conversation."""
    requests: tuple[Measured, ...]


class LastRequest(NamedTuple):
    """The previous request, as the next one is compared with it."""

    prompt: int
    written: int
    model: str | None
    version: str | None
    session: str | None
    is_forked: bool
    is_copied: bool


class Walked(NamedTuple):
    """The state at the end of a walk over a conversation: everything that later requests are compared with."""

    last: LastRequest | None = None
    marks: tuple[str, ...] = ()
    """Marks found since the last request."""
    used_at: int | None = None
    lifetime: int | None = None
    time: int = EARLIEST
    """No line of the walk is later than this."""


def chains(
    conversation: Conversation, prices: Prices, copied: Collection[str] = (), after: Walked | None = None
) -> list[Chain]:
    """The chains of a file, or only of the lines after a previous walk; `copied` names requests that were made in
    another session."""
    found = []
    for agent, requests in _by_agent(conversation).items():
        walk = _Walk(conversation if agent is None else None, prices, frozenset(copied), after)
        found.append(Chain(agent=agent, requests=tuple(walk.measure(requests))))
    return found


def walked(conversation: Conversation, prices: Prices, after: Walked | None = None) -> Walked | None:
    """The state after the conversation's own requests; None if lines are older than those of the previous walk."""
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
    """The agent of every agent's line in the file, by the line's `id()`."""
    if not isinstance(conversation, Session):
        return {}
    inside = (agent for agent in conversation.subagents if agent.is_recorded_inline)
    return {id(record): agent.id for agent in inside for record in agent.records}


def thinking_estimate(request: Request) -> int | None:
    """Tokens of thinking in the output, estimated from the stored text.

    None if the API reports the number, if the text is not stored, and if the output count is only a stub.
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
    """A request, as later ones are compared with it."""

    position: int
    request: LastRequest


_NEVER, _LONG_BEFORE, _JUST_BEFORE = -3, -2, -1
"""Positions before the first line: of marks never seen, of the last request before, and of marks seen since then."""


class _Walk:
    """One walk through a chain. Without a conversation there are no marks and no branches."""

    def __init__(
        self, conversation: Conversation | None, prices: Prices, copied: frozenset[str], after: Walked | None = None
    ) -> None:
        self._conversation = conversation
        self._prices = prices
        self._copied = copied
        self._segments = _segments(conversation) if conversation is not None else {}
        self._last: dict[int, _Before] = {}
        """The latest request of each segment of the tree."""
        after = after or Walked()
        if after.last is not None:
            self._last[0] = _Before(_LONG_BEFORE, after.last)
        self._marks: dict[tuple[str, int], int] = {(mark, 0): _JUST_BEFORE for mark in after.marks}
        self._used_at = after.used_at
        self._lifetime = after.lifetime
        self._time = after.time
        self.is_in_order = True
        """Whether no line is older than those of the previous walk."""

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
        """The state at the end of the branch the conversation ended on."""
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
        """The segments of the tree that lead to this one: the prompt contains only what was said on them."""
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
            by_api=reason is not None,
        )

    def _inferred(self, request: Request, before: _Before, path: list[int]) -> str:
        """The first cause that fits, the most certain tried first."""
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
        """Every use of the cache extends its life, so the latest request counts, whatever branch it is on."""
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
    """Why the cache missed and by how many tokens, as the API reports it."""
    for row in (request.winner, *request.lines):
        diagnostics = row.api_message.diagnostics
        reason = diagnostics.cache_miss_reason if diagnostics is not None else None
        if reason is not None and reason.type:
            return reason.type, reason.cache_missed_input_tokens
    return None, None


def _segments(conversation: Conversation) -> dict[int, int]:
    """The segment of every line, by the line's `id()`; empty if nothing was rewound."""
    tree = conversation.tree
    if len(tree.segments) == 1:
        return {}
    return {id(record): tree.segment_of[i] for i, record in enumerate(conversation.line)}


def _marks(conversation: Conversation) -> Iterator[tuple[str, Record]]:
    """Lines that explain a lost cache. Clients up to 1.0 wrote a summary without a boundary line."""
    for boundary in (*conversation.compactions, *conversation.beside_of(MicrocompactBoundary)):
        yield COMPACTION, boundary
    for record in conversation.beside_of(Attachment):
        if getattr(record.attachment, "hook_name", None) == _RESUME_HOOK:
            yield RESUMED_OR_FORKED, record
    for spoken in conversation.spoken:
        if type(spoken) is Assistant:
            if spoken.is_synthetic and spoken.text == _RESUME_ANSWER:
                yield RESUMED_OR_FORKED, spoken
        elif isinstance(spoken, User) and spoken.is_compact_summary:
            yield COMPACTION, spoken
