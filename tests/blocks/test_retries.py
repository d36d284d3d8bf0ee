"""A run of retries is one line on every surface, with its reason; JSON keeps every record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reread.sessions import Session
from reread.testing import Entry, a_prompt, a_reply, a_system_line, build
from reread.views.html.page import session_page
from reread.views.html.parts import Sections
from reread.views.markdown import MarkdownOptions, markdown_lines
from reread.views.session_json import session_document
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View

DOWN = {"status": 503, "error": {"type": "error", "error": {"type": "api_error", "message": "No available accounts"}}}
STORM = "API error 503 No available accounts · 10 retries in 3 min"


def a_retry(number: int, error: Any = DOWN) -> Entry:
    time = datetime(2026, 1, 5, 9, tzinfo=UTC) + timedelta(seconds=20 * number)
    return a_system_line("api_error", retryAttempt=number, maxRetries=10, error=error, timestamp=time.isoformat())


def notices(session: Session) -> list[str]:
    (turn,) = session_document(session, session.branches, None)["turns"]
    return [step["text"] for step in turn["steps"] if step["kind"] == "notice"]


def test_a_run_of_retries_is_one_line_everywhere_and_json_has_each() -> None:
    session = build(a_prompt("go"), *map(a_retry, range(1, 11)), a_reply("done"))
    view = View(80, Style(False), UTC)
    shown = [
        "\n".join(session_lines(session, session.branches, None, view)),
        "".join(session_page(session, Sections())),
        "\n".join(markdown_lines(session, MarkdownOptions())),
    ]
    assert [text.count(STORM) for text in shown] == [1, 1, 1]
    (turn,) = session_document(session, session.branches, None)["turns"]
    (notice,) = (step for step in turn["steps"] if step["kind"] == "notice")
    assert len({each["uuid"] for each in notice["retries"]}) == 10
    assert notice["retries"][-1]["text"] == "API error 503 No available accounts, retry 10 of 10"


def test_another_reason_or_a_word_between_begins_another_line() -> None:
    busy = {"status": 529, "formatted": "529 Overloaded", "message": '529 {"type":"error"}'}
    session = build(a_prompt("go"), a_retry(1), a_retry(2), a_retry(3, busy), a_reply("so far"), a_retry(4, busy))
    assert notices(session) == [
        "API error 503 No available accounts · 2 retries in 20 s",
        "API error 529 Overloaded, retry 3 of 10",
        "API error 529 Overloaded, retry 4 of 10",
    ]


@pytest.mark.parametrize("error", [None, {}, [], "odd", {"error": 5}, {"error": {"error": []}}])
def test_an_error_of_any_shape_is_told(error: Any) -> None:
    (told,) = notices(build(a_prompt("go"), a_retry(1, error)))
    assert told.startswith("API error")
    assert told.endswith(", retry 1 of 10")
