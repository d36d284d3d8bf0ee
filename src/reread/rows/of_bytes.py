"""The rows of money alone, straight from the bytes of a session's files: responses, their contexts, and a thin session.

Several times faster than `of_session`, which is needed where a scan cannot be sure: a session whose id other lines
decide, one that was moved, captures, an agent whose type only its call names, and all that `billing.scan` refuses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from reread.billing.response import Response
from reread.billing.scan import ScannedLine, ScannedMessage, ScannedRows, scanned
from reread.records import AgentMeta, decode_side_file
from reread.records.lenient import FAILURES, parse_time
from reread.sources import FileKind, SessionFiles, SourceFile, opens_array
from reread.times import milliseconds

from .model import FileRows, RequestContext, Rows
from .responses import context_of, recorded_cost, tools_of
from .session_row import SessionRow

if TYPE_CHECKING:
    from reread.records import Assistant

UNTOLD = (
    *("prompts", "turns", "tool_calls", "tool_errors", "thoughts", "subagents", "branches", "compactions"),
    *("output_tokens", "unpriced_tokens"),
)
"""Counts of a session that nothing here tells: they are 0."""
_EDGE = 1 << 16
"""How many bytes at each end of a transcript are read for its folder, its id and its times."""
_MOVED = (b'"type":"relocated"', b'"type":"worktree-state"')
"""Lines that say that a session belongs to another folder than that of its first line."""


class _Block(Struct, gc=False):
    type: str | None = None
    name: str | None = None


class _Message(ScannedMessage, gc=False):
    content: list[_Block] | str | None = None


class _Line(ScannedLine, gc=False, rename="camel"):
    message: _Message | None = None
    cwd: str | None = None
    git_branch: str | None = None
    request_id: str | None = None
    attribution_agent: str | None = None
    attribution_skill: str | None = None
    attribution_plugin: str | None = None
    attribution_mcp_server: str | None = None
    attribution_mcp_tool: str | None = None
    cost_usd: float | None = field(default=None, name="costUSD")

    @property
    def tools(self) -> Iterator[str]:
        blocks = self.message.content if self.message is not None else None
        for block in blocks if isinstance(blocks, list) else ():
            if block.type == "tool_use" and block.name:
                yield block.name


_decode = msgspec.json.Decoder(_Line).decode


class _End(Struct, gc=False, rename="camel"):
    """A line at an end of the file."""

    session_id: str | None = None
    cwd: str | None = None
    timestamp: str | None = None


_decode_end = msgspec.json.Decoder(_End).decode


class _Ends(NamedTuple):
    """What the first and the last lines of a file say."""

    id: str | None
    project: str | None
    started: int | None
    ended: int | None


def rows_of_bytes(files: SessionFiles, contents: Mapping[Path, bytes], name: str | None = None) -> Rows | None:
    """What the files of a session say about money; None if only the full reading can tell. `name` is the session's id,
    if that of its lines does not count."""
    trunk = files.trunk
    if trunk is None or files.captures or any(mark in contents[trunk.path] for mark in _MOVED):
        return None
    ends = _ends(contents[trunk.path])
    name = name or ends.id
    if name is None or ends.project is None or ends.started is None:
        return None
    made = _rows_of_files(files, contents)
    return None if made is None else Rows(session=_session_row(name, files, trunk, made, ends), files=made)


def _rows_of_files(files: SessionFiles, contents: Mapping[Path, bytes]) -> tuple[FileRows, ...] | None:
    types: dict[str | None, str | None] = {}
    for file in files.metas:
        meta = decode_side_file(contents[file.path], AgentMeta)
        types[file.agent] = meta.agent_type if meta is not None else None
    made = []
    for file in files.all:
        found = _file_rows(file, contents[file.path], types.get(file.agent))
        if found is None:
            return None
        made.append(found)
    return tuple(made)


def _file_rows(file: SourceFile, content: bytes, agent_type: str | None) -> FileRows | None:
    if file.kind not in (FileKind.TRANSCRIPT, FileKind.SUBAGENT):
        return FileRows(file=file.location, kind=file.kind.value, agent=file.agent)
    found = None if opens_array(content) else scanned(content, file.location, decode=_decode)
    if found is None:
        return None
    numbers: dict[RequestContext, int] = {}
    responses = []
    for rows, response in found:
        agent = _named_agent(rows) or agent_type
        if agent is None and file.kind is FileKind.SUBAGENT:
            return None  # its call may name it
        if agent is None and response.is_sidechain:
            agent = "subagent"
        context = context_of(rows.line, _tools(rows), rows.stop_reason, response, agent)
        responses.append(_with_context(response, rows, numbers.setdefault(context, len(numbers))))
    last = content[content.rfind(b"\n") + 1 :]
    return FileRows(
        file=file.location,
        kind=file.kind.value,
        agent=file.agent,
        lines=content.count(b"\n") + bool(last),
        is_torn=not _is_whole(last),
        contexts=list(numbers),
        responses=responses,
    )


def _named_agent(rows: ScannedRows) -> str | None:
    line: Any = rows.line  # a `_Line`, or all of an `Assistant` where a line was broken
    named: str | None = line.attribution_agent
    return named


def _tools(rows: ScannedRows) -> tuple[str, ...]:
    names: set[str] = set()
    for row in rows.lines:
        names.update(row.tools if isinstance(row, _Line) else tools_of([cast("Assistant", row)]))
    return tuple(sorted(names))


def _with_context(response: Response, rows: ScannedRows, number: int) -> Response:
    line: Any = rows.line
    about: dict[str, Any] = {"context": number, "owner_context": number, "request_id": line.request_id}
    if response.rows:  # not an advisor's
        details = rows.usage.output_tokens_details
        about["thinking"] = details.thinking_tokens if details is not None else None
        about["recorded"] = recorded_cost(line.cost_usd, rows.usage)
    return replace(response, **about)


def _is_whole(line: bytes) -> bool:
    return not line or any(_decoded([line]))


def _ends(content: bytes) -> _Ends:
    first, last = content[:_EDGE].split(b"\n"), content[-_EDGE:].split(b"\n")[::-1]
    return _Ends(
        next((line.session_id for line in _decoded(last) if line.session_id), None),
        next((line.cwd for line in _decoded(first) if line.cwd), None),
        next(_times(first), None),
        next(_times(last), None),
    )


def _decoded(lines: Iterable[bytes]) -> Iterator[_End]:
    """The lines that are whole; a piece of one is none."""
    for line in lines:
        with suppress(*FAILURES):
            yield _decode_end(line)


def _times(lines: Iterable[bytes]) -> Iterator[int]:
    times = (milliseconds(parse_time(line.timestamp)) for line in _decoded(lines))
    return (time for time in times if time is not None)


def _session_row(
    name: str, files: SessionFiles, trunk: SourceFile, made: Iterable[FileRows], ends: _Ends
) -> SessionRow:
    """The row of a session. What only its other lines tell is empty."""
    untold: dict[str, Any] = dict.fromkeys(UNTOLD, 0)
    return SessionRow(
        uuid=name,
        folder=str(trunk.folder),
        project=ends.project,
        title="",
        started=ends.started,
        ended=ends.ended,
        versions=_named(made, "version"),
        models=_named(made, "model"),
        git_branches=_named(made, "git_branch"),
        requests=len({response.key for file in made for response in file.responses if response.rows}),
        bytes=sum(file.size for file in files.all),
        nanodollars=None,
        **untold,
    )


def _named(made: Iterable[FileRows], name: str) -> list[str]:
    """What the contexts of a session's responses have under a name."""
    return sorted({value for file in made for context in file.contexts if (value := getattr(context, name))})
