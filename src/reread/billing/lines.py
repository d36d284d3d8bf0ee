"""What the lines of one file say of one response: which of them counts is decided here alone."""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from reread.records.content import Usage

_L = TypeVar("_L")


class LinesOfResponse(Struct, Generic[_L], kw_only=True):
    """The line with the most output counts; on a tie one of the main conversation, then the last one, because the lines
    of a response grow. Web searches are the most of any line, the stop reason is that of the last line that has one.
    """

    line: _L
    """The line that counts: the first one at the beginning."""
    usage: Usage = Usage()
    web_searches: int = 0
    stop_reason: str | None = None
    rows: int = 0
    _output: int = -1
    _is_sidechain: bool = True

    def add(self, line: _L, usage: Usage, stop_reason: str | None, *, is_sidechain: bool) -> None:
        output = usage.output_tokens or 0
        if output > self._output or (output == self._output and (self._is_sidechain or not is_sidechain)):
            self.line, self.usage, self._output, self._is_sidechain = line, usage, output, is_sidechain
        served = usage.server_tool_use
        if served is not None and served.web_search_requests:
            self.web_searches = max(self.web_searches, served.web_search_requests)
        if stop_reason is not None:
            self.stop_reason = stop_reason
        self.rows += 1

    @property
    def output(self) -> int:
        return self.usage.output_tokens or 0
