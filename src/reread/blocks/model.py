"""The dozen kinds of blocks that a conversation is shown as.

A block of a stream is `forming` until it is whole, and may be `withdrawn`; its key stays the same meanwhile. What costs
something and only some views ask for (changed lines, a whole output, what a turn used) is worked out on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from reread.marks import NO_MARK, Mark
from reread.records import Record
from reread.sessions import CallStatus, Speaker, Tokens, ToolPermission
from reread.sessions.calls import message_of
from reread.sessions.captured import Withdrawal

if TYPE_CHECKING:  # sessions without captures never import `live`
    from reread.features.edits.patches import DiffLine
    from reread.live.events import Permission, PermissionAnswered, TurnResult

LABELLED = frozenset({"queued", "hook", "task", "withdrawn", "unknown"})
"""Notices whose text does not say by itself what they are."""
_PATHS = ("file_path", "notebook_path", "path")
_NOT_ASKED = ("/", "!")
"""How a command begins that a person typed; all else of a command is what it printed."""


class BlockState(StrEnum):
    FORMING = "forming"
    WHOLE = "whole"
    WITHDRAWN = "withdrawn"


class BlockPlace(Struct, frozen=True, gc=False):
    """Where a block stands: in a line, which says the rest, or where an event of a stream says by itself."""

    record: Record | None = None
    agent: str | None = None
    """The call that started the agent who speaks; None for the conversation itself."""
    number: int | None = None
    """Which block of its message."""
    name: str | None = None
    message: str | None = None
    at: datetime | None = None

    @property
    def uuid(self) -> str | None:
        return self.name or (self.record.uuid if self.record is not None else None)

    @property
    def message_id(self) -> str | None:
        """The API response it is part of."""
        return self.message or (message_of(self.record) if self.record is not None else None)

    @property
    def time(self) -> datetime | None:
        """Read from the line when it is asked for: most views never do, and a page has thousands."""
        return (self.record.time if self.record is not None else None) or self.at


NOWHERE = BlockPlace()


class ShownBlock(Struct, frozen=True, kw_only=True, gc=False):
    key: str
    place: BlockPlace
    state: BlockState = BlockState.WHOLE
    withdrawn: Withdrawal | None = None
    """Why it was taken back; None for all that stands."""


class HeadingBlock(ShownBlock, frozen=True, kw_only=True):
    """What a session is: first of all blocks, and in a stream again where something of it changed."""

    id: str
    title: str = ""
    project: str | None = None
    started: datetime | None = None
    model: str | None = None
    version: str | None = None
    mode: str | None = None
    prompts: int = 0
    calls: int = 0
    agents: int = 0
    branches: int = 1
    usage: Tokens | None = None
    problems: tuple[str, ...] = ()
    mark: Mark = NO_MARK
    before: HeadingBlock | None = None
    """What a stream said of the same session last."""


class RuleBlock(ShownBlock, frozen=True, kw_only=True):
    """Begins a turn."""

    index: int
    branch: str = ""
    is_last: bool = False


class PromptBlock(ShownBlock, frozen=True, kw_only=True):
    text: str
    kind: Speaker
    images: int = 0


class WordsBlock(ShownBlock, frozen=True, kw_only=True):
    """What the model said to the person."""

    text: str


class ThinkingBlock(ShownBlock, frozen=True, kw_only=True):
    text: str
    """Empty where the client did not store it, or does not show it."""
    is_redacted: bool = False
    signature: str | None = None
    duration_ms: float | None = None
    tokens: int | None = None
    """About how many, where a stream says so and withholds the text."""


class NoticeBlock(ShownBlock, frozen=True, kw_only=True):
    """Something that happened beside the talk."""

    what: str
    text: str
    detail: str = ""
    is_passing: bool = False
    """A state of the moment: it is gone as soon as anything else is shown."""
    is_of_stream: bool = False
    """Whether no line of a transcript tells it."""

    @property
    def label(self) -> str:
        return self.what if self.what in LABELLED else ""

    @property
    def labelled(self) -> str:
        return f"{self.what}: {self.text}" if self.what in LABELLED else self.text

    @property
    def is_printed(self) -> bool:
        """Whether it is what a command printed, and not the command."""
        return self.what == "command" and not self.text.startswith(_NOT_ASKED)


class OutputBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    """What a call gave back."""

    call: str | None
    name: str
    """Of the tool."""
    text: str
    is_error: bool = False
    images: int = 0
    read_result: Callable[[], Any] = dict
    read_whole: Callable[[], str] | None = None

    @cached_property
    def result(self) -> Mapping[str, Any]:
        """The structured twin of the text; empty where there is none."""
        found = self.read_result()
        return found if isinstance(found, dict) else {}

    @property
    def whole(self) -> str:
        """All of it, though the line may hold only its beginning."""
        return self.read_whole() if self.read_whole is not None else self.text

    @property
    def answers(self) -> Mapping[str, Any]:
        """What the person chose, by question."""
        given = self.result.get("answers") if self.name == "AskUserQuestion" else None
        return given if isinstance(given, dict) else {}


class DiffBlock(Struct, frozen=True, kw_only=True):
    """What a call changes in a file."""

    path: str
    lines: Sequence[DiffLine]


class Choosable(NamedTuple):
    label: str
    about: str = ""
    is_chosen: bool = False


class AskedQuestion(Struct, frozen=True, kw_only=True):
    """One question of AskUserQuestion."""

    text: str
    header: str = ""
    options: tuple[Choosable, ...] = ()
    is_several: bool = False
    answer: str = ""
    """What was answered, where it is none of the options."""


class QuestionBlock(ShownBlock, frozen=True, kw_only=True):
    """The client asks a person: may a tool run, which answer do they choose, is a plan good.

    Forming until it is answered; withdrawn where it needs no answer any more.
    """

    permission: Permission
    answer: PermissionAnswered | None = None


class CallBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    id: str | None
    name: str
    input: Any
    status: CallStatus = CallStatus.MISSING
    output: OutputBlock | None = None
    permission: ToolPermission | None = None
    agent: AgentBlock | None = None
    written: str = ""
    """The JSON of its input as far as it has come, while it forms."""

    @property
    def seconds(self) -> float | None:
        """From the call to its result."""
        began, ended = self.place.time, self.output.place.time if self.output is not None else None
        return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())

    @property
    def result(self) -> Mapping[str, Any]:
        return self.output.result if self.output is not None else {}

    @cached_property
    def diffs(self) -> tuple[DiffBlock, ...]:
        """What it changed or would have: its own file, or those that a shell command is known to have changed."""
        from reread.features.edits.patches import (  # 5 ms, and most views of a session ask for none
            bash_changes,
            is_edit,
            patched,
            proposed,
        )

        if not is_edit(self.name):
            return tuple(DiffBlock(path=path, lines=lines) for path, lines in bash_changes(self.result))
        lines = patched(self.result) or proposed(self.name, self.input)
        return (DiffBlock(path=path_of(self.input), lines=lines),) if lines else ()

    @cached_property
    def questions(self) -> tuple[AskedQuestion, ...]:
        """With what was answered."""
        if self.name != "AskUserQuestion":
            return ()
        answers = self.output.answers if self.output is not None else {}
        return tuple(questions_in(self.input, answers))


class AgentBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    """An agent's own conversation."""

    id: str
    type: str | None
    kind: str = "task"
    description: str = ""
    calls: int = 0
    output_tokens: int = 0
    cost: Decimal | None = None
    read_turns: Callable[[], tuple[TurnBlocks, ...]]

    @cached_property
    def turns(self) -> tuple[TurnBlocks, ...]:
        return self.read_turns()


