"""JSON from bytes that strict parsers refuse.

msgspec rejects lone surrogates, NaN, a BOM, NUL padding, control characters in strings and bad UTF-8.
All of them occur or are reported in transcripts, so the second step is the standard library with every
strictness off; what is still not JSON is reported with a reason.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

FAILURES = (msgspec.MsgspecError, ValueError, RecursionError, OverflowError)
"""All that decoding hostile bytes may raise; UnicodeDecodeError and JSONDecodeError are ValueErrors."""

_PADDING = "\ufeff\0 \t\r\n"
_SURROGATES = re.compile("[\ud800-\udfff]")
_LONGEST_INT = 4000
"""Python refuses to read integers of more than 4,300 digits."""


class Parsed(NamedTuple):
    value: Any
    rest: bytes
    """What stood after the first value on the line."""


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INT else float(digits)


_json = json.JSONDecoder(strict=False, parse_int=_number)


def parse(raw: bytes) -> Parsed:
    """The first JSON value on a line; raises one of FAILURES when there is none."""
    try:
        return Parsed(msgspec.json.decode(raw), b"")
    except FAILURES:
        return _parse_leniently(raw)


def _parse_leniently(raw: bytes) -> Parsed:
    text = raw.decode("utf-8", "surrogateescape").lstrip(_PADDING)
    value, end = _json.raw_decode(text)
    rest = text[end:].lstrip(_PADDING)
    return Parsed(without_surrogates(value), rest.encode("utf-8", "surrogateescape"))


def parse_or_none(raw: bytes | memoryview | msgspec.Raw) -> Any:
    """The value, or None where there is none to be had."""
    try:
        return parse(bytes(raw)).value
    except FAILURES:
        return None


def without_surrogates(value: Any) -> Any:
    """Replaces what UTF-8 cannot hold, at any depth; the raw bytes keep the original."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


OURS = f"reread:{id(object()):x}:"
"""Begins the names of what we add to a line's own fields; it differs in every process, so no line can forge it."""
UNKNOWN_TAG = f"{OURS}unknown"
"""The tag of types that hold what no other type describes."""
ABSENT = msgspec.Raw(b"null")
"""Default of fields kept as raw JSON: absent reads the same as null."""
