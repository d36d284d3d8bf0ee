"""A session in pieces that fit a screen or two: what to send first, what comes next, and the place of each message."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby, takewhile
from typing import NamedTuple
from zlib import crc32

from markupsafe import Markup, escape
from msgspec.structs import replace

from reread.blocks.of_session import stalled
from reread.features.edits.net import branch_usage
from reread.sessions import Branch, Conversation, Notice, Prompt, Session, Step, Subagent, ToolCall, Turn
from reread.views.html import parts
from reread.views.html.content import MOST_COLOURED, USUAL, WIDEST, CutLimits, anchor, colouring_at_most
from reread.views.html.session import SessionParts, branch_anchor, branch_label, outline_of
from reread.views.text import one_line, shorten

LATER_FROM = 900
"""Characters of markup folded in a call; longer markup is sent when the call is opened."""
LONGEST_PIECE = 40
"""Steps in a piece: a turn may have thousands."""
FIRST_STEPS, NEXT_STEPS = 30, 120
"""How many steps are sent at first, and each time more are requested."""
MOST_MARKS = 700
MOST_PROMPTS = 100
"""Prompts in an outline at first; the others follow the first screen."""
MOST_LANES = 5
"""Lanes of the graph of branches; branches that would be further out are drawn in the last."""
LONGEST_LEAD = 160
"""Characters shown of each of two prompts whose words are compared."""
MOST_COMPARED = 20_000
KEPT_WORDS = 3
"""Words kept of what two long prompts have in common, before the first word that differs."""
HEIGHT = 1_000
"""The height of the map, in its own units."""
FAILURES = frozenset({"failed", "rejected", "interrupted"})
_SHAPES = {"prompt": (3, 6, 3), "corrected": (0, 8, 8), "slowed": (8, 4, 5)}
_NOTED = {"interrupted": "interrupted", "api_error": "failed", "compacted": "compacted", "rewound": "rewound"}


class MessagePosition(NamedTuple):
    """A place in a session."""

    branch: str
    piece: int
    anchor: str
    within: tuple[str, ...] = ()
    """The agents that it is part of, the outermost first."""


class MapMark(NamedTuple):
    """A mark on the map next to the conversation."""

    what: str
    y: int
    tip: str
    anchor: str
    piece: int = -1
    """The number of its piece, for keys that lead to it; -1 if none needs it."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Left edge, width and height. Kinds differ in shape, because colour alone must not distinguish them."""
        return _SHAPES.get(self.what, (0, 12, 3))


class Stop(NamedTuple):
    """A place that keys lead to."""

    to: str
    piece: int
    within: tuple[str, ...] = ()
    """The agents that it is part of, the outermost first."""


class PageSlice(NamedTuple):
    """Some pieces of a branch, ready to be shown."""

    pieces: list[tuple[int, parts.TurnPart]]
    agents: list[parts.AgentPart]
    """The agents that no call names; shown at the end."""
    first: int
    next: int
    """The number of the piece after the last one here; -1 at the end."""
    total: int
    states: list[str]
    """The state of each piece here; see `BranchPages.states`."""


class BranchRow(NamedTuple):
    """A branch in the list of branches."""

    name: str
    label: str
    lead: str
    prompts: int
    is_active: bool
    is_shown: bool
    forked_at: str
    lane: int = 0
    """How many forks it is away from the active branch."""
    time: datetime | None = None
    """The time of its own first prompt."""
    cost: int = 0
    """Nanodollars of what was left behind."""
    unpriced: int = 0
    words: Markup = Markup("")
    """Its own first prompt, with the words marked that differ from `instead`; empty without a prompt."""
    instead: Markup = Markup("")
    """The prompt on the active branch that was asked instead, from its first differing word on, with these marked."""
    is_repeated: bool = False
    """Whether the prompt asked instead is the same."""


