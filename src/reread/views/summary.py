"""A session's summary for a terminal, as Markdown, as a note for Obsidian, and as a JSON document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from reread.archive.model_answers import ModelAnswer
from reread.features.edits.net import FileDiff, totals
from reread.features.summaries import Failure, OpenPoint, RanTests, SessionSummary, SummaryStep

from .calls import shown_path
from .file_tables import decision_document
from .numbers import count, duration, money, some, tokens
from .session_list import last_part
from .text import hanging, harmless, inline_markdown, joined, shorten, without_templates, wrap
from .values import Document, View, each_picked, picked, when

_MOST = 20
"""How many entries of a list are shown; the rest is only counted."""
_LINE = 160
_ANSWER = 600
_LEAST = 40
"""Characters of a reply's last line: less says nothing."""
_LAST_TESTS = 3


def summary_document(summary: SessionSummary) -> Document:
    return {
        "schema": "reread.summary/1",
        "session": summary.id,
        **picked(summary, "title project started ended git_branches models cost_usd=cost output_tokens goal"),
        "goal_source": summary.goal_source or None,
        "prompts": summary.prompts,
        "first_prompt": summary.journey[0].prompt if summary.journey else None,
        "journey": each_picked(summary.journey, _OF_STEP),
        "key_exchanges": [step.turn for step in summary.exchanges],
        "files": [_file_document(diff) for diff in summary.files],
        "files_read": list(summary.files_read),
        "tools": each_picked(summary.tools, "name calls errors"),
        "errors": each_picked(summary.errors, "turn uuid tool status text"),
        "refusals": [_refusal_document(failure) for failure in summary.refusals],
        "commands": each_picked(summary.commands, "name runs failed"),
        "commits": [
            _or_null(picked(commit, "message hash branch turn uuid"), "message", "hash", "branch")
            for commit in summary.commits
        ],
        "test_runs": [
            _or_null(picked(each, "command outcome counts turn uuid"), "counts") for each in summary.test_runs
        ],
        "decisions": [decision_document(each) for each in summary.decisions],
        "plans": list(summary.plans),
        "open": each_picked(summary.open, "text source"),
        **picked(summary, "subagents abandoned_branches=abandoned compactions"),
        "outcome": {
            "text": summary.outcome,
            "commits": len(summary.commits),
            **picked(summary, "tests pull_requests todos todos_done interrupted=is_interrupted"),
        },
    }


_OF_STEP = "turn uuid timestamp=time prompt answer tool_calls=calls errors files"


def _or_null(document: Document, *names: str) -> Document:
    """The document with null in these fields where they are empty."""
    return {name: value or None if name in names else value for name, value in document.items()}


def _file_document(diff: FileDiff) -> Document:
    added, removed = totals([diff])
    return {"path": diff.path, "status": diff.status, "added": added, "removed": removed, "edits": len(diff.changes)}


def _refusal_document(failure: Failure) -> Document:
    return _or_null(picked(failure, "turn uuid tool target by=refused_by reason=text"), "target", "reason")


def summary_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    """For a terminal."""
    paint = view.style.paint
    yield paint(shorten(summary.title, view.width), "bold")
    yield from view.wrapped(" · ".join(_facts(summary, view)), "dim")
    for heading, lines in _sections(summary, view):
        yield ""
        yield paint(heading, "bold")
        for line in lines:
            yield from hanging(line, view.width, "  ", "    ")


def markdown_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    yield f"# {inline_markdown(summary.title)}"
    yield ""
    yield inline_markdown(" · ".join(_facts(summary, view)))
    yield from _markdown_body(summary, view)


def obsidian_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    """A note whose text nothing of Obsidian's runs."""
    yield from map(without_templates, _note_lines(summary, view))


def _note_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    """Front matter, then the summary, with links to the project, the day and the files."""
    yield from front_matter_lines(summary, view)
    yield ""
    yield f"# {inline_markdown(summary.title)}"
    yield ""
    yield _places(summary, view)
    yield from _markdown_body(summary, view)
    if summary.files:
        yield ""
        yield "## Links"
        yield ""
        yield from (f"- {name}" for name in _file_links(summary))


def front_matter_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    """The properties of a note."""
    yield "---"
    for name, value in _front_matter(summary, view).items():
        yield f"{name}: {_yaml(value)}"
    yield "---"


def link_lines(summary: SessionSummary, view: View) -> Iterator[str]:
    """Links of a note to the project, the day and the files."""
    yield ""
    yield " · ".join([_places(summary, view), *_file_links(summary)])


