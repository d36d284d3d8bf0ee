"""What a model said about evidence, when a person asked it: kept beside the archive, never among its facts.

One small file per question, for one's own eyes. What a session had a part in goes when the session is forgotten.
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
    """A model's words, and what it was shown."""

    about: str
    """`summary` or `retro`."""
    subject: str
    """The session, or the period and what narrows it."""
    session: str | None
    time: datetime
    model: str | None
    cost_usd: str | None
    """By the client's count."""
    evidence: str
    """All that was sent, secrets taken out."""
    text: str


def keep(home: Path, answer: ModelAnswer) -> Path:
    """Instead of an earlier answer to the same question."""
    make_private(home / FOLDER)
    path = _place(home, answer.about, answer.subject)
    fields = {name: getattr(answer, name) for name in ModelAnswer.__struct_fields__}
    write_durably(path, json.dumps({**fields, "time": answer.time.astimezone(UTC).isoformat()}, indent=1))
    return path


def kept(home: Path, about: str, subject: str) -> ModelAnswer | None:
    """What a model said when it was last asked this; None if it was never asked, or the file is not ours."""
    try:
        found = json.loads(_place(home, about, subject).read_text(encoding="ascii"))
        return ModelAnswer(**{**found, "time": datetime.fromisoformat(found["time"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget(home: Path, session: str) -> None:
    """Answers about a session, and those about many: nobody can tell whose words are in them."""
    for path in (home / FOLDER).glob("*.json*"):
        try:
            about = json.loads(path.read_text(encoding="ascii"))
        except (OSError, ValueError):
            about = {}
        if about.get("about") != "summary" or about.get("session") == session:
            path.unlink(missing_ok=True)


def _place(home: Path, about: str, subject: str) -> Path:
    name = blake2b(subject.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return home / FOLDER / f"{about}-{name}.json"
