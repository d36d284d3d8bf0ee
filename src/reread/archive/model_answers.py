"""Answers that a model gave about evidence when a person asked: kept next to the archive, never among its facts.

One small, private file per question. When a session is forgotten, answers that may contain its words are deleted.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from msgspec import Struct

from reread.home import make_private, write_durably

FOLDER = "asked"


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """What a model answered, and what it was shown."""

    about: str
    """`summary` or `retro`."""
    subject: str
    """The session, or the period and its filters."""
    session: str | None
    time: datetime
    model: str | None
    cost_usd: str | None
    """As the client counted it."""
    evidence: str
    """Everything that was sent, with secrets redacted."""
    text: str


def keep(home: Path, answer: ModelAnswer) -> Path:
    """Writes an answer, replacing an earlier one to the same question; gives its file."""
    make_private(home / FOLDER)
    path = _place(home, answer.about, answer.subject)
    fields = {name: getattr(answer, name) for name in ModelAnswer.__struct_fields__}
    write_durably(path, json.dumps({**fields, "time": answer.time.astimezone(UTC).isoformat()}, indent=1))
    return path


def kept(home: Path, about: str, subject: str) -> ModelAnswer | None:
    """The last answer to this question; None if it was never asked, or the file is not one of ours."""
    try:
        found = json.loads(_place(home, about, subject).read_text(encoding="ascii"))
        return ModelAnswer(**{**found, "time": datetime.fromisoformat(found["time"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget(home: Path, session: str) -> None:
    """Deletes the answers about a session, and all answers about several sessions: those may contain its words."""
    for path in (home / FOLDER).glob("*.json*"):
        try:
            about = json.loads(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            about = None
        if not isinstance(about, dict) or about.get("about") != "summary" or about.get("session") == session:
            path.unlink(missing_ok=True)


def _place(home: Path, about: str, subject: str) -> Path:
    name = blake2b(subject.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return home / FOLDER / f"{about}-{name}.json"
