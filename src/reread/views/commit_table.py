"""Who wrote a commit: for the terminal, as JSON, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from reread.archive.commits import CommitOrigin
from reread.features.edits.changes import EditPosition

from .numbers import count, money, nano
from .text import joined, one_line, shorten, table
from .values import Document, View, dollars, each_picked, picked

_SHORT = 8


def commit_document(found: CommitOrigin) -> Document:
    return {
        "schema": "reread.commit/1",
        "commits": [{"id": commit, "subject": subject} for commit, subject in found.commits],
        "lines": len(found.lines),
        "attributed_lines": found.attributed,
        "cost_usd": dollars(nano(_cost(found))),
        "work": [
            {
                **picked(each, "session title turn"),
                "prompt": {"uuid": each.prompt_uuid, "text": each.prompt},
                **picked(each, "timestamp=time lines"),
                "cost_usd": dollars(nano(each.nanodollars)),
                "tests": each_picked(each.tests, "command outcome counts"),
                "failed_calls": each.failures,
            }
            for each in found.work
        ],
        "blame": [{**picked(line, "commit path line=number text"), **_place(line.writer)} for line in found.lines],
    }


def _place(writer: EditPosition | None) -> Document:
    return {name: getattr(writer, name, None) for name in ("session", "uuid", "prompt_uuid")}


def _cost(found: CommitOrigin) -> int | None:
    known = [each.nanodollars for each in found.work if each.nanodollars is not None]
    return sum(known) if known else None


def _facts(found: CommitOrigin) -> str:
    sessions = len({each.session for each in found.work})
    share = f"{found.attributed:,} of {count(len(found.lines), 'line')} written by {count(sessions, 'session')}"
    cost = money(nano(_cost(found)), is_partial=False)
    return joined([share, count(len(found.work), "prompt"), cost], ", ")


def _writer(edit: EditPosition | None) -> tuple[str, str]:
    return ("", "") if edit is None else (edit.session[:_SHORT], f"{edit.turn}")


def commit_lines(found: CommitOrigin, view: View, *, with_lines: bool = False) -> Iterator[str]:
    for commit, subject in found.commits:
        yield view.style.paint(shorten(f"{commit[:_SHORT]} {one_line(subject)}", view.width), "bold")
    yield _facts(found)
    if with_lines:
        lines = [
            (*_writer(line.writer), one_line(f"{line.path}:{line.number}"), one_line(line.text)) for line in found.lines
        ]
        yield from table([("session", "turn", "line", "text"), *lines], view.width, flexible=3, right=(1,), least=16)
        return
    rows = [("session", "turn", "lines", "cost", "tests", "failed", "prompt")]
    for each in found.work:
        tests = each.tests[-1].outcome if each.tests else ""
        cost = money(nano(each.nanodollars), is_partial=each.nanodollars is None)
        failed = f"{each.failures:,}" if each.failures else ""
        prompt = one_line(each.prompt or each.title)
        rows.append((each.session[:_SHORT], f"{each.turn}", f"{each.lines:,}", cost, tests, failed, prompt))
    if found.work:
        yield from table(rows, view.width, flexible=6, right=(1, 2, 3, 5), dispensable=(5, 1, 4), least=16)


def pull_request(found: CommitOrigin, redact: Callable[[str], str]) -> str:
    """A summary in Markdown, without secrets; prompts are quoted by their first line."""
    lines = ["### How this was made", "", f"{_facts(found)}.", ""]
    if found.work:
        lines += ["| session | prompt | lines | tests | cost |", "|---|---|--:|---|--:|"]
    for each in found.work:
        prompt = shorten(one_line(redact(each.prompt or each.title)), 100).replace("|", "\\|").replace("<", "&lt;")
        tests = joined([each.tests[-1].outcome, each.tests[-1].counts], " ") if each.tests else ""
        cost = money(nano(each.nanodollars), is_partial=each.nanodollars is None)
        lines.append(f"| `{each.session[:_SHORT]}` | {prompt} | {each.lines:,} | {redact(tests)} | {cost} |")
    lines += [
        "",
        "Lines are attributed by content: to the last edit of a session that wrote them. The rest was typed by hand,",
    ]
    return "\n".join([*lines, "made by commands, or written in sessions that this archive does not have.", ""])
