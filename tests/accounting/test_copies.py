"""R3 and R4: a response that several files tell of counts once, and belongs to one of them."""

from __future__ import annotations

import pytest

from accounting.books import ANN, BOB, CAT, Books, a_response, nano
from reread.testing import a_line, a_subagent, a_usage

COST = 10 * 5_000 + 200 * 25_000


def test_a_fork_into_another_project_counts_once_and_projects_add_up_to_the_whole(books: Books) -> None:
    shared = a_response(a_usage(10, 200), id="msg_A")
    books.write(shared, a_response(a_usage(10, 200), id="msg_ann"), session=ANN, cwd="/home/ann/one")
    books.write(shared, a_response(a_usage(10, 200), id="msg_bob"), session=BOB, cwd="/home/ann/two")
    rows = books.by("project")
    assert sum(row["requests"] for row in rows.values()) == books.total()["requests"] == 3
    assert sorted(nano(row["cost_usd"]) or 0 for row in rows.values()) == [COST, 2 * COST]
    assert books.nanodollars() == 3 * COST


@pytest.mark.parametrize("grouping", ["project", "session", "branch"])
def test_reports_of_each_part_do_not_overlap(books: Books, grouping: str) -> None:
    """Filters come after copies are settled: what one project has, no other reports."""
    shared = a_response(a_usage(10, 200), id="msg_A")
    for session, cwd in ((ANN, "/home/ann/one"), (BOB, "/home/ann/two"), (CAT, "/home/ann/three")):
        books.write(shared, a_response(a_usage(10, 200), id=f"msg_{session[:4]}"), session=session, cwd=cwd)
    parts = [books.usage(grouping, "--project", name)["totals"] for name in ("one", "two", "three")]
    assert sorted(part["requests"] for part in parts) == [1, 1, 2]
    assert sum(nano(part["cost_usd"]) or 0 for part in parts) == books.nanodollars() == 4 * COST


@pytest.mark.parametrize("option", [("--until", "2026-11-01"), ("--since", "2026-11-03")])
def test_a_window_does_not_bring_a_copy_back(books: Books, option: tuple[str, str]) -> None:
    books.write(a_response(a_usage(10, 200), "2026-11-02T10:00:00.000Z", id="msg_A"), session=ANN)
    books.write(a_response(a_usage(10, 200), "2026-11-05T10:00:00.000Z", id="msg_A"), session=BOB)
    assert books.usage("day", *option)["totals"]["requests"] == 0


def test_a_model_filter_does_not_bring_a_copy_back(books: Books) -> None:
    books.write(a_response(a_usage(10, 3), id="msg_A", model="claude-fable-5-1"))
    books.write(a_response(a_usage(10, 600), id="msg_A"), session=BOB)
    assert books.usage("day", "--model", "fable")["totals"]["requests"] == 0
    assert books.usage("day", "--model", "opus")["totals"]["requests"] == 1


@pytest.mark.parametrize("replayed", ["2026-11-02T10:05:00.000Z", "2026-11-02T09:55:00.000Z"])
@pytest.mark.parametrize("where", ["below", "inside"])
def test_a_replay_in_a_sidechain_leaves_the_parents_row(books: Books, replayed: str, where: str) -> None:
    """The worked example of R4: the last row of a tie alone would cost $0.25505."""
    replay = a_response(a_usage(10, 200, cache_read=500_000), replayed, id="msg_A", requestId="req_other")
    parent = a_response(a_usage(10, 200, cache_read=3_000), id="msg_A")
    books.write(parent, a_subagent(replay, where=where))  # type: ignore[arg-type]
    assert books.nanodollars() == 6_550_000
    assert books.total()["cache_read_tokens"] == 3_000
    assert books.by("day")["2026-11-02"]["first"] == "2026-11-02T10:00:00.000Z"


