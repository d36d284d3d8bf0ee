"""What the first lines of a transcript amount to, stored once they are closed: once nothing that follows can change it.

Of a transcript that grew only the lines behind its closed part are read. The result is always that of reading the whole
file: where new lines may change what earlier ones amount to, the whole file is read.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from reread import sources
from reread.billing import Prices
from reread.decoders import msgpack_decoder
from reread.features.cache_rebuilds import Walked, chains, walked
from reread.loading import records_of
from reread.records import (
    AgentProgress,
    Assistant,
    CostState,
    LastPrompt,
    ProgressLine,
    Record,
    Result,
    Summary,
    ToolResult,
    ToolUse,
    User,
)
from reread.records.state import Relocated, WorktreeState
from reread.rows.of_session import REPLAYING, is_malformed
from reread.rows.session_row import SessionRow
from reread.sessions import Conversation, Session, Speaker, kind_of, scope_of
from reread.sessions.agents import AGENT_TOOLS
from reread.sessions.driver import PERSON
from reread.sessions.session import SessionSourceFile
from reread.sessions.titles import TitleParts, title_parts
from reread.sessions.tree import is_settled, is_talk, joined_after
from reread.sessions.turns import MAY_GO_UNANSWERED, OPENS_TURN, first_line, traced_lines
from reread.sources import FileKind, SessionFiles

LONG = 250_000
"""The size in bytes from which a transcript is worth a closed part: a shorter one is read in a few milliseconds."""
_FAR = 400
"""How many lines from the end are searched for a place to cut."""
_TRIES = 3
"""How many places are tried: each costs as much as reading the lines before it, apart from decoding."""


class ClosedPart(Struct, frozen=True, kw_only=True, array_like=True):
    """What the first lines of a transcript amount to, together with the agents of its session."""

    prices: str
    """The digest of the prices that money was counted with."""
    end: int
    """Offset of the next line."""
    number: int
    """Number of the next line."""
    lines: int
    malformed: int
    tip: str
    """The uuid of the last line that others can follow; the next line must follow it."""
    scope: str
    names: TitleParts
    walked: Walked
    row: SessionRow
    """Its sums cover these lines alone; its other fields may also come from lines behind them."""
    has_agents: bool
    ids: bytes
    """Short digests of all ids that these lines have or refer to, and of queued prompts without a line of their own
    yet. A later line that repeats one of them cannot be read by itself."""

    def is_met_by(self, records: Iterable[Record]) -> bool:
        known = frozenset(struct.unpack(f"<{len(self.ids) // _DIGEST}I", self.ids))
        names = (name for record in records for name in (*_ids(record), *traced_lines(record)))
        return any(_digest(name) in known for name in names)

    def arguments_for(self, tail: Conversation) -> dict[str, Any]:
        """How the responses of the lines behind this part are measured and named: as going on from it."""
        return {"measured": chains(tail, tail.prices, after=self.walked), "scope": self.scope}

    def longer(self, more: ClosedPart) -> ClosedPart:
        """This part extended by the lines that follow, which are closed by now as well."""
        return replace(
            more,
            lines=self.lines + more.lines,
            malformed=self.malformed + more.malformed,
            scope=self.scope,
            names=self.names.renamed(more.names),
            row=self.row_with(more.row, more.names),
            has_agents=self.has_agents,
            ids=self.ids + more.ids,
        )

    def row_with(self, tail: SessionRow, names: TitleParts) -> SessionRow:
        """The row of the whole session: these lines and those behind them, which `tail` and `names` describe."""
        first, known = self.row, self.names.renamed(names)
        title = known.title() or first.title
        return tail._replace(
            **{name: getattr(first, name) + getattr(tail, name) for name in _SUMS},
            project=first.project,
            title=title,
            second=known.second(title),
            continued_in=tail.continued_in or first.continued_in,
            started=min((time for time in (first.started, tail.started) if time is not None), default=None),
            ended=max((time for time in (first.ended, tail.ended) if time is not None), default=None),
            versions=list(dict.fromkeys((*first.versions, *tail.versions))),
            models=sorted({*first.models, *tail.models}),
            git_branches=sorted({*first.git_branches, *tail.git_branches}),
            nanodollars=first.nanodollars if tail.nanodollars is None else (first.nanodollars or 0) + tail.nanodollars,
            branches=first.branches + tail.branches - 1,  # the branch that goes on is counted in both
            driver=PERSON if PERSON in (first.driver, tail.driver) else first.driver,
            opening=first.opening,
            team=first.team or tail.team,
            member=first.member if first.team else tail.member,
        )


_SUMS = (
    *("prompts", "turns", "requests", "tool_calls", "tool_errors", "thoughts", "output_tokens", "unpriced_tokens"),
    *("subagents", "compactions"),
)


def _without(whole: SessionRow, rest: SessionRow) -> SessionRow:
    """A session's row with the sums of its last lines subtracted."""
    return whole._replace(
        **{name: getattr(whole, name) - getattr(rest, name) for name in _SUMS},
        nanodollars=whole.nanodollars if rest.nanodollars is None else (whole.nanodollars or 0) - rest.nanodollars,
        branches=whole.branches - rest.branches + 1,
    )