def _places(summary: SessionSummary, view: View) -> str:
    day = when(summary.started, view.timezone, "%Y-%m-%d")
    return joined((_link(last_part(summary.project)), _link(day)))


def _file_links(summary: SessionSummary) -> list[str]:
    names = dict.fromkeys(_link(shown_path(diff.path, summary.project)) for diff in summary.files)
    return [name for name in names if name]


def _markdown_body(summary: SessionSummary, view: View) -> Iterator[str]:
    for heading, lines in _sections(summary, view):
        yield ""
        yield f"## {heading}"
        yield ""
        if heading in ("Goal", "Outcome"):
            yield from (inline_markdown(line) for line in lines)
        else:
            yield from (f"- {inline_markdown(line)}" for line in lines)


def _facts(summary: SessionSummary, view: View) -> list[str]:
    length = ""
    if summary.started is not None and summary.ended is not None:
        length = duration((summary.ended - summary.started).total_seconds())
    facts = [
        summary.project or "",
        when(summary.started, view.timezone),
        length,
        count(summary.prompts, "prompt"),
        some(summary.subagents, "subagent"),
        f"{count(summary.abandoned, 'branch')} left behind" if summary.abandoned else "",
        some(summary.compactions, "compaction"),
        f"{tokens(summary.output_tokens)} out",
        money(summary.cost, is_partial=summary.unpriced_tokens > 0),
        f"session {summary.id}",
    ]
    return [fact for fact in facts if fact]


def _sections(summary: SessionSummary, view: View) -> Iterator[tuple[str, list[str]]]:
    """Headings with their lines; a heading without lines is left out."""
    found = (
        ("Goal", [shorten(summary.goal, _ANSWER)] if summary.goal else []),
        ("Outcome", _outcome(summary)),
        ("Done", _done(summary)),
        ("Decided", _listed(str, _decided(summary))),
        ("Left open", _listed(_point, summary.open)),
        ("Refused", _listed(_refusal, summary.refusals)),
        ("Files", _listed(lambda diff: _file(diff, summary.project), summary.files)),
        ("Read", _listed(lambda path: shown_path(path, summary.project), summary.files_read)),
        ("Errors", _listed(_failure, [failure for failure in summary.errors if failure.refused_by is None])),
        ("Journey", _listed(lambda step: _journey(step, view), summary.journey)),
        ("Key exchanges", [line for step in summary.exchanges for line in _exchange(step)]),
        ("Tools", [", ".join(f"{tool.name} {tool.calls}" for tool in summary.tools)] if summary.tools else []),
    )
    return ((heading, lines) for heading, lines in found if lines)


def _done(summary: SessionSummary) -> list[str]:
    """Commits, tests with their outcome, and the commands that were run."""
    commits = [f"commit {commit.hash[:8]} {commit.message}".replace("  ", " ").strip() for commit in summary.commits]
    tests = [_tests(run) for run in summary.test_runs[-_LAST_TESTS:]]
    before = len(summary.test_runs) - len(tests)
    failed = sum(run.outcome == "failed" for run in summary.test_runs[:before])
    earlier = [f"{count(before, 'earlier test run')}, {failed} of them failed"] if before else []
    commands = ", ".join(
        f"{each.name} {each.runs}×{f' ({each.failed} failed)' if each.failed else ''}" for each in summary.commands
    )
    return [
        *_listed(lambda commit: shorten(commit, _LINE), commits),
        *earlier,
        *tests,
        *([commands] if commands else []),
    ]


def _tests(run: RanTests) -> str:
    counts = f" ({run.counts})" if run.counts else ""
    return f"tests {run.outcome}{counts}: {shorten(run.command, _LINE)}"


def _decided(summary: SessionSummary) -> list[str]:
    told = ((each.question, each.answer or each.note) for each in summary.decisions)
    answers = [f"{question} → {answer}" for question, answer in told if answer]
    return [*answers, *(f"plan approved: {shorten(plan, _LINE)}" for plan in summary.plans)]


_SOURCES = {"todo": "to do", "reply": "said at the end", "question": "asked at the end"}


def _point(point: OpenPoint) -> str:
    text = shorten(point.text, _LINE)
    return f"{_SOURCES[point.source]}: {text}" if point.source in _SOURCES else text


_BY = {"person": "you", "rule": "a permission rule", "hook": "a hook"}


def _refusal(failure: Failure) -> str:
    what = f"{failure.tool} {shorten(failure.target, 80)}".strip()
    why = f": {shorten(failure.text, _LINE)}" if failure.text else ", without a reason"
    return f"{failure.turn}. {what}, by {_BY.get(failure.refused_by or '', 'somebody')}{why}"


