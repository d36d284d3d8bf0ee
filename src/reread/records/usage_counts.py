"""Token counts of one API response, as the API reports them."""

from typing import Annotated

from msgspec import Meta, Raw, Struct

from .lenient import ABSENT

Count = Annotated[int, Meta(ge=0, le=10**9)]
"""No response has more; what says so counts like a field of another type, as absent, and sums stay within 64 bits."""


class CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class ServerToolCounts(Struct, frozen=True, gc=False):
    web_search_requests: Count | None = None
    web_fetch_requests: Count | None = None


class OutputTokensDetails(Struct, frozen=True, gc=False):
    thinking_tokens: Count | None = None


class Iteration(Struct, frozen=True, gc=False, kw_only=True):
    """One inner call. Type `message` is the answer itself; `advisor_message` is another model's call."""

    type: str | None = None
    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None


class Usage(Struct, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True):
    """`input_tokens` is the uncached part only; the cache split says how much was the one-hour kind."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None
    service_tier: str | None = None
    inference_geo: str | None = None
    speed: str | None = None
    server_tool_use: ServerToolCounts | None = None
    iterations: list[Iteration | None] | None = None
    output_tokens_details: OutputTokensDetails | None = None
    fallback_credit: Raw = ABSENT
