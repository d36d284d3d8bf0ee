"""The cache over everything and for one session: every response once, told from inferred, exact to the nano-dollar."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from reread.archive import Archive, CacheReport
from reread.archive.cache_report import Caching, added, caching_of, responses, session_report
from reread.archive.filters import Filter
from reread.archive.usage_report import UsageQuestion
from reread.billing import Response, packaged_prices
from reread.billing.response import settle_all
from reread.errors import BadInput
from reread.loading import SourceTree, load
from reread.testing import Entry, a_prompt, a_reply, a_session, a_subagent, a_system_line, a_usage
from trees import a_tree, resume_copy

ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"


def synced(folder: Path, prices: Path | None = None) -> Archive:
    archive = Archive(folder / "home", [folder / "projects"], machine="desk", price_file=prices)
    archive.sync()
    return archive


def report(folder: Path, by: str = "day", **wanted: Any) -> CacheReport:
    with synced(folder) as archive:
        return archive.billing.caching(by, Filter(**wanted), UTC)


def a_request(
    name: str, time: str = "10:00:00", *, read: int = 0, hour: int = 0, uncached: int = 0, day: int = 1, **fields: Any
) -> Entry:
    usage = a_usage(uncached, 20, cache_read=read, cache_write=hour, cache_write_1h=hour)
    return a_reply("yes", id=f"msg_{name}", usage=usage, timestamp=f"2026-03-{day:02}T{time}.000Z", **fields)


FIRST = a_request("first", "10:00:00", hour=50_000)
HIT = a_request("hit", "10:01:00", read=90_000, hour=9_000, uncached=1_000)
REBUILD = a_request("rebuild", "10:02:00", hour=40_000)


def write(folder: Path, *entries: Any, session: str = ANN, cwd: str = "/home/ann/app") -> Path:
    return a_session(a_prompt("go"), *entries, id=session, cwd=cwd).write(folder / "projects")


def told(entry: Entry, reason: str, tokens: int | None = None) -> Entry:
    diagnostics = {"cache_miss_reason": {"type": reason, "cache_missed_input_tokens": tokens}}
    lines = ({**line, "message": {**line["message"], "diagnostics": diagnostics}} for line in entry.lines)
    return replace(entry, lines=tuple(lines))


def causes_of(made: CacheReport) -> dict[tuple[str, bool], tuple[int, int, int | None]]:
    return {
        (each.name, each.by_api): (each.caching.rebuilds, each.caching.rebuilt_tokens, each.caching.premium)
        for each in made.causes
    }


def test_the_worked_examples_add_up(tmp_path: Path) -> None:
    """-$0.25, $0.36, and a rebuild of 40,000 tokens: 200,000 - 400,000 micro-dollars saved, a premium of $0.38."""
    write(tmp_path, FIRST, HIT, REBUILD)
    made = report(tmp_path)
    assert made.caching.saved == -250_000_000 + 360_000_000 - 200_000_000
    assert (made.caching.rebuilds, made.caching.rebuilt_tokens, made.caching.premium) == (1, 40_000, 380_000_000)
    assert made.totals.cache_hit == 90_000 / 190_000
    assert causes_of(made) == {("unknown", False): (1, 40_000, 380_000_000)}


def test_told_and_inferred_causes_of_one_name_stay_apart(tmp_path: Path) -> None:
    other = a_request("other", "10:03:00", hour=45_000, model="claude-opus-5")
    write(tmp_path, HIT, told(REBUILD, "model_changed", 30_000), other)
    assert causes_of(report(tmp_path)) == {
        ("model_changed", True): (1, 30_000, 285_000_000),
        ("model_changed", False): (1, 40_000, 380_000_000),
    }


def test_days_models_projects_and_sessions_add_up_to_the_same_totals(tmp_path: Path) -> None:
    write(tmp_path, FIRST, HIT, REBUILD)
    write(tmp_path, a_request("late", day=2, hour=10, model="claude-opus-5"), session=BOB, cwd="/elsewhere")
    for by, keys in {
        "day": {"2026-03-01", "2026-03-02"},
        "week": {"2026-02-23", "2026-03-02"},
        "month": {"2026-03"},
        "model": {"claude-opus-4-8", "claude-opus-5"},
        "project": {"/home/ann/app", "/elsewhere"},
        "session": {ANN, BOB},
    }.items():
        made = report(tmp_path, by)
        assert {row.key for row in made.rows} == keys
        assert added(row.caching for row in made.rows) == made.caching
        assert made.caching.saved == -90_000_000 + 10 * (5_000 - 10_000)


def test_a_grouping_that_is_not_there_is_told(tmp_path: Path) -> None:
    with synced(tmp_path) as archive, pytest.raises(BadInput, match="try day, week"):
        archive.billing.caching("moon")


def test_an_empty_archive_knows_nothing(tmp_path: Path) -> None:
    (tmp_path / "projects").mkdir()
    made = report(tmp_path)
    assert (made.rows, made.causes, made.caching) == ((), (), Caching())
    assert (made.totals.cache_hit, made.caching.thinking_share) == (None, None)


def test_models_without_a_price_have_no_savings(tmp_path: Path) -> None:
    write(tmp_path, HIT, a_request("a", hour=5, model="glm-5.1", day=2), a_request("b", hour=9, model="glm-5.1", day=3))
    made = report(tmp_path, "model")
    by_model = {row.key: row.caching for row in made.rows}
    assert (by_model["glm-5.1"].saved, by_model["glm-5.1"].premium) == (None, None)
    assert (by_model["glm-5.1"].rebuilds, by_model["glm-5.1"].unpriced_rebuilds) == (1, 1)
    assert made.caching.saved == 360_000_000
    assert made.accounting.unpriced_models == ("glm-5.1",)


def test_filters_choose_the_responses_that_count(tmp_path: Path) -> None:
    write(tmp_path, FIRST, HIT, REBUILD)
    write(tmp_path, a_request("late", day=2, hour=10, model="claude-opus-5"), session=BOB, cwd="/elsewhere")
    assert report(tmp_path, project="elsewhere").caching.saved == -50_000
    assert report(tmp_path, model="opus-5").totals.requests == 1
    assert report(tmp_path, since=datetime(2026, 3, 1, 10, 1, 30, tzinfo=UTC)).totals.requests == 2
    assert report(tmp_path, until=datetime(2026, 3, 1, 10, 1, 30, tzinfo=UTC)).caching.rebuilds == 0


class TestForks:
    def test_a_copied_response_counts_once(self, tmp_path: Path) -> None:
        write(tmp_path, FIRST, HIT, REBUILD)
        alone = report(tmp_path)
        write(tmp_path, FIRST, HIT, REBUILD, session=BOB)
        both = report(tmp_path)
        assert (both.totals, both.caching, both.causes) == (alone.totals, alone.caching, alone.causes)
        assert both.accounting.duplicates_collapsed == 3

    def test_the_first_own_response_of_a_fork_lost_its_cache_by_forking(self, tmp_path: Path) -> None:
        write(tmp_path, FIRST, HIT)
        fork = write(tmp_path, FIRST, HIT, REBUILD, session=BOB)
        forked = {("resumed_or_forked", False): (1, 40_000, 380_000_000)}
        with synced(tmp_path) as archive:
            assert causes_of(archive.billing.caching()) == forked
            copied = archive.billing.copied_into(BOB)
            assert copied == {"msg_first", "msg_hit"}
            assert archive.billing.copied_into(ANN) == frozenset()
            of_one = session_report(archive.session(BOB), UsageQuestion(), packaged_prices(), copied)
            assert causes_of(of_one) == forked
        assert causes_of(session_report(load(fork), UsageQuestion(), packaged_prices())) == {
            ("unknown", False): (1, 40_000, 380_000_000)
        }

    def test_what_a_fork_loses_later_has_another_reason(self, tmp_path: Path) -> None:
        write(tmp_path, FIRST, HIT)
        write(tmp_path, FIRST, HIT, a_request("own", "10:01:30", read=99_000), REBUILD, session=BOB)
        assert causes_of(report(tmp_path)) == {("unknown", False): (1, 40_000, 380_000_000)}

    def test_an_agent_that_begins_with_the_words_of_its_session_is_no_fork(self, tmp_path: Path) -> None:
        path = write(tmp_path, FIRST, HIT, a_subagent(a_prompt("aside"), HIT, REBUILD, id="aside_question1"))
        unknown = {("unknown", False): (1, 40_000, 380_000_000)}
        assert causes_of(report(tmp_path)) == unknown
        assert causes_of(session_report(load(path), UsageQuestion(), packaged_prices())) == unknown

    def test_the_session_that_was_forked_did_not_lose_its_cache_by_that(self, tmp_path: Path) -> None:
        write(tmp_path, FIRST, HIT, REBUILD)
        write(tmp_path, FIRST, HIT, a_request("own", "10:03:00", read=99_000), session=BOB)
        assert causes_of(report(tmp_path)) == {("unknown", False): (1, 40_000, 380_000_000)}

    def test_a_replay_in_an_agent_neither_counts_nor_wins(self, tmp_path: Path) -> None:
        write(tmp_path, FIRST, HIT, REBUILD, a_subagent(a_prompt("aside"), REBUILD, id="aside_question1"))
        made = report(tmp_path)
        assert (made.caching.saved, made.caching.rebuilds) == (-90_000_000, 1)


def test_requests_on_rewound_branches_count(tmp_path: Path) -> None:
    left = a_prompt("left", uuid="left", to="start"), a_request("left", "10:01:00", read=50_000, hour=60_000)
    kept = a_prompt("kept", uuid="kept", to="start"), a_request("kept", "10:02:00", read=50_000, hour=900)
    write(tmp_path, a_request("start", hour=50_000, uuid="start"), *left, *kept)
    made = report(tmp_path)
    assert (made.totals.requests, made.caching.rebuilds) == (3, 0)
    assert made.caching.saved == 50_000 * -5_000 + 2 * 50_000 * 4_500 + 60_900 * -5_000


def test_an_advisors_call_saves_too_but_rebuilds_nothing(tmp_path: Path) -> None:
    advice = {
        "type": "advisor_message",
        "model": "claude-opus-5",
        "input_tokens": 9,
        "output_tokens": 9,
        "cache_read_input_tokens": 1_000,
    }
    usage = a_usage(0, 20, cache_read=99_000, iterations=[advice])
    path = write(tmp_path, HIT, a_reply("asked", usage=usage, timestamp="2026-03-01T10:02:00.000Z"))
    made = report(tmp_path, "model")
    assert {row.key: row.caching.saved for row in made.rows} == {
        "claude-opus-4-8": 360_000_000 + 99_000 * 4_500,
        "claude-opus-5": 1_000 * 4_500,
    }
    assert made.caching.rebuilds == 0
    of_one = session_report(load(path), UsageQuestion(), packaged_prices()).session
    assert of_one is not None
    assert [[prompt for _, prompt in context.prompts] for context in of_one.contexts] == [[100_000, 99_000]]


def test_thinking_that_is_told_and_estimated_is_kept_apart(tmp_path: Path) -> None:
    told = a_usage(1, 100, output_tokens_details={"thinking_tokens": 40})
    hidden = {"type": "thinking", "thinking": "", "signature": "s"}
    write(
        tmp_path,
        a_reply("told", usage=told),
        a_reply("read", thinking="x" * 80, usage=a_usage(1, 60)),
        a_reply("none", usage=a_usage(1, 40)),
        a_reply(hidden, "hidden", usage=a_usage(1, 1_000)),
    )
    caching = report(tmp_path).caching
    assert (caching.thinking_tokens, caching.estimated_thinking_tokens, caching.judged_output_tokens) == (40, 20, 200)
    assert caching.thinking_share == 0.3


def test_other_prices_change_savings_and_premiums_of_all_rows(tmp_path: Path) -> None:
    """Opus 4.8 for twice the price, in a copy that counts once and in a row of its own."""
    write(tmp_path, FIRST, HIT)
    write(tmp_path, FIRST, HIT, REBUILD, session=BOB)
    rates = {"input": "10", "output": "50", "cache_read": "1", "cache_write_5m": "12.5", "cache_write_1h": "20"}
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"schema": 1, "models": {"claude-opus-4-8": [rates]}}))
    with synced(tmp_path) as archive:
        before = archive.billing.caching()
    with synced(tmp_path, prices) as archive:
        after = archive.billing.caching()
    assert (before.caching.saved, before.caching.premium) == (-90_000_000, 380_000_000)
    assert (after.caching.saved, after.caching.premium) == (-180_000_000, 760_000_000)
    assert after.caching.rebuilt_tokens == 40_000


def test_a_session_that_grew_is_measured_as_a_whole(tmp_path: Path) -> None:
    write(tmp_path, FIRST, HIT)
    with synced(tmp_path) as archive:
        assert archive.billing.caching().caching.rebuilds == 0
        boundary = a_system_line("compact_boundary", timestamp="2026-03-01T10:01:30.000Z")
        write(tmp_path, FIRST, HIT, boundary, REBUILD)
        archive.sync()
        assert causes_of(archive.billing.caching()) == {("compaction", False): (1, 40_000, 380_000_000)}
        archive.safe.rebuild()
        assert causes_of(archive.billing.caching()) == {("compaction", False): (1, 40_000, 380_000_000)}


class TestOneSession:
    def test_it_tells_the_context_every_rebuild_and_the_speed(self, tmp_path: Path) -> None:
        agent = a_subagent(a_prompt("task"), a_request("inside", "10:01:30", hour=7_000), id="a7")
        path = write(tmp_path, FIRST, HIT, agent, REBUILD, a_system_line("turn_duration", durationMs=12_000))
        made = session_report(load(path), UsageQuestion(by="model"), packaged_prices())
        assert made.session is not None
        assert [(each.agent, [prompt for _, prompt in each.prompts]) for each in made.session.contexts] == [
            (None, [50_000, 100_000, 40_000]),
            ("a7", [7_000]),
        ]
        [rebuild] = made.session.rebuilds
        assert (rebuild.time, rebuild.prompt_tokens) == (datetime(2026, 3, 1, 10, 2, tzinfo=UTC), 40_000)
        assert (rebuild.tokens, rebuild.nanodollars, rebuild.cause) == (40_000, 380_000_000, "unknown")
        assert made.session.throughput.tokens_per_second == 5.0
        assert made.accounting.lines_read == 7

    def test_filters_narrow_what_is_shown(self, tmp_path: Path) -> None:
        path = write(tmp_path, FIRST, HIT, REBUILD)
        until = datetime(2026, 3, 1, 10, 1, 30, tzinfo=UTC)
        made = session_report(load(path), UsageQuestion(filters=Filter(until=until)), packaged_prices())
        assert (made.totals.requests, made.caching.rebuilds, made.caching.saved) == (2, 0, 110_000_000)
        elsewhere = session_report(load(path), UsageQuestion(filters=Filter(project="moon")), packaged_prices())
        assert (elsewhere.rows, elsewhere.totals.requests) == ((), 0)
        untouched = session_report(load(path), UsageQuestion(filters=Filter(file="*.moon")), packaged_prices())
        assert (untouched.rows, untouched.totals.requests) == ((), 0)

    def test_a_request_belongs_to_the_folder_it_was_made_in(self, tmp_path: Path) -> None:
        path = write(tmp_path, FIRST, a_request("moved", "10:01:00", read=90_000, cwd="/moon"))
        made = session_report(
            load(path), UsageQuestion(by="project", filters=Filter(project="moon")), packaged_prices()
        )
        assert [row.key for row in made.rows] == ["/moon"]

    def test_it_says_the_same_as_the_archive(self, tmp_path: Path) -> None:
        path = write(tmp_path, FIRST, HIT, told(REBUILD, "system_changed"), a_subagent(a_prompt("aside"), REBUILD))
        of_one = session_report(load(path), UsageQuestion(by="model", zone=UTC), packaged_prices())
        overall = report(tmp_path, "model")
        assert replace(of_one, session=None) == overall


def test_the_totals_over_a_tree_are_the_sum_over_its_sessions(tmp_path: Path) -> None:
    """Read from the files one by one, with a response that several of them tell of taken once."""
    tree = a_tree(tmp_path, size=3_000_000)
    resume_copy(tree.source, tree.truth)
    prices = packaged_prices()
    told: list[Response] = []
    for number, session in enumerate(SourceTree([tree.source]).oldest_first()):
        told += (replace(each, file=f"{number} {each.file}") for each in responses(session, prices).responses)
    once = list(settle_all(told, prices.priced))
    with tree.archive() as archive:
        archive.sync()
        made = archive.billing.caching("day", timezone=UTC)
    assert made.caching == added(map(caching_of, once))
    assert made.totals.nanodollars == sum(each.nanodollars or 0 for each in once)
    assert made.caching.rebuilds > 0
    assert made.totals.requests == len(once)
    assert any(each.files > 1 for each in once)


@pytest.mark.parametrize("by", ["day", "model", "project", "session"])
def test_usage_and_cache_asked_for_together_are_the_same_as_apart(by: str, tmp_path: Path) -> None:
    write(tmp_path, FIRST, HIT, told(REBUILD, "system_changed"))
    write(tmp_path, a_request("other", "11:00:00", uncached=70), session=BOB, cwd="/home/bob/shed")
    with synced(tmp_path) as archive:
        for wanted in (Filter(), Filter(project="shed")):
            usage, cache = archive.billing.usage_and_caching(by, wanted, UTC)
            apart = archive.usage(by, wanted, UTC)
            rows = [replace(row, agents=None, abandoned=None) for row in apart.rows]
            assert [replace(row, agents=None, abandoned=None) for row in usage.rows] == rows
            assert (usage.totals, usage.models, usage.accounting) == (apart.totals, apart.models, apart.accounting)
            assert cache == archive.billing.caching(by, wanted, UTC)
            assert rows
