"""Bytes to records: the only place where a line is interpreted.

Steps are tried in order, the cheapest first. Nearly every line is done after the first, one typed decode; the others
exist so that no line is ever lost:
    1. msgspec, straight into the type
    2. plain values (msgspec, then the lenient standard library), aliases resolved, then into the type
    3. the type filled field by field, setting aside what does not fit
    4. `Unknown`, with the bytes and the reason
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Union

import msgspec
from msgspec.structs import asdict, fields, force_setattr, replace

from reread.decoders import json_decoder
from reread.errors import BadInput

from . import attachments, state  # noqa: F401  every type of theirs is in `RECORD_TYPES`
from .base import SMALL_LINE, SPREAD, Record, Unknown, is_too_large
from .conversation import ApiMessage, Assistant, User
from .frames import StreamEvent, message_of_events
from .lenient import FAILURES, OURS, parse, salvage, tagged, with_transcript_spelling
from .system import SYSTEM_SUBTYPES, System, ThinkingTokens

RECORD_TYPES = {tag: kind for tag, kind in tagged(Record).items() if not tag.startswith("reread:")}
"""By the `type` of a line. No line has a type whose tag is ours."""
AnyRecord: Any = Union[tuple(RECORD_TYPES.values())]  # noqa: UP007  of as many as there are


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Cached and made on first use: the decoders of all types together cost 40 ms, more than most commands take."""
    return json_decoder(kind)


class _Tag(msgspec.Struct):
    type: str


_tag_of = json_decoder(_Tag).decode
_EARLY = 3000
"""How many lines are decoded before the decoder of all types is made (6 ms): a search may read a single line."""
_early_lines = 0
_USUAL = User | Assistant


def _decode_early(raw: bytes) -> Record:
    """Decodes with the decoder of the line's own type. After `_EARLY` lines, all lines go to the decoder of all
    types."""
    global _decode_any, _early_lines
    _early_lines += 1
    if _early_lines > _EARLY:
        _decode_any = _decoder(AnyRecord).decode
    record: Record
    try:  # two of three lines; this decoder refuses all others at once
        record = _decoder(_USUAL).decode(raw)
    except FAILURES:
        kind = RECORD_TYPES.get(_tag_of(raw).type)
        if kind is None:
            raise msgspec.ValidationError("an unknown type") from None
        record = _decoder(kind).decode(raw)
    return record


_decode_any: Callable[[bytes], Record] = _decode_early

AnyBytes = bytes | bytearray | memoryview


def expect_many() -> None:
    """Makes the decoder of all types now, so that worker processes forked afterwards need not each make it."""
    global _decode_any
    _decode_any = _decoder(AnyRecord).decode


def decode(raw: AnyBytes | str) -> Record:
    """The record on a line. Never raises for the line's content: what cannot be read becomes an `Unknown`."""
    if type(raw) is not bytes:
        raw = as_bytes(raw)
    if len(raw) > SMALL_LINE and is_too_large(raw):
        return _too_large(raw)
    try:
        record: Record = _decode_any(raw)
    except FAILURES:
        return _decode_slowly(raw)
    if record.session_id is None or type(record) is System:
        record = _look_again(record, raw)
    if type(record) is Assistant and record.content is None:
        return _decode_slowly(raw)
    force_setattr(record, "raw", raw)
    return record


def as_bytes(line: AnyBytes | str) -> bytes:
    """Text as UTF-8; bytes as a copy, because a buffer may be refilled. Raises BadInput for anything else."""
    if isinstance(line, str):
        return line.encode("utf-8", "surrogatepass")
    if not isinstance(line, AnyBytes):
        raise BadInput(f"{type(line).__name__} is not a line; give bytes or text")
    return bytes(line)


def decode_all(raw: bytes, line: int = 0, offset: int = 0) -> list[Record]:
    """Every record on a line, with line number and offset: nearly always one, more where two writers met."""
    records = []
    while True:
        record = decode(raw)
        force_setattr(record, "line", line)
        force_setattr(record, "offset", offset)
        records.append(record)
        if not record.rest:
            return records
        offset += len(raw) - len(record.rest)
        raw = record.rest


def _look_again(record: Record, raw: bytes) -> Record:
    """Finishes the few lines that one typed decode does not: system subtypes, and the stream's spelling."""
    kind = _system_kind(record.subtype) if isinstance(record, System) else type(record)
    is_frame = record.session_id is None and record.session_id_twin is not None
    if is_frame and kind not in _STREAM_ONLY:
        return _decode_slowly(raw)
    if kind is not type(record):
        try:
            record = _decoder(kind).decode(raw)
        except FAILURES:
            return _decode_slowly(raw)
    if is_frame:
        force_setattr(record, "session_id", record.session_id_twin)
        force_setattr(record, "is_frame", True)
    return record


