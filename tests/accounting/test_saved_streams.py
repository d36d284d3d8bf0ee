"""A stream that somebody saved counts what its events say at the end of each message, whichever way it is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reread import load
from reread.archive import Archive
from reread.archive import billing as accounts
from reread.archive.explain import ExplainedResponse

ERAS = Path(__file__).parents[1] / "eras"
STREAMS = [ERAS / f"{era}-stream-partial" / "source" / "stream.jsonl" for era in ("e09", "e11")]
SAVED = pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.parts[-3])


def final_counts(path: Path) -> dict[str, int]:
    """Output tokens by message, from the raw events."""
    found: dict[str, int] = {}
    message = ""
    for line in map(json.loads, path.read_bytes().splitlines()):
        event = line.get("event", {})
        if event.get("type") == "message_start":
            message = event["message"]["id"]
        elif event.get("type") == "message_delta":
            found[message] = event["usage"]["output_tokens"]
    return found


@SAVED
def test_rows_of_a_saved_stream_carry_final_counts(path: Path) -> None:
    session = load(path)
    assert {request.key: request.output for request in session.requests} == final_counts(path)
    assert {request.stop_reason for request in session.requests} == {"tool_use", "end_turn"}


@SAVED
def test_the_archive_counts_them_before_and_after_a_sync(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = sum(final_counts(path).values())
    monkeypatch.setattr(accounts, "QUICK_SYNC", 0)
    with Archive(tmp_path / "home", [path], machine="desk") as archive:
        ahead = archive.billing.usage_ahead()
        assert ahead is not None
        assert ahead.totals.output_tokens == wanted
        archive.sync()
        assert archive.usage().totals.output_tokens == wanted
        for name, output in final_counts(path).items():
            explained = archive.billing.explain(name)
            assert isinstance(explained, ExplainedResponse)
            assert {row.output_tokens for copy in explained.copies for row in copy.rows} == {output}