class TurnUsage(NamedTuple):
    tokens: Tokens
    context: int
    """Tokens that its last request sent."""


class ResultBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    """Ends a turn: what it took."""

    duration_ms: float | None = None
    reckon: Callable[[], TurnUsage] | None = None
    outcome: TurnResult | None = None
    """What the client itself says of it, in a stream."""

    @cached_property
    def usage(self) -> TurnUsage:
        return self.reckon() if self.reckon is not None else TurnUsage(Tokens(), 0)


StepBlock = WordsBlock | ThinkingBlock | CallBlock | NoticeBlock
"""What stands in a turn between its prompt and its result."""


class TurnBlocks(Struct, frozen=True, kw_only=True):
    """A prompt and all that followed until the next one."""

    rule: RuleBlock
    prompt: PromptBlock | None
    steps: tuple[StepBlock, ...]
    result: ResultBlock | None = None

    def __iter__(self) -> Iterator[ShownBlock]:
        """In reading order."""
        yield self.rule
        if self.prompt is not None:
            yield self.prompt
        yield from self.steps
        if self.result is not None:
            yield self.result


def path_of(tool_input: object) -> str:
    """The file that an input names."""
    fields = tool_input if isinstance(tool_input, dict) else {}
    return next((fields[key] for key in _PATHS if isinstance(fields.get(key), str)), "")


def questions_in(tool_input: Any, answers: Mapping[str, Any]) -> Iterator[AskedQuestion]:
    """The questions of an input of AskUserQuestion that can be asked."""
    found = tool_input.get("questions") if isinstance(tool_input, dict) else None
    for each in found if isinstance(found, list) else ():
        if isinstance(each, dict):
            yield _question(each, str(answers.get(str(each.get("question")), "")))


def _question(question: Mapping[str, Any], answer: str) -> AskedQuestion:
    offered = question.get("options")
    options = [_option(each, answer) for each in offered] if isinstance(offered, list) else []
    return AskedQuestion(
        text=str(question.get("question") or ""),
        header=str(question.get("header") or ""),
        options=tuple(options),
        is_several=question.get("multiSelect") is True,
        answer="" if any(option.is_chosen for option in options) else answer,
    )


def _option(offered: Any, answer: str) -> Choosable:
    if not isinstance(offered, dict):
        return Choosable(str(offered), "", bool(offered) and str(offered) in answer)
    label = str(offered.get("label") or "")
    return Choosable(label, str(offered.get("description") or ""), bool(label) and label in answer)
