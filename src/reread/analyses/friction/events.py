"""What went wrong at one moment of a session: a typed event with the line that proves it."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct, field

LONGEST_QUOTE = 200


class Kind(StrEnum):
    """The sorts of friction."""

    INTERRUPT = "interrupt"
    REJECTION = "rejection"
    HOOK_BLOCK = "hook_block"
    TOOL_ERROR = "tool_error"
    CORRECTION = "correction"
    RE_ASK = "re_ask"
    LOOP = "loop"
    REWORK = "rework"
    READ_WASTE = "read_waste"
    REWIND = "rewind"
    MANUAL_STEP = "manual_step"
    REPEATED_INSTRUCTION = "repeated_instruction"
    PERMISSION_TOIL = "permission_toil"
    STALL = "stall"
    COMPACTION = "compaction"


class Cause(StrEnum):
    """Where to look for a remedy."""

    AGENT = "agent"
    ENVIRONMENT = "environment"
    PROMPT = "prompt"


class Loss(Struct, frozen=True, kw_only=True, gc=False):
    """What a moment cost. None where the transcript does not tell."""

    seconds: float | None = None
    tokens: int | None = None
    nanodollars: int | None = None


NOTHING_KNOWN = Loss()


class Event(Struct, frozen=True, kw_only=True):
    """One moment of friction."""

    kind: Kind
    session: str
    uuid: str | None
    """The line that proves it; None in streams, whose lines may have no id."""
    time: datetime | None
    evidence: str
    """A short quote or a count, without secrets and control characters."""
    confidence: float
    cause: Cause
    about: str = ""
    """What events of a kind are grouped by: the class of an error, a tool, a file, a command."""
    loss: Loss = NOTHING_KNOWN
    agent: str | None = None
    """The subagent it happened in; None for the session itself."""
    details: dict[str, str | int | float | bool | list[str]] = field(default_factory=dict)


_UNPRINTABLE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")
_SECRET = re.compile(
    r"""(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abprs])[-_][\w-]{10,}   # keys that say what they are
    | AKIA[0-9A-Z]{12,} | eyJ[\w-]{15,}(?:\.[\w-]+)*                        # AWS keys, JSON web tokens
    | (?<=://)[^/:@]+:[^/@]+(?=@)                                            # user:password@host
    | (?<![\w/.-])(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{40,}={0,2}(?![\w/.-])       # long random text
    | (?i:(?<=password=)|(?<=passwd=)|(?<=token=)|(?<=secret=)|(?<=api_key=)|(?<=apikey=))[^&'",;]{4,}""",
    re.VERBOSE,
)
_SHORTEST_SECRET = 12
_HIDDEN = "[secret]"


def quote(text: str) -> str:
    """The beginning of a text as one line that may be shown to anybody."""
    words = text[: 2 * LONGEST_QUOTE].split()
    for place, word in enumerate(words):
        if place and words[place - 1][-6:].lower() == "bearer":
            words[place] = _HIDDEN
        elif len(word) >= _SHORTEST_SECRET:
            words[place] = _SECRET.sub(_HIDDEN, word)
    line = " ".join(words)
    if not line.isprintable():
        line = " ".join(_UNPRINTABLE.sub(" ", line).split())
    return line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1].rstrip() + "…"
