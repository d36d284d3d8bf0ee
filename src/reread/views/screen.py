"""A conversation as it happens: `Screen` takes events or blocks and returns the text to write now.

Thinking and words appear as they stream, the input of a tool call as it forms. The last line may be passing: it is
redrawn in place and disappears as soon as anything else is shown. If the output is not a terminal, every line is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from reread.billing.cost import Rated
from reread.blocks.model import (
    BlockState,
    CallBlock,
    HeadingBlock,
    NoticeBlock,
    OutputBlock,
    PromptBlock,
    QuestionBlock,
    ResultBlock,
    ShownBlock,
    ThinkingBlock,
    WordsBlock,
)
from reread.blocks.of_events import StreamBlocks
from reread.features.edits.patches import changed, is_edit, patched
from reread.live import events
from reread.live.events import Event, TurnResult
from reread.sessions import CallStatus
from reread.sessions.calls import is_rejection

from .calls import MARKS, point_of, summary, tool_label, without_error_tags
from .markdown_flow import MarkdownFlow
from .numbers import costs, count, duration, some, tokens
from .terminal import CLAUDE, call_line, diff_lines, notice_lines, prompt_lines
from .text import Flow, cells, clip, hanging, harmless, joined, one_line, partial_input, ruler, shorten, wrap
from .values import View

THINKING = "  ✻ "
RESULT = "    └─ "
_MOST_ERROR_LINES = 8
_MOST_PRINTED = 4
"""Lines of a command's output."""
_SHOWN_OF_WITHDRAWN = 200
_PARSED = 2000
"""How many characters of a forming input are parsed: the point of a call is at its beginning."""
_REDRAWN = 500
"""The line of a longer input is redrawn each time the input has grown by this many characters."""
_BESIDE_A_CALL = frozenset({"tool", "note", "question"})
"""Kinds of lines that may stand between a call and its result without making it unclear whose result it is."""


