"""Secrets in structures: JSON values, lines of a transcript, whole sessions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Raw, Struct

from reread.records import Record, parse_or_none
from reread.sessions import Session

from .finding import is_assigned, kind_of_name
from .redacting import PLACEHOLDER, Redactor

_UNREADABLE = frozenset({"signature"})
"""Fields of the API's own, which nobody can read."""


def learn_value(redactor: Redactor, value: Any) -> None:
    """Takes note of the secrets of a JSON value, names of fields included."""
    redactor.learn_all(list(texts_of(value)))
    for name, text in _assigned(value):
        redactor.learn_assigned(name, text)


def redacted_value(redactor: Redactor, value: Any) -> Any:
    """The same value without secrets; the same object where it has none.

    Without recursion: JSON may be nested deeper than Python calls.
    """
    for name, text in _assigned(value):  # names are numbered from the top, parts are made from the bottom
        if redactor.redact(text) == text:
            redactor.redact_assigned(name, text)
    made: dict[int, Any] = {}
    waiting: list[tuple[Any, bool]] = [(value, False)]
    while waiting:
        each, are_parts_made = waiting.pop()
        if not isinstance(each, list | dict):
            continue
        if not are_parts_made:
            waiting.append((each, True))
            parts = each.values() if isinstance(each, dict) else each
            waiting.extend((part, False) for part in parts if isinstance(part, list | dict))
        elif isinstance(each, list):
            items = [_part(redactor, item, made) for item in each]
            made[id(each)] = items if _is_other(items, each) else each
        else:
            own = dict(_own_assigned(each))
            fields = {redactor.redact(key): _field(redactor, each, key, own, made) for key in each}
            is_changed = _is_other(list(fields.values()), list(each.values())) or fields.keys() != each.keys()
            made[id(each)] = fields if is_changed else each
    return _part(redactor, value, made)


def _part(redactor: Redactor, value: Any, made: dict[int, Any]) -> Any:
    return redactor.redact(value) if isinstance(value, str) else made.get(id(value), value)


def _is_other(one: list[Any], other: list[Any]) -> bool:
    """Whether any part was made anew; a comparison by value would go down to the bottom at every level."""
    return len(one) != len(other) or any(new is not old for new, old in zip(one, other, strict=True))


def _field(redactor: Redactor, fields: dict[str, Any], key: str, assigned: dict[str, str], made: dict[int, Any]) -> Any:
    value = fields[key]
    if _is_unreadable(fields, key):
        return value
    if key in assigned:
        known = redactor.redact(value)
        return known if known != value else redactor.redact_assigned(assigned[key], value)
    return _part(redactor, value, made)


def _is_unreadable(fields: dict[str, Any], key: str) -> bool:
    """Bytes of an image: among so many letters everything occurs."""
    return key in _UNREADABLE or (key == "data" and fields.get("type") == "base64") or key == "base64"


def texts_of(value: Any) -> Iterator[str]:
    """Every text of a JSON value, names of fields included; lines that stand in a list also together."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            texts = [item for item in each if isinstance(item, str)]
            if len(texts) > 1:
                yield "\n".join(texts)  # the lines of a patch: a key spans several
            waiting.extend(reversed(each))
        elif isinstance(each, dict):
            yield from each
            waiting.extend(item for key, item in reversed(each.items()) if not _is_unreadable(each, key))


def _assigned(value: Any) -> Iterator[tuple[str, str]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield from ((name, each[key]) for key, name in _own_assigned(each))
            waiting.extend(item for item in reversed(each.values()) if isinstance(item, list | dict))
        elif isinstance(each, list):
            waiting.extend(item for item in reversed(each) if isinstance(item, list | dict))


def _own_assigned(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields that are secrets by their name, with the name; `{"name": "DB_PASSWORD", "value": …}` is one too."""
    for key, value in fields.items():
        if type(value) is str and is_assigned(key, value) and not _is_unreadable(fields, key):
            yield key, key
    if "value" in fields:
        named = fields.get("name") or fields.get("key")
        if is_assigned(named, fields["value"]):
            yield "value", str(named)


