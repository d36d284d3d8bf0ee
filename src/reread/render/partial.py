"""The input of a tool call while it is being written: as much of its JSON as has come."""

from __future__ import annotations

import json
import re
from typing import Any

_CUT_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}$")
_CUT_WORD = re.compile(r"[,:]\s*[-+.\w]*$")


def partial_input(text: str) -> Any:
    """What a beginning of a JSON object says so far; None where that cannot be told yet."""
    closing, in_string, is_escaped = _open_ends(text)
    if in_string:
        text = (text[:-1] if is_escaped else _CUT_ESCAPE.sub("", text)) + '"'
    # A key without its value, half a number or a comma at the end: leave out what is not said yet.
    for attempt in (text, text + ":null", _CUT_WORD.sub("", text), _CUT_WORD.sub(":null", text)):
        try:
            return json.loads(attempt + closing, strict=False)
        except ValueError:
            continue
    return None


def _open_ends(text: str) -> tuple[str, bool, bool]:
    """The brackets that would close it, whether it ends inside a string, and there after a backslash."""
    stack: list[str] = []
    in_string = is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif in_string:
            is_escaped = character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
    return "".join(reversed(stack)), in_string, is_escaped
