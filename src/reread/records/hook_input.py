"""What Claude Code tells a hook: one JSON object on standard input. Any part may be missing; nothing raises."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class HookInput:
    """The session a hook runs for, as far as it was told."""

    __slots__ = ("reason", "session", "transcript")

    def __init__(self, said: dict[str, Any]) -> None:
        self.session = _text(said.get("session_id"))
        self.transcript = _text(said.get("transcript_path"))
        self.reason = _text(said.get("reason"))


def read_hook_input(raw: bytes) -> HookInput:
    import json

    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        said = None
    return HookInput(said if isinstance(said, dict) else {})


def _text(value: object) -> str | None:
    """A text a command line can carry."""
    return value if isinstance(value, str) and value and "\0" not in value else None
