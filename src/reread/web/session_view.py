"""One state of a session as its pages need it: its head, its branches in pieces, its words, the place of a message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reread.archive import Archive, StoredSession
from reread.archive.search_language import ALL_FIELDS, DEFAULT_FIELDS, fields_of, parse
from reread.archive.text_search import Letters, as_read, readied
from reread.blocks.model import AgentBlock, CallBlock, NoticeBlock, StepBlock, TurnBlocks, WordsBlock
from reread.blocks.of_session import SessionBlocks
from reread.errors import BadInput
from reread.features.activity import TimelinePoint, timeline
from reread.features.edits.history import FileHistory, ReadBackup
from reread.features.edits.net import Comparison, FileDiff, SessionEdits, compare
from reread.features.search_text import Field
from reread.loading import edits_of
from reread.records import Record, ToolResult, User
from reread.sessions import Branch, Conversation, Session, ToolCall
from reread.views.html import call_parts, parts
from reread.views.html.call_parts import raw_of
from reread.views.html.content import Picture, anchor, pictures
from reread.views.html.session import SessionParts

from . import pages
from .archive_pool import ArchivePool
from .paging import NEXT_STEPS, BranchPages, MapMark, MessagePosition, Stop, places


class Worded(NamedTuple):
    """One text of a page, and its place."""

    anchor: str
    piece: int
    text: str
    as_written: str = ""
    """The text as it was written, if the page shows it differently."""

    def count(self, letters: Letters) -> int:
        return letters.count(self.text) or (letters.count(self.as_written) if self.as_written else 0)


def wording(branch_pages: BranchPages) -> list[Worded]:
    """The texts of a branch, in the order of the conversation."""
    found: list[Worded] = []
    session = branch_pages.session
    for number, turn in enumerate(branch_pages.pieces):
        shown = SessionBlocks(session).turn(session, turn)
        found += (each._replace(piece=number) for each in _of_turn(shown, set()))
    for agent in branch_pages.lone:
        shown_agent = SessionBlocks(session).agent(agent)
        found += (each._replace(piece=len(branch_pages.pieces)) for each in _of_agent(shown_agent, set()))
    return found


def counted(words: list[Worded], letters: Letters) -> list[tuple[str, int, int]]:
    """Anchor and piece of each text that contains these letters, and how often."""
    found = Counter[tuple[str, int]]()
    for each in words:
        found[each.anchor, each.piece] += each.count(letters)
    return [(name, piece, number) for (name, piece), number in found.items() if number]


def _of_turn(turn: TurnBlocks, named: set[str]) -> Iterator[Worded]:
    place = ""
    if turn.prompt is not None:
        place = anchor(turn.prompt.place.uuid) if turn.prompt.place.uuid else ""
        named.add(place)
        yield _as_shown(place, turn.prompt.text)
    for step in turn.steps:
        place = _place(step, place, named)
        yield from _of_step(step, place)
        if isinstance(step, CallBlock) and step.agent is not None:
            yield from _of_agent(step.agent, named)


def _of_agent(agent: AgentBlock, named: set[str]) -> Iterator[Worded]:
    for turn in agent.turns:
        yield from _of_turn(turn, named)


def _place(step: StepBlock, before: str, named: set[str]) -> str:
    """A step's anchor, as in the page: of several blocks in one line, the first has the line's anchor, and other calls
    have their own."""
    place = anchor(step.place.uuid) if step.place.uuid else before
    if isinstance(step, CallBlock) and step.id and (place in named or not place):
        place = anchor(step.id)
    named.add(place)
    return place


def _of_step(step: StepBlock, place: str) -> Iterator[Worded]:
    if isinstance(step, CallBlock):
        yield Worded(place, 0, readied("\n".join(call_parts.words_of(step))))
        yield Worded(place, 0, readied(call_parts.output_of(step)))
    elif isinstance(step, WordsBlock):
        yield _as_shown(place, step.text)
    else:
        yield Worded(place, 0, readied(step.text))
        if isinstance(step, NoticeBlock) and step.detail:
            yield Worded(place, 0, readied(step.detail))


def _as_shown(place: str, text: str) -> Worded:
    """Markdown, which is found both as it is shown and as it was written."""
    shown = as_read(text)
    return Worded(place, 0, readied(shown), readied(text) if shown != text else "")


MOST_RECORDS = 5
LARGEST_RECORD = 2_000_000
"""Characters shown of a record."""


class SessionView:
    """What pages compute from one state of a session, and keep."""

    def __init__(self, session: Session, kept_backups: ReadBackup | None = None) -> None:
        self.session = session
        self._kept_backups = kept_backups
        self._words: dict[str, list[Worded]] = {}
        self._timelines: dict[str, list[TimelinePoint]] = {}
        self._parts = SessionParts(session, parts.Sections())

    def lead(self, stored: StoredSession) -> parts.Page:
        """Title and times as the archive has them, so that nothing is counted before the first screen is sent."""
        return self._parts.lead(stored.row.title, stored.started, stored.ended)

    @cached_property
    def figures(self) -> parts.Figures:
        return self._parts.figures()

    @cached_property
    def images(self) -> dict[str, Picture]:
        """Every image, by the name of its bytes."""
        users = (record for talk in self._talks for record in talk.records if isinstance(record, User))
        blocks = [block for record in users for block in record.blocks]
        results = [block.content for block in blocks if isinstance(block, ToolResult)]
        inner = [block for content in results if isinstance(content, list) for block in content]
        return {each.name: each for each in pictures([*blocks, *inner]) if each.kind}

    @cached_property
    def files(self) -> list[parts.ChangedFile]:
        return self._parts.file_rows(self.net_changes)

    @cached_property
    def net_changes(self) -> list[FileDiff]:
        return self._edits.on_disk()

    @cached_property
    def histories(self) -> list[FileHistory]:
        """The history of every file that the session changed."""
        return self._edits.disk_histories()

    def timeline(self, branch: str) -> list[TimelinePoint]:
        if branch not in self._timelines:
            self._timelines[branch] = timeline(self.session, self.branches[branch].branch)
        return self._timelines[branch]

    @cached_property
    def branches(self) -> dict[str, BranchPages]:
        return {made.name: made for made in (BranchPages(self.session, each) for each in self.session.branches)}

    @cached_property
    def _edits(self) -> SessionEdits:
        return edits_of(self.session, self._kept_backups)

    def comparison(self, left: Branch, right: Branch) -> Comparison:
        return compare(self.session, left, right, self._edits)

    @cached_property
    def _places(self) -> dict[str, MessagePosition]:
        return places(self.branches.values())

    def count(self, branch: str, letters: Letters) -> list[tuple[str, int, int]]:
        """Where a branch contains these letters, and how often."""
        self.prepare()
        return counted(self._words[branch], letters)

    def prepare(self) -> None:
        """Gathers the words of all branches, only once; takes 0.1 s for 10,000 messages."""
        if not self._words:
            self._words = {name: wording(each) for name, each in self.branches.items()}

    def where(self, name: str) -> MessagePosition | None:
        """The place of a message, by its anchor or its uuid."""
        return (self._places.get(name) or self._places.get(anchor(name))) if name else None

    def records(self, place: str) -> list[Record]:
        """The lines that a part of the page came from: a message, a call and its result, or an agent's first line."""
        found = self._of_line(place) or [call.record for call in self._calls if call.id and anchor(call.id) == place]
        lines = {id(record) for record in found}
        found += [each.output.record for each in self._calls if each.output is not None and id(each.record) in lines]
        return (found or self._begun(place))[:MOST_RECORDS]

    @property
    def _talks(self) -> list[Conversation]:
        return [self.session, *self.session.subagents]

    @property
    def _calls(self) -> list[ToolCall]:
        return [call for talk in self._talks for call in talk.tool_calls]

    def _of_line(self, place: str) -> list[Record]:
        return [each for talk in self._talks for each in talk.records if each.uuid and anchor(each.uuid) == place]

    def _begun(self, place: str) -> list[Record]:
        agents = (agent for agent in self.session.subagents if anchor(f"agent-{agent.id}") == place)
        return [each for agent in agents for each in agent.records[:1]]

    def branch(self, name: str) -> BranchPages:
        """A branch by its anchor; without one, the active branch."""
        if not name:
            return next(each for each in self.branches.values() if each.branch.active)
        if name not in self.branches:
            raise BadInput("this session has no such branch; it may have grown since")
        return self.branches[name]


