"""Content blocks and token counts, as the API writes them."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

Json = dict[str, Any]


class Block(Struct, frozen=True):
    """One content block; an id that is UNSET is numbered when the session is written."""

    fields: Json


def as_block(given: str | Block | Json) -> Block:
    """A string is a text block; a dict is taken as it stands."""
    if isinstance(given, Block):
        return given
    return Block({"type": "text", "text": given} if isinstance(given, str) else given)


def a_thought(text: str = "", *, signature: str = "c2ln", **fields: Any) -> Block:
    """A thinking block; without text it is what clients store since 2.1.70."""
    return Block({"type": "thinking", "thinking": text, "signature": signature, **fields})


def a_tool_call(
    name: str = "Bash",
    input: Json | None = None,  # noqa: A002
    *,
    id: str | UnsetType = UNSET,  # noqa: A002
    **fields: Any,
) -> Block:
    """A tool_use block; it may also stand in a session by itself, as a reply that says nothing else."""
    return Block({"type": "tool_use", "id": id, "name": name, "input": input or {}, **fields})


def an_image(data: str = "iVBORw0KGgo=", media_type: str = "image/png") -> Block:
    return Block({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})


def a_usage(
    input: int = 10,  # noqa: A002
    output: int = 20,
    *,
    cache_read: int = 0,
    cache_write: int = 0,
    cache_write_1h: int | None = None,
    web_searches: int | None = None,
    **fields: Any,
) -> Json:
    """The `usage` of a response; the cache split is there only if `cache_write_1h` is given."""
    usage: Json = {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    }
    if cache_write_1h is not None:
        five_minutes = max(0, cache_write - cache_write_1h)
        usage["cache_creation"] = {
            "ephemeral_5m_input_tokens": five_minutes,
            "ephemeral_1h_input_tokens": cache_write_1h,
        }
    if web_searches is not None:
        usage["server_tool_use"] = {"web_search_requests": web_searches}
    return {**usage, **fields}
