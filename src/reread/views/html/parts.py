"""What the templates are given: a session as plain values, by turn, with everything ready to be shown."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from reread.blocks.model import AskedQuestion

from .content import NOTHING, USUAL, Cut, CutLimits, FoldedWords, Picture

BAD = {"error": "failed", "rejected": "rejected", "interrupted": "interrupted"}
"""How a call ended that did not do what it was to do, and in a word."""


class Sections(NamedTuple):
    """What of a session is shown."""

    thinking: bool = True
    tools: bool = True
    subagents: bool = True
    raw: bool = False
    """The records as they stand in the transcript, below what they say."""
    limits: CutLimits = USUAL
    """Of long texts."""
    open_agents: bool = True
    """Whether what agents did comes with them; a page that brings it in when it is wanted needs only their names."""


class Words(NamedTuple):
    anchor: str
    html: Markup
    time: datetime | None
    fate: str
    """`taken back`, `interrupted`, `cut off`; empty for words that stand."""
    raw: str
    kind: str = "words"


class ThinkingPart(NamedTuple):
    anchor: str
    text: str
    lead: str
    """Its first words, for the fold."""
    time: datetime | None
    fate: str
    raw: str
    kind: str = "thought"


class Diff(NamedTuple):
    path: str
    added: int
    removed: int
    rows: list[str]
    """The lines, each as HTML: a page may have a hundred thousand of them."""
    folded: list[str]
    left_out: int
    not_applied: str
    """Why, where it was not; empty where it was."""


class Todo(NamedTuple):
    status: str
    text: str


class PagePart(NamedTuple):
    """One argument of a call."""

    label: str
    html: Markup
    look: str
    """inline, code or prose."""
    rest: Cut | None = None


class CallPart(NamedTuple):
    anchor: str
    name: str
    point: str
    status: str
    mark: str
    ending: str
    seconds: str
    time: datetime | None
    diffs: list[Diff]
    parts: list[PagePart]
    todos: list[Todo]
    questions: tuple[AskedQuestion, ...]
    output: Cut
    report: Markup
    """What an agent reported, in place of its plain output."""
    pictures: list[Picture]
    agent: AgentPart | None
    raw: str
    listing: Diff | None = None
    """A file as it was read, in place of its plain output."""
    is_decision: bool = False
    """Whether it put something before the person: it is shown open, and never in a fold."""
    kind: str = "call"

    @property
    def is_bad(self) -> bool:
        return self.status in BAD

    @property
    def added(self) -> int:
        return sum(diff.added for diff in self.diffs)

    @property
    def removed(self) -> int:
        return sum(diff.removed for diff in self.diffs)


class Calls(NamedTuple):
    """Calls one after the other, with what was thought between them."""

    rows: list[CallPart | ThinkingPart]
    is_folded: bool
    kind: str = "calls"

    @property
    def calls(self) -> list[CallPart]:
        return [row for row in self.rows if isinstance(row, CallPart)]

    @property
    def bad(self) -> list[CallPart]:
        return [call for call in self.calls if call.is_bad]

    @property
    def tally(self) -> list[tuple[str, int]]:
        """`Bash 5`, the commonest first."""
        counted: dict[str, int] = {}
        for call in self.calls:
            counted[call.name] = counted.get(call.name, 0) + 1
        return sorted(counted.items(), key=lambda each: -each[1])

    @property
    def added(self) -> int:
        return sum(call.added for call in self.calls if not call.is_bad)

    @property
    def removed(self) -> int:
        return sum(call.removed for call in self.calls if not call.is_bad)


class Link(NamedTuple):
    href: str
    text: str


class Note(NamedTuple):
    anchor: str
    what: str
    label: str
    """Where the text does not say by itself what it is."""
    mark: str
    text: str
    detail: Cut
    links: list[Link]
    time: datetime | None
    raw: str
    output: Cut = NOTHING
    """What a command printed, in place of the text."""
    kind: str = "note"


Item = Words | ThinkingPart | Calls | Note


class QuestionPart(NamedTuple):
    """A prompt."""

    text: FoldedWords
    pictures: list[Picture]
    time: datetime | None
    kind: str
    raw: str


class TurnPart(NamedTuple):
    anchor: str
    number: int
    prompt: QuestionPart | None
    items: list[Item]
    facts: list[str]
    unstored: int
    """Thoughts that the client did not store."""
    bad: int


class AgentPart(NamedTuple):
    anchor: str
    title: str
    facts: list[str]
    turns: list[TurnPart]


class BranchPart(NamedTuple):
    anchor: str
    label: str
    forked_at: str
    is_active: bool
    is_certain: bool
    turns: list[TurnPart]


class OutlineRow(NamedTuple):
    anchor: str
    number: int
    text: str
    time: datetime | None
    bad: int


class ChangedFile(NamedTuple):
    path: str
    status: str
    added: int
    removed: int
    number: int = 0
    """By which a page asks for its diff."""
    is_known: bool = True
    """Whether the file is known as a whole."""


class Figures(NamedTuple):
    """What a session amounts to."""

    facts: list[str]
    tokens: list[tuple[str, str]]
    bad: list[tuple[str, int]]
    """`failed 3`, `rejected 1`."""


class Page(NamedTuple):
    """A session."""

    id: str
    title: str
    project: str
    started: datetime | None
    ended: datetime | None
    facts: list[str]
    tokens: list[tuple[str, str]]
    bad: list[tuple[str, int]]
    """`failed 3`, `rejected 1`."""
    problems: list[str]
    files: list[ChangedFile]
    outline: list[OutlineRow]
    branches: list[BranchPart]
    lone_agents: list[AgentPart]
    """Agents that no call names."""
