"""R1 and R2: what is one response, and which of its rows counts."""

from __future__ import annotations

import json

import pytest

from accounting.books import ANN, BOB, Books, Json, a_response, nano
from reread.testing import a_prompt, a_reply, a_subagent, a_usage


def test_a_growing_stream_counts_by_its_last_row(books: Books) -> None:
    """The worked example of R2: the sum of rows would be $0.01034, the first row $0.00212."""
    rows = [a_usage(50, output, cache_read=10_000) for output in (2, 2, 400)]
    books.write(a_response(rows, model="claude-sonnet-5"))
    assert books.nanodollars() == 6_100_000
    assert books.total()["output_tokens"] == 400
    assert books.usage()["accounting"]["duplicates_collapsed"] == 2


def test_rows_of_one_response_need_not_follow_each_other(books: Books) -> None:
    first = a_response(a_usage(50, 2), id="msg_A", model="claude-sonnet-5")
    later = a_response(a_usage(50, 400), id="msg_A", model="claude-sonnet-5")
    books.write(first, a_prompt("meanwhile"), a_response(a_usage(1, 1), id="msg_B"), later)
    assert books.by_model()["claude-sonnet-5"]["requests"] == 1
    assert nano(books.by_model()["claude-sonnet-5"]["cost_usd"]) == 50 * 2_000 + 400 * 10_000


@pytest.mark.parametrize("is_turned", [False, True], ids=["in order", "turned round"])
def test_a_fallback_in_the_middle_of_a_stream_counts_as_the_whole_row_that_won(books: Books, is_turned: bool) -> None:
    """The fallback example of R2: a maximum per field would add $0.08 nobody was billed."""
    begun = a_response(a_usage(400, 3, cache_write=8_000, cache_write_1h=8_000), id="msg_A", model="claude-fable-5-1")
    ended = a_response(a_usage(400, 600, cache_read=8_000), id="msg_A", model="claude-opus-4-8")
    books.write(*((ended, begun) if is_turned else (begun, ended)))
    assert books.nanodollars() == 21_000_000
    assert list(books.by_model()) == ["claude-opus-4-8"]
    assert books.total()["cache_write_1h_tokens"] == 0


def test_of_rows_with_equal_output_the_last_counts(books: Books) -> None:
    rows = [a_usage(5, 7, cache_read=100), a_usage(6, 7, cache_read=200)]
    books.write(a_response(rows))
    assert books.nanodollars() == 6 * 5_000 + 7 * 25_000 + 200 * 500


def test_web_searches_are_the_maximum_over_the_rows(books: Books) -> None:
    rows = [a_usage(10, 2, web_searches=3), a_usage(10, 200, web_searches=1)]
    books.write(a_response(rows))
    assert books.total()["web_searches"] == 3
    assert books.nanodollars() == 10 * 5_000 + 200 * 25_000 + 3 * 10_000_000


@pytest.mark.parametrize("request_ids", [(None, None), ("req_1", None), ("req_1", "req_2")])
def test_a_request_id_that_is_missing_or_another_makes_no_second_response(
    books: Books, request_ids: tuple[str | None, str | None]
) -> None:
    for session, request_id in zip((ANN, BOB), request_ids, strict=True):
        books.write(a_response(a_usage(10, 200), id="msg_A", requestId=request_id), session=session)
    assert books.total()["requests"] == 1
    assert books.nanodollars() == 10 * 5_000 + 200 * 25_000


@pytest.mark.parametrize("prefix", ["msg_", "msg_bdrk_", "msg_vrtx_"])
def test_ids_of_the_api_and_its_clouds_are_unique_over_all_files(books: Books, prefix: str) -> None:
    for session in (ANN, BOB):
        books.write(a_response(a_usage(10, 200), id=f"{prefix}01A"), session=session)
    assert books.total()["requests"] == 1


def test_an_id_a_gateway_repeats_is_told_apart_by_request_and_time(books: Books) -> None:
    answers = [a_response(a_usage(10, 20), id="ocgo", requestId=f"req_{i}") for i in range(3)]
    books.write(*answers)
    books.write(a_response(a_usage(10, 20), "2026-11-03T10:00:00.000Z", id="ocgo", requestId="req_0"), session=BOB)
    assert books.total()["requests"] == 4
    assert books.nanodollars() == 4 * (10 * 5_000 + 20 * 25_000)


SECOND = "msg_20260215063819"