class BranchPages:
    """One branch of a session, in pieces."""

    def __init__(self, session: Session, branch: Branch) -> None:
        self.session = session
        self.branch = branch
        self.name = branch_anchor(branch.id)
        self.pieces = list(_pieces(branch.turns))
        self.lone = (
            [agent for agent in session.subagents if agent.call is None and agent.turns] if branch.active else []
        )

    @property
    def total(self) -> int:
        """The number of pieces; the agents that no call names are one more."""
        return len(self.pieces) + bool(self.lone)

    def slice(self, start: int, budget: int, *, is_lean: bool = True) -> PageSlice:
        """The pieces from `start` until there are enough steps; with folded parts unless `is_lean`."""
        start = max(0, min(start, self.total))
        end = start
        while end < len(self.pieces) and (budget > 0 or end == start):
            budget -= _weight(self.pieces[end])
            end += 1
        return self._shown(start, end, is_lean=is_lean, open_agents=not is_lean)

    def before(self, end: int, budget: int) -> PageSlice:
        """The pieces before `end`, as many as are needed for enough steps."""
        end = max(0, min(end, len(self.pieces)))
        start = end
        while start > 0 and (budget > 0 or start == end):
            start -= 1
            budget -= _weight(self.pieces[start])
        return self._shown(start, end)

    def one(self, number: int, *, is_whole: bool) -> PageSlice:
        """One piece with everything that is folded in it; with the texts that are usually cut if `is_whole`."""
        start = min(number, self.total)
        return self._shown(start, min(start + 1, len(self.pieces)), WIDEST if is_whole else USUAL, is_lean=False)

    def _shown(
        self, start: int, end: int, limits: CutLimits = USUAL, *, is_lean: bool = True, open_agents: bool = False
    ) -> PageSlice:
        made = SessionParts(self.session, parts.Sections(limits=limits, open_agents=open_agents))
        with colouring_at_most(0 if is_lean else MOST_COLOURED):
            shown = [(number, made.turn(self.session, self.pieces[number])) for number in range(start, end)]
        agents = [made.agent(agent) for agent in self.lone] if end == len(self.pieces) else []
        after = end + bool(agents)
        states = self.states(start, after)
        return PageSlice(shown, agents, start, after if after < self.total else -1, self.total, states)

    def part(self, place: str) -> parts.CallPart | parts.AgentPart | None:
        """What is folded at a place: a call with input and output, or an agent with its conversation."""
        made = SessionParts(self.session, parts.Sections(open_agents=False))
        for agent in self.session.subagents:
            if anchor(f"agent-{agent.id}") == place:
                turns = [made.turn(agent, turn, 1) for turn in _pieces(agent.turns)]
                return made.agent(agent, 1)._replace(turns=turns)
        for talk, turn in self._talked():
            if any(isinstance(step, ToolCall) and place in _names(step) for step in turn.steps):
                items = SessionParts(self.session, parts.Sections(open_agents=False)).turn(talk, turn).items
                rows = (row for item in items if isinstance(item, parts.Calls) for row in item.calls)
                return next((row for row in rows if row.anchor == place), None)
        return None

    def _talked(self) -> Iterator[tuple[Conversation, Turn]]:
        """The pieces of the branch, then those of the agents."""
        yield from ((self.session, turn) for turn in self.pieces)
        yield from ((agent, turn) for agent in self.session.subagents for turn in _pieces(agent.turns))

    def states(self, start: int, end: int) -> list[str]:
        """A value for each piece that changes when the piece gains something, such as a late result or agent lines."""
        agents = self.session.agents_by_call
        found = [_state(turn, agents) for turn in self.pieces[start:end]]
        if self.lone and start <= len(self.pieces) < end:
            found.append(str(sum(len(agent.records) for agent in self.lone)))
        return found

    @cached_property
    def outline(self) -> list[parts.OutlineRow]:
        return outline_of(self.branch.turns)

    @property
    def named(self) -> list[parts.OutlineRow]:
        """The rows of the outline that are sent with the page."""
        return self.outline[:MOST_PROMPTS]

    @cached_property
    def places(self) -> dict[str, MessagePosition]:
        """The place of every message, by anchor, in the order of the conversation."""
        return places([self])

    @cached_property
    def marks(self) -> list[MapMark]:
        """The map's marks for prompts and failures, each at its share of all steps; at each height only the first of a
        kind is kept."""
        total = sum(map(_weight, self.pieces)) or 1
        found: dict[tuple[str, int], MapMark] = {}
        done = 0
        for piece, turn in enumerate(self.pieces):
            place = anchor(turn.prompt.uuid) if turn.prompt is not None and turn.prompt.uuid else ""
            if turn.prompt is not None:
                mark = MapMark("prompt", _height(done, total), shorten(turn.prompt.text[:300], 80), place)
                found.setdefault((mark.what, mark.y), mark)
            for number, (step, landmark) in enumerate(_landmarks(turn)):
                if landmark is not None:
                    where = anchor(step.uuid) if step.uuid else place
                    mark = MapMark(landmark[0], _height(done + 1 + number, total), landmark[1], where, piece)
                    found.setdefault((mark.what, mark.y), mark)
            done += _weight(turn)
        return sorted(found.values(), key=lambda mark: mark.what != "prompt")[:MOST_MARKS]

    @cached_property
    def prompts(self) -> list[Stop]:
        prompts = ((number, turn.prompt) for number, turn in enumerate(self.pieces))
        return [Stop(anchor(asked.uuid), number) for number, asked in prompts if asked is not None and asked.uuid]

    @cached_property
    def failures(self) -> list[Stop]:
        """Failures, rejections and interruptions, also in agents, in the order of the conversation; each place once."""
        agents = self.session.agents_by_call
        found = [
            Stop(place, number, within)
            for number, turn in enumerate(self.pieces)
            for place, within in _failed(turn, agents, ())
        ]
        for agent in self.lone:
            within = (anchor(f"agent-{agent.id}"),)
            for turn in agent.turns:
                found += [Stop(place, len(self.pieces), each) for place, each in _failed(turn, agents, within)]
        return list({stop.to: stop for stop in found}.values())

    def found(self, uuids: Container[str]) -> Iterator[tuple[str, int, int]]:
        """For some messages, their uuid, piece and height on the map, in the order of the conversation."""
        total = sum(map(_weight, self.pieces)) or 1
        done = 0
        for piece, turn in enumerate(self.pieces):
            if turn.prompt is not None and turn.prompt.uuid and turn.prompt.uuid in uuids:
                yield turn.prompt.uuid, piece, _height(done, total)
            for number, step in enumerate(turn.steps):
                if step.uuid and step.uuid in uuids:
                    yield step.uuid, piece, _height(done + 1 + number, total)
            done += _weight(turn)


