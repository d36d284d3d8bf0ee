"""Turns a session into the values that the templates show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from reread.blocks.model import (
    AgentBlock,
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ResultBlock,
    StepBlock,
    ThinkingBlock,
    TurnBlocks,
    WordsBlock,
)
from reread.blocks.of_session import SessionBlocks
from reread.features.edits.net import FileDiff, SessionEdits, totals
from reread.features.edits.patches import numbered
from reread.records import Record, User
from reread.sessions import Branch, Conversation, Notice, Session, Subagent, Tokens, ToolCall, Turn
from reread.sessions.client_facts import client_facts
from reread.sessions.speaker import Speaker, kind_of
from reread.views.calls import shown_path
from reread.views.numbers import count, duration, money, some, tokens
from reread.views.session_list import DRIVEN
from reread.views.terminal import NOTICE_LOOKS
from reread.views.text import joined, one_line, shorten

from . import call_parts, parts
from .content import NOTHING, Anchors, anchor, cut, is_sent_later, pictures, prompt_words, words

FOLDED_FROM = 9
"""From this many consecutive calls on, they are folded into one line."""
KEPT_RAW = 20_000
MOST_DIFF_LINES = 1_000
"""Lines of the diff of one file over a session."""
_FATES = {"interrupted": "interrupted; Claude Code dropped it", "error": "taken back", "cut": "cut off"}
_LEFT_BRANCH = re.compile(r"@([^\s,]+)")


def page_of(session: Session, shown: parts.Sections | None = None) -> parts.Page:
    """A whole session with all its branches."""
    return SessionParts(session, shown or parts.Sections()).page()


class SessionParts:
    """Makes the parts of one page; each anchor is given only once in it."""

    def __init__(self, session: Session, shown: parts.Sections) -> None:
        self.session = session
        self.shown = shown
        self._anchors = Anchors()
        self._turns: dict[str, str] = {}
        """The anchor of the turn that a line belongs to, by the line's uuid."""
        self._blocks = SessionBlocks(session, has_agents=shown.subagents)

    def page(self) -> parts.Page:
        session = self.session
        made = [self._branch(branch) for branch in session.branches]
        branches = [
            each._replace(forked_at=self._place_of(branch.forked_at))
            for branch, each in zip(session.branches, made, strict=True)
        ]
        return self.head()._replace(
            outline=outline_of(session.turns),
            branches=branches,
            lone_agents=[self._agent(agent) for agent in self._blocks.lone()] if self.shown.subagents else [],
        )

    def head(self) -> parts.Page:
        """The part of the page above the conversation."""
        session = self.session
        lead = self.lead(session.title, session.started, session.ended)
        figures = self.figures()
        return lead._replace(
            facts=figures.facts, tokens=figures.tokens, bad=figures.bad, files=self.files() if self.shown.tools else []
        )

    def lead(self, title: str, started: datetime | None, ended: datetime | None) -> parts.Page:
        """Title, project and times, from values that the caller already has; nothing is computed."""
        return parts.Page(
            id=self.session.id,
            title=shorten(title, 200),
            project=one_line(self.session.project or ""),
            started=started,
            ended=ended,
            facts=[],
            tokens=[],
            bad=[],
            problems=[one_line(problem) for problem in self.session.problems],
            files=[],
            outline=[],
            branches=[],
            lone_agents=[],
        )

    def figures(self) -> parts.Figures:
        """The totals of the session; reads all of its lines."""
        return parts.Figures(self._facts(), token_facts(self.session.total_usage), self._bad())

    def _facts(self) -> list[str]:
        session = self.session
        facts = [
            count(len(session.prompts), "prompt"),
            DRIVEN if session.mark.typed is False else "",
            count(len(session.every_call), "tool call"),
            some(len(session.working_agents), "subagent"),
            count(len(session.branches), "branch") if len(session.branches) > 1 else "",
            some(len(session.compactions), "compaction"),
            f"{count(len(session.every_unsaid), 'text')} of Claude not stored" if session.every_unsaid else "",
            *(one_line(each) for each in client_facts(session).sentences()),
            *(one_line(model)[:60] for model in _models(session)),
        ]
        return [fact for fact in facts if fact]

    def _bad(self) -> list[tuple[str, int]]:
        ended = Counter(call.status.value for call in self.session.every_call)
        return [(name, ended[status]) for status, name in parts.BAD.items() if ended[status]]

    def files(self, edits: SessionEdits | None = None) -> list[parts.ChangedFile]:
        """The files that the session changed in the end; from its own lines alone unless `edits` is given."""
        return self.file_rows((edits or SessionEdits(self.session)).on_disk())

    def file_rows(self, diffs: Sequence[FileDiff]) -> list[parts.ChangedFile]:
        """The files that differ, each with its number in `diffs`."""
        return [
            parts.ChangedFile(
                one_line(shown_path(diff.path, self.session.project)),
                diff.status,
                *totals([diff]),
                number,
                diff.is_known,
            )
            for number, diff in enumerate(diffs)
            if diff.is_change
        ]

    def file_diff(self, diff: FileDiff, most: int = MOST_DIFF_LINES) -> parts.Diff:
        lines = [line for hunk in diff.hunks for line in numbered(hunk)]
        return call_parts.diff_of(diff.path, lines, self.session.project, "", most=most)

    def _branch(self, branch: Branch) -> parts.BranchPart:
        return parts.BranchPart(
            anchor=branch_anchor(branch.id),
            label=branch_label(branch),
            forked_at="",
            is_active=branch.active,
            is_certain=branch.certain,
            turns=[self.turn(self.session, turn) for turn in branch.turns if turn.prompt is not None or turn.steps],
        )

    def _place_of(self, uuid: str | None) -> str:
        """A link to a line, or to its turn if the page has no anchor for the line."""
        name = anchor(uuid) if uuid else ""
        found = name if name in self._anchors else self._turns.get(uuid or "", "")
        return f"#{found}" if found else ""

    def turn(self, speaker: Conversation, turn: Turn, depth: int = 0) -> parts.TurnPart:
        made = self.written(self._blocks.turn(speaker, turn, depth=depth))
        self._turns |= {record.uuid: made.anchor for record in turn.records if record.uuid is not None and made.anchor}
        return made

    def written(self, turn: TurnBlocks) -> parts.TurnPart:
        """A turn that is already made of blocks, of a saved session or of a stream."""
        prompt = turn.prompt
        place = self._anchors.take(prompt.place.uuid) if prompt is not None else ""
        items = list(self._items(turn.steps))
        rows = [row for item in items if isinstance(item, parts.Calls) for row in item.calls]
        return parts.TurnPart(
            anchor=place,
            number=turn.rule.index,
            prompt=self._prompt(prompt) if prompt is not None else None,
            items=items,
            facts=result_facts(turn.result) if turn.result is not None else [],
            unstored=sum(isinstance(step, ThinkingBlock) and not step.text for step in turn.steps),
            bad=sum(row.is_bad for row in rows),
        )

    def _prompt(self, prompt: PromptBlock) -> parts.QuestionPart:
        record = prompt.place.record
        return parts.QuestionPart(
            text=prompt_words(prompt.text, self.shown.limits.characters),
            pictures=list(pictures(record.blocks)) if isinstance(record, User) else [],
            time=prompt.place.time,
            kind=prompt.kind.value,
            raw=self._raw(record),
        )

    def _items(self, steps: Sequence[StepBlock]) -> Iterator[parts.Item]:
        """Steps in order; consecutive calls and the thinking between them become one list."""
        run: list[parts.CallPart | parts.ThinkingPart] = []
        for step in steps:
            if isinstance(step, CallBlock):
                if self.shown.tools and call_parts.is_decision(step):
                    yield from _gathered(run)
                    run = []
                    yield parts.Calls([self._call(step)], is_folded=False)
                elif self.shown.tools:
                    run.append(self._call(step))
            elif isinstance(step, ThinkingBlock):
                if self.shown.thinking and step.text.strip():
                    run.append(self._thought(step))
            elif not isinstance(step, WordsBlock) or step.text.strip():
                yield from _gathered(run)
                run = []
                yield self._words(step) if isinstance(step, WordsBlock) else self._note(step)
        yield from _gathered(run)

    def _words(self, block: WordsBlock) -> parts.Words:
        place = self._anchors.take(block.place.uuid)
        fate = _FATES.get(block.withdrawn or "", "")
        return parts.Words(place, words(block.text), block.place.time, fate, self._raw(block.place.record))

    def _thought(self, thought: ThinkingBlock) -> parts.ThinkingPart:
        return parts.ThinkingPart(
            anchor=self._anchors.take(thought.place.uuid),
            text=thought.text.strip(),
            lead=shorten(thought.text[:400], 140),
            time=thought.place.time,
            fate=_FATES.get(thought.withdrawn or "", ""),
            raw=self._raw(thought.place.record),
        )

    def _note(self, notice: NoticeBlock) -> parts.Note:
        is_rewind = notice.what == "rewound"
        return parts.Note(
            anchor=self._anchors.take(notice.place.uuid),
            what=notice.what,
            label=notice.label,
            mark=NOTICE_LOOKS.get(notice.what, ("·", ""))[0],
            text=notice.text if not is_rewind else "rewound here; left behind:",
            detail=cut(notice.detail, kept=self.shown.limits.characters),
            links=list(self._left(notice)) if is_rewind else [],
            time=notice.place.time,
            raw=self._raw(notice.place.record),
            output=cut(notice.text, kept=self.shown.limits.characters) if notice.is_printed else NOTHING,
        )

    def _left(self, notice: NoticeBlock) -> Iterator[parts.Link]:
        for name in _LEFT_BRANCH.findall(notice.text):
            found = next((each.id for each in self.session.branches if each.id.endswith(f"@{name}")), None)
            if found is not None:
                yield parts.Link(f"#{branch_anchor(found)}", one_line(name))

    def _call(self, call: CallBlock) -> parts.CallPart:
        project, limits = self.session.project, self.shown.limits
        place = self._anchors.take(call.place.uuid) or self._anchors.take(call.id)
        is_decision = call_parts.is_decision(call)
        # Agents' reports and prompts, and files that were read, took two thirds of the time of slow first screens.
        is_plain = bool(place) and not is_decision and is_sent_later()
        diffs, report = call_parts.diffs_of(call, project, limits), call_parts.report_of(call, is_plain=is_plain)
        listing = call_parts.listing_of(call, project, limits, is_plain=is_plain)
        has_more = bool(diffs or report or listing)
        given = call_parts.arguments_of(
            call.name, call.input, has_diff=bool(diffs), limits=limits, is_plain=is_plain and has_more
        )
        return parts.CallPart(
            anchor=place,
            name=call_parts.tool_name(call),
            point=call_parts.point_of(call, project),
            status=call.status.value,
            mark=call_parts.mark_of(call),
            ending=call_parts.ending_of(call),
            seconds=call_parts.seconds_of(call),
            time=call.place.time,
            diffs=diffs,
            parts=given,
            todos=call_parts.todos_of(call),
            questions=call.questions,
            output=cut("" if report or listing else call_parts.output_of(call), kept=limits.characters),
            report=report,
            pictures=call_parts.pictures_of(call),
            agent=self._agent(call.agent) if call.agent is not None else None,
            raw=self._raw(call.place.record),
            listing=listing,
            is_decision=is_decision,
        )

    def agent(self, agent: Subagent, depth: int = 1) -> parts.AgentPart:
        return self._agent(self._blocks.agent(agent, depth))

    def _agent(self, agent: AgentBlock) -> parts.AgentPart:
        facts = [count(agent.calls, "tool call"), money(agent.cost, is_partial=agent.unpriced_tokens > 0)]
        return parts.AgentPart(
            anchor=self._anchors.take(f"agent-{agent.id}"),
            title=shorten(joined([agent.type or agent.kind, agent.description]), 160),
            facts=[f"{tokens(agent.output_tokens)} out", *(fact for fact in facts if fact)],
            turns=[self.written(turn) for turn in agent.turns if turn.prompt is not None or turn.steps]
            if self.shown.open_agents
            else [],
        )

    def _raw(self, record: Record | None) -> str:
        """The record as JSON, cut; empty unless raw records are shown."""
        if not self.shown.raw or record is None:
            return ""
        text = call_parts.raw_of(record.data) if record.data else record.raw.decode("utf-8", "replace")
        return text if len(text) <= KEPT_RAW else f"{text[:KEPT_RAW]}\n… {len(text) - KEPT_RAW:,} more characters"