class Screen:
    """What a person sees of a stream. All text of the model, a tool or the client is made harmless here."""

    def __init__(self, view: View, *, is_terminal: bool) -> None:
        self.view = view
        self._is_terminal = is_terminal
        self.project: str | None = None
        """The session's folder, once the stream has reported it; paths below it are shown relative to it."""
        self._blocks = StreamBlocks()
        self._last = ""
        """The kind of the line above: some kinds are separated by a blank line."""
        self._agent: str | None = None
        self._flow: Flow | None = None
        self._flowing: str | None = None
        self._streamed: dict[str, int] = {}
        """How many characters of each forming block have been shown."""
        self._redrawn = 0
        self._is_passing = False
        self._calls: dict[str | None, str] = {}
        """The calls so far, each in a few words."""
        self._above: str | None = None
        """The call that was shown last, as long as only lines of `_BESIDE_A_CALL` follow it."""
        self._unanswered: dict[str | None, set[str | None]] = {}
        """Calls without a result, by agent: if there are several, a result names its call."""
        self._diffs_seen: set[str | None] = set()
        self._told_failure: str | None = None

    def resize(self, width: int) -> None:
        """Applies to what comes next."""
        if width != self.view.width:
            self.view = self.view._replace(width=width)
            if self._flow is not None:
                self._flow.resize(width - 1)

    def show(self, event: Event) -> str:
        """The text to write now; empty if the event shows nothing."""
        return "".join(map(self.write, self._blocks.feed(event)))

    def write(self, block: ShownBlock) -> str:
        """The same for a block in its current state."""
        written = _WRITTEN.get(type(block))
        return written(self, block) if written is not None else ""

    def learn(self, block: ShownBlock) -> None:
        """Remembers a block that is not shown, so that a later result can name its call."""
        if isinstance(block, CallBlock):
            self._calls[block.id] = self._label(block)

    def saw_diff(self, call: str | None) -> None:
        """Call this when the person has seen the edit's diff, so that its result does not show it again."""
        self._diffs_seen.add(call)

    def note(self, text: str, *looks: str) -> str:
        """A message of ours, wrapped and never cut: its end may be the reason of an error, or an id to copy."""
        made: list[str] = []
        for line in harmless(text).split("\n"):
            words = line.lstrip(" ")
            indent = " " * min(len(line) - len(words), self.view.width // 2)
            made += [self.view.style.paint(part, *looks) for part in hanging(words, self.view.width, indent, indent)]
        return self._lines(made, "note")

    def question(self, shown: Iterable[str]) -> str:
        """Lines of ours that ask the person something."""
        return self._lines(shown, "question")

    def heading(self, text: str, project: str | None) -> str:
        """A ruler across the screen, above the output of another session."""
        self.project = project
        above = self._closed() + ("\n" if self._last else "")
        self._last, self._above, self._agent = "", None, None
        return above + self.view.style.paint(ruler(text, self.view.width - 1), "dim") + "\n"

    def rest(self) -> str:
        """Ends the open line."""
        return self._closed()

    # Blocks that stream

    def _spoken(self, block: WordsBlock | ThinkingBlock) -> str:
        """The part of the block that has not been shown yet, whether the block is forming or whole."""
        if block.state is BlockState.WITHDRAWN:
            return self._withdrawn(block)
        if isinstance(block, ThinkingBlock) and not self.view.thinking:
            return ""
        shown = self._streamed.get(block.key, 0)
        is_whole = block.state is BlockState.WHOLE
        left = block.text[shown:] if shown or not is_whole else block.text.strip("\n")
        if isinstance(block, ThinkingBlock) and is_whole and not left.strip() and not shown:
            return self._withheld(block)
        text = self._flows(block, left) if left.strip() or not is_whole else ""
        if not is_whole:
            self._streamed[block.key] = len(block.text)
            return text
        self._streamed.pop(block.key, None)
        return text + (self._closed() if self._flowing == block.key else "")

    def _flows(self, block: WordsBlock | ThinkingBlock, text: str) -> str:
        before = "" if self._flowing == block.key else self._begin(block)
        return before + (self._flow.add(text) if self._flow is not None else "")

    def _begin(self, block: WordsBlock | ThinkingBlock) -> str:
        """The lead of a block and its flow. A block that something else interrupted continues below, without a lead."""
        is_thinking = isinstance(block, ThinkingBlock)
        kind = "thinking" if is_thinking else "text"
        lead, looks = (THINKING, ("dim",)) if is_thinking else (CLAUDE, ("green", "bold"))
        closed = self._closed() + self._speaks(block)
        gap = "" if block.key in self._streamed else self._gap(kind)
        before = self._before
        painted = self.view.style.paint(lead, *looks) if block.key not in self._streamed else " " * cells(lead)
        room = self.view.width - 1 - cells(before) - cells(lead)
        further = before + " " * cells(lead)
        if is_thinking:
            self._flow = Flow(room, further, lambda text: self.view.style.paint(text, "dim"), is_live=self._is_terminal)
        else:
            self._flow = MarkdownFlow(room, further, self.view.style, is_live=self._is_terminal)
        self._flowing = block.key
        self._last, self._above = kind, None
        return closed + gap + before + painted

    def _withheld(self, block: ThinkingBlock) -> str:
        """Thinking without its text: only its length can be shown."""
        about = f", about {block.tokens:,} tokens" if block.tokens else ""
        kind = "redacted" if block.is_redacted else "withheld"
        line = self.view.style.paint(f"{THINKING}thought{about} (its text is {kind})", "dim")
        return self._lines([line], "thinking", block)

    def _withdrawn(self, block: WordsBlock | ThinkingBlock | CallBlock) -> str:
        self._streamed.pop(block.key, None)
        if isinstance(block, ThinkingBlock) and not self.view.thinking and block.withdrawn != "interrupted":
            return ""
        kind = "interrupt" if block.withdrawn == "interrupted" else "note"
        return self._lines(withdrawn_lines(block, self._inner), kind, block)

    # Tool calls

    def _call(self, call: CallBlock) -> str:
        if call.state is BlockState.FORMING:
            return self._forms(call)
        if call.state is BlockState.WITHDRAWN:
            return self._withdrawn(call)
        text = ""
        if call.name and (call.id is None or call.id not in self._calls):
            self._redrawn = 0
            self.learn(call)
            self._unanswered.setdefault(call.place.agent, set()).add(call.id)
            line = call_line(call.name, summary(call, self.project), self._inner, MARKS[CallStatus.OK])
            text = self._lines([line, *todo_lines(call, self._inner)], "tool", call)
            self._above = call.id
        return text + (self._result(call, call.output) if call.output is not None else "")

    def _forms(self, call: CallBlock) -> str:
        """The line of a call, redrawn as its input grows."""
        given = call.written
        if not self._is_terminal or (len(given) > _PARSED and len(given) - self._redrawn < _REDRAWN):
            return ""
        self._redrawn = len(given)
        point = point_of(call.name, partial_input(given[:_PARSED]), self.project)
        size = f"{len(given):,} characters" if len(given) > _PARSED else ""
        return self._pass(call_line(call.name, point, self._inner, MARKS[CallStatus.MISSING], end=size), call)

    def _result(self, call: CallBlock, output: OutputBlock) -> str:
        if call.name == "TodoWrite" and not output.is_error:
            return ""
        unanswered = self._unanswered.get(call.place.agent, set())
        unanswered.discard(call.id)
        is_below = (self._above == call.id and not unanswered) or call.name == "AskUserQuestion"
        label = "" if is_below else self._calls.get(call.id, "").replace(" · ", " ", 1)
        shown = output_lines(call, output, label, self._inner, has_seen_diff=call.id in self._diffs_seen)
        return self._lines(shown, "tool", call)

    def _label(self, call: CallBlock) -> str:
        return f"{tool_label(call.name)} · {summary(call, self.project)}"

    # Blocks on lines of their own

    def _heading(self, heading: HeadingBlock) -> str:
        self.project = heading.project or self.project
        return self._lines(started_lines(heading, self._inner), "note")

    def _prompt(self, prompt: PromptBlock) -> str:
        if not prompt.text.strip() and not prompt.images:
            return ""
        if prompt.place.agent is not None:
            aside = f"  ▸ {shorten(prompt.text, self._inner.width - 4)}"
            return self._lines([self.view.style.paint(aside, "dim")], "note", prompt)
        return self._lines(prompt_lines(prompt, self.view), "prompt", prompt)

    def _notice(self, notice: NoticeBlock) -> str:
        if notice.what == "thinking_tokens":
            is_wanted = self.view.thinking
            return self._pass(self.view.style.paint(THINKING + notice.text, "dim"), notice) if is_wanted else ""
        if notice.is_passing:
            return self._pass(self.view.style.paint(f"  · {notice.text}", "dim"), notice)
        if notice.what == "interrupted" and self._last == "interrupt":
            return ""  # the line above already says what was interrupted
        self._told_failure = notice.text if notice.what == "api_error" else self._told_failure
        if notice.what == "task":  # an agent's last words again, which are above or in its result
            notice = replace(notice, text=shorten(notice.text, self._inner.width - cells("  ◇ task: ")))
        return self._lines(notice_lines(notice, self._inner), "note", notice)

    def _question(self, question: QuestionBlock) -> str:
        return self._lines(question_lines(question, self.project, self._inner), "note", question)

    def _end(self, result: ResultBlock) -> str:
        outcome = result.outcome
        if outcome is None:
            return ""
        has_told = bool(outcome.text) and outcome.text == self._told_failure
        return self._lines(ending_lines(outcome, self._inner, has_told=has_told), "result")

    # How lines get onto the screen

    @property
    def _before(self) -> str:
        """The prefix of every line of an agent."""
        return "" if self._agent is None else f"    {self.view.style.paint('│', 'blue')} "

    @property
    def _inner(self) -> View:
        return self.view._replace(width=max(20, self.view.width - cells(self._before) - 1))

    def _lines(self, shown: Iterable[str], kind: str, block: ShownBlock | None = None) -> str:
        found = list(shown)
        if not found:
            return ""
        text = self._closed() + (self._speaks(block) if block is not None else "") + self._gap(kind)
        self._last = kind
        if kind not in _BESIDE_A_CALL:
            self._above = None
        return text + "".join(f"{self._before}{line}\n" for line in found)

    def _pass(self, line: str, block: ShownBlock) -> str:
        """Shows a line until anything else is shown."""
        if not self._is_terminal or self._flow is not None:
            return ""
        text = self._closed() + self._speaks(block) + (self._gap("tool") if self._last != "tool" else "")
        self._is_passing = True
        return text + self._before + clip(line, self.view.width - cells(self._before) - 1)

    def _closed(self) -> str:
        """Ends the text on the last line, or removes the passing line."""
        if self._is_passing:
            self._is_passing = False
            return "\r\x1b[K"
        if self._flow is None:
            return ""
        text = self._flow.end() + "\n"
        self._flow = self._flowing = None
        return text

    def _gap(self, kind: str) -> str:
        """A blank line if another kind of line begins."""
        if not self._last or self._agent is not None:
            return ""
        is_apart = kind in ("text", "thinking", "prompt", "result", "question") and (
            kind != self._last or kind in ("prompt", "question")
        )
        return "\n" if is_apart else ""

    def _speaks(self, block: ShownBlock) -> str:
        """The line that names an agent when its output begins."""
        agent = block.place.agent
        if agent == self._agent:
            return ""
        self._agent, self._last, self._above = agent, "agent", None
        if agent is None:
            return ""
        label = shorten(self._calls.get(agent, "agent"), self.view.width - 7)
        return self.view.style.paint(f"    ┌ {label}", "blue") + "\n"


_WRITTEN: dict[type[ShownBlock], Callable[[Screen, Any], str]] = {
    ThinkingBlock: Screen._spoken,
    WordsBlock: Screen._spoken,
    CallBlock: Screen._call,
    HeadingBlock: Screen._heading,
    PromptBlock: Screen._prompt,
    NoticeBlock: Screen._notice,
    QuestionBlock: Screen._question,
    ResultBlock: Screen._end,
}


def todo_lines(call: CallBlock, view: View) -> Iterator[str]:
    """The todo list that a call of TodoWrite sets."""
    items = call.input.get("todos") if call.name == "TodoWrite" and isinstance(call.input, dict) else None
    marks = {"completed": ("✓", "dim"), "in_progress": ("▸", "bold")}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            mark, look = marks.get(str(item.get("status")), ("○", ""))
            text = f"      {mark} {shorten(str(item.get('content') or ''), view.width - 8)}"
            yield view.style.paint(text, look) if look else text


def output_lines(
    call: CallBlock, output: OutputBlock, label: str, view: View, *, has_seen_diff: bool = False
) -> Iterator[str]:
    """The output of a tool on one line; an edit with its diff, a failure with its text."""
    paint = view.style.paint
    lead = f"{shorten(label, view.width // 3)}: " if label else ""
    if call.status is CallStatus.REJECTED and output.is_error:
        yield paint(f"    ⊘ {lead}rejected, not applied", "red")
        return
    if call.status is CallStatus.INTERRUPTED and is_rejection(output.text):
        yield paint(f"    ■ {lead}interrupted", "yellow")
        return
    if output.is_error:
        yield from failed_lines(lead + without_error_tags(output.text), view, "    ✗ ")
        return
    diff = patched(output.result) if is_edit(call.name) else []
    if diff:
        yield paint(RESULT + clip(f"{lead}{changed(diff)}", view.width - cells(RESULT)), "dim")
        if not has_seen_diff:
            inner = view._replace(width=view.width - cells(RESULT))
            yield from (" " * cells(RESULT) + line for line in diff_lines(diff, inner))
    elif output.answers:
        chosen = ", ".join(map(str, output.answers.values()))
        yield paint("    → " + shorten(lead + chosen, view.width - 6), "cyan")
    else:
        shown = _printed if call.name == "Bash" and not output.images else _gist
        for number, line in enumerate(shown(lead, output, view.width - cells(RESULT))):
            yield paint((RESULT if number == 0 else " " * cells(RESULT)) + line, "dim")


def _printed(text: str, output: OutputBlock, width: int) -> Iterator[str]:
    """What a command printed; of a long output the first line and the last two, where a program sums up."""
    found = [line for line in harmless(text + output.text).split("\n") if line.strip()] or [f"{text}(nothing)"]
    if len(found) > _MOST_PRINTED:
        found[1:-2] = [f"… {count(len(found) - 3, 'more line')}"]
    yield from (clip(line, width) for line in found)


def _gist(text: str, output: OutputBlock, width: int) -> Iterator[str]:
    """The first line of a result, and the number of further lines."""
    found = [line for line in harmless(output.text).split("\n") if line.strip()]
    pictures = [count(output.images, "image")] if output.images else []
    more = [f"… {count(len(found) - 1, 'more line')}"] if len(found) > 1 else []
    end = "  ".join([*pictures, *more])
    first = found[0] if found else "" if pictures else "(nothing)"
    yield joined((shorten(text + first, width - cells(end) - 2), end), "  ")


def failed_lines(text: str, view: View, lead: str = "  ✗ ") -> Iterator[str]:
    """Why something did not work, in red."""
    indent = " " * cells(lead)
    found = list(wrap(text.strip() or "failed", view.width - cells(lead)))
    for number, line in enumerate(found[:_MOST_ERROR_LINES]):
        yield view.style.paint((lead if number == 0 else indent) + line, "red")
    if len(found) > _MOST_ERROR_LINES:
        yield view.style.paint(f"{indent}… {count(len(found) - _MOST_ERROR_LINES, 'more line')}", "red")


def withdrawn_lines(block: WordsBlock | ThinkingBlock | CallBlock, view: View) -> Iterator[str]:
    """Says that a block which was shown has been withdrawn, and is in no transcript."""
    if block.withdrawn == "interrupted":
        kind = {ThinkingBlock: "thinking", WordsBlock: "talking"}.get(type(block))
        doing = kind or f"calling {getattr(block, 'name', '') or 'a tool'}"
        yield view.style.paint(f"  ■ {shorten(f'interrupted while {doing}', view.width - 4)}", "yellow")
        return
    why = "the stream ended" if block.withdrawn == "cut" else "the client asks again"
    text = block.written if isinstance(block, CallBlock) else block.text
    gist = " ".join(text[:_SHOWN_OF_WITHDRAWN].split())
    yield view.style.paint(f"  ⟲ {shorten(f'taken back, {why}: {gist}', view.width - 4)}", "magenta")


def started_lines(heading: HeadingBlock, view: View) -> Iterator[str]:
    """The session's id, model, client, mode and folder; for a repeated heading only what changed."""
    before = heading.before
    if before is not None:
        facts = [
            f"model {heading.model}" if heading.model != before.model else None,
            f"permission mode {heading.mode}" if heading.mode != before.mode else None,
            heading.project if heading.project != before.project else None,
        ]
    else:
        mode = heading.mode if heading.mode != "default" else None
        client = f"Claude Code {heading.version}" if heading.version else None
        facts = [f"session {heading.id}", heading.model, client, mode, heading.project]
    found = joined(facts)
    lead = "  · " if before is not None else ""
    for number, line in enumerate(wrap(found, view.width - cells(lead)) if found else ()):
        yield view.style.paint((lead if number == 0 else " " * cells(lead)) + line, "dim")


def question_lines(question: QuestionBlock, project: str | None, view: View) -> Iterator[str]:
    """What the client asks, what was answered, or that the question is void."""
    paint, permission, answer = view.style.paint, question.permission, question.answer
    if question.state is BlockState.WITHDRAWN:
        yield paint("    · the question is void", "dim")
    elif answer is None:
        what = f"asks to use {tool_label(permission.tool)}  {point_of(permission.tool, permission.input, project)}"
        yield paint("  ? ", "yellow") + shorten(what, view.width - 4)
    elif answer.decision == "allow":
        extra = [*(["with another input"] if answer.is_edited else []), *(["from now on"] if answer.remembered else [])]
        extra += [f"by the rule {one_line(answer.rule)}"] if answer.rule is not None else []
        yield paint(f"    ✓ {', '.join(['allowed', *extra])}", "green")
    else:
        answered = f"denied: {answer.message}" if answer.message else "denied"
        yield paint(f"    ⊘ {shorten(answered, view.width - 6)}", "red")


def ending_lines(event: events.TurnResult, view: View, *, has_told: bool = False) -> Iterator[str]:
    """How a turn ended: tokens, the client's own cost, time. With `has_told`, the failure is already shown above."""
    outcome = outcome_of(event)
    text = " · ".join(outcome.facts)
    if outcome.is_stopped or (event.is_error and has_told):
        text = joined(("stopped" if outcome.is_stopped else "failed", text))
    elif event.is_error:
        yield from failed_lines(f"failed: {outcome.failure}", view, "✗ ")
    mark = "■" if outcome.is_stopped else "✗" if event.is_error else "✓"
    yield from view.wrapped(f"{mark} {text}", "dim")


_STOPPED = ("aborted_streaming", "aborted_tools")
_BY_HOOK = {"hook_stopped": "stopped by a hook", "stop_hook_prevented": "ended by a stop hook"}


class TurnOutcome(NamedTuple):
    facts: list[str]
    """Time, tokens, and the client's own count of what the turn and the whole run cost."""
    is_stopped: bool
    """Whether the person stopped the turn, which does not count as a failure."""
    failure: str


def outcome_of(result: TurnResult) -> TurnOutcome:
    is_stopped = result.is_error and result.terminal_reason in _STOPPED and not result.text
    reasons = [text for text in (result.text, *map(str, result.errors)) if text]
    why = "; ".join(reasons) or result.terminal_reason or result.subtype or "failed"
    return TurnOutcome(_turn_facts(result), is_stopped, why if result.is_error and not is_stopped else "")


def _turn_facts(result: TurnResult) -> list[str]:
    used = Rated.of(result.usage, 0) if result.usage is not None else Rated()
    facts = [
        _BY_HOOK.get(result.terminal_reason or "", ""),
        duration(result.duration_ms / 1000) if result.duration_ms is not None else "",
        some(result.turns, "request"),
        f"{tokens(used.prompt)} in" if used.prompt else "",
        f"{tokens(used.output)} out" if used.output else "",
        costs(result.turn_cost_usd, result.cost_usd),
        some(len(result.denials), "refusal"),
    ]
    return [fact for fact in facts if fact]