def more_of(view: SessionView, request: Request) -> Response:
    """The pieces of a branch from a piece on, or before it."""
    branch_pages = view.branch(pages.value(request, "branch"))
    before = pages.number(request, "before", -1)
    is_whole = bool(pages.value(request, "whole"))
    is_one = is_whole or bool(pages.value(request, "parts"))
    if is_one:
        page_slice = branch_pages.one(pages.number(request, "from"), is_whole=is_whole)
    elif before >= 0:
        page_slice = branch_pages.before(before, NEXT_STEPS)
    else:
        page_slice = branch_pages.slice(pages.number(request, "from"), NEXT_STEPS)
    base = "" if is_one else part_base(request)
    bases = {"part_base": base, "agent_base": part_base(request), "picture_base": picture_base(request)}
    body = pages.render("pieces.html", page_slice=page_slice, **bases)
    return HTMLResponse(body, headers={"x-next": str(page_slice.next), "x-first": str(page_slice.first)})


def part_base(request: Request) -> str:
    """The address below which the folded parts of a page are, by place."""
    kind = "live" if "run" in request.path_params else "s"
    name = request.path_params["run" if kind == "live" else "session"]
    return f"/{kind}/{pages.quoted(name)}/part/"


def picture_base(request: Request) -> str:
    """The address below which the images of a saved session are, by name; empty for a running one, which holds them."""
    name = request.path_params.get("session")
    return f"/s/{pages.quoted(name)}/image/" if name else ""


