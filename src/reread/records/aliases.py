"""One table for the two spellings: transcripts are camelCase, stream frames snake_case."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

IRREGULAR = {
    "parent_tool_use_id": "parentToolUseID",
    "tool_use_id": "toolUseID",
    "source_tool_use_id": "sourceToolUseID",
    "source_tool_assistant_uuid": "sourceToolAssistantUUID",
}
"""Spellings whose transcript twin is not plain camelCase; all others follow the rule."""

_CAMEL_INSIDE = ("compact_metadata", "preserved_segment", "preserved_messages", "thinking_metadata")


@cache
def transcript_spelling(key: str) -> str:
    """`session_id` -> `sessionId`."""
    return IRREGULAR.get(key) or re.sub(r"_+([a-z0-9])", lambda match: match[1].upper(), key)


def with_transcript_spelling(value: dict[str, Any]) -> dict[str, Any]:
    """Adds the transcript's spelling beside the stream's; what a line already says is left alone."""
    added = {transcript_spelling(key): item for key, item in value.items() if "_" in key}
    for key in _CAMEL_INSIDE:
        inner = value.get(key)
        if isinstance(inner, dict):
            added[transcript_spelling(key)] = with_transcript_spelling(inner)
    return {**added, **value}
