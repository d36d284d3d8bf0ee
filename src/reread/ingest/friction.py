"""What went wrong in a session, as rows."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

import msgspec
from msgspec.structs import astuple, replace

from reread.analyses.friction import Event, Material, find
from reread.sessions import Session
from reread.store.friction import NO_TIME, PROMPTED
from reread.store.rows import FrictionBatch, FrictionRow
from reread.store.safe import compress
from reread.times import milliseconds


def friction_of(session: Session) -> FrictionBatch:
    """Moments of the conversation and its agents, and what patterns over many sessions need."""
    found = find(session, with_agents=True)
    return FrictionBatch(
        moments=[_row(event) for event in found.events],
        outcome=tuple(_clean(value) for value in astuple(found.outcome)),
        prompted=_prompted(session),
        material=compress(_packed(replace(found.material, session="", project=None))),
        changes=[(_text(each.path), _clean(each.uuid), milliseconds(each.time)) for each in found.instructions],
    )


def _row(event: Event) -> FrictionRow:
    return FrictionRow(
        uuid=_clean(event.uuid),
        agent=_clean(event.agent),
        kind=event.kind.value,
        time=milliseconds(event.time),
        evidence=_text(event.evidence),
        confidence=event.confidence,
        cause=event.cause.value,
        about=_text(event.about),
        seconds=event.loss.seconds,
        tokens=event.loss.tokens,
        nanodollars=event.loss.nanodollars,
        details=_json(event.details),
    )


def _prompted(session: Session) -> bytes:
    """When each prompt was typed, and a number that tells it from others: a fork repeats both."""
    return b"".join(
        struct.pack(PROMPTED, NO_TIME if (time := milliseconds(prompt.time)) is None else time, _number(prompt.text))
        for prompt in session.prompts
    )


def _number(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _packed(material: Material) -> bytes:
    try:
        return msgspec.msgpack.encode(material)
    except UnicodeEncodeError:
        return msgspec.msgpack.encode(_whole(msgspec.to_builtins(material)))


def _json(details: object) -> str:
    try:
        return msgspec.json.encode(details).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_whole(details)).decode()


def _whole(value: object) -> object:
    """With question marks where a text holds half a character, which no database takes."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {_whole(name): _whole(each) for name, each in value.items()}
    return [_whole(each) for each in value] if isinstance(value, list | tuple) else value


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _clean(value: Any) -> Any:
    return _text(value) if isinstance(value, str) else value