def part_in(view: SessionView, request: Request) -> Response:
    """The folded part at a place."""
    found = view.branch(pages.value(request, "branch")).part(request.path_params["anchor"])
    images = picture_base(request)
    if isinstance(found, parts.AgentPart):
        base = part_base(request)
        return pages.fragment("agent.html", agent=found, part_base=base, agent_base=base, picture_base=images)
    if isinstance(found, parts.CallPart):
        return pages.fragment("call.html", item=found, picture_base=images)
    raise HTTPException(404)


def states_in(view: SessionView, request: Request) -> Response:
    """The states of the pieces from a piece on, by which a page sees which of its pieces have changed."""
    branch_pages = view.branch(pages.value(request, "branch")) if view.branches else None
    states = branch_pages.states(pages.number(request, "from"), branch_pages.total) if branch_pages else []
    return Response(msgspec.json.encode(states), media_type="application/json")


def stops_in(view: SessionView, request: Request, corrections: Sequence[MapMark] = ()) -> Response:
    """The places that keys lead to in a branch, whether loaded or not."""
    branch_pages = view.branch(pages.value(request, "branch")) if view.branches else None
    found = {
        "prompt": branch_pages.prompts if branch_pages else [],
        "failure": branch_pages.failures if branch_pages else [],
        "correction": [Stop(mark.anchor, mark.piece) for mark in corrections if mark.what == "corrected"],
    }
    stops_by_name = {name: [stop._asdict() for stop in stops] for name, stops in found.items()}
    return Response(msgspec.json.encode(stops_by_name), media_type="application/json")


def where_in(view: SessionView, request: Request) -> Response:
    """The place of a message, for a link to one that is not in the page."""
    found = view.where(pages.value(request, "at"))
    return Response(msgspec.json.encode(found._asdict() if found else None), media_type="application/json")


def record_in(view: SessionView, request: Request, *, back: str, title: str) -> Response:
    """The lines of the transcript that a message came from, with a link back to it."""
    wanted = request.path_params["anchor"]
    found = [_raw_record(each) for each in view.records(wanted)]
    if not found:
        raise HTTPException(404)
    values = {"records": found, "anchor": wanted, "back": back, "session_title": title}
    return pages.page(request, "record.html", f"Record of {title}", **values)


def _raw_record(record: Record) -> dict[str, object]:
    """A line of the transcript, ready to be shown."""
    text = raw_of(record.data) if record.data else record.raw.decode("utf-8", "replace")
    cut = len(text) - LARGEST_RECORD
    return {"line": record.line, "text": text[:LARGEST_RECORD], "left_out": max(0, cut), "type": record.type or ""}