RowOf = Callable[[Session], SessionRow]
_FORM = 4
"""Version of the stored form; a part of another version is ignored and the whole file read."""


def can_go_on(files: SessionFiles) -> bool:
    """Whether a session is one transcript, perhaps with agents, that is long enough for a closed part."""
    is_named = any(file.kind is FileKind.TITLE for file in files.others)
    return files.trunk is not None and files.trunk.size >= LONG and not files.captures and not is_named


def packed(part: ClosedPart) -> bytes:
    """With a checksum, because nothing else would reveal a damaged sum. Empty where a text is not valid Unicode."""
    try:
        content = msgspec.msgpack.encode(part)
    except UnicodeEncodeError:
        return b""
    return struct.pack("<I", crc32(content, _FORM)) + content


def unpacked(state: bytes, prices: Prices) -> ClosedPart | None:
    """None for a damaged part, or one with other prices."""
    if state[:4] != struct.pack("<I", crc32(state[4:], _FORM)):
        return None
    try:
        part = msgpack_decoder(ClosedPart).decode(state[4:])
    except msgspec.ValidationError:  # damaged so that the checksum fits
        return None
    return part if part.prices == prices.digest else None


def tail_of(part: ClosedPart, files: SessionFiles, prices: Prices) -> Session | None:
    """The lines behind a closed part as a session of their own; None where they cannot be read by themselves."""
    if files.trunk is None:
        return None
    lines = sources.read_lines(files.trunk.path, start=part.end, number=part.number)
    records = [record for line in lines for record in records_of(line)]
    is_apart = all(need >= 0 for need in _needs(records, 0, part.tip, part.has_agents))
    if part.is_met_by(records) or not is_apart or not any(map(_sets_the_end, records)):
        return None
    own = [SessionSourceFile(str(file.path), file.size) for file in files.all]
    tail = Session(records, id=files.id, files=own, prices=prices)
    if tail.traceless or walked(tail, prices, part.walked) is None:
        return None
    return tail


def closed_part(
    session: Session, row: SessionRow, row_of: RowOf, prices: Prices, before: ClosedPart | None = None
) -> ClosedPart | None:
    """The first lines of a session that are closed by now; None where there are none.

    `before` is the part that is stored already: `session` then holds only the lines behind it, and the result is
    `before` extended by the first of them, or `before` itself. `row` is the row of `session`.
    """
    tip, has_agents = (before.tip, before.has_agents) if before is not None else (None, bool(session.subagents))
    for end in islice(_cuts(session.records, tip, has_agents), _TRIES):
        head, rest = session.until(end), Session(session.records[end:], id=session.id, prices=prices)
        then = walked(head, prices, before.walked if before is not None else None)
        is_apart = _is_closed(head) and {*head.traceless, *rest.traceless} == {*session.traceless}
        if then is not None and is_apart and walked(rest, prices, then) is not None:
            part = _part(head, rest.records[0], prices, title_parts(session), then, _without(row, row_of(rest)))
            found = part if before is None else before.longer(part)
            if (before is not None or _is_known(part, head)) and not found.is_met_by(rest.records):
                return found
    return before


def _part(
    head: Session, following: Record, prices: Prices, names: TitleParts, then: Walked, row: SessionRow
) -> ClosedPart:
    """The closed part for these lines."""
    records = (record for each in (head, *head.subagents) for record in each.records)
    ids = {_digest(name) for record in records for name in (*_ids(record), *_named(record))}
    ids |= {_digest(first_line(queued)) for queued in head.traceless.values()}
    return ClosedPart(
        prices=prices.digest,
        end=following.offset,
        number=following.line,
        lines=len({record.line for record in head.records}),
        malformed=sum(map(is_malformed, head.records)),
        tip=next(record.uuid for record in reversed(head.line) if record.uuid is not None),
        scope=scope_of(head.records),
        names=names,
        walked=then,
        row=row,
        has_agents=bool(head.subagents),
        ids=struct.pack(f"<{len(ids)}I", *ids),
    )


def _is_known(part: ClosedPart, head: Session) -> bool:
    """Whether these lines identify the session and repeat no response; else other files or later lines are needed."""
    if part.row.project is None or part.row.started is None or part.names.title() is None or head.records[0].offset:
        return False
    conversations = (head, *head.agents_with_files.values())
    identities = [request.identity for each in conversations for request in each.requests]
    return len(identities) == len(set(identities))


