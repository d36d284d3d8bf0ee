"""The line below a turn."""

from __future__ import annotations

from reread.live.events import MessageUsage, SessionStarted
from reread.records import Usage
from reread.views.run_status import RunStatus

CENTS = 10**7


def test_a_narrow_line_leaves_out_what_changes_least_and_never_the_cost() -> None:
    status = RunStatus()
    status.saw(SessionStarted(session="s", model="claude-opus-4-8", permission_mode="plan"))
    status.saw(MessageUsage(usage=Usage(input_tokens=2000, output_tokens=300)))

    def line(width: int) -> str:
        return status.line(21, width, turn=4 * CENTS, run=17 * CENTS, queued=2)

    spent = "2 queued · $0.0400 · run $0.1700"
    assert line(120) == f"21s · 2.0k in, 300 out · context 2.3k · claude-opus-4-8 · plan · {spent}"
    assert line(80) == f"21s · 2.0k in, 300 out · context 2.3k · plan · {spent}"
    assert line(66) == f"21s · context 2.3k · plan · {spent}"


def test_a_run_that_has_cost_nothing_shows_no_cost() -> None:
    assert RunStatus().line(0.5, 80) == "0.5s"
