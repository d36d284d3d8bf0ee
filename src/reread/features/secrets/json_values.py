"""The texts in JSON values: listing them, finding those whose field name makes them secret, and replacing them.

Nothing here is recursive: JSON may be nested deeper than Python's call stack allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from reread.records.lenient import FAILURES, parse

from .named_values import is_assigned, is_name_of_secret

_UNREADABLE = frozenset({"signature", "base64"})
"""Fields without readable text."""
_BYTES = frozenset({"data", *_UNREADABLE})


def is_unreadable(fields: Mapping[str, object], key: str) -> bool:
    """Bytes of an image, or a signature of the API: among so many random letters any pattern may occur by chance."""
    is_bytes = key in _UNREADABLE or (key == "data" and fields.get("type") == "base64")
    return is_bytes and not isinstance(fields[key], list | dict)


class WholeValue(NamedTuple):
    """A JSON value, with everything that is written in it."""

    value: Any
    """As all readers see it: the last value of a repeated name counts. None if the line is not JSON."""
    everything: Any
    """The same, but an object with repeated names is a list of objects that hold every value; a text if it is not
    JSON."""
    rest: bytes = b""
    """What follows the value on the line."""


def whole_value(raw: bytes) -> WholeValue:
    """The first value of a line, including values that repeated names hide; the line as a text if it is not JSON."""
    try:
        value, rest = parse(raw)
    except FAILURES:
        value, rest = None, b""
    if value is None:
        return WholeValue(None, raw.decode("utf-8", "replace"))
    if not rest and is_written_once(value, raw):
        return WholeValue(value, value)
    try:
        text = raw.decode("utf-8", "replace").lstrip("\ufeff\0 \t\r\n")
        everything, _ = _every_field.raw_decode(text)
    except FAILURES:  # nested too deeply for this decoder: the text holds everything, too
        return WholeValue(None, raw.decode("utf-8", "replace"))
    return WholeValue(value, everything, rest)


def is_written_once(value: Any, raw: bytes) -> bool:
    """Whether a value is all a line contains: written as JavaScript writes it, without repeated names.

    False if that is not certain. 27 of 34,000 recorded lines are written in another way.
    """
    try:
        return msgspec.json.encode(value) == raw
    except FAILURES:
        return False


def _all_fields(pairs: list[tuple[str, Any]]) -> Any:
    """An object; with repeated names a list of objects: the first has the first value of each name, and so on."""
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return fields
    layers: list[dict[str, Any]] = []
    seen: dict[str, int] = {}
    for name, value in pairs:
        at = seen[name] = seen.get(name, -1) + 1
        if at == len(layers):
            layers.append({})
        layers[at][name] = value
    others = {name: value for name, value in fields.items() if name in _TELLING_OTHERS}
    return [layers[0], *({**others, **layer} for layer in layers[1:])]


_every_field = json.JSONDecoder(strict=False, parse_int=float, object_pairs_hook=_all_fields)
_TELLING_OTHERS = frozenset({"type", "name", "key", "value", *_BYTES})
"""Fields whose meaning depends on other fields of their object."""


def texts_of(value: Any) -> Iterator[str]:
    """Every text of a JSON value, including names of fields; the lines of a list also joined."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, list):
            yield from _joined(each)
            waiting.extend(reversed(each))
        elif isinstance(each, dict):
            yield from each
            waiting.extend(item for key, item in reversed(each.items()) if not is_unreadable(each, key))


class KnownTexts:
    """Texts without anything to find, or without anything to change."""

    __slots__ = ("_names", "texts")

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self._names: set[str] = set()
        """The known texts that are names of fields and do not make their values secrets."""

    def clear(self) -> None:
        self.texts.clear()
        self._names.clear()

    def has_names(self, fields: dict[str, Any]) -> bool:
        """Whether all names of an object's fields are known; nearly always true after the first lines."""
        return fields.keys() <= self._names

    def other_names(self, fields: dict[str, Any]) -> set[str]:
        """The names not known yet; those that do not make their values secrets are known from now on."""
        others = fields.keys() - self._names
        self._names.update(name for name in others if name in self.texts and not _marks_secret(name))
        return others


def _marks_secret(name: str) -> bool:
    return name in _BYTES or _is_naming(name)


