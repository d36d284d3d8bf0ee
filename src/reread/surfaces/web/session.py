"""A session: its first screen at once, the rest as one scrolls, what is added while it runs, its branches compared."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from reread.analyses.edits.net import SessionEdits
from reread.analyses.forks import Comparison
from reread.analyses.forks import compare as compare_branches
from reread.archive import StoredSession
from reread.errors import BadInput
from reread.records import Record
from reread.render.html import parts
from reread.render.html.anchors import anchor
from reread.render.html.calls import raw_of
from reread.render.html.comparing import compared
from reread.render.html.session import SessionParts
from reread.render.kept import moment
from reread.render.retro import kinds_line
from reread.sessions import Branch, Conversation, Session

from . import pages
from .friction_map import friction_marks
from .library import Held, stamp_of
from .marking import tag_names
from .unfolding import FIRST_STEPS, NEXT_STEPS, Unfolding, Where, places, ways

KEEP_ALIVE = 15.0
"""Seconds after which a page that waits hears that we are still there."""
MOST_RECORDS = 5
LARGEST_RECORD = 2_000_000
"""Characters of a record that are shown."""


def show(request: Request) -> Response:
    """The page, at its beginning, at a piece or at a message; outline and map follow when the first screen is sent."""
    with _reading(request) as (reading, held):
        where = reading.where(pages.value(request, "at"))
        moments = held.moments()
        unfolding = reading.branch(where.branch if where else pages.value(request, "branch"))
        start = where.piece if where else pages.number(request, "from")
        lead = reading.lead(held.stored)
        stretch = unfolding.stretch(min(start, max(0, unfolding.total - 1)), FIRST_STEPS)
        return pages.page_in_parts(
            request,
            held.lock,
            "reading.html",
            lead.title or "A session",
            scripts=("marking.js",),
            page=lead,
            reading=reading,
            name=held.name,
            mark=held.mark,
            own_title=lead.title,
            tag_names=tag_names(pages.site_of(request).library),
            branch=unfolding.name,
            is_active=unfolding.branch.active,
            ways=ways(reading.session, unfolding.name),
            stretch=stretch,
            friction=kinds_line(moments),
            marks=lambda: [*unfolding.marks, *friction_marks(unfolding, moments)],
            unfolding=unfolding,
            stamp=_stamp(held.stamp),
        )


def more(request: Request) -> Response:
    """Pieces of a branch from one on, or before one."""
    with _reading(request) as (reading, _):
        unfolding = reading.branch(pages.value(request, "branch"))
        before = pages.number(request, "before", -1)
        if before >= 0:
            stretch = unfolding.before(before, NEXT_STEPS)
        else:
            stretch = unfolding.stretch(pages.number(request, "from"), NEXT_STEPS)
        body = pages.render("pieces.html", stretch=stretch)
        return HTMLResponse(body, headers={"x-next": str(stretch.next), "x-first": str(stretch.first)})


def outline(request: Request) -> Response:
    """The prompts that a page did not name at first."""
    with _reading(request) as (reading, _):
        rows = reading.branch(pages.value(request, "branch")).outline
        return pages.fragment("prompts.html", rows=rows[pages.number(request, "from") :])


def where_is(request: Request) -> Response:
    """Where in a session a message stands, for a link to one that is not in the page."""
    with _reading(request) as (reading, _):
        found = reading.where(pages.value(request, "at"))
        return Response(msgspec.json.encode(found._asdict() if found else None), media_type="application/json")


def compare(request: Request) -> Response:
    """Two branches beside each other; where none are named, the one that was left last and the one that went on."""
    with _reading(request) as (reading, held):
        branches = reading.branches
        left = pages.value(request, "left") or list(branches)[:2][-1]
        right = pages.value(request, "right") or next(iter(branches))
        one, other = reading.branch(left), reading.branch(right)
        found = reading.comparison(one.branch, other.branch) if one is not other else None
        return pages.page(
            request,
            "compare.html",
            f"Compare branches of {reading.session.title or 'a session'}",
            name=held.name,
            session_title=reading.session.title or "a session",
            ways=ways(reading.session, ""),
            left=one.name,
            right=other.name,
            compared=compared(reading.session, found) if found is not None else None,
        )


def changes(request: Request) -> Response:
    """The files that the session changed in the end."""
    with _reading(request) as (reading, _):
        return pages.fragment("changes.html", files=reading.files)


def record(request: Request) -> Response:
    """The lines of the transcript that a message came from."""
    wanted = request.path_params["anchor"]
    with _reading(request) as (reading, held):
        found = [_told(each) for each in reading.records(wanted)]
        if not found:
            raise HTTPException(404)
        title = reading.session.title or "a session"
        return pages.page(
            request,
            "record.html",
            f"Record of {title}",
            records=found,
            anchor=wanted,
            name=held.name,
            session_title=title,
        )


async def events(request: Request) -> Response:
    """Says `grown` when the session did, as server-sent events."""
    site = pages.site_of(request)
    name, known = request.path_params["session"], pages.value(request, "stamp")
    await run_in_threadpool(site.library.find, name)

    async def told() -> AsyncIterator[str]:
        seen = known
        while not site.hub.is_closed:
            stamp = _stamp(stamp_of(await run_in_threadpool(site.library.find, name)))
            if stamp != seen:
                seen = stamp
                yield f"event: grown\ndata: {stamp}\n\n"
            elif not await site.hub.wait(KEEP_ALIVE):
                yield ": still here\n\n"

    return StreamingResponse(told(), media_type="text/event-stream", headers={"cache-control": "no-store"})


def _stamp(stamp: object) -> str:
    return sha256(repr(stamp).encode()).hexdigest()[:16]


class _Reading:
    """What is worth keeping of one state of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._parts = SessionParts(session, parts.Sections())

    def lead(self, stored: StoredSession) -> parts.Page:
        """From what the archive knows, so that nothing is counted before the first screen is sent."""
        return self._parts.lead(stored.row.title, moment(stored.row.started), moment(stored.row.ended))

    @cached_property
    def figures(self) -> parts.Figures:
        return self._parts.figures()

    @cached_property
    def files(self) -> list[parts.ChangedFile]:
        return self._parts.files()

    @cached_property
    def branches(self) -> dict[str, Unfolding]:
        return {made.name: made for made in (Unfolding(self.session, each) for each in self.session.branches)}

    @cached_property
    def _edits(self) -> SessionEdits:
        return SessionEdits(self.session)

    def comparison(self, left: Branch, right: Branch) -> Comparison:
        return compare_branches(self.session, left, right, self._edits)

    @cached_property
    def _places(self) -> dict[str, Where]:
        return places(self.branches.values())

    def where(self, wanted: str) -> Where | None:
        """A message by its anchor or its uuid."""
        return (self._places.get(wanted) or self._places.get(anchor(wanted))) if wanted else None

    def records(self, place: str) -> list[Record]:
        """The lines that something in the page came from: a message, a call by its own id, the first of an agent."""
        talks: list[Conversation] = [self.session, *self.session.subagents]
        found = [each for talk in talks for each in talk.records if each.uuid and anchor(each.uuid) == place]
        calls = (call for talk in talks for call in talk.tool_calls)
        found = found or [call.record for call in calls if call.id and anchor(call.id) == place]
        begun = (agent.records[:1] for agent in self.session.subagents if anchor(f"agent-{agent.id}") == place)
        return (found or [each for first in begun for each in first])[:MOST_RECORDS]

    def branch(self, name: str) -> Unfolding:
        """A branch by its anchor; without one the branch that the conversation ended on."""
        if not name:
            return next(each for each in self.branches.values() if each.branch.active)
        if name not in self.branches:
            raise BadInput("this session has no such branch; it may have grown since")
        return self.branches[name]


@contextmanager
def _reading(request: Request) -> Iterator[tuple[_Reading, Held]]:
    """The session that the address names."""
    with pages.site_of(request).library.session(request.path_params["session"]) as held:
        if held.made is None:
            held.made = _Reading(held.session)
        made: _Reading = held.made
        yield made, held


def _told(record: Record) -> dict[str, object]:
    text = raw_of(record.data) if record.data else record.raw.decode("utf-8", "replace")
    cut = len(text) - LARGEST_RECORD
    return {"line": record.line, "text": text[:LARGEST_RECORD], "left_out": max(0, cut), "type": record.type or ""}