def test_a_copy_with_more_output_counts_and_stays_where_it_was_at_home(books: Books) -> None:
    books.write(a_response(a_usage(10, 2), id="msg_A"), session=ANN, cwd="/home/ann/one")
    later = a_response(a_usage(10, 200, cache_read=7), "2026-11-04T10:00:00.000Z", id="msg_A")
    books.write(later, session=BOB, cwd="/home/ann/two")
    assert list(books.by("day")) == ["2026-11-02"]
    assert list(books.by("project")) == ["/home/ann/one"]
    assert list(books.by("session")) == [ANN]
    assert books.nanodollars() == COST + 7 * 500


@pytest.mark.parametrize("reads", [(1, 2), (2, 1)])
def test_of_copies_that_are_alike_but_for_the_cache_both_ways_take_the_same(
    books: Books, reads: tuple[int, int]
) -> None:
    for session, read in zip((ANN, BOB), reads, strict=True):
        books.write(a_response(a_usage(10, 200, cache_read=read), id="msg_A"), session=session)
    assert books.total()["cache_read_tokens"] in reads


def test_copies_bring_the_most_web_searches(books: Books) -> None:
    books.write(a_response(a_usage(10, 200), id="msg_A"))
    books.write(a_response(a_usage(10, 100, web_searches=2), id="msg_A"), session=BOB)
    assert books.nanodollars() == COST + 2 * 10_000_000


def test_an_advisor_belongs_to_the_row_that_counts(books: Books) -> None:
    """One whole row is taken, with the calls inside it: the advisor of a row that lost is not added."""
    advice = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 4_000, "output_tokens": 300}
    books.write(a_response(a_usage(10, 2, iterations=[advice]), id="msg_A"))
    books.write(a_response(a_usage(10, 200), id="msg_A"), session=BOB)
    assert books.nanodollars() == COST
    assert books.total()["requests"] == 1


def test_an_advisor_of_the_row_that_counts_is_counted_once(books: Books) -> None:
    small = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 4_000, "output_tokens": 900}
    advice = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 4_000, "output_tokens": 300}
    books.write(a_response(a_usage(10, 2, iterations=[small, small]), id="msg_A"), cwd="/home/ann/one")
    later = a_response(a_usage(10, 200, iterations=[advice]), "2026-11-02T10:05:00.000Z", id="msg_A")
    books.write(later, session=BOB, cwd="/home/ann/two")
    assert books.nanodollars() == COST + 4_000 * 5_000 + 300 * 25_000
    assert books.total()["requests"] == 2
    assert list(books.by("project")) == ["/home/ann/one"]


def test_progress_lines_and_request_blobs_are_no_responses(books: Books) -> None:
    """R5 and R6: both hold a whole message with usage, and repeat what other lines tell."""
    inner = {"id": "msg_B", "role": "assistant", "model": "claude-opus-4-8", "content": [], "usage": a_usage(10, 200)}
    progress = a_line("progress", data={"type": "agent_progress", "message": {"type": "assistant", "message": inner}})
    blob = a_line("api-request-blob", message={**inner, "id": "msg_C"})
    costs = a_line("cost-state", totalCostUSD=12.5, usage=a_usage(10, 200))
    result = a_line("result", total_cost_usd=12.5, usage=a_usage(10, 200), message={**inner, "id": "msg_D"})
    books.write(a_response(a_usage(10, 200), id="msg_A"), progress, blob, costs, result)
    assert books.total()["requests"] == 1
    assert books.nanodollars() == COST


def test_a_local_notice_is_no_response(books: Books) -> None:
    """R7."""
    books.write(a_response(a_usage(10, 200)), a_response(a_usage(7, 7), model="<synthetic>"))
    assert books.total()["requests"] == 1
    assert list(books.by_model()) == ["claude-opus-4-8"]


def test_a_user_line_with_usage_is_no_response(books: Books) -> None:
    message = {"role": "user", "content": "x", "id": "msg_U", "usage": a_usage(10, 200)}
    books.write(a_response(a_usage(10, 200)), a_line("user", message=message))
    assert books.total()["requests"] == 1
