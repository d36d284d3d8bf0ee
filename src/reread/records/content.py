"""The parts of a message: content blocks, and the token counts of one API response as the API reports them."""

from typing import Annotated, Any

from msgspec import Meta, Raw, Struct, field

from .base import Number
from .json_parts import object_of, text_or_none
from .lenient import ABSENT, UNKNOWN_TAG, parse_or_none

Count = Annotated[int, Meta(ge=0, le=10**9)]
"""No response has more. A larger value is treated as absent, like one of a wrong type, so sums stay within 64 bits."""


class CacheCreation(Struct, frozen=True, gc=False):
    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class ServerToolCounts(Struct, frozen=True, gc=False):
    web_search_requests: Count | None = None
    web_fetch_requests: Count | None = None


class OutputTokensDetails(Struct, frozen=True, gc=False):
    thinking_tokens: Count | None = None


class Iteration(Struct, frozen=True, gc=False, kw_only=True):
    """One inner call. Type `message` is the response itself; `advisor_message` is a call of another model."""

    type: str | None = None
    model: str | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheCreation | None = None


class Usage(Struct, frozen=True, gc=False, kw_only=True, repr_omit_defaults=True):
    """`input_tokens` is only the uncached part; the cache split says how much was cached for an hour."""

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
    x_anthropic_cost_usd: Number | None = None
    """What a gateway billed."""


class _Block(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", repr_omit_defaults=True):
    @property
    def as_text(self) -> str:
        return ""


class Text(_Block, tag="text", frozen=True):
    text: str | None = None

    @property
    def as_text(self) -> str:
        return self.text or ""


class Thinking(_Block, tag="thinking", frozen=True):
    """Empty text with a signature is normal since 2.1.70: the client did not store the text."""

    thinking: str | None = None
    signature: str | None = None
    text: str | None = None
    content: str | None = None
    """Some endpoints put the thought here or in `text`; never seen from the client itself."""

    @property
    def as_text(self) -> str:
        return self.thinking or self.text or self.content or ""


class RedactedThinking(_Block, tag="redacted_thinking", frozen=True):
    data: str | None = None


class ToolUse(_Block, tag="tool_use", frozen=True):
    id: str | None = None
    name: str | None = None
    raw_input: Raw = field(default=Raw(b"{}"), name="input")
    caller: Raw = ABSENT

    @property
    def input(self) -> Any:
        """The arguments, nearly always an object."""
        return parse_or_none(self.raw_input)

    @property
    def as_text(self) -> str:
        return bytes(self.raw_input).decode("utf-8", "replace")


class ServerToolUse(ToolUse, tag="server_tool_use", frozen=True):
    """A tool the API ran by itself, such as web search."""


class ImageSource(Struct, frozen=True, gc=False, kw_only=True):
    type: str | None = None
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class Image(_Block, tag="image", frozen=True):
    source: ImageSource | None = None


class DocumentSource(ImageSource, frozen=True, gc=False, kw_only=True):
    content: "str | list[Block] | None" = None


class Document(_Block, tag="document", frozen=True):
    """A file that a person attached. Its text is not part of what they typed, so `text_of` leaves it out."""

    source: DocumentSource | None = None
    title: str | None = None
    context: str | None = None

    @property
    def as_text(self) -> str:
        """The text of a document that is text; empty for a PDF, whose bytes are kept."""
        if self.source is None:
            return ""
        return (self.source.data or "") if self.source.type == "text" else text_of(self.source.content, "\n")

    @property
    def size(self) -> int:
        """Bytes of its text, or of the file it holds."""
        text = self.as_text
        data = self.source.data if self.source is not None and not text else None
        return len(data) * 3 // 4 if data else len(text.encode("utf-8", "replace"))


class ToolReference(_Block, tag="tool_reference", frozen=True):
    tool_name: str | None = None

    @property
    def as_text(self) -> str:
        return self.tool_name or ""


class ToolResult(_Block, tag="tool_result", frozen=True):
    tool_use_id: str | None = None
    content: "str | list[Block] | None" = None
    is_error: bool | None = None

    @property
    def as_text(self) -> str:
        return text_of(self.content, joined_by="\n")


class ServerToolResult(_Block, frozen=True):
    """The answer of a tool the API ran by itself; it is in the same message as the call."""

    tool_use_id: str | None = None
    raw_content: Raw = field(default=ABSENT, name="content")

    @property
    def as_text(self) -> str:
        """The strings of the answer that a person reads: titles, addresses, texts, or the code of an error."""
        value = parse_or_none(self.raw_content)
        items = value if isinstance(value, list) else [value]
        found = (item.get(key) for item in items if isinstance(item, dict) for key in _ANSWERED)
        return value if isinstance(value, str) else "\n".join(text for text in found if isinstance(text, str))

    @property
    def is_error(self) -> bool:
        value = parse_or_none(self.raw_content)
        return isinstance(value, dict) and "error_code" in value


_ANSWERED = ("title", "url", "text", "error_code")


class WebSearchToolResult(ServerToolResult, tag="web_search_tool_result", frozen=True):
    caller: Raw = ABSENT


class AdvisorToolResult(ServerToolResult, tag="advisor_tool_result", frozen=True):
    pass


class UnknownBlock(_Block, tag=UNKNOWN_TAG, frozen=True):
    """A block of an unknown type, or a list item that is not an object."""

    type_name: str | None = None
    value: Raw = ABSENT

    @property
    def as_text(self) -> str:
        value = parse_or_none(self.value)
        return text_or_none(object_of(value).get("text", value)) or ""


Block = (
    Text
    | Thinking
    | RedactedThinking
    | ToolUse
    | ServerToolUse
    | ToolResult
    | Image
    | Document
    | ToolReference
    | WebSearchToolResult
    | AdvisorToolResult
    | UnknownBlock
)
Content = str | list[Block] | None


_READABLE = (Text, ToolReference, UnknownBlock)


def text_of(content: Content, joined_by: str = " ") -> str:
    """The readable text of a content field: a string as it is, or the joined text of a list's blocks."""
    if isinstance(content, str):
        return content
    return joined_by.join([text for block in content or () if isinstance(block, _READABLE) and (text := block.as_text)])