def _gathered(run: list[parts.CallPart | parts.ThinkingPart]) -> Iterator[parts.Item]:
    """One list of calls; thinking before the first call and after the last is shown separately."""
    places = [number for number, row in enumerate(run) if isinstance(row, parts.CallPart)]
    first, last = (places[0], places[-1] + 1) if places else (len(run), len(run))
    yield from _alone(run[:first])
    if places:
        yield parts.Calls(run[first:last], is_folded=len(places) >= FOLDED_FROM)
    yield from _alone(run[last:])


def _alone(rows: Iterable[parts.CallPart | parts.ThinkingPart]) -> Iterator[parts.ThinkingPart]:
    return (row for row in rows if isinstance(row, parts.ThinkingPart))


def outline_of(turns: Iterable[Turn]) -> list[parts.OutlineRow]:
    """A row for every prompt, and for what others of its team sent, that can be linked to."""
    rows: list[parts.OutlineRow] = []
    for turn in turns:
        if turn.prompt is not None and turn.prompt.uuid:
            text = shorten(turn.prompt.text[:400], 90) or "(no text)"
            bad = sum(isinstance(step, ToolCall) and step.status in parts.BAD for step in turn.steps)
            rows.append(parts.OutlineRow(anchor(turn.prompt.uuid), turn.index, text, turn.prompt.time, bad))
        for step in turn.steps:
            if isinstance(step, Notice) and step.uuid and _is_message(step):
                text = shorten(step.text[:400], 90) or "(no text)"
                rows.append(parts.OutlineRow(anchor(step.uuid), turn.index, text, step.record.time, 0, is_message=True))
    return rows