def _weight(turn: Turn) -> int:
    return 1 + len(turn.steps)


def _state(turn: Turn, agents: Mapping[str, Subagent]) -> str:
    found: list[object] = [turn.prompt and turn.prompt.uuid, len(turn.records), turn.duration_ms]
    for step in turn.steps:
        found.append(step.uuid)
        if isinstance(step, ToolCall):
            found += [step.output is not None, step.permission is not None, _lines_below(step, agents, set())]
    return f"{crc32(repr(found).encode()):08x}"


def _lines_below(call: ToolCall, agents: Mapping[str, Subagent], seen: set[str]) -> int:
    """The number of lines of the agent that a call started, and of the agents below it."""
    agent = agents.get(call.id or "")
    if agent is None or agent.id in seen:
        return 0
    seen.add(agent.id)
    return len(agent.records) + sum(_lines_below(each, agents, seen) for each in agent.tool_calls)


def _names(call: ToolCall) -> tuple[str, ...]:
    return tuple(anchor(each) for each in (call.uuid, call.id) if each)


def _failed(
    turn: Turn, agents: Mapping[str, Subagent], within: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for step, landmark in _landmarks(turn):
        if landmark is not None and landmark[0] in FAILURES and step.uuid:
            yield anchor(step.uuid), within
        for below, inside in _below(step, agents, within):
            yield from _failed(below, agents, inside)


def _below(
    step: Step, agents: Mapping[str, Subagent], within: tuple[str, ...]
) -> Iterator[tuple[Turn, tuple[str, ...]]]:
    """The turns of the agent that a step started, unless it is one of those around it; with the agents around them."""
    agent = agents.get(step.id or "") if isinstance(step, ToolCall) else None
    inside = anchor(f"agent-{agent.id}") if agent is not None else ""
    if agent is not None and inside not in within:
        for turn in agent.turns:
            yield turn, (*within, inside)


def _height(done: int, total: int) -> int:
    """A height on the map, rounded to three units so that marks stay apart."""
    return int(HEIGHT * done / total) // 3 * 3


def _landmarks(turn: Turn) -> Iterator[tuple[Step, tuple[str, str] | None]]:
    """The steps, with what went wrong at each. A refusal counts once, although the client writes twice of it: the call
    that was refused, and that the request was interrupted. A run of retries counts once, as it is shown."""
    before, reason = None, ""
    for step in turn.steps:
        landmark, earlier, reason = _landmark(step), reason, stalled(step)
        is_repeated = isinstance(step, Notice) and landmark is not None and landmark[0] == "interrupted"
        is_again = (is_repeated and before in ("rejected", "interrupted")) or (reason and reason == earlier)
        yield step, None if is_again else landmark
        before = landmark[0] if landmark is not None else None


def _landmark(step: Step) -> tuple[str, str] | None:
    if isinstance(step, ToolCall) and step.status in parts.BAD:
        ended = parts.BAD[step.status]
        return ended, f"{ended}: {one_line(step.name)[:80]}"
    if isinstance(step, Notice) and step.what in _NOTED:
        return _NOTED[step.what], shorten(step.text[:300], 80)
    return None


def _pieces(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Turns, with long ones cut into pieces; the usage of a turn is in its last piece."""
    for turn in turns:
        if turn.prompt is None and not turn.steps:
            continue
        starts = range(0, max(1, len(turn.steps)), LONGEST_PIECE)
        if len(starts) == 1:
            yield turn
            continue
        for start in starts:
            is_last = start + LONGEST_PIECE >= len(turn.steps)
            yield replace(
                turn,
                prompt=turn.prompt if start == 0 else None,
                steps=turn.steps[start : start + LONGEST_PIECE],
                records=turn.records if is_last else (),
                duration_ms=turn.duration_ms if is_last else None,
            )


def branch_rows(session: Session, shown: str) -> list[BranchRow]:
    """The branches in the order of the list: the active one, then those left behind, by time."""
    found = [_branch_row(branch, shown) for branch in session.branches]
    if len(found) > 1:
        pairs = zip(session.branches, found, strict=True)
        found = [_left_behind(session, branch, row) for branch, row in pairs]
    return sorted(found, key=lambda row: (not row.is_active, row.time.timestamp() if row.time else 0.0))


def _branch_row(branch: Branch, shown: str) -> BranchRow:
    name = branch_anchor(branch.id)
    prompts = [turn.prompt for turn in branch.turns if turn.prompt is not None]
    return BranchRow(
        name=name,
        label=branch_label(branch),
        lead=shorten(prompts[0].text[:300], 70) if prompts else "",
        prompts=len(prompts),
        is_active=branch.active,
        is_shown=name == shown,
        forked_at=anchor(branch.forked_at) if branch.forked_at else "",
        time=prompts[0].time if prompts else None,
    )


def _left_behind(session: Session, branch: Branch, row: BranchRow) -> BranchRow:
    if branch.active:
        return row
    used, lane = branch_usage(session, branch), _lane(session, branch)
    first = next((turn.prompt for turn in branch.turns if turn.prompt is not None), None)
    other = _asked_instead(session, branch)
    made = row._replace(lane=lane, cost=used.nanodollars or 0, unpriced=used.unpriced_tokens)
    if first is None or other is None:
        return made
    if first.text.split() == other.text.split():
        return made._replace(is_repeated=True)
    one, two = _from_difference(one_line(first.text[:MOST_COMPARED]), one_line(other.text[:MOST_COMPARED]))
    words, instead = differing(shorten(one, LONGEST_LEAD), shorten(two, LONGEST_LEAD))
    return made._replace(words=words, instead=instead)


def _from_difference(one: str, other: str) -> tuple[str, str]:
    """Two texts, without most of a long beginning that they share."""
    first, second = one.split(), other.split()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    start = max(0, same - KEPT_WORDS)
    if start <= KEPT_WORDS:
        return one, other
    return f"… {' '.join(first[start:])}", f"… {' '.join(second[start:])}"


def retyped(found: Sequence[BranchRow]) -> list[list[BranchRow]]:
    """The branches in their order; those of one prompt that left at the same place, and come one after another, are
    together."""
    numbered = enumerate(found)
    together = groupby(
        numbered, lambda each: each[1].forked_at if each[1].prompts == 1 and not each[1].is_active else each[0]
    )
    return [[row for _, row in group] for _, group in together]


def _lane(session: Session, branch: Branch) -> int:
    """The lane of a branch: one more than that of the branch it forked from, which is the one that has their last
    common line."""
    lane, seen = 1, {branch.id}
    while lane < MOST_LANES and branch.forked_at:
        at = branch.forked_at
        left = next((each for each in session.branches if each.id not in seen and _has_line(each, at)), None)
        if left is None or left.active:
            return lane
        seen.add(left.id)
        branch, lane = left, lane + 1
    return lane


def _has_line(branch: Branch, uuid: str) -> bool:
    return any(record.uuid == uuid for turn in branch.turns for record in turn.records)


def _asked_instead(session: Session, branch: Branch) -> Prompt | None:
    """The first prompt after the fork on the active branch; None if the fork is not on the active branch."""
    active = next((each for each in session.branches if each.active), None)
    if active is None:
        return None
    if branch.forked_at is None:
        return next((turn.prompt for turn in active.turns if turn.prompt is not None), None)
    numbered = enumerate(active.turns)
    fork = next((n for n, turn in numbered if any(each.uuid == branch.forked_at for each in turn.records)), None)
    rest = active.turns[fork + 1 :] if fork is not None else ()
    return next((turn.prompt for turn in rest if turn.prompt is not None), None)


def differing(one: str, other: str) -> tuple[Markup, Markup]:
    """Two texts; in each, the words are marked that the other does not have at that place."""
    first, second = one.split(), other.split()
    left: list[Markup] = []
    right: list[Markup] = []
    for kind, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        for found, words, start, end in ((left, first, a, b), (right, second, c, d)):
            text = " ".join(words[start:end])
            if text:
                found.append(escape(text) if kind == "equal" else Markup("<mark>{}</mark>").format(text))
    return Markup(" ").join(left), Markup(" ").join(right)


def places(branches: Iterable[BranchPages]) -> dict[str, MessagePosition]:
    """The place of every message, by anchor. A result has the place of its call; any other line that is not shown has
    the place of the line before it.
    """
    found: dict[str, MessagePosition] = {}
    for branch_pages in branches:
        agents = branch_pages.session.agents_by_call
        for number, turn in enumerate(branch_pages.pieces):
            here = MessagePosition(branch_pages.name, number, "")
            for name, place, within in _anchors(turn, agents, ()):
                found.setdefault(name, here._replace(anchor=place, within=within))
        last = MessagePosition(branch_pages.name, 0, "")
        for turn in branch_pages.pieces:
            for record in turn.records:
                if record.uuid:
                    last = found.setdefault(anchor(record.uuid), last)
        for agent in branch_pages.lone:
            inside = (anchor(f"agent-{agent.id}"),)
            for turn in agent.turns:
                for name, place, within in _anchors(turn, agents, inside):
                    found.setdefault(name, MessagePosition(branch_pages.name, len(branch_pages.pieces), place, within))
    return found


def _anchors(
    turn: Turn, agents: Mapping[str, Subagent], within: tuple[str, ...]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The anchors of the lines of a turn and of the agents below it; each with the anchor of what shows the line (for a
    result, its call) and the agents around it."""
    if turn.prompt is not None and turn.prompt.uuid:
        yield (place := anchor(turn.prompt.uuid)), place, within
    for step in turn.steps:
        if step.uuid:
            yield (place := anchor(step.uuid)), place, within
            if isinstance(step, ToolCall) and step.output is not None and step.output.uuid:
                yield anchor(step.output.uuid), place, within
        for below, inside in _below(step, agents, within):
            yield from _anchors(below, agents, inside)