def _listed(write: Callable[[Any], str], entries: Sequence[Any]) -> list[str]:
    """The first entries, each in words, and how many more there are."""
    lines = list(map(write, entries[:_MOST]))
    return lines if len(entries) <= _MOST else [*lines, f"and {len(entries) - _MOST:,} more"]


def _journey(step: SummaryStep, view: View) -> str:
    done = [
        some(step.calls, "call"),
        f"{count(len(step.files), 'file')} changed" if step.files else "",
        f"{step.errors} failed" if step.errors else "",
    ]
    facts = joined(done, ", ")
    time = when(step.time, view.timezone, "%H:%M")
    return f"{step.turn}. {time} {shorten(step.prompt or '(no text)', _LINE)}{f' ({facts})' if facts else ''}"


def _file(diff: FileDiff, project: str | None) -> str:
    added, removed = totals([diff])
    return f"{shown_path(diff.path, project)} ({diff.status}, +{added} -{removed})"


def _exchange(step: SummaryStep) -> list[str]:
    lines = [f"{step.turn}. You: {shorten(step.prompt or '(no text)', _LINE)}"]
    return [*lines, f"{step.turn}. Claude: {shorten(step.answer, _ANSWER)}"] if step.answer else lines


def _failure(failure: Failure) -> str:
    return f"{failure.turn}. {failure.tool} {failure.status}: {shorten(failure.text, _LINE)}"


def _outcome(summary: SessionSummary) -> list[str]:
    facts = [
        some(len(summary.commits), "commit"),
        f"last tests {summary.tests}" if summary.tests else "",
        f"{summary.todos_done} of {summary.todos} todos done" if summary.todos else "",
        *summary.pull_requests,
        "interrupted" if summary.is_interrupted else "",
    ]
    listed = joined(facts, ", ")
    return [*_laid_out(summary.outcome), *([listed] if listed else [])]


def _laid_out(text: str) -> Iterator[str]:
    """The lines of a reply, as many as are read at a glance."""
    room = _ANSWER
    for line in filter(None, map(str.strip, text.splitlines())):
        if room > 0 and not line.startswith("```"):
            yield shorten(line, max(room, _LEAST))
            room -= len(line)


def _front_matter(summary: SessionSummary, view: View) -> Document:
    return {
        "title": summary.title,
        "session": summary.id,
        "project": summary.project,
        "date": when(summary.started, view.timezone, "%Y-%m-%d") or None,
        **picked(summary, "started ended branches=git_branches models cost_usd=cost prompts"),
        "errors": len(summary.errors),
        "files": [shown_path(diff.path, summary.project) for diff in summary.files],
        "tags": ["claude-code", *_tags(summary)],
    }


def _tags(summary: SessionSummary) -> Iterator[str]:
    """A tag may hold letters, digits, hyphens and underscores, and not digits alone."""
    name = re.sub(r"[^\w-]+", "-", last_part(summary.project)).strip("-").lower()
    if name and not name.isdecimal():
        yield name


def _yaml(value: object) -> str:
    """A value as YAML: JSON is valid YAML, so its quoted strings need no other escaping."""
    if isinstance(value, str):
        return json.dumps(harmless(value).encode("utf-8", "replace").decode(), ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(_yaml(item) for item in value)}]"
    return json.dumps(value)


def _link(name: str) -> str:
    """`[[src/retry.py]]`, without the characters that have a meaning in a link."""
    clean = " ".join(re.sub(r"[\[\]|#^`]", " ", harmless(name)).split())
    return f"[[{clean}]]" if clean else ""


def lines_of(summary: SessionSummary, form: str, view: View) -> Iterable[str]:
    return {"text": summary_lines, "markdown": markdown_lines, "obsidian": obsidian_lines}[form](summary, view)


def asked_heading(answer: ModelAnswer, view: View) -> str:
    facts = [answer.model or "", when(answer.time, view.timezone)]
    return f"In Claude's words ({joined(facts, ', ')}; a model said this, no record does)"


def asked_lines(answer: ModelAnswer, view: View) -> Iterator[str]:
    """A model's answer about the evidence, for a terminal."""
    yield ""
    yield view.style.paint(asked_heading(answer, view), "bold")
    for line in harmless(answer.text).split("\n"):
        yield from (f"  {part}".rstrip() for part in (wrap(line, view.width - 2) if line.strip() else [""]))


def asked_document(answer: ModelAnswer) -> Document:
    return picked(answer, "model timestamp=time cost_usd text evidence")
