"""A session as Markdown: readable on GitHub, with folds for Obsidian.

The model's words are Markdown already and stay so. Everything else is text, which must not end a fence or begin a tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from html import escape
from typing import Any, NamedTuple

from reread.archive.model_answers import ModelAnswer
from reread.blocks.model import (
    AgentBlock,
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ResultBlock,
    ShownBlock,
    ThinkingBlock,
    TurnBlocks,
    WordsBlock,
)
from reread.blocks.of_session import SessionBlocks, heading_of
from reread.features.edits.patches import DiffLine, changed, is_edit
from reread.features.summaries import SessionSummary
from reread.sessions import Branch, CallStatus, Session

from .calls import MARKS, ending, summary, tool_label, without_error_tags
from .numbers import count, duration, money, tokens
from .summary import asked_heading, asked_lines, front_matter_lines, link_lines
from .terminal import WITHDRAWN
from .text import harmless, inline_markdown, joined, one_line, shorten, tabbed, without_templates
from .values import View, utc

LONGEST_OUTPUT = 20_000
"""Characters of one output; what is cut is replaced by its number of characters."""
LONGEST_DIFF = 400
_POINT = 120
_TICKS = re.compile(r"`+")
_FENCE = re.compile(r"( {0,3}(?:(?:[-*+]|1[.)]|(\d{1,9}[.)]))[ \t]+)*)(`{3,}(?=[^`]*$)|~{3,})")
"""A fence, perhaps behind the signs of list items; behind three backticks that are closed in their line is no fence."""
_CODE_SPAN = re.compile(r"\\[\\`]|(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
"""A code span; or an escaped backtick, which begins none."""
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LEADS_ASTRAY = re.compile(r"\]\(\s*<?\s*(?:javascript|vbscript|data|file):[^)]*\)?", re.IGNORECASE)
_NAMES_ASTRAY = re.compile(
    r"^([\s>]*(?:(?:[-*+]|\d+[.)])\s+)?\[[^\]]*\]:)\s*<?\s*(?:javascript|vbscript|data|file):\S*", re.IGNORECASE
)
"""A link reference definition (`[name]: address`) with an unsafe address."""


_NAMED_FENCE = re.compile(r"([\s>]*(?:(?:[-*+]|\d+[.)])[\s>]+)*(?:`{3,}|~{3,})\s*)([^\s`~]+)")
_INLINE_QUERY = re.compile(r"(`[\s\ufeff]*)(\$?=)")
_BEGINS_AS_QUERY = re.compile(r"^([\s>\ufeff]*)(\$?=)")
_SHOWN_LANGUAGES = frozenset(
    re.findall(
        r"\S+",
        """
        asm awk bash bat c c# c++ clojure cmake cmd conf console cpp cs csharp css csv dart diff docker
        dockerfile elixir erlang fish fortran fsharp go golang graphql groovy haskell hcl html http ini java
        javascript jinja js json json5 jsonc jsonl jsx julia kotlin kt latex less log lua make makefile markdown
        mathematica matlab md mermaid nginx nix objc objectivec ocaml patch perl php plain plaintext powershell
        proto protobuf ps1 py python r rb rs ruby rust sass scala scss sh shell sql svelte swift tcl terraform
        tex text toml ts tsx txt typescript vb vim vue xml yaml yml zig zsh
        """,
    )
)
"""Languages of a fence that Obsidian only colours or draws. Others may belong to a plugin, which runs the content."""


class MarkdownOptions(NamedTuple):
    """Which parts of a session are shown, and whether for Obsidian."""

    thinking: bool = True
    tools: bool = True
    subagents: bool = True
    is_obsidian: bool = False


def markdown_lines(session: Session, options: MarkdownOptions) -> Iterator[str]:
    """The whole session."""
    heading = heading_of(session)
    yield f"# {inline_markdown(heading.title)}"
    yield ""
    usage = session.total_usage
    facts = [
        heading.project,
        _moment(heading.started),
        count(heading.prompts, "prompt"),
        count(heading.calls, "tool call"),
        f"{tokens(usage.output_tokens)} tokens out",
        money(usage.cost, is_partial=usage.unpriced_tokens > 0),
        f"session {heading.id}",
    ]
    yield " · ".join(inline_markdown(fact) for fact in facts if fact)
    yield from _body(session, options)


def obsidian_lines(session: Session, about: SessionSummary, options: MarkdownOptions, view: View) -> Iterator[str]:
    """The session as a note: properties first, then links to the project, the day and the files, then the session."""
    yield from map(without_templates, _note_lines(session, about, options._replace(is_obsidian=True), view))


def _note_lines(session: Session, about: SessionSummary, options: MarkdownOptions, view: View) -> Iterator[str]:
    yield from front_matter_lines(about, view)
    yield ""
    yield f"# {inline_markdown(session.title)}"
    yield from link_lines(about, view)
    yield from _body(session, options)


def _body(session: Session, options: MarkdownOptions) -> Iterator[str]:
    made = SessionBlocks(session, has_agents=options.subagents)
    writer = MarkdownWriter(options, session.project)
    for branch in session.branches:
        yield from _branch(session, branch, made, writer)
    for agent in made.lone() if options.subagents else ():
        yield from writer.agent(agent)


def _branch(session: Session, branch: Branch, made: SessionBlocks, writer: MarkdownWriter) -> Iterator[str]:
    if not branch.active:
        yield from ("", "---", "", f"## ↩ Left behind: {inline_markdown(branch.id.rpartition('@')[2])}")
    for turn in branch.turns:
        if turn.prompt is not None or turn.steps:
            yield from writer.turn(made.turn(session, turn), level=2 if branch.active else 3)


class MarkdownWriter:
    """Writes blocks."""

    def __init__(self, options: MarkdownOptions, project: str | None) -> None:
        self.options = options
        self.project = project

    def turn(self, turn: TurnBlocks, level: int) -> Iterator[str]:
        if turn.prompt is not None:
            yield from self.prompt(turn.prompt, turn.rule.index, level)
        for step in turn.steps:
            yield from _STEPS[type(step)](self, step)
        if turn.result is not None:
            yield from self.result(turn.result)

    def prompt(self, prompt: PromptBlock, index: int, level: int) -> Iterator[str]:
        pictures = f" · {count(prompt.images, 'image')}" if prompt.images else ""
        yield from ("", f"{'#' * level} {index}. You · {_moment(prompt.place.time)}{pictures}", "")
        yield from quoted(prompt.text or "(no text)", is_obsidian=self.options.is_obsidian)

    def result(self, result: ResultBlock) -> Iterator[str]:
        used = result.usage.tokens
        if used.requests:
            cost = money(used.cost, is_partial=used.unpriced_tokens > 0)
            facts = [cost, f"{tokens(used.output_tokens)} out", f"{tokens(used.prompt_tokens)} in"]
            yield from ("", f"<sub>{joined(facts)}</sub>")

    def words(self, words: WordsBlock) -> Iterator[str]:
        if words.text.strip():
            mark = WITHDRAWN.get(words.withdrawn or "", "").strip()
            said = spoken(words.text, is_obsidian=self.options.is_obsidian)
            yield from ("", *([f"*{inline_markdown(mark)}*", ""] if mark else []), *said)

    def thinking(self, thought: ThinkingBlock) -> Iterator[str]:
        if self.options.thinking and thought.text.strip():
            mark = WITHDRAWN.get(thought.withdrawn or "", "")
            thoughts = quoted(thought.text.strip(), is_obsidian=self.options.is_obsidian)
            yield from self.fold(f"{mark}thinking: {shorten(thought.text[:400], 80)}", thoughts)

    def notice(self, notice: NoticeBlock) -> Iterator[str]:
        yield from ("", f"*{inline_markdown(notice.labelled)}*")
        if notice.detail:
            yield from self.fold("more", fenced(_cut(notice.detail)))

    def call(self, call: CallBlock) -> Iterator[str]:
        if not self.options.tools:
            return
        lines = call.diffs[0].lines if is_edit(call.name) and call.diffs else []
        inside = _diff_lines(lines) if lines else _input_lines(call) if call.input else []
        output = call.output.whole if call.output is not None else ""
        if output and not (lines and call.status is CallStatus.OK):
            inside = [*inside, "", *fenced(_cut(without_error_tags(output)))]
        yield from self.fold(self.call_title(call, lines), inside)
        if call.agent is not None and self.options.subagents:
            yield from self.agent(call.agent)

    def call_title(self, call: CallBlock, lines: Sequence[DiffLine]) -> str:
        parts = [
            f"{MARKS[call.status][0]} {tool_label(call.name)}",
            shorten(summary(call, self.project), _POINT),
            changed(lines),
            shorten(ending(call), _POINT),
            duration(call.seconds) if call.seconds is not None and call.seconds >= 1 else "",
        ]
        return joined(parts)

    def agent(self, agent: AgentBlock) -> Iterator[str]:
        facts = [agent.type or agent.kind, count(agent.calls, "tool call")]
        inside = [line for turn in agent.turns for line in self.turn(turn, level=4)]
        yield from self.fold(f"◇ subagent {' · '.join(facts)}", inside)

    def fold(self, title: str, inside: Iterable[str]) -> Iterator[str]:
        """A line that can be opened: `<details>` for GitHub, a callout for Obsidian."""
        label = one_line(title)
        if self.options.is_obsidian:
            yield from ("", f"> [!abstract]- {inline_markdown(label)}", *(f"> {line}".rstrip() for line in inside))
        else:
            yield from ("", f"<details><summary>{escape(label)}</summary>", "", *inside, "", "</details>")


_STEPS: dict[type[ShownBlock], Callable[[MarkdownWriter, Any], Iterator[str]]] = {
    WordsBlock: MarkdownWriter.words,
    ThinkingBlock: MarkdownWriter.thinking,
    CallBlock: MarkdownWriter.call,
    NoticeBlock: MarkdownWriter.notice,
}


def _diff_lines(lines: Sequence[DiffLine]) -> list[str]:
    shown = [f"{line.sign}{line.text}" for line in lines[:LONGEST_DIFF]]
    more = [f"… {len(lines) - LONGEST_DIFF:,} more lines"] if len(lines) > LONGEST_DIFF else []
    return fenced("\n".join([*shown, *more]), "diff")


def _input_lines(call: CallBlock) -> list[str]:
    if call.name == "Bash" and isinstance(call.input, dict) and isinstance(call.input.get("command"), str):
        return fenced(_cut(call.input["command"]), "bash")
    return fenced(_cut(json.dumps(call.input, ensure_ascii=False, indent=2, default=str)), "json")


def fenced(text: str, language: str = "text") -> list[str]:
    """Text in a fence that is longer than any run of backticks in it."""
    clean = harmless(text)
    longest = max((len(run) for run in _TICKS.findall(clean)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *clean.split("\n"), fence]


def quoted(text: str, *, is_obsidian: bool = False) -> list[str]:
    """Text as a quotation, made safe by `spoken`."""
    return [f"> {line}".rstrip() for line in spoken(text, is_obsidian=is_obsidian)]


def asked_markdown(answer: ModelAnswer, view: View, *, is_obsidian: bool = False) -> Iterator[str]:
    """A model's answer about the evidence, quoted so that its headings do not mix with the document's."""
    yield ""
    yield f"## {inline_markdown(asked_heading(answer, view))}"
    yield ""
    yield from quoted(answer.text, is_obsidian=is_obsidian)


def _asked_note(answer: ModelAnswer, view: View) -> Iterator[str]:
    yield from map(without_templates, asked_markdown(answer, view, is_obsidian=True))


def asked_as(form: str) -> Callable[[ModelAnswer, View], Iterator[str]]:
    return {"text": asked_lines, "obsidian": _asked_note}.get(form, asked_markdown)


def spoken(text: str, *, is_obsidian: bool = False) -> list[str]:
    """Markdown as the model wrote it, made safe: open fences are closed, tags are shown as text, images become links,
    and links to scripts, data or files lose their address. For Obsidian, nothing is left that its plugins would run."""
    made: list[str] = []
    unrun = partial(_unrun, is_obsidian=is_obsidian)
    fence, indent = "", ""
    is_code = is_open = False
    for line in tabbed(text).strip("\n").split("\n"):
        # A fence in a list item ends with the item. Without closing it here, the tags that follow would not be escaped.
        if fence and line.strip() and not line.startswith(indent):
            made.append(indent + fence)
            fence = ""
        mark = _FENCE.match(line[len(indent) :] if fence else line)
        if fence:
            made.append(line if is_code else unrun(_plain(line)[0], is_open=True))
            is_end = mark is not None and mark[3].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_end else fence
        elif mark is not None:
            # Behind a paragraph, `2.` begins no list, and what follows is no code.
            fence, indent, is_code, is_open = mark[3], " " * len(mark[1]), mark[2] is None, False
            made.append(unrun(line))
        else:
            shown, has_tick = _plain(line, is_open)
            made.append(unrun(shown, is_open=is_open))
            is_open = bool(line.strip()) and (is_open or has_tick)
    return [*made, indent + fence] if fence else made


def _unrun(line: str, *, is_obsidian: bool, is_open: bool = False) -> str:
    """A line outside code for Obsidian. The fence of a language that a plugin might run becomes one of text; a
    backslash before the `=` or `$=` of an inline query makes it none. `is_open`: a code span may go on in this line."""
    if not is_obsidian:
        return line
    fence = _NAMED_FENCE.match(line)
    if fence is not None and fence[2].lower() not in _SHOWN_LANGUAGES:
        line = f"{fence[1]}text {line[fence.end(1) :]}"
    if is_open:
        line = _BEGINS_AS_QUERY.sub(r"\1\\\2", line)
    return _INLINE_QUERY.sub(r"\1\\\2", line)


def _plain(line: str, is_open: bool = False) -> tuple[str, bool]:
    """A line outside a fence, and whether it has a backtick that is not closed in it. Its code spans stay as they are,
    unless a line before left one open (`is_open`): then nobody knows which of its backticks begin code."""
    parts: list[str] = []
    position, has_tick = 0, False
    for code in () if is_open else _CODE_SPAN.finditer(line):
        has_tick |= "`" in line[position : code.start()]
        parts += [_inert(line[position : code.start()]), code[0]]
        position = code.end()
    return "".join([*parts, _inert(line[position:])]), has_tick or "`" in line[position:]


def _inert(text: str) -> str:
    led = _NAMES_ASTRAY.sub(r"\1", _LEADS_ASTRAY.sub("]", text))
    return _TAG.sub("&lt;", led).replace("![", "[")


def _cut(text: str) -> str:
    if len(text) <= LONGEST_OUTPUT:
        return text
    return f"{text[:LONGEST_OUTPUT]}\n… {len(text) - LONGEST_OUTPUT:,} more characters"


def _moment(time: datetime | None) -> str:
    return f"{(utc(time) or '')[:16].replace('T', ' ')} UTC" if time is not None else ""
