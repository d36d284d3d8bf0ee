"""`reread usage session --reconcile`, and blocks whose window was told."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta

from cli.kept import HARBOUR, LANTERN, Kept
from reread.testing import a_line, a_prompt, a_reply, a_session, a_usage

MONEY_OF_REPLY = "0.000550000"
"""10 x 5 + 20 x 25 micro-dollars."""


def say(kept: Kept, session: str, dollars: float) -> None:
    with kept.trunk(session).open("a") as file:
        file.write(json.dumps({"type": "cost-state", "sessionId": session, "totalCostUSD": dollars}) + "\n")


def test_the_document_has_what_the_client_said_and_nulls_where_it_said_nothing(kept: Kept) -> None:
    say(kept, HARBOUR, 0.00105)
    rows = {row["session"]: row for row in kept.json("usage", "session", "--reconcile")["rows"]}
    harbour, lantern = rows[HARBOUR], rows[LANTERN]
    assert (harbour["cost_usd"], harbour["transcript_cost_usd"]) == (MONEY_OF_REPLY, MONEY_OF_REPLY)
    assert (harbour["client_cost_usd"], harbour["difference_usd"]) == ("0.001050000", "0.000500000")
    assert (harbour["difference_percent"], harbour["client_source"]) == (47.62, "cost-state")
    assert lantern["client_cost_usd"] is lantern["difference_usd"] is lantern["difference_percent"] is None


def test_without_the_option_nothing_is_compared(kept: Kept) -> None:
    assert "client_cost_usd" not in kept.json("usage", "session")["rows"][0]
    assert "client said" not in kept("usage", "session").out


def test_the_table_has_two_columns_more_and_says_why_they_may_differ(kept: Kept) -> None:
    say(kept, HARBOUR, 0.00105)
    shown = kept("usage", "session", "--reconcile").out
    header, *rest = shown.splitlines()
    assert header.split()[-3:] == ["client", "said", "difference"]
    assert max(map(len, shown.splitlines())) <= 80
    [harbour] = [line for line in rest if line.startswith(HARBOUR[:8])]
    assert harbour.endswith("$0.0006      $0.0010  +$0.0005 (48%)")
    assert "compaction" in shown


def test_the_csv_has_the_same_fields(kept: Kept) -> None:
    say(kept, HARBOUR, 0.00105)
    header, *rows = kept("usage", "session", "--reconcile", "--csv").out.splitlines()
    assert header.endswith(
        "client_cost_usd,client_source,client_said,transcript_cost_usd,difference_usd,difference_percent"
    )
    assert {row.count(",") for row in rows} == {header.count(",")}


def test_only_sessions_can_be_reconciled(kept: Kept) -> None:
    ran = kept("usage", "--reconcile")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "usage session --reconcile" in ran.err


def test_a_told_window_is_the_block_and_no_estimate(kept: Kept) -> None:
    """Requests ten minutes ago lie in the window that a status line says ends in three hours."""
    now = datetime.now(UTC)
    end = int(time.time() // 60 * 60 + 3 * 3600)
    moment = (now - timedelta(minutes=10)).isoformat().replace("+00:00", "Z")
    reply = a_reply("yes", usage=a_usage(1_000, 1_000), timestamp=moment)
    fresh = a_session(a_prompt("go", timestamp=moment), reply, a_line("mode", mode="plan"), id="fresh")
    fresh.write(kept.claude / "projects")
    [*others, before] = kept.json("usage", "block")["rows"]
    assert before["is_estimate"] is True
    number = len(others) + 1
    assert f"{number} of {number} blocks estimated" in " ".join(kept("usage", "block").out.split())
    keep_told(kept, {"session_id": "fresh", "rate_limits": {"five_hour": {"used_percentage": 9, "resets_at": end}}})
    [*_, row] = kept.json("usage", "block")["rows"]
    assert (row["is_estimate"], row["is_open"]) == (False, True)
    assert row["end"] == datetime.fromtimestamp(end, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    told = " ".join(kept("usage", "block").out.split())
    assert "(an estimate)" not in told
    assert f"{len(others)} of {number} blocks estimated" in told


def keep_told(kept: Kept, said: object) -> None:
    from reread.archive.status import spent
    from reread.records.client_input import StatusLine

    now = time.time_ns() // 10**6
    spent(str(kept.home), StatusLine(said, now), now)
