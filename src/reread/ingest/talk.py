"""Calls, prompts and thoughts of a conversation as rows, each told by where its line lies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from reread.analyses.files import paths_of
from reread.records import Assistant, Record, RedactedThinking
from reread.sessions import Capture, Conversation, Prompt, Session, Thought, completed
from reread.sessions.calls import MADE_BY_API
from reread.store import reading
from reread.store.database import transaction
from reread.store.rows import CallRow, FileRow, PromptRow, ThoughtRow
from reread.store.sessions import StoredSession, sessions
from reread.store.talk import EMPTY, REDACTED, SIGNED, TOLD, CopyMarker, call_digest, digest_of, write_talk
from reread.times import milliseconds

_REPLAYING = "1.0."
"""Versions that wrote the history again, under new ids and times, whenever a session was resumed."""


def call_rows(conversation: Conversation) -> list[CallRow]:
    """Each call once; one without an id is called by its place."""
    found: dict[str, CallRow] = {}
    for position, call in enumerate(conversation.tool_calls):
        name = call.id or f"@{call.record.offset}.{position}"
        time = milliseconds(call.time)
        found[name] = CallRow(
            id=name,
            name=call.name,
            status=call.status.value,
            time=time,
            seconds=call.seconds,
            path=next(iter(paths_of(call)), None),
            digest=call_digest(call.id, time),
            offset=call.record.offset,
            length=len(call.record.raw),
        )
    return list(found.values())


def prompt_rows(conversation: Conversation) -> list[PromptRow]:
    found: dict[int, list[PromptRow]] = {}
    answers = _answers(conversation.records)
    for prompt in conversation.prompts:
        record, time = prompt.record, milliseconds(prompt.time)
        same = found.setdefault(record.offset, [])
        same.append(
            PromptRow(
                offset=record.offset,
                part=len(same),
                length=len(record.raw),
                time=time,
                digest=_prompt_digest(prompt, time, answers.get(id(record))),
            )
        )
    return [row for same in found.values() for row in same]


def _prompt_digest(prompt: Prompt, time: int | None, answer: str | None) -> int | None:
    """Copies keep the time of a line; only a resume of 1.0.x makes even that anew, and keeps the id of the answer."""
    if answer is not None:
        return digest_of(answer, prompt.text)
    if time is not None:
        return digest_of(time, prompt.text)
    return digest_of(prompt.uuid) if prompt.uuid is not None else None


def _answers(records: Sequence[Record]) -> dict[int, str]:
    """By the `id()` of a line of 1.0.x: the id of the first answer of the API after it."""
    found: dict[int, str] = {}
    answer: str | None = None
    if not any((record.version or "").startswith(_REPLAYING) for record in records):
        return found
    for record in reversed(records):
        name = record.message.id if isinstance(record, Assistant) and record.message is not None else None
        if name is not None and _is_made_by_api(name):
            answer = name
        elif answer is not None and (record.version or "").startswith(_REPLAYING):
            found[id(record)] = answer
    return found


def _is_made_by_api(message: str) -> bool:
    return message.startswith("msg_") and len(message) >= MADE_BY_API


def thought_rows(conversation: Conversation) -> list[ThoughtRow]:
    found: dict[int, list[ThoughtRow]] = {}
    for thought in conversation.thoughts:
        record, time = thought.record, milliseconds(thought.time)
        same = found.setdefault(record.offset, [])
        same.append(
            ThoughtRow(
                offset=record.offset,
                part=len(same),
                length=len(record.raw),
                time=time,
                state=_state(thought),
                characters=len(thought.text),
                digest=_thought_digest(thought, time),
            )
        )
    return [row for same in found.values() for row in same]


def _state(thought: Thought) -> int:
    if thought.is_redacted:
        return REDACTED
    if thought.text:
        return TOLD
    return SIGNED if thought.is_signed else EMPTY


def _thought_digest(thought: Thought, time: int | None) -> int | None:
    """Ids of messages of the API survive every copy; without one, time and words must do."""
    block = thought.block
    words = thought.text or (block.data if isinstance(block, RedactedThinking) else block.signature)
    name = thought.message_id
    if name is not None and _is_made_by_api(name):
        return digest_of(name, words)
    return digest_of(time, words) if time is not None else None


def add_talk(connection: sqlite3.Connection, load: Callable[[StoredSession], Session], numbers: Iterable[int]) -> None:
    """Rows of sessions that were taken in before there were such; the caller holds the safe's lock."""
    for number in numbers:
        for stored in sessions(connection, ids=[number]):
            session = load(stored)
            with transaction(connection):
                copies = CopyMarker(connection)
                for row in reading.files_of(connection, number):
                    copies.will_change(row.id)
                    talk = conversation_in(session, row)
                    prompts = prompt_rows(talk) if talk is not None and row.kind != "subagent" else []
                    calls, thoughts = (call_rows(talk), thought_rows(talk)) if talk is not None else ([], [])
                    write_talk(connection, row.id, number, calls, prompts, thoughts)
                    copies.changed(row.id)
                copies.settle()


def conversation_in(session: Session, row: FileRow) -> Conversation | None:
    """What one of its files tells; None for files that are no conversation."""
    if row.kind == "transcript":
        return Session(session.transcript, id=session.id, prices=session.prices) if session.captures else session
    if row.kind == "capture":
        return next((added_by(each, session) for each in session.captures if each.path == str(row.path)), None)
    if row.kind != "subagent":
        return None
    name = row.agent or row.path.stem
    return next((each for each in session.subagents if each.id == name and not each.is_recorded_inline), None)


def added_by(capture: Capture, session: Session) -> Conversation:
    """What a capture adds to the transcript of its session."""
    return Conversation(completed(capture.added, capture.told.finals), id=session.id, prices=session.prices)
