"""Who drives a session: a person, or a program that uses the client.

One session cannot tell a script's `claude -p` from a person's: only that many sessions begin with the same line can. So
each gives its evidence, and the archive compares them (`program_session` in the index).
"""

from __future__ import annotations

from zlib import crc32

from reread import lazy
from reread.records import Attachment, Record, User
from reread.records.attachments import QueuedCommand

from .session import Session
from .speaker import Speaker

PERSON, SDK, UNKNOWN = "person", "sdk", ""
_SOURCES = frozenset({"typed", "queued", "suggestion_accepted"})
_ORIGINS = frozenset({"human", "person", "voice-call"})
_SDK = ("sdk-", "claude-code-github-action")
_LONGEST, _FEWEST = 80, 24
"""A line of fewer characters, such as `continue`, begins the sessions of many people."""
_NUMBER = lazy.pattern(r"\d+")


def driver_of(session: Session) -> str:
    """`PERSON` if only a person can have driven it, `SDK` if either can, `UNKNOWN` before the client said (2.1.78)."""
    if session.captures or Speaker.SHELL in session.kinds.values():
        return PERSON  # our own runs are a person's
    lines = [prompt.record for prompt in session.prompts] or list(session.spoken[:1])
    entries = {record.entrypoint for record in lines if record.entrypoint}
    if any(map(_is_typed, lines)) or any(not entry.startswith(_SDK) for entry in entries):
        return PERSON
    return SDK if entries else UNKNOWN


def _is_typed(record: Record) -> bool:
    if isinstance(record, User):
        return record.prompt_source in _SOURCES or (record.origin is not None and record.origin.kind in _ORIGINS)
    queued = record.attachment if isinstance(record, Attachment) else None
    return isinstance(queued, QueuedCommand) and queued.origin is not None and queued.origin.kind in _ORIGINS


def opening_of(session: Session) -> int | None:
    """A number that is equal for equal first lines of prompts, whatever numbers are in them; None for a short one."""
    text = session.prompts[0].text.strip() if session.prompts else ""
    line = _NUMBER.sub("0", " ".join(text.partition("\n")[0].split()))[:_LONGEST]
    return crc32(line.encode("utf-8", "surrogatepass")) if len(line) >= _FEWEST else None
