"""The dozen kinds of blocks that a conversation is shown as.

A block of a stream is `forming` until it is `whole`, and may be `withdrawn`; its key never changes. What is costly and
needed by some views only (changed lines, a whole output, what a turn used) is computed on demand.
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
from reread.records.json_parts import list_of, object_of, objects_in
from reread.sessions import CallStatus, Speaker, Tokens, ToolPermission
from reread.sessions.calls import message_of
from reread.sessions.captured import Withdrawal

if TYPE_CHECKING:  # sessions without captures never import `live`
    from reread.features.edits.patches import DiffLine
    from reread.live.events import Permission, PermissionAnswered, TurnResult

LABELLED = frozenset({"queued", "hook", "task", "withdrawn", "unknown"})
"""Notices whose text alone does not say what they are."""
_PATHS = ("file_path", "notebook_path", "path")
_NOT_ASKED = ("/", "!")
"""A command notice that begins with one of these was typed by a person; any other is what a command printed."""


class BlockState(StrEnum):
    FORMING = "forming"
    WHOLE = "whole"
    WITHDRAWN = "withdrawn"


class BlockPlace(Struct, frozen=True, gc=False):
    """Where a block comes from: a line of a transcript, or an event of a stream, whose own fields then say it."""

    record: Record | None = None
    agent: str | None = None
    """The id of the call that started the agent that this block belongs to; None for the main conversation."""
    number: int | None = None
    """The position of the block in its message."""
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
        """Parsed from the line only when asked for: most views never ask, and a page has thousands of blocks."""
        return (self.record.time if self.record is not None else None) or self.at


NOWHERE = BlockPlace()


class ShownBlock(Struct, frozen=True, kw_only=True, gc=False):
    key: str
    place: BlockPlace
    state: BlockState = BlockState.WHOLE
    withdrawn: Withdrawal | None = None
    """Why it was taken back; None unless it was."""


class HeadingBlock(ShownBlock, frozen=True, kw_only=True):
    """Describes the session. It is the first block; a stream repeats it when something about the session changes."""

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
    unsaid: int = 0
    """Words of Claude that the client did not store."""
    told: tuple[str, ...] = ()
    """What lines beside the conversation say of the session, in sentences."""
    usage: Tokens | None = None
    problems: tuple[str, ...] = ()
    mark: Mark = NO_MARK
    before: HeadingBlock | None = None
    """The heading that the stream gave for the same session before this one."""


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
    """Empty if the client did not store it or does not show it."""
    is_redacted: bool = False
    signature: str | None = None
    duration_ms: float | None = None
    tokens: int | None = None
    """An estimate, if a stream gives one in place of the text."""


class NoticeBlock(ShownBlock, frozen=True, kw_only=True):
    """Something that happened outside what was said, such as a compaction or a hook."""

    what: str
    text: str
    detail: str = ""
    is_passing: bool = False
    """A momentary state, which disappears as soon as anything else is shown."""
    is_of_stream: bool = False
    """Whether only the stream has it: no line of a transcript does."""
    repeats: tuple[NoticeBlock, ...] = ()
    """All of a run of retries, if this stands for several."""

    @property
    def is_unsaid(self) -> bool:
        """Whether it stands for words of Claude that the client did not store."""
        return self.what == "unsaid"

    @property
    def label(self) -> str:
        return self.what if self.what in LABELLED else ""

    @property
    def labelled(self) -> str:
        return f"{self.what}: {self.text}" if self.what in LABELLED else self.text

    @property
    def is_printed(self) -> bool:
        """Whether it is the output of a command rather than the command."""
        return self.what == "command" and not self.text.startswith(_NOT_ASKED)


class OutputBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    """The output of a call."""

    call: str | None
    """The id that the result names."""
    name: str
    """The name of the tool."""
    text: str
    is_error: bool = False
    images: int = 0
    read_result: Callable[[], Any] = dict
    read_whole: Callable[[], str] | None = None

    @cached_property
    def result(self) -> Mapping[str, Any]:
        """The structured result that the client stores next to the text; empty if there is none."""
        return object_of(self.read_result())

    @property
    def whole(self) -> str:
        """The whole output, even if the line holds only its beginning."""
        return self.read_whole() if self.read_whole is not None else self.text

    @property
    def answers(self) -> Mapping[str, Any]:
        """What the person chose, by question."""
        return object_of(self.result.get("answers")) if self.name == "AskUserQuestion" else {}


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
    """The answer, if it is not one of the options."""


class QuestionBlock(ShownBlock, frozen=True, kw_only=True):
    """A question of the client to a person: may a tool run, which option to choose, is a plan good.

    Forming until it is answered; withdrawn if it no longer needs an answer.
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
    """The part of its input's JSON that has arrived, while the block is forming."""

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
        """What it changed, or would have: the file it names, or the files a shell command is known to have changed."""
        from reread.features.edits.patches import (  # the import takes 5 ms, and most views need no diffs
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
        """The questions it asked, with their answers."""
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
    unpriced_tokens: int = 0
    read_turns: Callable[[], tuple[TurnBlocks, ...]]

    @cached_property
    def turns(self) -> tuple[TurnBlocks, ...]:
        return self.read_turns()


class TurnUsage(NamedTuple):
    tokens: Tokens
    context: int
    """Prompt tokens of the turn's last request."""


class ResultBlock(ShownBlock, frozen=True, kw_only=True, dict=True, gc=True):
    """Ends a turn, with what the turn used."""

    duration_ms: float | None = None
    reckon: Callable[[], TurnUsage] | None = None
    outcome: TurnResult | None = None
    """The result that the client itself reports; only in a stream."""

    @cached_property
    def usage(self) -> TurnUsage:
        return self.reckon() if self.reckon is not None else TurnUsage(Tokens(), 0)


StepBlock = WordsBlock | ThinkingBlock | CallBlock | NoticeBlock
"""The blocks of a turn between its prompt and its result."""


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
    """The path in a tool's input; empty if it has none."""
    fields = object_of(tool_input)
    return next((fields[key] for key in _PATHS if isinstance(fields.get(key), str)), "")


def questions_in(tool_input: Any, answers: Mapping[str, Any]) -> Iterator[AskedQuestion]:
    """The questions in an input of AskUserQuestion; those that are not objects are skipped."""
    for each in objects_in(object_of(tool_input).get("questions")):
        yield _question(each, str(answers.get(str(each.get("question")), "")))


def _question(question: Mapping[str, Any], answer: str) -> AskedQuestion:
    options = [_option(each, answer) for each in list_of(question.get("options"))]
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