def learn_line(redactor: Redactor, raw: bytes) -> None:
    """Takes note of a line of JSON; of what is none, as text."""
    value = parse_or_none(raw)
    learn_value(redactor, value if value is not None else raw.decode("utf-8", "replace"))


def secrets_of(redactor: Redactor, raw: bytes) -> list[tuple[str, str]]:
    """Kind and value of every secret of a line; the redactor remembers texts that it has seen."""
    value = parse_or_none(raw)
    everything = list(texts_of(value)) if value is not None else [raw.decode("utf-8", "replace")]
    redactor.learn_all(everything)
    found = [(each.kind, each.value) for text in everything for each in redactor.found_in(text)]
    values = {secret for _, secret in found}
    named = [(kind_of_name(name), text) for name, text in _assigned(value) if text not in values]
    return [*found, *named]


def redacted_line(redactor: Redactor, raw: bytes) -> bytes:
    """A line of JSON without secrets; byte for byte the same where it has none."""
    value = parse_or_none(raw)
    if value is None:
        text = raw.decode("utf-8", "surrogateescape")
        return redactor.redact(text).encode("utf-8", "surrogateescape")
    if redactor.is_clean(list(texts_of(value))) and not any(_assigned(value)):
        return raw
    made = redacted_value(redactor, value)
    if made is value:
        return raw
    return json.dumps(made, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def redacted_session(session: Session, redactor: Redactor) -> Session:
    """The same session, every value of it without secrets. All of it is learned first."""
    for raw in _everything(session):
        learn_line(redactor, raw)
    for talk in (session, *session.subagents):
        for call in talk.tool_calls:
            if call.persisted is not None:
                redactor.learn(session.full_output(call))
    for text in (session.title, *session.files, *session.problems):
        redactor.learn(text)
    return session.rewritten(Rewriter(redactor))


def _everything(session: Session) -> Iterator[bytes]:
    for records in (session.records, *(agent.records for agent in session.subagents)):
        yield from (record.raw for record in records)
    for capture in session.captures:
        yield from (record.raw for record in capture.told.records)
        yield from (msgspec.json.encode(asked) for asked in capture.told.permissions.values())
    yield from (msgspec.json.encode(agent.meta) for agent in session.subagents if agent.meta is not None)


class Rewriter:
    """Takes the secrets out of any value a session is made of; a record that is given twice stays one."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._records: dict[int, tuple[Record, Record]] = {}
        self._forms: dict[type, Callable[[Any], Any]] = {
            str: redactor.redact,
            bytes: self._lines,
            Raw: lambda value: Raw(redacted_line(redactor, bytes(value))) if bytes(value) else value,
            dict: self._mapping,
            list: lambda value: [self(item) for item in value],
            tuple: lambda value: tuple(self(item) for item in value),
        }

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Record):
            return self._record(value)
        form = self._forms.get(type(value))
        if form is not None:
            return form(value)
        return self._struct(value) if isinstance(value, Struct) else value

    def _record(self, record: Record) -> Record:
        known = self._records.get(id(record))
        if known is None:
            known = self._records[id(record)] = (record, self._struct(record))
        return known[1]

    def _struct(self, value: Struct) -> Any:
        skipped = _UNREADABLE | ({"data"} if getattr(value, "type", None) == "base64" else frozenset())
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in skipped}
        changed = {name: made for name, old in fields.items() if (made := self(old)) is not old and made != old}
        return msgspec.structs.replace(value, **changed) if changed else value

    def _mapping(self, value: dict[Any, Any]) -> Any:
        if all(isinstance(item, str | int | float | bool | list | dict | type(None)) for item in value.values()):
            return redacted_value(self._redactor, value)
        return {self(key): self(item) for key, item in value.items()}

    def _lines(self, raw: bytes) -> bytes:
        return b"\n".join(redacted_line(self._redactor, line) for line in raw.split(b"\n"))


def left_in_value(redactor: Redactor, value: Any) -> Counter[str]:
    """What a JSON value still holds, by kind."""
    left: Counter[str] = Counter()
    for text in texts_of(value):
        left += redactor.left_in(text)
    left += Counter(kind_of_name(name) for name, text in _assigned(value) if not PLACEHOLDER.search(text))
    return left
