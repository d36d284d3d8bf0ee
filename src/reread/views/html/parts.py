"""What the templates are given: a session as plain values, turn by turn, with everything ready to be shown."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from markupsafe import Markup

from reread.blocks.model import AskedQuestion

from .content import NOTHING, USUAL, Cut, CutLimits, FoldedWords, Picture

BAD = {"error": "failed", "rejected": "rejected", "interrupted": "interrupted"}
"""The statuses of calls that did not succeed, each with a word for it."""


class Sections(NamedTuple):
    """Which parts of a session are shown."""

    thinking: bool = True
    tools: bool = True
    subagents: bool = True
    raw: bool = False
    """Whether the raw records are shown below their content."""
    limits: CutLimits = USUAL
    """The limits of long texts."""
    open_agents: bool = True
    """Whether the conversations of agents are included; a page that loads them on demand needs only their names."""


class Words(NamedTuple):
    anchor: str
    html: Markup
    time: datetime | None
    fate: str
    """`taken back`, `interrupted`, `cut off`; empty for words that were not withdrawn."""
    raw: str
    kind: str = "words"


class ThinkingPart(NamedTuple):
    anchor: str
    text: str
    lead: str
    """Its first words, as the title of the fold."""
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
    """Why the change was not applied; empty if it was."""


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
    """An agent's report, shown in place of the plain output."""
    pictures: list[Picture]
    agent: AgentPart | None
    raw: str
    listing: Diff | None = None
    """A file that was read, shown in place of the plain output."""
    is_decision: bool = False
    """Whether it asked the person to decide; such a call is always shown unfolded."""
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
    """Consecutive calls, with the thinking between them."""

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
        """`Bash 5`, the most frequent first."""
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
    """Empty if the text alone says what it is."""
    mark: str
    text: str
    detail: Cut
    links: list[Link]
    time: datetime | None
    raw: str
    output: Cut = NOTHING
    """What a command printed, shown in place of the text."""
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
    """How many thoughts the client did not store."""
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
    is_message: bool = False
    """Whether it is what another session of its team sent."""


class ChangedFile(NamedTuple):
    path: str
    status: str
    added: int
    removed: int
    number: int = 0
    """The number by which a page requests the file's diff."""
    is_known: bool = True
    """Whether the whole content of the file is known."""


class Figures(NamedTuple):
    """The totals of a session."""

    facts: list[str]
    tokens: list[tuple[str, str]]
    bad: list[tuple[str, int]]
    """`failed 3`, `rejected 1`."""


class Page(NamedTuple):
    """A whole session."""

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
