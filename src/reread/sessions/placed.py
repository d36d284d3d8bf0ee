"""What everything read from a line has in common: the line itself."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from reread.records import Record, Spoken


class FromLine(Struct, frozen=True, kw_only=True, gc=False):
    """Something that stands in a line of the transcript."""

    record: Record

    @property
    def uuid(self) -> str | None:
        return self.record.uuid

    @property
    def time(self) -> datetime | None:
        return self.record.time

    @property
    def message_id(self) -> str | None:
        """The API response it is part of."""
        message = self.record.message if isinstance(self.record, Spoken) else None
        return message.id if message is not None else None