def _is_message(notice: Notice) -> bool:
    """Whether another session of its team sent it."""
    return isinstance(notice.record, User) and kind_of(notice.record) is Speaker.TEAMMATE


def branch_anchor(name: str) -> str:
    return f"b-{anchor(name)[2:]}"


def branch_label(branch: Branch) -> str:
    return "main" if branch.active else one_line(branch.id.rpartition("@")[2])


def _models(session: Session) -> list[str]:
    """The models named in the lines; grouping the lines into messages first would take several times as long."""
    models = (record.message.model for record in session.spoken if record.message is not None)
    return [model for model in dict.fromkeys(models) if model and not model.startswith("<")]


def result_facts(result: ResultBlock) -> list[str]:
    """`$0.12`, `1.2k out`, `91.0k in`, `context 41.0k`, `34s`."""
    used, context = result.usage
    if not used.requests:
        return []
    facts = [
        money(used.cost, is_partial=used.unpriced_tokens > 0),
        f"{tokens(used.output_tokens)} out",
        f"{tokens(used.prompt_tokens)} in",
        f"context {tokens(context)}" if context else "",
        duration(result.duration_ms / 1000) if result.duration_ms else "",
    ]
    return [fact for fact in facts if fact]


def token_facts(used: Tokens) -> list[tuple[str, str]]:
    """The totals of tokens and cost, by name."""
    unknown = "no price" if used.requests else "$0"
    return [
        ("cost", money(used.cost, is_partial=used.unpriced_tokens > 0) or unknown),
        ("output", tokens(used.output_tokens)),
        ("input", tokens(used.input_tokens)),
        ("cache read", tokens(used.cache_read_tokens)),
        ("cache write", tokens(used.cache_write_tokens)),
    ]