def test_an_id_of_one_second_stands_for_a_response_of_each_session(books: Books) -> None:
    """Each is charged to the session that asked for it, and the report says that an id was reused."""
    for session, output, time in ((ANN, 20, "2026-02-15T06:38:19.102Z"), (BOB, 70, "2026-02-15T06:38:19.744Z")):
        books.write(a_response(a_usage(output * 9, output), time, id=SECOND, requestId=None), session=session)
    report = books.usage("session")
    assert {row["session"]: row["output_tokens"] for row in report["rows"]} == {ANN: 20, BOB: 70}
    footer = " ".join(books.command("usage").out.split())
    assert "; 1 id reused;" in footer
    assert "copied" not in footer


def test_what_a_fork_copied_from_a_gateway_counts_once(books: Books) -> None:
    """Some gateways give every response a UUID and no request id."""
    name, time = "0b0c7e52-5a5f-4a0e-9a31-6f2f0b3f9f10", "2026-11-02T10:00:00.250Z"
    for session in (ANN, BOB):
        books.write(a_response(a_usage(10, 20), time, id=name, requestId=None), session=session)
    report = books.usage()
    assert (report["totals"]["requests"], report["totals"]["output_tokens"]) == (1, 20)
    footer = " ".join(books.command("usage").out.split())
    assert "; 1 response copied;" in footer
    assert "reused" not in footer


def test_an_id_a_gateway_repeats_without_request_ids_is_scoped_by_time(books: Books) -> None:
    turns = [
        (a_prompt("on"), a_response(a_usage(10, 20), f"2026-11-02T10:0{i}:00.000Z", id="ocgo", requestId=None))
        for i in range(3)
    ]
    books.write(*[entry for turn in turns for entry in turn])
    assert books.total()["requests"] == 3


def test_a_row_without_an_id_is_known_by_its_uuid(books: Books) -> None:
    books.write(*[a_response(a_usage(10, 20), id=None, uuid=f"line-{i}", requestId=None) for i in range(2)])
    books.write(a_response(a_usage(10, 20), id=None, uuid="line-0", requestId=None), session=BOB)
    assert books.total()["requests"] == 2


def test_a_row_without_id_and_uuid_is_known_by_its_file_and_line(books: Books) -> None:
    """Two files may well have such rows at the same place, which makes them no copies of each other."""
    for session, cwd in ((ANN, "/home/ann/app"), (BOB, "/home/ann/too")):
        path = books.write(session=session, cwd=cwd)
        row = a_row_without_identity()
        path.write_text("\n".join([a_first_line(session), row, row]) + "\n", "utf-8")
    assert books.total()["requests"] == 4
    assert books.nanodollars() == 4 * (10 * 5_000 + 20 * 25_000)


def test_rows_without_identity_of_copies_that_went_their_own_ways_count_once(books: Books) -> None:
    """A file is named by its first line, not by its path: its copy elsewhere tells of the same responses."""
    row = a_row_without_identity()
    for folder, last in (("one", "an alpaca"), ("two", "an okapi")):
        path = books.write(session=ANN, cwd=f"/home/ann/{folder}")
        end = json.dumps({"type": "user", "message": {"role": "user", "content": last}})
        path.write_text("\n".join([a_first_line(ANN), row, row, end]) + "\n", "utf-8")
    assert books.usage()["totals"]["requests"] == 2


def test_rows_without_identity_of_a_session_and_its_agent_are_no_copies(books: Books) -> None:
    path = books.write(a_response(a_usage(1, 1)), a_subagent(a_reply("x"), id="abc"))
    agent = next(books.source.rglob("agent-abc.jsonl"))
    for file in (path, agent):
        file.write_text("\n".join([a_first_line(file.name), a_row_without_identity()]) + "\n", "utf-8")
    assert books.total()["requests"] == 2


def test_a_transcript_kept_as_one_array_counts_like_any_other(books: Books) -> None:
    path = books.write(a_response([a_usage(10, 2), a_usage(10, 200)]))
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    path.with_suffix(".json").write_text(json.dumps(lines, indent=2), "utf-8")
    path.unlink()
    total = books.usage()["totals"]
    assert (total["requests"], total["output_tokens"]) == (1, 200)


def a_first_line(session: str) -> str:
    return json.dumps({"type": "mode", "mode": "normal", "sessionId": session})


def a_row_without_identity() -> str:
    usage: Json = a_usage(10, 20)
    message = {
        "role": "assistant",
        "model": "claude-opus-4-8",
        "content": [],
        "usage": usage,
        "stop_reason": "end_turn",
    }
    return json.dumps({"type": "assistant", "timestamp": "2026-11-02T10:00:00.000Z", "message": message})