_STREAM_ONLY = frozenset({StreamEvent, ThinkingTokens})
"""Nine of ten lines of a stream. They never occur in a transcript, so only their session id has two spellings."""


def _system_kind(subtype: str | None) -> type[System]:
    return SYSTEM_SUBTYPES.get(subtype or "", System)


@cache
def _envelope() -> msgspec.json.Decoder[Any]:
    """Reads the common fields alone: all else is skipped without memory for it."""
    common = [each for each in fields(Record) if not each.encode_name.startswith(OURS)]
    named = {each.name: each.encode_name for each in common}
    made = msgspec.defstruct("Envelope", [(each.name, each.type, None) for each in common], rename=named)
    return json_decoder(made)


def _too_large(raw: bytes) -> Unknown:
    """A line that is kept and not read, because its values could take any amount of memory."""
    reason = f"a line of {len(raw) >> 20:,} MB, too large to be read"
    try:
        common, name = asdict(_envelope().decode(raw)), _tag_of(raw).type
    except FAILURES:
        common, name = {}, None
    return Unknown(**common, type_name=name, reason=reason, malformed=True, raw=raw)


def _decode_slowly(raw: bytes) -> Record:
    try:
        value, rest = parse(raw)
        if not isinstance(value, dict):
            return Unknown(reason=f"not a JSON object but {_named(value)}", malformed=True, raw=raw)
        record = _from_object(value)
    except RecursionError:
        return Unknown(reason="nested too deeply", malformed=True, raw=raw)
    except FAILURES as failure:
        return Unknown(reason=_reason(raw, failure), malformed=True, raw=raw)
    force_setattr(record, "raw", raw[: len(raw) - len(rest)] if rest else raw)
    force_setattr(record, "rest", rest)
    return record


def _from_object(value: dict[str, Any]) -> Record:
    is_frame = value.get("sessionId") is None and value.get("session_id") is not None
    value = with_transcript_spelling(value)
    kind = _kind_of(value)
    record = _unknown_type(value) if kind is None else _typed(kind, value)
    if type(record) is Assistant and record.content is None:
        record = _joined(record, value.get("message"))
    force_setattr(record, "is_frame", is_frame)
    return record


def _kind_of(value: dict[str, Any]) -> type[Record] | None:
    name = value.get("type")
    kind = RECORD_TYPES.get(name) if isinstance(name, str) else None
    if kind is System:
        subtype = value.get("subtype")
        return _system_kind(subtype if isinstance(subtype, str) else None)
    return kind


def _typed(kind: type[Record], value: dict[str, Any]) -> Record:
    try:
        found: Record = _decoder(kind).decode(msgspec.json.encode(value))
    except FAILURES:
        return _salvaged(kind, value)
    return found


def _salvaged(kind: type[Record], value: dict[str, Any]) -> Record:
    if isinstance(value.get("message"), str | list):
        value = {**value, "message": {"content": value["message"]}}
    flaws: list[str] = []
    record = salvage(kind, value, flaws)
    force_setattr(record, "flaws", tuple(flaws))
    return record


def _joined(record: Assistant, message: object) -> Assistant:
    """A reply whose message was stored as its characters (`{"0": "e", "1": "v"}`): a program spread the text of the
    API's event stream into an object. The characters are joined and read as such, or as the JSON or words they are."""
    if not isinstance(message, dict) or "0" not in message:
        return record
    text = "".join(str(message.get(str(place), "")) for place in range(len(message)))
    found = message_of_events(text)
    if found is None:
        try:
            found = _decoder(ApiMessage).decode(text.encode("utf-8", "replace"))
        except FAILURES:
            found = None
    if found is None or found.content is None:
        found = ApiMessage(content=text)
    return replace(record, message=found, flaws=(*record.flaws, SPREAD))


def _unknown_type(value: dict[str, Any]) -> Record:
    name = value.get("type")
    known = isinstance(name, str)
    record = _salvaged(
        Unknown, {key: item for key, item in value.items() if key not in ("reason", "malformed", "typeName")}
    )
    force_setattr(record, "type_name", name if known else None)
    force_setattr(record, "reason", f"unknown type {name!r}" if known else "an object without a type")
    return record


def _reason(raw: bytes, failure: Exception) -> str:
    if not raw.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        return "an empty line"
    position = getattr(failure, "pos", None)
    where = f" at character {position + 1}" if isinstance(position, int) else ""
    return f"not JSON{where}: {getattr(failure, 'msg', failure)}"


def _named(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
