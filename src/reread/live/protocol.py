"""The stream-json protocol as a pure state machine: bytes in, events out. It does no I/O and knows no clock."""

from __future__ import annotations

from .events import Event, Permission


class Stream:
    """Feed it what the client writes, cut anywhere; it says what that amounts to."""

    def __init__(self) -> None:
        self.session: str | None = None
        self.open_permissions: dict[str, Permission] = {}
        self.open_tasks: set[str] = set()

    def feed(self, chunk: bytes) -> list[Event]:
        """Events of the frames that are complete; a frame is complete at its newline or at its last brace."""
        raise NotImplementedError

    def sent(self, line: bytes) -> list[Event]:
        """A line that was sent to the client: answers close what was open."""
        raise NotImplementedError

    def close(self) -> list[Event]:
        """The stream has ended: what was still open was cut off."""
        raise NotImplementedError
