"""What was typed, thought and done, asked of the archive's rows; text comes from the safe for what is shown alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from reread.records import Assistant, QueueOperation, Record, RedactedThinking, Thinking, User, decode
from reread.sessions import Prompt, Session, Thought
from reread.sessions.kinds import Kind
from reread.sessions.queue import queued_prompt
from reread.sessions.turns import prompt_of
from reread.store import talk
from reread.store.errors import SafeDamaged
from reread.store.sessions import StoredSession, sessions
from reread.store.talk import TalkRow

from .answers import FoundPrompt, FoundPrompts, FoundThought
from .answers import Thinking as Thoughts
from .filters import Filter
from .tool_counts import window_of

if TYPE_CHECKING:
    from reread.store.bytes_kept import KeptBytes

Load = Callable[[StoredSession], Session]
Told = TypeVar("Told", Prompt, Thought)


class TalkReader:
    """Reads prompts and thoughts that rows name. `load` folds a session whole, for what only a capture tells."""

    def __init__(self, connection: sqlite3.Connection, kept: KeptBytes, load: Load) -> None:
        self._connection = connection
        self._kept = kept
        self._load = load
        self.hidden = 0
        """Rows whose text cannot be read, because of damage in the safe."""

    def prompts(self, wanted: Filter) -> FoundPrompts:
        rows, total = talk.prompt_rows(self._connection, window_of(self._connection, wanted), wanted.limit)
        found = [
            FoundPrompt(stored.row.uuid, stored.row.project, prompt)
            for stored, row in self._with_sessions(rows)
            if (prompt := self._read(stored, row, _prompts_in, lambda session: session.prompts)) is not None
        ]
        return FoundPrompts(found, total - self.hidden)

    def thinking(self, wanted: Filter, min_length: int) -> Thoughts:
        window = window_of(self._connection, wanted)
        rows, total = talk.thought_rows(self._connection, window, min_length, wanted.limit)
        found = [
            FoundThought(stored.row.uuid, row.agent, thought)
            for stored, row in self._with_sessions(rows)
            if (thought := self._read(stored, row, _thoughts_in, lambda session: session.thoughts)) is not None
        ]
        counts = talk.thought_counts(self._connection, window, min_length)
        return Thoughts(found, *counts, total - self.hidden)

    def _with_sessions(self, rows: list[TalkRow]) -> Iterator[tuple[StoredSession, TalkRow]]:
        known = {each.id: each for each in sessions(self._connection, ids=sorted({row.session for row in rows}))}
        return ((known[row.session], row) for row in rows)

    def _read(
        self,
        stored: StoredSession,
        row: TalkRow,
        told_in: Callable[[Record], list[Told]],
        told_by: Callable[[Session], tuple[Told, ...]],
    ) -> Told | None:
        try:
            content = self._kept.line(row.file, row.generation, row.offset, row.length)
        except SafeDamaged:
            self.hidden += 1
            return None
        if row.kind == "capture":
            # What was taken back lies in several lines, and only the whole run tells why.
            same = [each for each in told_by(self._load(stored)) if each.record.raw == content]
        else:
            same = told_in(decode(content))
        if row.part >= len(same):
            self.hidden += 1
            return None
        return same[row.part]


def _prompts_in(record: Record) -> list[Prompt]:
    """What a line is that was found to hold a prompt."""
    if isinstance(record, User):
        return [prompt_of(record, Kind.PROMPT)]
    if isinstance(record, QueueOperation):
        return [Prompt(record=record, text=record.text, kind=Kind.PROMPT, is_queued=True)]
    queued = queued_prompt(record)
    return [] if queued is None else [queued]


def _thoughts_in(record: Record) -> list[Thought]:
    blocks = record.blocks if isinstance(record, Assistant) else ()
    return [Thought(record=record, block=block) for block in blocks if isinstance(block, Thinking | RedactedThinking)]