@lru_cache(maxsize=20_000)
def _is_naming(name: str) -> bool:
    return name == "value" or is_name_of_secret(name)


class ValueTexts(NamedTuple):
    """What of a value must be examined, in no order. Without texts and secret fields, the value holds no secret."""

    texts: list[str]
    is_named: bool
    """Whether the name of a field makes its value a secret."""


def gathered(value: Any, known: KnownTexts) -> ValueTexts:
    """The texts of `texts_of` that are not known, and whether `assigned` gives anything, in a fifth of the time."""
    texts: list[str] = [value] if type(value) is str else []
    is_named = False
    waiting = [value] if type(value) in _NESTED else []
    known_texts = known.texts
    for each in waiting:  # the list grows meanwhile
        parts: Iterable[Any] = each
        if type(each) is list:
            texts += _joined(each) if len(each) > 1 else ()
        elif known.has_names(each):
            parts = each.values()
        else:
            others = known.other_names(each)
            texts += [name for name in each if name not in known_texts]
            parts = [part for _, part in _readable(each, others)]
            is_named = is_named or _has_named(each, others)
        for part in parts:
            if type(part) is str:
                if part not in known_texts:
                    texts.append(part)
            elif type(part) in _NESTED:
                waiting.append(part)
    return ValueTexts(texts, is_named)


_NESTED = (dict, list)


def _joined(values: list[Any]) -> list[str]:
    """The lines of a list as one text: a key spans several."""
    lines = [part for part in values if type(part) is str]
    return ["\n".join(lines)] if len(lines) > 1 else []


def _readable(fields: dict[str, Any], others: set[str]) -> list[tuple[str, Any]]:
    """The fields that hold text; `others` are the names that are not known yet."""
    if others.isdisjoint(_BYTES):
        return list(fields.items())
    return [(key, part) for key, part in fields.items() if not is_unreadable(fields, key)]


def _has_named(fields: dict[str, Any], others: set[str]) -> bool:
    """Whether one of these names makes its value a secret."""
    return any(map(_is_naming, others)) and any(own_assigned(fields))


def is_rewritten(value: dict[str, Any] | list[Any], known: KnownTexts, rewrite: Callable[[str], str]) -> bool | None:
    """Rewrites the texts of a value in place; returns whether any changed.

    None if the name of a field makes its value a secret: the caller must then redact the line in the thorough way.
    """
    is_changed = False
    waiting: list[Any] = [value]
    known_texts = known.texts
    for each in waiting:
        items: Iterable[tuple[Any, Any]] = enumerate(each) if type(each) is list else each.items()
        if type(each) is dict and not known.has_names(each):
            others = known.other_names(each)
            if _has_named(each, others):
                return None
            items = _readable(each, others)
            if _are_renamed(each, rewrite):
                is_changed = True
                items = [(rewrite(key), part) for key, part in items]
        for key, part in items:
            if type(part) is str:
                if part not in known_texts and (made := rewrite(part)) is not part:
                    each[key] = made
                    is_changed = True
            elif type(part) in _NESTED:
                waiting.append(part)
    return is_changed


def _are_renamed(fields: dict[str, Any], rewrite: Callable[[str], str]) -> bool:
    made = [rewrite(name) for name in fields]
    if made == list(fields):
        return False
    parts = list(fields.values())
    fields.clear()
    fields.update(zip(made, parts, strict=True))
    return True


def assigned(value: Any) -> Iterator[tuple[str, str]]:
    """Names and texts of fields whose names make them secrets."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield from ((name, each[key]) for key, name in own_assigned(each))
            waiting.extend(item for item in reversed(each.values()) if isinstance(item, list | dict))
        elif isinstance(each, list):
            waiting.extend(item for item in reversed(each) if isinstance(item, list | dict))


def own_assigned(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys of fields that their names make secrets, with the name; `{"name": "DB_PASSWORD", "value": …}` is one,
    too."""
    for key, value in fields.items():
        if type(value) is str and is_assigned(key, value) and not is_unreadable(fields, key):
            yield key, key
    if "value" in fields:
        named = fields.get("name") or fields.get("key")
        if is_assigned(named, fields["value"]):
            yield "value", str(named)
