"""The texts of JSON values: which there are, which of them their names make secrets, and other texts in their place.

Nothing here calls itself: JSON may be nested deeper than Python calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .find import is_assigned, is_name_of_secret

_UNREADABLE = frozenset({"signature", "base64"})
"""Fields that nobody can read."""
_BYTES = frozenset({"data", *_UNREADABLE})


def is_unreadable(fields: Mapping[str, object], key: str) -> bool:
    """Bytes of an image, a signature of the API: among so many letters everything occurs."""
    return key in _UNREADABLE or (key == "data" and fields.get("type") == "base64")


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
            waiting.extend(item for key, item in reversed(each.items()) if not is_unreadable(each, key))


class ValueTexts(NamedTuple):
    """The texts of a value in no order: what is needed to know that there is nothing in it."""

    texts: list[str]
    lists: list[str]
    """Texts that stand in one list, together."""
    is_named: bool
    """Whether a field is a secret by its name."""


def gathered(value: Any) -> ValueTexts:
    """What `texts_of` and `assigned` tell, in a fifth of the time."""
    texts: list[str] = [value] if type(value) is str else []
    lists: list[str] = []
    is_named = False
    waiting = [value] if type(value) is dict or type(value) is list else []
    for each in waiting:  # which grows meanwhile
        parts: Iterable[Any] = each
        if type(each) is dict:
            texts.extend(each)
            parts = each.values()
            if not each.keys().isdisjoint(_BYTES):
                parts = [part for key, part in each.items() if not is_unreadable(each, key)]
            if not is_named and not each.keys() <= _PLAIN_NAMES and not _are_plain(each):
                is_named = any(own_assigned(each))
        elif len(each) > 1:
            lines = [part for part in each if type(part) is str]
            lists += ["\n".join(lines)] if len(lines) > 1 else []
        for part in parts:
            if type(part) is str:
                texts.append(part)
            elif type(part) is dict or type(part) is list:
                waiting.append(part)
    return ValueTexts(texts, lists, is_named)


_PLAIN_NAMES: set[str] = set()
"""Names of fields that say nothing of a value; nearly all, after the first lines."""
_MOST_NAMES, _LONGEST_NAME = 100_000, 80


def _are_plain(fields: dict[str, Any]) -> bool:
    for name in fields:
        if name not in _PLAIN_NAMES:
            if name == "value" or is_name_of_secret(name):
                return False
            if len(_PLAIN_NAMES) < _MOST_NAMES and len(name) <= _LONGEST_NAME:
                _PLAIN_NAMES.add(name)
    return True


def with_texts(value: Any, made: Mapping[str, str]) -> Any:
    """The value itself with other texts in the place of these; a text alone is given back."""
    if type(value) is str:
        return made.get(value, value)
    waiting = [value] if type(value) is dict or type(value) is list else []
    for each in waiting:
        is_fields = type(each) is dict
        is_plain = not is_fields or each.keys().isdisjoint(_BYTES)
        for key, part in each.items() if is_fields else enumerate(each):
            if type(part) is str:
                if part in made and (is_plain or not is_unreadable(each, key)):
                    each[key] = made[part]
            elif (type(part) is dict or type(part) is list) and (is_plain or not is_unreadable(each, key)):
                waiting.append(part)
        if is_fields and not made.keys().isdisjoint(each):
            fields = [(made.get(key, key), part) for key, part in each.items()]
            each.clear()
            each.update(fields)
    return value


def assigned(value: Any) -> Iterator[tuple[str, str]]:
    """Texts of fields that are secrets by their names, with the names."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield from ((name, each[key]) for key, name in own_assigned(each))
            waiting.extend(item for item in reversed(each.values()) if isinstance(item, list | dict))
        elif isinstance(each, list):
            waiting.extend(item for item in reversed(each) if isinstance(item, list | dict))


def own_assigned(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields that are secrets by their name, with the name; `{"name": "DB_PASSWORD", "value": …}` is one too."""
    for key, value in fields.items():
        if type(value) is str and is_assigned(key, value) and not is_unreadable(fields, key):
            yield key, key
    if "value" in fields:
        named = fields.get("name") or fields.get("key")
        if is_assigned(named, fields["value"]):
            yield "value", str(named)