def _is_closed(head: Session) -> bool:
    """Whether nothing that follows its last line can change what these lines amount to."""
    tree, line = head.tree, head.line
    if any(record.is_frame or record.is_sidechain for record in line):
        return False
    if any(version.startswith(REPLAYING) for version in head.versions):
        return False
    last = next((i for i in reversed(range(len(line))) if line[i].uuid is not None), -1)
    is_active = last >= 0 and tree.segment_of[last] == tree.active
    return is_active and _is_answered(head) and is_settled(line, head.kinds)


def _is_answered(head: Session) -> bool:
    """Whether the last input is sure to open a turn: a command opens one only if the model answers it."""
    for i in reversed(range(len(head.line))):
        record = head.line[i]
        if type(record) is Assistant and not record.is_synthetic and not record.is_api_error_message:
            return True
        if head.kinds.get(i) in OPENS_TURN:
            return head.kinds[i] not in MAY_GO_UNANSWERED
    return True


def _cuts(records: Sequence[Record], tip: str | None, has_agents: bool) -> Iterator[int]:
    """Places to cut, the last first.

    The lines behind a cut need nothing before it but the last line there, and suffice to tell where the conversation
    stands.
    """
    first = max(0, len(records) - _FAR)
    needs = _needs(records, first, tip, has_agents)
    last = next((i for i in reversed(range(len(records))) if _sets_the_end(records[i])), 0)
    reach = len(records)
    for cut in range(len(records) - 1, first, -1):
        reach = min(reach, needs[cut - first])
        if reach < 0:
            return
        if reach == cut <= last and records[cut].line != records[cut - 1].line:
            yield cut


def _needs(records: Sequence[Record], first: int, tip: str | None, has_agents: bool) -> list[int]:
    """For every line from `first` on, the index of the earliest line it refers to, or its own if it refers to none.

    -1 means that it refers to a line outside the records, or possibly to any line. Following the line before it does
    not count: the tip covers that.
    """
    places: dict[str, int] = {}
    for i, record in enumerate(records):
        for name in _ids(record):
            places.setdefault(name, i)
    before = (record.uuid for record in reversed(records[:first]) if record.uuid and not record.is_sidechain)
    tip = next(before, tip)
    found = []
    for i, record in enumerate(records[first:], first):
        asked = {*_ids(record), *_named(record)}
        if tip is not None and record.parent_uuid == tip:
            asked.discard(tip)
        is_plain = _can_stand_behind(record) and not (has_agents and _may_name_agents(record))
        found.append(min((i, *(places.get(name, -1) for name in asked))) if is_plain else -1)
        if record.uuid is not None and not record.is_sidechain:
            tip = record.uuid
    return found


def _ids(record: Record) -> Iterator[str]:
    """The ids that a line introduces: its own, and those of its message and tool calls."""
    if record.uuid is not None:
        yield record.uuid
    if type(record) is User:
        yield from record.other_uuids
    if type(record) is Assistant:
        if record.api_message.id is not None:
            yield record.api_message.id
        yield from (use.id for use in _uses(record) if use.id)


def _named(record: Record) -> Iterator[str]:
    """Ids of lines and calls that a line refers to, whether or not they exist."""
    if record.parent_uuid is not None:
        yield record.parent_uuid
    if isinstance(record, User):
        yield from (block.tool_use_id for block in record.blocks if type(block) is ToolResult and block.tool_use_id)
    elif isinstance(record, LastPrompt | Summary) and record.leaf_uuid is not None:
        yield record.leaf_uuid
    else:
        yield from joined_after(record)


_OF_THE_WHOLE = (Summary, CostState, Result, Relocated)
"""Lines that say something of all that came before them."""


def _can_stand_behind(record: Record) -> bool:
    """Whether a line affects no line far before it other than those whose ids it names."""
    if record.is_frame or record.is_sidechain or isinstance(record, _OF_THE_WHOLE):
        return False
    if isinstance(record, WorktreeState) and record.beside_project is not None:
        return False
    if (record.uuid is not None and record.parent_uuid is None) or (record.version or "").startswith(REPLAYING):
        return False
    if isinstance(record, ProgressLine):
        return not isinstance(record.progress, AgentProgress)
    return not isinstance(record, Assistant) or (record.time is not None and all(use.id for use in _uses(record)))


def _may_name_agents(record: Record) -> bool:
    """Whether a line may say how an agent was started."""
    if isinstance(record, Assistant):
        return any(use.name in AGENT_TOOLS for use in _uses(record))
    return isinstance(record, User) and kind_of(record) is Speaker.TASK_NOTIFICATION


def _uses(record: Assistant) -> list[ToolUse]:
    return [block for block in record.blocks if isinstance(block, ToolUse)]


def _sets_the_end(record: Record) -> bool:
    """Whether a line determines where the conversation stands."""
    if isinstance(record, LastPrompt):
        return record.leaf_uuid is not None
    return is_talk(record, kind_of(record) if isinstance(record, User) else None)


_DIGEST = 4


def _digest(name: str) -> int:
    """Four bytes are enough: a collision of two ids costs a reading of the whole file and nothing else."""
    return crc32(name.encode("utf-8", "surrogatepass"))
