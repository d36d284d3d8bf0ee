"""What a commit or a session says of itself is shown on one line, without anything that a terminal obeys."""

from __future__ import annotations

from datetime import UTC

from reread.archive.commits import CommitLine, CommitOrigin, Work
from reread.views.commit_table import commit_lines, pull_request
from reread.views.text import Style
from reread.views.values import View

WORDS = "look\x1b]0;EVIL\x07 | <b>\nnext"
FOUND = CommitOrigin(
    commits=(("3f2a9c1", WORDS),),
    lines=(CommitLine(commit="3f2a9c1", path=f"a{WORDS}.py", number=1, text=WORDS),),
    work=(
        Work(
            session="abc",
            title=WORDS,
            turn=1,
            prompt=WORDS,
            prompt_uuid=None,
            time=None,
            lines=1,
            nanodollars=None,
            tests=(),
            failures=0,
        ),
    ),
)


def test_words_of_others_stay_on_their_line() -> None:
    view = View(style=Style(False), width=120, timezone=UTC)
    for with_lines in (False, True):
        shown = "\n".join(commit_lines(FOUND, view, with_lines=with_lines))
        assert "EVIL" in shown
        assert all(letter.isprintable() or letter == "\n" for letter in shown)
        assert not [line for line in shown.splitlines() if line.startswith("next")]


def test_a_pull_request_keeps_its_table() -> None:
    written = pull_request(FOUND, lambda text: text)
    assert "\x1b" not in written
    assert "look]0;EVIL \\| &lt;b> next" in written
