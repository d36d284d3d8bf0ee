"""One state of a session as its pages need it: its head, its branches in pieces, where a message stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reread.analyses.edits.histories import ReadBackup
from reread.analyses.edits.net import SessionEdits
from reread.analyses.forks import Comparison, compare
from reread.archive import StoredSession
from reread.errors import BadInput
from reread.queries.letters import Letters
from reread.queries.travel import edits_of
from reread.records import Record
from reread.render.html import parts
from reread.render.html.anchors import anchor
from reread.render.html.calls import raw_of
from reread.render.html.session import SessionParts
from reread.sessions import Branch, Conversation, Session

from . import pages
from .unfolding import NEXT_STEPS, Mark, Stop, Unfolding, Where, places
from .wording import Worded, counted, wording

MOST_RECORDS = 5
LARGEST_RECORD = 2_000_000
"""Characters of a record that are shown."""


class Reading:
    """What is worth keeping of one state of a session."""

    def __init__(self, session: Session, kept_backups: ReadBackup | None = None) -> None:
        self.session = session
        self._kept_backups = kept_backups
        self._words: dict[str, list[Worded]] = {}
        self._parts = SessionParts(session, parts.Sections())

    def lead(self, stored: StoredSession) -> parts.Page:
        """From what the archive knows, so that nothing is counted before the first screen is sent."""
        return self._parts.lead(stored.row.title, stored.started, stored.ended)

    @cached_property
    def figures(self) -> parts.Figures:
        return self._parts.figures()

    @cached_property
    def files(self) -> list[parts.ChangedFile]:
        return self._parts.files(self._edits)

    @cached_property
    def branches(self) -> dict[str, Unfolding]:
        return {made.name: made for made in (Unfolding(self.session, each) for each in self.session.branches)}

    @cached_property
    def _edits(self) -> SessionEdits:
        return edits_of(self.session, self._kept_backups)

    def comparison(self, left: Branch, right: Branch) -> Comparison:
        return compare(self.session, left, right, self._edits)

    @cached_property
    def _places(self) -> dict[str, Where]:
        return places(self.branches.values())

    def count(self, branch: str, letters: Letters) -> list[tuple[str, int, int]]:
        """Where a branch has these letters, and how often."""
        self.prepare()
        return counted(self._words[branch], letters)

    def prepare(self) -> None:
        """Gathers the words of all branches, which takes a tenth of a second for 10,000 messages; once."""
        if not self._words:
            self._words = {name: wording(each) for name, each in self.branches.items()}

    def where(self, wanted: str) -> Where | None:
        """A message by its anchor or its uuid."""
        return (self._places.get(wanted) or self._places.get(anchor(wanted))) if wanted else None

    def records(self, place: str) -> list[Record]:
        """The lines that something in the page came from: a message, a call and its result, the first of an agent."""
        talks: list[Conversation] = [self.session, *self.session.subagents]
        found = [each for talk in talks for each in talk.records if each.uuid and anchor(each.uuid) == place]
        calls = [call for talk in talks for call in talk.tool_calls]
        found = found or [call.record for call in calls if call.id and anchor(call.id) == place]
        lines = {id(record) for record in found}
        found += [call.output.record for call in calls if call.output is not None and id(call.record) in lines]
        begun = (agent.records[:1] for agent in self.session.subagents if anchor(f"agent-{agent.id}") == place)
        return (found or [each for first in begun for each in first])[:MOST_RECORDS]

    def branch(self, name: str) -> Unfolding:
        """A branch by its anchor; without one the branch that the conversation ended on."""
        if not name:
            return next(each for each in self.branches.values() if each.branch.active)
        if name not in self.branches:
            raise BadInput("this session has no such branch; it may have grown since")
        return self.branches[name]


def more_of(reading: Reading, request: Request) -> Response:
    """Pieces of a branch from one on, or before one."""
    unfolding = reading.branch(pages.value(request, "branch"))
    before = pages.number(request, "before", -1)
    if pages.value(request, "whole"):
        stretch = unfolding.whole(pages.number(request, "from"))
    elif pages.value(request, "parts"):
        stretch = unfolding.with_parts(pages.number(request, "from"))
    elif before >= 0:
        stretch = unfolding.before(before, NEXT_STEPS)
    else:
        stretch = unfolding.stretch(pages.number(request, "from"), NEXT_STEPS)
    base = "" if pages.value(request, "whole") or pages.value(request, "parts") else part_base(request)
    body = pages.render("pieces.html", stretch=stretch, part_base=base, agent_base=part_base(request))
    return HTMLResponse(body, headers={"x-next": str(stretch.next), "x-first": str(stretch.first)})


def part_base(request: Request) -> str:
    """Where what is folded in a page can be asked for, by its place."""
    kind = "live" if "run" in request.path_params else "s"
    name = request.path_params["run" if kind == "live" else "session"]
    return f"/{kind}/{pages.quoted(name)}/part/"


def part_in(reading: Reading, request: Request) -> Response:
    """What stands folded at a place."""
    found = reading.branch(pages.value(request, "branch")).part(request.path_params["anchor"])
    if isinstance(found, parts.Agent):
        return pages.fragment("agent.html", agent=found, part_base=part_base(request), agent_base=part_base(request))
    if isinstance(found, parts.Call):
        return pages.fragment("call.html", item=found)
    raise HTTPException(404)


def states_in(reading: Reading, request: Request) -> Response:
    """Of the pieces from one on, for a page to see which of those it shows were given something since."""
    unfolding = reading.branch(pages.value(request, "branch")) if reading.branches else None
    states = unfolding.states(pages.number(request, "from"), unfolding.total) if unfolding else []
    return Response(msgspec.json.encode(states), media_type="application/json")


def stops_in(reading: Reading, request: Request, corrections: Sequence[Mark] = ()) -> Response:
    """Where keys lead to in a branch, loaded or not."""
    unfolding = reading.branch(pages.value(request, "branch")) if reading.branches else None
    found = {
        "prompt": unfolding.prompts if unfolding else [],
        "failure": unfolding.failures if unfolding else [],
        "correction": [Stop(mark.anchor, mark.piece) for mark in corrections if mark.what == "corrected"],
    }
    told = {name: [stop._asdict() for stop in stops] for name, stops in found.items()}
    return Response(msgspec.json.encode(told), media_type="application/json")


def where_in(reading: Reading, request: Request) -> Response:
    """Where in a session a message stands, for a link to one that is not in the page."""
    found = reading.where(pages.value(request, "at"))
    return Response(msgspec.json.encode(found._asdict() if found else None), media_type="application/json")


def record_in(reading: Reading, request: Request, *, back: str, title: str) -> Response:
    """The lines of the transcript that a message came from, with a way back to it."""
    wanted = request.path_params["anchor"]
    found = [_told(each) for each in reading.records(wanted)]
    if not found:
        raise HTTPException(404)
    values = {"records": found, "anchor": wanted, "back": back, "session_title": title}
    return pages.page(request, "record.html", f"Record of {title}", **values)


def _told(record: Record) -> dict[str, object]:
    """A line of the transcript to be looked at."""
    text = raw_of(record.data) if record.data else record.raw.decode("utf-8", "replace")
    cut = len(text) - LARGEST_RECORD
    return {"line": record.line, "text": text[:LARGEST_RECORD], "left_out": max(0, cut), "type": record.type or ""}
