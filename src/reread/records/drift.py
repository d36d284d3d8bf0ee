"""Format drift: what a line says that no type of ours describes.

Clients change every week and publish no schema, so this is how a new field or record type is noticed. It costs
a second parse of each line; `decode` itself never pays for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, get_args, get_origin

from msgspec import Struct

from reread.lazy import NamedTuple

from .attachments import UnknownAttachment
from .base import Record, Unknown
from .content import UnknownBlock
from .lenient import fields_of, options, struct_for, transcript_spelling
from .state import UnknownProgress
from .system import SYSTEM_SUBTYPES, System

_FAMILY: dict[type[Struct], str] = {
    UnknownBlock: "block",
    UnknownAttachment: "attachment",
    UnknownProgress: "progress",
}


class Occurrences(NamedTuple):
    """How many objects there are of a kind, and how many of them have each field."""

    objects: int
    fields: dict[str, int]


class Drift:
    """Counts of unknown types and unmodelled fields over any number of records."""

    def __init__(self) -> None:
        self.unknown_types: Counter[str] = Counter()
        self.unmodelled_fields: Counter[str] = Counter()
        self.unexpected_values: Counter[str] = Counter()
        """Known fields whose value had a type we did not expect."""
        self._shapes: Counter[tuple[str, tuple[str, ...]]] = Counter()
        """Objects by where they stand and which fields they have: lines of one client share few shapes."""

    @property
    def fields(self) -> dict[str, Occurrences]:
        """Of every type of record, and of the message in it, how often each field occurs; the most frequent first."""
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
        label, data = _label(record), record.data  # which parses the line: once is enough
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
        for is_type, name in _unmodelled(type(record), data, label):
            (self.unknown_types if is_type else self.unmodelled_fields)[name] += 1


def _label(record: Record) -> str:
    name = record.type or "(no type)"
    return f"{name}/{record.subtype}" if isinstance(record, System) and record.subtype else name


def _unmodelled(kind: type[Struct], value: dict[str, Any], path: str) -> Iterator[tuple[bool, str]]:
    """(is it a type, its name) for everything in an object that `kind` has no room for."""
    strangers, inner = _plan(kind, tuple(value))
    for key in strangers:
        yield False, f"{path}.{key}"
    for key, annotation in inner:
        yield from _inside(annotation, value[key], f"{path}.{key}")


@lru_cache(maxsize=4096)
def _plan(kind: type[Struct], keys: tuple[str, ...]) -> tuple[list[str], list[tuple[str, Any]]]:
    """Keys without a field, and keys whose value is worth looking into. Lines of one client share few shapes."""
    known = dict(fields_of(kind).values())
    found = {key: known.get(key, known.get(transcript_spelling(key))) for key in keys}
    strangers = [key for key, annotation in found.items() if annotation is None]
    inner = [(key, annotation) for key, annotation in found.items() if _may_hold_structs(annotation)]
    return [key for key in strangers if key != kind.__struct_config__.tag_field], inner


def _may_hold_structs(annotation: Any) -> bool:
    return any(
        get_origin(member) in (list, dict) or (isinstance(member, type) and issubclass(member, Struct))
        for member in options(annotation)
    )


def _inside(annotation: Any, value: Any, path: str) -> Iterator[tuple[bool, str]]:
    if isinstance(value, dict) and (kind := _struct_for(annotation, value.get("type"))) is not None:
        yield from _in_struct(kind, value, path)
        return
    for member in options(annotation):
        if isinstance(value, list) and get_origin(member) is list:
            for item in value:
                yield from _inside(get_args(member)[0], item, path)
        elif isinstance(value, dict) and get_origin(member) is dict:
            for item in value.values():
                yield from _inside(get_args(member)[1], item, path)


def _in_struct(kind: type[Struct], value: dict[str, Any], path: str) -> Iterator[tuple[bool, str]]:
    tag = kind.__struct_config__.tag
    if kind in _FAMILY:
        yield True, f"{_FAMILY[kind]}/{value.get('type')}"
    else:
        family = next((name for unknown, name in _FAMILY.items() if issubclass(kind, unknown.__base__ or kind)), None)
        yield from _unmodelled(kind, value, f"{family}/{tag}" if family else path)


@lru_cache(maxsize=4096)
def _struct_by_tag(annotation: Any, tag: str | None) -> type[Struct] | None:
    return struct_for(options(annotation), {"type": tag})


def _struct_for(annotation: Any, tag: object) -> type[Struct] | None:
    return _struct_by_tag(annotation, tag if isinstance(tag, str) else None)
