"""Format drift: what lines contain that no type of ours describes.

Clients change every week and publish no schema, so this is how a new field or record type is noticed. It costs
a second parse of each line; `decode` itself never pays for it.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, NamedTuple, get_args, get_origin

from msgspec import Struct

from .attachments import UnknownAttachment
from .base import SPREAD, Record, Unknown
from .book import read_book
from .content import UnknownBlock
from .lenient import fields_of, options, struct_for, transcript_spelling
from .state import UnknownProgress
from .system import SYSTEM_SUBTYPES, System

_FAMILY: dict[type[Struct], str] = {UnknownBlock: "block", UnknownAttachment: "attachment", UnknownProgress: "progress"}


class Occurrences(NamedTuple):
    """The number of objects of a kind, and how many of them have each field."""

    objects: int
    fields: dict[str, int]


class Drift:
    """Counts unknown types and unmodelled fields over any number of records."""

    def __init__(self) -> None:
        self.unknown_types: Counter[str] = Counter()
        self.unmodelled_fields: Counter[str] = Counter()
        self.unexpected_values: Counter[str] = Counter()
        """Known fields whose value had a type we did not expect."""
        self._shapes: Counter[tuple[str, tuple[str, ...]]] = Counter()
        """Objects by their place and their field names: the lines of one client have few different shapes."""

    @property
    def fields(self) -> dict[str, Occurrences]:
        """How often each field occurs in every type of record, and in its message; the most frequent first."""
        objects: Counter[str] = Counter()
        fields: dict[str, Counter[str]] = {}
        for (label, names), number in self._shapes.items():
            objects[label] += number
            counted = fields.setdefault(label, Counter())
            for name in names:
                counted[name] += number
        most = objects.most_common()
        return {label: Occurrences(number, dict(fields[label].most_common())) for label, number in most}

    def add(self, record: Record) -> None:
        label, data = _label(record), record.data  # `data` parses the line, so read it only once
        if SPREAD in record.flaws:  # counted as one shape, not as thousands of fields
            data = {**data, "message": {}}
        if not (isinstance(record, Unknown) and record.malformed):
            self._shapes[label, tuple(data)] += 1
            message = data.get("message")
            if isinstance(message, dict):
                self._shapes[f"{label}.message", tuple(message)] += 1
        if isinstance(record, Unknown):
            if not record.malformed:
                self.unknown_types[label] += 1
            return
        if isinstance(record, System) and record.subtype and record.subtype not in SYSTEM_SUBTYPES:
            self.unknown_types[label] += 1
        if record.flaws:
            self.unexpected_values.update(f"{label}.{flaw}" for flaw in record.flaws)
        found: list[Found] = []
        _unmodelled(type(record), data, label, found)
        for is_type, name in found:
            (self.unknown_types if is_type else self.unmodelled_fields)[name] += 1

    def join(self, later: Drift) -> None:
        """Adds the counts of another `Drift`."""
        self.unknown_types.update(later.unknown_types)
        self.unmodelled_fields.update(later.unmodelled_fields)
        self.unexpected_values.update(later.unexpected_values)
        self._shapes.update(later._shapes)


def _label(record: Record) -> str:
    name = record.type or "(no type)"
    return f"{name}/{record.subtype}" if isinstance(record, System) and record.subtype else name


Found = tuple[bool, str]
"""Whether it is an unknown type (else an unmodelled field), and its name."""


def _unmodelled(kind: type[Struct], value: dict[str, Any], path: str, found: list[Found]) -> None:
    """Adds everything in an object that `kind` has no field for."""
    strangers, inner = _plan(kind, tuple(value), path)
    found += strangers
    for key, room, place in inner:
        each = value[key]
        if type(each) is dict or type(each) is list:
            _inside(room, each, place, found)


class _Room:
    """The types that a field may hold, from its annotation. Annotations are slow to inspect."""

    __slots__ = ("holds_structs", "items", "members", "values")

    def __init__(self, annotation: Any) -> None:
        self.members = options(annotation)
        self.items = [_Room(get_args(member)[0]) for member in self.members if get_origin(member) is list]
        self.values = [_Room(get_args(member)[1]) for member in self.members if get_origin(member) is dict]
        is_struct = any(isinstance(member, type) and issubclass(member, Struct) for member in self.members)
        self.holds_structs: bool = is_struct or any(room.holds_structs for room in (*self.items, *self.values))


_Plan = tuple[list[Found], list[tuple[str, _Room, str]]]


@lru_cache(maxsize=4096)
def _plan(kind: type[Struct], keys: tuple[str, ...], path: str) -> _Plan:
    """The findings for keys without a field, and the keys whose values must be inspected, with the place of each.

    Cached, because the lines of one client have few different shapes.
    """
    known = dict(fields_of(kind).values())
    annotations = {key: known.get(key, known.get(transcript_spelling(key))) for key in keys}
    tag = kind.__struct_config__.tag_field
    unread = {name for each in kind.__mro__ for name in read_book().unread.get(each.__name__, ())}
    unknown = [key for key, annotation in annotations.items() if annotation is None and key != tag]
    strangers = [key for key in unknown if unread.isdisjoint((key, transcript_spelling(key)))]
    rooms = {key: _Room(annotation) for key, annotation in annotations.items()}
    inner = [(key, room, f"{path}.{key}") for key, room in rooms.items() if room.holds_structs]
    return [(False, f"{path}.{key}") for key in strangers], inner


def _inside(room: _Room, value: Any, path: str, found: list[Found]) -> None:
    if isinstance(value, dict):
        tag = value.get("type")
        kind = _struct_for(room, tag if isinstance(tag, str) else None)
        if kind is not None:
            _in_struct(kind, value, path, found)
            return
        for inner in room.values:
            for item in value.values():
                _inside(inner, item, path, found)
    elif isinstance(value, list):
        for inner in room.items:
            for item in value:
                _inside(inner, item, path, found)


def _in_struct(kind: type[Struct], value: dict[str, Any], path: str, found: list[Found]) -> None:
    if kind in _FAMILY:
        found.append((True, f"{_FAMILY[kind]}/{value.get('type')}"))
    else:
        _unmodelled(kind, value, _place_of(kind) or path, found)


@lru_cache(maxsize=4096)
def _place_of(kind: type[Struct]) -> str | None:
    """The name of a type within its family, which is the same wherever it occurs; None if it has no family."""
    family = next((name for unknown, name in _FAMILY.items() if issubclass(kind, unknown.__base__ or kind)), None)
    return f"{family}/{kind.__struct_config__.tag}" if family else None


@lru_cache(maxsize=4096)
def _struct_for(room: _Room, tag: str | None) -> type[Struct] | None:
    return struct_for(room.members, {"type": tag})
