"""The rows as values. Times are milliseconds since 1970 in UTC, money is whole nano-dollars, None where there is none.

A line is named by its file and the offset of its first byte, which stay the same however often a session is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict

from reread.billing.response import Response
from reread.errors import BadInput

from .session_row import SessionRow

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
"""Increases when a table or a column is removed or gets another meaning; new ones may come without it."""
WITH_TEXT, REDACTED, SIGNED, EMPTY = range(4)
"""States of a thought: with its text; encrypted; without text but with a signature; empty."""


class CallRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A tool call."""

    id: str
    name: str
    status: str
    time: int | None
    seconds: float | None
    path: str | None
    digest: int | None
    """Equal for all copies of the call, in whatever file."""
    offset: int
    """Offset of its line."""
    length: int
    """Length of its line."""


class PromptRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A prompt; its words are in the text of its line."""

    offset: int
    part: int
    """Its number among the prompts of the same line, nearly always 0."""
    length: int
    time: int | None
    digest: int | None


class ThoughtRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A thinking block; its words are in the text of its line."""

    offset: int
    part: int
    """Its number among the thinking blocks of the line."""
    length: int
    time: int | None
    state: int
    """`WITH_TEXT`, `REDACTED`, `SIGNED` or `EMPTY`."""
    characters: int
    digest: int | None


class TextRow(Struct, frozen=True, kw_only=True, gc=False):
    """A text that can be searched."""

    offset: int
    part: int
    """Its number among the texts of the line."""
    length: int
    time: int | None
    uuid: str | None
    field: str
    """A `reread.features.search_text.Field`."""
    text: str


class RequestContext(Struct, frozen=True, kw_only=True):
    """What many requests have in common: how and where they were made."""

    model: str | None
    version: str | None
    project: str | None
    git_branch: str | None
    agent: str | None
    skill: str | None
    plugin: str | None
    mcp_server: str | None
    mcp_tool: str | None
    tools: tuple[str, ...]
    speed: str | None
    geo: str | None
    tier: str | None
    stop_reason: str | None


class ClientTotalRow(Struct, frozen=True, kw_only=True):
    """The total cost that the client reported in a line of a file."""

    source: str
    began: int | None
    time: int | None
    first: int
    """The first total reported in this count, in nano-dollars."""
    nanodollars: int
    models: dict[str, dict[str, int]] | None


class LimitRow(Struct, frozen=True, kw_only=True):
    """What a line of a file says of a usage limit."""

    offset: int
    name: str
    """`five_hour`, `seven_day` or another name of the client; `usage` where it does not say which."""
    time: int | None
    percent: float | None = None
    resets: int | None = None
    is_hit: bool = False


class MomentRow(Struct, frozen=True, kw_only=True):
    """A moment of friction."""

    uuid: str | None
    agent: str | None
    kind: str
    time: int | None
    evidence: str
    confidence: float
    cause: str
    about: str
    seconds: float | None
    tokens: int | None
    nanodollars: int | None
    details: str
    spent_first: int | None
    spent_last: int | None


class TypedPrompt(Struct, frozen=True, array_like=True, gc=False):
    """When a prompt was typed, and the CRC-32 of its text; a fork repeats both."""

    time: int | None
    mark: int


class FileRows(Struct, frozen=True, kw_only=True):
    """What one file of a session amounts to. A file that is no conversation has no rows but its texts."""

    file: str
    """The file's name in these rows: its path, unless whoever asked gave another."""
    kind: str
    agent: str | None = None
    lines: int = 0
    malformed: int = 0
    end: int | None = None
    """Where its last whole line ends; None where the file is not read by lines."""
    is_torn: bool = False
    """Whether half a line follows."""
    contexts: list[RequestContext] = []
    responses: list[Response] = []
    """As this file reports them; `context` of each is an index into `contexts`. `billing.settle` says which of several
    copies counts."""
    calls: list[CallRow] = []
    prompts: list[PromptRow] = []
    thoughts: list[ThoughtRow] = []
    texts: list[TextRow] = []
    client_totals: list[ClientTotalRow] = []
    client_totals_of: str = ""
    """The session that the totals are about; empty for the one that the file belongs to."""
    limits: list[LimitRow] = []


class Rows(Struct, frozen=True, kw_only=True):
    """What a session amounts to."""

    session: SessionRow
    files: tuple[FileRows, ...]
    moments: tuple[MomentRow, ...] = ()
    """Moments of friction."""
    typed: tuple[TypedPrompt, ...] = ()

    def to_dicts(self) -> dict[str, list[dict[str, Any]]]:
        """The rows as plain values by table; each row of what is in a file names the file."""
        return {
            "session": [self.session._asdict()],
            "file": [{name: getattr(each, name) for name in FILE_COLUMNS} for each in self.files],
            "response": [_response(each, row) for each in self.files for row in each.responses],
            **{
                table: [{"file": each.file, **asdict(row)} for each in self.files for row in getattr(each, rows)]
                for table, (rows, _) in IN_FILES.items()
            },
            "moment": [asdict(row) for row in self.moments],
        }

    def to_arrow(self) -> dict[str, pa.Table]:
        """The rows as Arrow tables. Raises BadInput without the package `pyarrow`, which comes with `reread[lake]`."""
        return _arrow_tables(self.to_dicts())


FILE_COLUMNS = ("file", "kind", "agent", "lines", "malformed", "is_torn")
IN_FILES: dict[str, tuple[str, type[Struct]]] = {
    "call": ("calls", CallRow),
    "prompt": ("prompts", PromptRow),
    "thought": ("thoughts", ThoughtRow),
    "text": ("texts", TextRow),
}
"""Tables of what is in files: the field of `FileRows` that has the rows, and their type."""
_NOT_ALONE = {"file", "head", "began", "ended", "context", "owner_context", "owner", "files"}
"""Fields of a response that other files, or the list of contexts, give their meaning."""
RESPONSE_COLUMNS = tuple(name for name in Response.__struct_fields__ if name not in _NOT_ALONE)


def _response(file: FileRows, row: Response) -> dict[str, Any]:
    context = asdict(file.contexts[row.context])
    values = {name: getattr(row, name) for name in RESPONSE_COLUMNS}
    return {"file": file.file, **context, **values, "doubt": int(row.doubt)}


def _arrow_tables(rows: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise BadInput("Arrow tables need the package pyarrow; install reread[lake]") from error
    plain = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}

    def schema(types: Mapping[str, Any]) -> Any:
        return pa.schema(
            [
                (name, pa.list_(pa.string()) if get_origin(type_) in (list, tuple) else plain[type_])
                for name, type_ in types.items()
            ]
        )

    return {name: pa.Table.from_pylist(rows[name], schema=schema(types)) for name, types in _types().items()}


def _types() -> dict[str, dict[str, Any]]:
    """The types of the columns of each table, without None."""
    response = _fields(RequestContext) | {name: _fields(Response)[name] for name in RESPONSE_COLUMNS}
    return {
        "session": _fields(SessionRow),
        "file": {name: _fields(FileRows)[name] for name in FILE_COLUMNS},
        "response": {"file": str, **response},
        **{table: {"file": str, **_fields(kind)} for table, (_, kind) in IN_FILES.items()},
        "moment": _fields(MomentRow),
    }


def _fields(kind: type) -> dict[str, Any]:
    return {name: _without_none(type_) for name, type_ in get_type_hints(kind).items()}


def _without_none(type_: Any) -> Any:
    inside = [each for each in get_args(type_) if each is not NoneType]
    return inside[0] if NoneType in get_args(type_) else type_
