"""Every recorded fixture becomes a page, Markdown and a redacted session, whatever client wrote it."""

from __future__ import annotations

from pathlib import Path

import pytest

import reread
from html_pages import Page
from reread.features.secrets import Redactor, redacted_session
from reread.sessions import Said
from reread.views.html.page import session_page
from reread.views.html.parts import Sections
from reread.views.markdown import MarkdownOptions, markdown_lines

TESTS = Path(__file__).parents[1]
TRUNKS = [
    path
    for folder in ("eras", "wire/captures")
    for path in sorted((TESTS / folder).rglob("*"))
    if path.suffix in (".jsonl", ".wire") and path.is_file()
]


def test_there_are_fixtures() -> None:
    assert len(TRUNKS) > 100


@pytest.mark.sampled(30)
@pytest.mark.parametrize("trunk", TRUNKS, ids=lambda path: path.relative_to(TESTS).as_posix()[-60:])
def test_a_recorded_session_becomes_a_page_and_stays_itself_when_redacted(trunk: Path) -> None:
    session = reread.load(trunk)
    page = Page(session_page(session, Sections(raw=True)))
    assert page.foreign == []
    assert page.unbalanced == []
    assert len(page.ids) == len(set(page.ids))
    places = {link["href"][1:] for link in page.of("a") if link["href"].startswith("#")}
    assert places - {"content"} <= set(page.ids)
    said = [step.text for turn in session.turns for step in turn.steps if isinstance(step, Said)]
    text = "\n".join(markdown_lines(session, MarkdownOptions()))
    assert all(line in text for words in said for line in words.split("\n")[:1] if line.isalnum())
    made = redacted_session(session, Redactor())
    assert [len(branch.turns) for branch in made.branches] == [len(branch.turns) for branch in session.branches]
    assert [call.status for call in made.tool_calls] == [call.status for call in session.tool_calls]
    assert len(made.subagents) == len(session.subagents)
    assert made.total_usage == session.total_usage
