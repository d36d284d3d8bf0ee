"""A conversation as it happens: `Screen` takes its events and gives the text to write now.

Thinking and words appear as they stream, the input of a tool call as it forms. One line may be passing: it is redrawn
in place and gone as soon as anything else is shown. Off a terminal there is none, and every line is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from reread.live import events
from reread.live.events import Event

from . import wire_lines as lines
from .calls import point_of, tool_label
from .flow import Flow
from .partial import partial_input
from .terminal import CLAUDE, YOU
from .text import cells, clip, harmless, ruler, shorten, wrap
from .view import View

THINKING = "  ✻ "
_AGENT_TOOLS = frozenset({"Task", "Agent"})
_PARSED = 2000
"""Characters of a forming input that are looked into: the point of a call stands at its beginning."""
_REDRAWN = 500
"""A longer input is redrawn each time it has grown by so much."""

_BESIDE_A_CALL = frozenset({"tool", "note", "question"})
"""Kinds of lines that leave no doubt which call a result below them belongs to."""

Block = tuple[str | None, str | None, str | None, int | None]


class _Call(NamedTuple):
    name: str
    point: str


class Screen:
    """What a person sees of a stream. Every text of the model, a tool or the client is made harmless here."""

    def __init__(self, view: View, *, is_terminal: bool) -> None:
        self.view = view
        self._is_terminal = is_terminal
        self.project: str | None = None
        """Where the session works, once it has said so: paths below it are shown without it."""
        self._last = ""
        """What the line above is: blank lines stand between some kinds."""
        self._agent: str | None = None
        self._flow: Flow | None = None
        self._flowing: Block | None = None
        self._streamed: dict[Block, int] = {}
        """How much of each block that is not whole yet has been shown."""
        self._forming: dict[Block, str] = {}
        self._redrawn = 0
        self._is_passing = False
        self._calls: dict[str | None, _Call] = {}
        self._above: str | None = None
        """The call that was shown last, while nothing but notes stands below it."""
        self._unanswered: dict[str | None, set[str | None]] = {}
        """Calls without a result, by agent: where there are several, a result names its own."""
        self._answered: set[str | None] = set()
        """Calls whose result was shown."""
        self._diffs_seen: set[str | None] = set()
        self._thought_tokens: int | None = None
        self._prompts: set[str] = set()
        self._told_failure: str | None = None
        self._started: events.SessionStarted | None = None

    def resize(self, width: int) -> None:
        """For what comes next; a block that streams keeps its width."""
        if width != self.view.width:
            self.view = self.view._replace(width=width)

    def show(self, event: Event) -> str:
        """The text to write now; empty for what needs none."""
        shown = _SHOWN.get(type(event))
        return shown(self, event) if shown is not None else ""

    def learn(self, event: Event) -> None:
        """Of something that is not to be shown: a later result will name its call."""
        if isinstance(event, events.ToolCall):
            self._calls[event.id] = _Call(event.name, point_of(event.name, event.input, self.project))

    def saw_diff(self, call: str | None) -> None:
        """The person has seen what this edit changes: its result need not show it again."""
        self._diffs_seen.add(call)

    def note(self, text: str, *looks: str) -> str:
        """A line of our own."""
        return self._lines([self.view.style.paint(clip(harmless(text), self.view.width), *looks)], "note")

    def question(self, shown: Iterable[str]) -> str:
        """Lines of ours that ask for something."""
        return self._lines(shown, "question")

    def heading(self, text: str, project: str | None) -> str:
        """A line across the screen, above what another session says."""
        self.project = project
        above = self._closed() + ("\n" if self._last else "")
        self._last, self._above, self._agent = "", None, None
        return above + self.view.style.paint(ruler(text, self.view.width - 1), "dim") + "\n"

    def rest(self) -> str:
        """Ends the line that is open."""
        return self._closed()

    # Blocks that stream

    def _delta(self, event: events.Delta) -> str:
        is_thinking = isinstance(event, events.ThinkingDelta)
        if is_thinking and not self.view.thinking:
            return ""
        key = _block(event)
        begun = "" if self._flow is not None and self._flowing == key else self._begin(event, is_thinking=is_thinking)
        self._streamed[key] = self._streamed.get(key, 0) + len(event.text)
        return begun + (self._flow.add(event.text) if self._flow is not None else "")

    def _begin(self, event: Event, *, is_thinking: bool) -> str:
        """The lead of a block and its flow; a block that something else broke into goes on below it."""
        key = _block(event)
        lead = THINKING if is_thinking else CLAUDE
        closed = self._closed() + self._speaks(event)
        gap = "" if key in self._streamed else self._gap("thinking" if is_thinking else "text")
        looks = ("dim",) if is_thinking else ("green", "bold")
        before = self._before
        painted = self.view.style.paint(lead, *looks) if key not in self._streamed else " " * cells(lead)
        room = self.view.width - 1 - cells(before) - cells(lead)
        paint: Callable[[str], str] = (lambda text: self.view.style.paint(text, "dim")) if is_thinking else str
        self._flow = Flow(room, before + " " * cells(lead), paint, is_live=self._is_terminal)
        self._flowing = key
        self._last, self._above = "thinking" if is_thinking else "text", None
        return closed + gap + before + painted

    def _whole(self, event: events.Thinking | events.Text) -> str:
        """The block once more, complete: what the deltas have shown of it is not shown again."""
        if isinstance(event, events.Text) and event.is_synthetic:
            self._told_failure = event.text
            return self._lines(lines.failed(event.text, self._inner), "note", event)
        is_thinking = isinstance(event, events.Thinking)
        key = _block(event)
        shown = self._streamed.get(key, 0)
        left = event.text[shown:] if shown else event.text.strip("\n")
        if is_thinking and not self.view.thinking:
            return ""
        if isinstance(event, events.Thinking) and not left.strip() and not shown:
            return self._withheld(event)
        text = ""
        if left.strip():
            text = "" if self._flowing == key else self._begin(event, is_thinking=is_thinking)
            text += self._flow.add(left) if self._flow is not None else ""
        self._thought_tokens = None
        self._streamed.pop(key, None)
        return text + (self._closed() if self._flowing == key else "")

    def _withheld(self, event: events.Thinking) -> str:
        """Thinking whose text does not come: how much of it there was is all that can be said."""
        about = f", about {self._thought_tokens:,} tokens" if self._thought_tokens else ""
        self._thought_tokens = None
        kind = "redacted" if event.is_redacted else "withheld"
        line = self.view.style.paint(f"{THINKING}thought{about} (its text is {kind})", "dim")
        return self._lines([line], "thinking", event)

    def _withdrawn(self, event: events.Withdrawn) -> str:
        key = _block(event)
        self._streamed.pop(key, None)
        self._forming.pop(key, None)
        if event.kind == "thinking" and not self.view.thinking and event.reason != "interrupted":
            return ""
        kind = "interrupt" if event.reason == "interrupted" else "note"
        return self._lines(lines.withdrawn(event, self._inner), kind, event)

    # Tool calls

    def _forms(self, event: events.ToolDelta) -> str:
        """The line of a call, redrawn as its input grows."""
        key = _block(event)
        self._forming[key] = given = self._forming.get(key, "") + event.text
        if not self._is_terminal or (len(given) > _PARSED and len(given) - self._redrawn < _REDRAWN):
            return ""
        self._redrawn = len(given)
        name = event.name or ""
        point = point_of(name, partial_input(given[:_PARSED]), self.project)
        size = f"{len(given):,} characters" if len(given) > _PARSED else ""
        return self._pass(lines.call_line(name, point, size, self._inner, mark=("○", "dim")), event)

    def _call(self, event: events.ToolCall) -> str:
        self._forming.pop(_block(event), None)
        self._redrawn = 0
        self.learn(event)
        self._unanswered.setdefault(event.agent, set()).add(event.id)
        call = self._calls[event.id]
        shown = [lines.call_line(call.name, call.point, "", self._inner), *lines.todos(event, self._inner)]
        text = self._lines(shown, "tool", event)
        self._above = event.id
        return text

    def _result(self, event: events.ToolResult) -> str:
        self._answered.add(event.id)
        call = self._calls.get(event.id)
        name = call.name if call is not None else ""
        if name == "TodoWrite" and not event.is_error:
            return ""
        unanswered = self._unanswered.get(event.agent, set())
        unanswered.discard(event.id)
        is_below = (self._above == event.id and not unanswered) or name == "AskUserQuestion"
        label = "" if is_below or call is None else f"{tool_label(call.name)} {call.point}"
        shown = lines.result(event, name, label, self._inner, has_seen_diff=event.id in self._diffs_seen)
        return self._lines(shown, "tool", event)

    # What stands on lines of its own

    def _started_session(self, event: events.SessionStarted) -> str:
        before, self._started = self._started, event
        self.project = event.cwd or self.project
        return self._lines(lines.started(event, before, self._inner), "note")

    def _prompt(self, event: events.Prompt) -> str:
        if not event.text.strip() and not event.images:
            return ""
        if event.is_replay and event.text in self._prompts:
            return ""  # what was sent comes back
        if event.is_synthetic or event.agent is not None:
            return self._lines([lines.aside(event.text, self._inner)], "note", event)
        self._prompts.add(event.text)
        pictures = f" [{event.images} image{'s' if event.images > 1 else ''}]" if event.images else ""
        indent = " " * cells(YOU)
        spoken = [
            (self.view.style.paint(YOU, "yellow", "bold") if number == 0 else indent) + line
            for number, line in enumerate(wrap(event.text.strip() + pictures, self.view.width - cells(YOU)))
        ]
        return self._lines(spoken, "prompt", event)

    def _notice(self, event: events.Notice) -> str:
        if event.what == "thinking_tokens":
            return self._thinks(event)
        if event.what == "status":
            status = harmless(event.text)
            waits = {"requesting": "waiting for the model", "compacting": "compacting"}.get(status)
            return self._pass(self.view.style.paint(f"  · {waits}", "dim"), event) if waits else ""
        if event.what == "interrupted" and self._last == "interrupt":
            return ""  # what it interrupted has been said
        # An agent in front is told by its call and its result; one in the background ends after its result.
        if event.what == "task" and event.agent is not None and event.agent not in self._answered:
            return ""
        return self._lines(lines.notice(event, self._inner), "note", event)

    def _thinks(self, event: events.Notice) -> str:
        counted = event.data.get("estimated_tokens")
        self._thought_tokens = counted if isinstance(counted, int) else self._thought_tokens
        if self._flow is not None or not self.view.thinking or not self._thought_tokens:
            return ""
        line = self.view.style.paint(f"{THINKING}thinking, about {self._thought_tokens:,} tokens", "dim")
        return self._pass(line, event)

    def _permission(self, event: events.Permission) -> str:
        return self._lines(lines.permission(event, self.project, self._inner), "note", event)

    def _other(self, event: Event) -> str:
        """Events that are one line or a few, whatever came before."""
        return self._lines(lines.OTHERS[type(event)](event, self._inner), "note", event)

    def _end(self, event: events.TurnResult) -> str:
        has_told = bool(event.text) and event.text == self._told_failure
        return self._lines(lines.ending(event, self._inner, has_told=has_told), "result")

    # How lines get onto the screen

    @property
    def _before(self) -> str:
        """What stands before every line of an agent."""
        return "" if self._agent is None else f"    {self.view.style.paint('│', 'blue')} "

    @property
    def _inner(self) -> View:
        return self.view._replace(width=max(20, self.view.width - cells(self._before) - 1))

    def _lines(self, shown: Iterable[str], kind: str, event: Event | None = None) -> str:
        found = list(shown)
        if not found:
            return ""
        text = self._closed() + (self._speaks(event) if event is not None else "") + self._gap(kind)
        self._last = kind
        if kind not in _BESIDE_A_CALL:
            self._above = None
        return text + "".join(f"{self._before}{line}\n" for line in found)

    def _pass(self, line: str, event: Event) -> str:
        """Shows a line for as long as nothing else comes."""
        if not self._is_terminal or self._flow is not None:
            return ""
        text = self._closed() + self._speaks(event) + (self._gap("tool") if self._last != "tool" else "")
        self._is_passing = True
        return text + self._before + clip(line, self.view.width - cells(self._before) - 1)

    def _closed(self) -> str:
        """Ends what is open on the last line, or takes the passing line away."""
        if self._is_passing:
            self._is_passing = False
            return "\r\x1b[K"
        if self._flow is None:
            return ""
        text = self._flow.end() + "\n"
        self._flow = self._flowing = None
        return text

    def _gap(self, kind: str) -> str:
        """A blank line, where another kind of thing begins."""
        if not self._last or self._agent is not None:
            return ""
        is_apart = kind in ("text", "thinking", "prompt", "result", "question") and (
            kind != self._last or kind in ("prompt", "question")
        )
        return "\n" if is_apart else ""

    def _speaks(self, event: Event) -> str:
        """Names an agent where it begins to speak."""
        if event.agent == self._agent:
            return ""
        self._agent, self._last, self._above = event.agent, "agent", None
        if event.agent is None:
            return ""
        call = self._calls.get(event.agent)
        label = f"{tool_label(call.name)} · {call.point}" if call is not None else "agent"
        return self.view.style.paint(f"    ┌ {shorten(label, self.view.width - 7)}", "blue") + "\n"


def _block(event: Event) -> Block:
    return event.session, event.agent, event.message_id, event.index


_SHOWN: dict[type[Event], Callable[[Screen, Any], str]] = {
    events.ThinkingDelta: Screen._delta,
    events.TextDelta: Screen._delta,
    events.ToolDelta: Screen._forms,
    events.Thinking: Screen._whole,
    events.Text: Screen._whole,
    events.ToolCall: Screen._call,
    events.ToolResult: Screen._result,
    events.Withdrawn: Screen._withdrawn,
    events.SessionStarted: Screen._started_session,
    events.Prompt: Screen._prompt,
    events.Notice: Screen._notice,
    events.Permission: Screen._permission,
    events.TurnResult: Screen._end,
    **dict.fromkeys(lines.OTHERS, Screen._other),
}
"""What is not here is shown in no text: counts, hooks, answers to our own questions."""