class Sought(NamedTuple):
    """The words that a page is to mark."""

    words: str
    """As they were typed."""
    is_search: bool
    fields: frozenset[Field]

    @property
    def terms(self) -> list[tuple[tuple[str, ...], bool]]:
        """For the script, which marks what is loaded: each term's pieces, and whether the last one is a prefix.

        Raises BadInput if a search has nothing to look for.
        """
        if not self.is_search:
            return [(pieces, False)] if (pieces := Letters(self.words).pieces) else []
        wanted = [term for term in parse(self.words, self.fields).terms if not term.negated]
        return [(pieces, term.is_prefix) for term in wanted if (pieces := term.pieces)]


Hits = list[tuple[str, int, int]]
"""Anchor, piece and number of matches; a message that matches a search counts once."""


class FoundElsewhere(NamedTuple):
    """Another branch that has matches."""

    branch: str
    anchor: str
    number: int


class FindAnswer(NamedTuple):
    sought: Sought
    hits: Hits
    elsewhere: list[FoundElsewhere]

    @property
    def document(self) -> dict[str, Any]:
        others = [each._asdict() for each in self.elsewhere]
        return {"search": self.sought.is_search, "terms": self.sought.terms, "hits": self.hits, "elsewhere": others}


def sought(request: Request) -> Sought | None:
    """What an address asks to mark; None if it asks for nothing, or for nothing that can be searched."""
    if not (pages.value(request, "find") or pages.value(request, "q")):
        return None
    try:
        wanted = find_request(request)
        return wanted if wanted is not None and wanted.terms else None
    except BadInput:
        return None


def find_request(request: Request) -> Sought | None:
    """Raises BadInput for an unknown field."""
    typed = pages.value(request, "find")
    if typed:
        return Sought(typed, False, ALL_FIELDS)
    words = pages.value(request, "q")
    chosen = request.query_params.getlist("in")[: len(Field)]
    return Sought(words, True, fields_of(",".join(chosen)) if chosen else DEFAULT_FIELDS) if words else None


def find_answer(library: ArchivePool, stored: StoredSession, view: SessionView, request: Request) -> dict[str, Any]:
    """The answer for a page's script; if the words cannot be searched, a sentence that says why."""
    branch_pages = view.branch(pages.value(request, "branch"))
    try:
        wanted = find_request(request)
        if wanted is None:
            view.prepare()
            return _NOTHING
        return find(library, stored, view, branch_pages, wanted).document
    except BadInput as error:
        return {**_NOTHING, "search": True, "problem": str(error)}


_NOTHING: dict[str, Any] = {"search": False, "terms": [], "hits": [], "elsewhere": []}


def find(
    library: ArchivePool, stored: StoredSession, view: SessionView, branch_pages: BranchPages, sought: Sought
) -> FindAnswer:
    """Matches in a branch, and where other branches have some. Raises BadInput if a search has nothing to look for."""
    if sought.is_search:
        return _searched(library, stored, view, branch_pages, sought)
    letters = Letters(sought.words)
    found = {name: view.count(name, letters) for name in view.branches}
    if any(found.values()):
        return FindAnswer(sought, found.pop(branch_pages.name), _elsewhere(found))
    try:
        searched = _searched(library, stored, view, branch_pages, Sought(sought.words, True, ALL_FIELDS))
    except BadInput:
        return FindAnswer(sought, [], [])
    return searched if searched.hits or searched.elsewhere else FindAnswer(sought, [], [])


def _searched(
    library: ArchivePool, stored: StoredSession, view: SessionView, branch_pages: BranchPages, sought: Sought
) -> FindAnswer:
    def ask(archive: Archive) -> set[str]:
        return archive.text.hits_in(stored, sought.words, sought.fields)

    uuids = library.answer(("hits in", stored.id, sought.words, sought.fields), ask)
    if not uuids:
        return FindAnswer(sought, [], [])
    anchors = [anchor(uuid) for uuid in uuids]
    found = {name: _in_order(each, anchors) for name, each in view.branches.items()}
    return FindAnswer(sought, found.pop(branch_pages.name), _elsewhere(found))


def _in_order(branch_pages: BranchPages, anchors: list[str]) -> Hits:
    known = branch_pages.places
    found = {known[place].anchor for place in anchors if place in known}
    return [(place, where.piece, 1) for place, where in known.items() if place in found]


def _elsewhere(found: dict[str, Hits]) -> list[FoundElsewhere]:
    return [FoundElsewhere(name, hits[0][0], sum(each[2] for each in hits)) for name, hits in found.items() if hits]
