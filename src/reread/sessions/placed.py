"""What everything read from a line has in common: the line itself."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from reread.records import Record, Spoken

from .wire import Withdrawal, WithdrawnBlock


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
        return message_of(self.record)

    @property
    def withdrawn(self) -> Withdrawal | None:
        """Why it was taken back after it was shown; None for all that stands."""
        return self.record.reason if isinstance(self.record, WithdrawnBlock) else None


def message_of(record: Record) -> str | None:
    """The API response that a line is part of."""
    if isinstance(record, Spoken):
        return record.message.id if record.message is not None else None
    return record.message_id if isinstance(record, WithdrawnBlock) else None
