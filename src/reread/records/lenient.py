"""Values that strict parsers refuse: invalid JSON, times in other forms, two spellings of names, values of wrong
types."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct

from reread import lazy
from reread.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    import json
else:  # only for lines that msgspec cannot read
    lazy.bind(globals())

Timestamp = str | int | float | None

MILLISECONDS_FROM = 1e11
"""Numbers above this are milliseconds: as seconds they would lie after the year 5138."""


def parse_time(value: object) -> datetime | None:
    """UTC time of a raw timestamp; None when there is none or it makes no sense.

    Not cached, though the lines of a response repeat their times: a lookup takes longer than parsing.
    """
    if not isinstance(value, str):
        return None if isinstance(value, bool) or not isinstance(value, int | float) else _from_number(value)
    try:
        moment = datetime.fromisoformat(value.strip())
        if moment.tzinfo is UTC:  # the client's own form, already in UTC
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_number(value: float) -> datetime | None:
    seconds = value / 1000 if abs(value) > MILLISECONDS_FROM else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


IRREGULAR = {
    "parent_tool_use_id": "parentToolUseID",
    "tool_use_id": "toolUseID",
    "source_tool_use_id": "sourceToolUseID",
    "source_tool_assistant_uuid": "sourceToolAssistantUUID",
}
"""Stream spellings whose transcript spelling is not plain camelCase; all others follow the rule."""

_CAMEL_INSIDE = ("compact_metadata", "preserved_segment", "preserved_messages", "thinking_metadata")


@cache
def transcript_spelling(key: str) -> str:
    """`session_id` -> `sessionId`."""
    return IRREGULAR.get(key) or re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), key)


def with_transcript_spelling(value: dict[str, Any]) -> dict[str, Any]:
    """Adds the transcript's spelling of every key in the stream's; keys the line already has keep their values."""
    added = {transcript_spelling(key): item for key, item in value.items() if "_" in key}
    for key in _CAMEL_INSIDE:
        inner = value.get(key)
        if isinstance(inner, dict):
            added[transcript_spelling(key)] = with_transcript_spelling(inner)
    return {**added, **value}


FAILURES = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
"""All exceptions that decoding hostile bytes may raise; UnicodeDecodeError and JSONDecodeError are ValueErrors."""

_PADDING = "\ufeff\0 \t\r\n"
_SURROGATES = lazy.pattern("[\ud800-\udfff]")
_LONGEST_INT = 4000
"""Python refuses to read integers of more than 4,300 digits."""


class Parsed(NamedTuple):
    value: Any
    rest: bytes
    """What follows the first value on the line."""


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


@cache
def _lenient_decoder() -> json.JSONDecoder:
    return json.JSONDecoder(strict=False, parse_int=_number)


def parse(raw: bytes) -> Parsed:
    """The first JSON value on a line; raises one of FAILURES when there is none."""
    try:
        return Parsed(msgspec.json.decode(raw), b"")
    except FAILURES:
        return _parse_leniently(raw)


def _parse_leniently(raw: bytes) -> Parsed:
    text = raw.decode("utf-8", "surrogateescape").lstrip(_PADDING)
    value, end = _lenient_decoder().raw_decode(text)
    rest = text[end:].lstrip(_PADDING)
    return Parsed(without_surrogates(value), rest.encode("utf-8", "surrogateescape"))


def parse_or_none(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """The first JSON value, or None if there is none."""
    try:
        return msgspec.json.decode(raw)
    except FAILURES:
        pass
    try:
        return _parse_leniently(bytes(raw)).value
    except FAILURES:
        return None


def without_surrogates(value: Any) -> Any:
    """Replaces surrogates, which UTF-8 cannot encode, at any depth; the raw bytes keep the original."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


OURS = f"reread:{id(object()):x}:"
"""Prefix of the names of what we add to a line's own fields. It differs in every process, so no line can forge it."""
UNKNOWN_TAG = f"{OURS}unknown"
"""The tag of types for objects that no other type describes."""
ABSENT = msgspec.Raw(b"null")
"""Default of fields kept as raw JSON: absent reads the same as null."""


S = TypeVar("S", bound=Struct)


