"""Lines that a resume, a fork or a detached session copied from another session.

    2.0.30 and later    `--fork-session` copies every line with its uuid; nothing says "forked"
    1.0.x               every resume writes a new file and replays the history under new uuids
    the SDK             remaps uuids and says so in `forkedFrom`

Message ids survive all three. Copies always stand at the start of a file.
"""

from __future__ import annotations

from reread.records import Assistant, Record

from .conversation import Conversation


class Copies:
    """Shown sessions one after the other, says how much of each was in an earlier one."""

    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._messages: set[str] = set()

    def take(self, conversation: Conversation) -> int:
        """How many leading records repeat a session taken before; the rest is the session's own."""
        copied = self._copied(conversation.records)
        for record in conversation.records:
            if record.uuid is not None:
                self._lines.add(record.uuid)
            if (message_id := _message_id(record)) is not None:
                self._messages.add(message_id)
        return copied

    def _copied(self, records: tuple[Record, ...]) -> int:
        """Up to the last line known before the first answer that is not."""
        copied = 0
        for position, record in enumerate(records, 1):
            message_id = _message_id(record)
            if record.uuid in self._lines or message_id in self._messages:
                copied = position
            elif message_id is not None:
                break
        return copied


def _message_id(record: Record) -> str | None:
    """Ids of the API only: gateways give every answer the same one."""
    message = record.message if isinstance(record, Assistant) else None
    found = message.id if message is not None else None
    return found if found is not None and found.startswith("msg_") else None
