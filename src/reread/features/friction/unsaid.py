"""Words of Claude that the client did not store."""

from __future__ import annotations

from collections.abc import Iterator

from reread.records import Assistant
from reread.sessions.lost_words import UNSAID

from .detection import Cause, ConversationUnderTest, Detector, FrictionKind, Moment


class Unsaid(Detector):
    """Claude wrote something that the client did not store: the conversation has a hole, and was paid for in full."""

    kind = FrictionKind.UNSAID
    exact = "an empty thinking block whose signature says narration; two thinking blocks of one message in a row"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for lost in (notice for turn in subject.turns for notice in turn.notices if notice.what == "unsaid"):
            model = lost.record.api_message.model if isinstance(lost.record, Assistant) else None
            yield subject.event(self.kind, lost.record, UNSAID, Cause.ENVIRONMENT, 1.0, about=model or "")