def salvage(kind: type[S], value: dict[str, Any], flaws: list[str], path: str = "") -> S:
    """An instance of `kind` with every field that can be read; the others are named in `flaws`."""
    given: dict[str, Any] = {}
    for name, (key, annotation) in fields_of(kind).items():
        if value.get(key) is not None:
            given[name] = _fit(annotation, value[key], flaws, f"{path}{key}")
    return kind(**{name: found for name, found in given.items() if found is not None})


@cache
def fields_of(kind: type[Struct]) -> dict[str, tuple[str, Any]]:
    """Python name -> (name in the JSON, resolved annotation)."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: (f.encode_name, hints[f.name]) for f in msgspec.structs.fields(kind)}


def tagged(base: type[S]) -> dict[str, type[S]]:
    """The types below `base` that have a tag of their own, by it."""
    found: dict[str, type[S]] = {}
    for kind in base.__subclasses__():
        tag = str(kind.__struct_config__.tag)
        if tag not in (kind.__name__, base.__struct_config__.tag):  # msgspec's for a type that gives none, the base's
            found[tag] = kind
        found |= tagged(kind)
    return found


def options(annotation: Any) -> tuple[Any, ...]:
    """The members of a union except None, or the annotation alone."""
    if get_origin(annotation) in (Union, UnionType):
        return tuple(member for member in get_args(annotation) if member is not NoneType)
    return (annotation,)


def struct_for(members: tuple[Any, ...], value: dict[str, Any]) -> type[Struct] | None:
    """The struct type for an object: chosen by its tag if the types have one."""
    structs = [m for m in members if isinstance(m, type) and issubclass(m, Struct)]
    tagged = {m.__struct_config__.tag: m for m in structs if m.__struct_config__.tag is not None}
    if not tagged:
        return structs[0] if structs else None
    tag = value.get("type")
    return tagged.get(tag if isinstance(tag, str) else UNKNOWN_TAG) or tagged.get(UNKNOWN_TAG)


def _fit(annotation: Any, value: Any, flaws: list[str], path: str) -> Any:
    members = options(annotation)
    if Raw in members:
        return Raw(_encoded(value))
    if isinstance(value, dict) and (kind := struct_for(members, value)) is not None:
        return _fit_struct(kind, value, flaws, path)
    for member in members:
        if isinstance(value, list) and get_origin(member) is list:
            return _fit_items(get_args(member)[0], value, flaws, path)
        if isinstance(value, dict) and get_origin(member) is dict:
            inner = get_args(member)[1]
            return {str(key): _fit(inner, item, flaws, f"{path}.{key}") for key, item in value.items()}
    return _fit_plain(annotation, value, flaws, path)


def _fit_struct(kind: type[Struct], value: dict[str, Any], flaws: list[str], path: str) -> Struct:
    if kind.__struct_config__.tag == UNKNOWN_TAG:
        return unknown_value(kind, value)
    return salvage(kind, value, flaws, f"{path}.")


def _fit_items(annotation: Any, items: list[Any], flaws: list[str], path: str) -> list[Any]:
    """Keeps every list item that fits; items no type describes become unknown values where the type allows them."""
    unknown = struct_for(options(annotation), {"type": UNKNOWN_TAG})
    kept: list[Any] = []
    for index, item in enumerate(items):
        if unknown is not None and unknown.__struct_config__.tag == UNKNOWN_TAG and not isinstance(item, dict):
            kept.append(unknown_value(unknown, item))
            continue
        fitted = None if item is None else _fit(annotation, item, flaws, f"{path}[{index}]")
        if fitted is not None or NoneType in get_args(annotation):
            kept.append(fitted)
    return kept


def _fit_plain(annotation: Any, value: Any, flaws: list[str], path: str) -> Any:
    try:
        return msgspec.convert(value, annotation, strict=False)
    except FAILURES:
        flaws.append(path)
        return None


def unknown_value(kind: type[S], value: Any) -> S:
    """Wraps a value that no type describes; every type tagged unknown has these two fields."""
    tag = value.get("type") if isinstance(value, dict) else None
    return kind(type_name=tag if isinstance(tag, str) else None, value=Raw(_encoded(value)))


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(without_surrogates(value))
