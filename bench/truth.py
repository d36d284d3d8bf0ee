"""Holds what is true of a synthetic tree, added up while the tree is written and never read back from it.

A figure is *physical* (every line of every transcript, copies included, as a reading file by file sees it)
unless it stands in `distinct`, where lines copied from another file count once.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Needle", "SessionTruth", "Tally", "Truth", "Usage"]

Cells = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class Usage:
    """The tokens of one API response as its final row tells them."""

    input: int
    output: int
    read: int
    write: int
    split: tuple[int, int] | None
    """(5m, 1h) as the row claims them; None when the row has no split."""
    searches: int = 0
    speed: str = "standard"
    geo: str = "not_available"
    advisor: tuple[str, Usage] | None = None

    def cell(self) -> dict[str, int]:
        """What this response adds to its day and model (accounting R8: the aggregate rules the split)."""
        hour = min(self.split[1], self.write) if self.split else 0
        return {
            "requests": 1,
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_read_tokens": self.read,
            "cache_write_5m_tokens": self.write - hour,
            "cache_write_1h_tokens": hour,
            "web_searches": self.searches,
        }


@dataclass
class Tally:
    """Counts over the lines of one or more transcripts."""

    bytes: int = 0
    lines: int = 0
    records: int = 0
    """JSON objects: two on one line are two, a malformed line is none."""
    malformed: int = 0
    prompts: int = 0
    """User lines of class 12 (format 2.6): what a person typed, outside agent files."""
    queued_prompts: int = 0
    """Prompts that live only in a `queued_command` attachment."""
    tool_calls: int = 0
    """`tool_use` blocks on assistant lines; `agent_progress` copies do not count."""
    thoughts: int = 0
    """Thinking blocks on assistant lines with more than 10 characters of text."""
    rewinds: int = 0
    """Nodes with two or more human prompts as children."""
    compactions: int = 0
    """`compact_boundary` lines."""

    def add(self, other: Tally, sign: int = 1) -> None:
        """Adds another tally to this one, or takes it away."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + sign * value)


@dataclass(frozen=True)
class Needle:
    """A word that stands in exactly one line of the tree."""

    word: str
    session: str
    field: str
    """prompt, text, thinking, tool (the input) or result (both the block and its `toolUseResult` twin)."""


@dataclass
class SessionTruth:
    """One trunk transcript: what it holds and what is needed to write on in it."""

    path: str
    """Below the tree, with forward slashes."""
    cwd: str
    version: str
    leaf: str
    last_ms: int
    tally: Tally = field(default_factory=Tally)
    copy_of: str | None = None
    copyable: bool = True
    """False where a copy would make another truth: needles, gateway ids (scoped by session), damage."""
    ends_open: bool = False
    """True when the file has no final newline."""


@dataclass
class Truth:
    """Everything known about a tree."""

    seed: int
    files: int = 0
    """Transcripts: session and agent `.jsonl` files below `projects`."""
    subagents: int = 0
    """Agent transcripts of every kind, tool agents, suggestions, compactions and side questions."""
    tool_agents: int = 0
    """Those of them that a Task or Agent call started."""
    totals: Tally = field(default_factory=Tally)
    distinct: Tally = field(default_factory=Tally)
    cells: Cells = field(default_factory=dict)
    needles: list[Needle] = field(default_factory=list)
    by_session: dict[str, SessionTruth] = field(default_factory=dict)
    dealt: dict[str, int] = field(default_factory=dict)
    """How often each structure of the generator was tried; a client too old for one leaves it out."""

    def book(self, day: str, model: str, usage: Usage, sign: int = 1) -> None:
        """Adds one request and its advisor child to their cells, or takes them away."""
        models = self.cells.setdefault(day, {})
        cell = models.setdefault(model, dict.fromkeys(usage.cell(), 0))
        for name, value in usage.cell().items():
            cell[name] += sign * value
        if not cell["requests"]:
            del models[model]
        if usage.advisor:
            self.book(day, *usage.advisor, sign=sign)

    def count(self, tally: Tally, copied: Tally | None = None) -> None:
        """Adds the lines of one transcript; those in `copied` are not distinct."""
        self.totals.add(tally)
        self.distinct.add(tally)
        if copied:
            self.distinct.add(copied, sign=-1)

    def as_dict(self) -> dict[str, Any]:
        """The flat form written to truth.json."""
        own = asdict(self)
        return {"seed": own.pop("seed"), "sessions": len(self.by_session), **own.pop("totals"), **own}

    def write(self, path: Path) -> None:
        """Writes truth.json, which belongs beside the tree and never inside it."""
        path.write_text(json.dumps(self.as_dict(), indent=1, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Truth:
        """The truth written by `write`."""
        flat = json.loads(path.read_text(encoding="utf-8"))
        flat.pop("sessions")
        totals = Tally(**{name: flat.pop(name) for name in vars(Tally())})
        needles = [Needle(**needle) for needle in flat.pop("needles")]
        sessions = {
            sid: SessionTruth(**{**known, "tally": Tally(**known["tally"])})
            for sid, known in flat.pop("by_session").items()
        }
        distinct = Tally(**flat.pop("distinct"))
        return cls(totals=totals, distinct=distinct, needles=needles, by_session=sessions, **flat)
