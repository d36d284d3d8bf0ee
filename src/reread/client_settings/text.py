"""Changes one place of a JSON text and leaves every other character as it was.

Positions come from the parser of the standard library, so nothing here knows what a string or a number looks like.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple, NoReturn

__all__ = ["Place", "append", "find", "parse", "remove", "replace", "start_of"]

_SPACE = re.compile(r"[ \t\r\n]*")
_BYTE_ORDER_MARK = "\ufeff"


class Place(NamedTuple):
    """One member of an object or one element of an array, by its positions in the text."""

    key: str | None
    start: int
    value: int
    """Where the value begins: behind the key, if there is one."""
    end: int


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def start_of(text: str) -> int:
    """Where the outermost value begins."""
    return _skip(text, len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0)


def parse(text: str) -> Any:
    """The values of a whole text; ValueError where it is not JSON or nested too deeply to be read."""
    try:
        value, end = _DECODER.raw_decode(text, start_of(text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _skip(text, end) != len(text):
        raise ValueError(f"something follows the value, at character {end}")
    return value


def find(text: str, *path: str | int) -> Place | None:
    """The place a path leads to; of a key that is there twice the last one, as every parser takes it."""
    opening = start_of(text)
    place = None
    for step in path:
        if text[opening] != ("{" if isinstance(step, str) else "["):
            return None
        places, _ = _members(text, opening)
        matching = places[step : step + 1] if isinstance(step, int) else [each for each in places if each.key == step]
        if not matching:
            return None
        place = matching[-1]
        opening = place.value
    return place


def append(text: str, opening: int, key: str | None, value: object) -> str:
    """With one more member at the end of the object or array that opens there, laid out like the others."""
    places, closing = _members(text, opening)
    if places:
        last = places[-1]
        lead = _lead(text, last.start)
        gap = _gap(text) if lead is None else _newline(text) + lead
        return f"{text[: last.end]},{gap}{_member(text, key, value, lead)}{text[last.end :]}"
    if "\n" not in text and opening != start_of(text):
        return text[: opening + 1] + _member(text, key, value, None) + text[closing:]
    outer = _newline(text) + _indent_of_line(text, opening)
    inner = outer + _unit(text)
    shown = _member(text, key, value, inner.lstrip("\r\n"))
    return text[: opening + 1] + inner + shown + outer + text[closing:]


def replace(text: str, place: Place, value: object) -> str:
    """With another value at a place."""
    return text[: place.start] + _member(text, place.key, value, _lead(text, place.start)) + text[place.end :]


def remove(text: str, opening: int, place: Place) -> str:
    """Without one member: the opposite of `append` for the last one, to the character."""
    places, closing = _members(text, opening)
    index = places.index(place)
    if len(places) == 1:
        return text[: opening + 1] + text[closing:]
    if index == 0:
        return text[: places[0].start] + text[places[1].start :]
    return text[: places[index - 1].end] + text[places[index].end :]


def _members(text: str, opening: int) -> tuple[list[Place], int]:
    """What the object or array holds that opens here, and where it closes; the text was parsed before."""
    found = []
    at = _skip(text, opening + 1)
    while text[at] not in "}]":
        start, key = at, None
        if text[opening] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        value = at
        _, at = _DECODER.raw_decode(text, at)
        found.append(Place(key, start, value, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _member(text: str, key: str | None, value: object, lead: str | None) -> str:
    """A member as it is written: over several lines below a lead, or on one."""
    is_spaced = lead is not None or _gap(text) == " "
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + (": " if is_spaced else ":")
    if lead is None:
        separators = (", ", ": ") if is_spaced else (",", ":")
        return name + json.dumps(value, ensure_ascii=False, separators=separators)
    shown = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return name + shown.replace("\n", _newline(text) + lead)


def _lead(text: str, at: int) -> str | None:
    """The indentation of what stands at the beginning of its line; None where something stands before it."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if "\n" in text[:at] and not before.strip() else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(_BYTE_ORDER_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the outermost members, else the two spaces Claude Code writes itself."""
    places, _ = _members(text, start_of(text))
    return (_lead(text, places[0].start) if places else None) or "  "


def _gap(text: str) -> str:
    return " " if '": ' in text else ""


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
