"""Usage, search, home and the list of sessions: what they count, and where a click on it leads."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.kept import HARBOUR, LANTERN
from reread.archive import Archive
from reread.index import client_totals
from reread.records.client_input import read_status_line
from reread.testing import a_command, a_prompt, a_reply, a_session, a_title, a_tool_call, a_tool_result
from web.asking import Asking, asking, read


def plain(text: str) -> str:
    return " ".join(text.split())


def write_project(folder: Path, name: str, replies: int, cwd: str, day: str = "2026-10-05") -> None:
    entries = []
    for number in range(replies):
        entries += [
            a_prompt(f"question {number} of {name}", timestamp=f"{day}T10:{number % 60:02}:00.000Z"),
            a_reply(f"pebble {number}", timestamp=f"{day}T10:{number % 60:02}:30.000Z"),
        ]
    a_session(*entries, a_title(f"About {name}"), id=name, cwd=cwd).write(folder / "claude" / "projects")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    write_project(tmp_path, "quarry", 70, "/home/ann/quarry")
    write_project(tmp_path, "quarry-tree", 3, "/home/ann/quarry/.claude/worktrees/deep", "2026-09-30")
    write_project(tmp_path, "beach", 2, "/home/ann/beach", "2026-09-01")
    return tmp_path


def test_facets_count_all_hits_and_not_those_that_are_shown(many: Path) -> None:
    with asking(many / "home", many / "claude") as site:
        page = site.page("/search?q=pebble")
        said = plain(page.text)
        assert "The best 60 of 75 hits in 3 sessions" in said
        for count in ("text 75", "quarry 73", "beach 2", "2026-10 70", "2026-09 5"):
            assert count in said
        more = next(link for link in page.links() if "n=120" in link)
        assert "75 hits in 3 sessions" in plain(site.page(more).text)
        assert not [link for link in site.page(more).links() if "&n=" in link]


def test_a_facet_narrows_and_lets_go_again(many: Path) -> None:
    with asking(many / "home", many / "claude") as site:
        month = next(link for link in site.page("/search?q=pebble").links() if "2026-09-01" in link)
        narrowed = site.page(month)
        assert "5 hits in 2 sessions" in plain(narrowed.text)
        current = next(tag for tag in narrowed.of("a") if tag.get("aria-current") == "true")
        assert current["href"] == "/search?q=pebble"
        field = site.page("/search?q=pebble&in=prompt&in=text")
        assert any(link.endswith("in=text") for link in field.links())
        assert "The best 60 of 75 hits" in plain(field.text)


def test_hits_stand_with_their_session_and_some_are_folded(many: Path) -> None:
    with asking(many / "home", many / "claude") as site:
        page = site.part("/search?q=pebble&project=beach")
        assert plain(page.text).count("About beach") == 1
        assert len(page.of("mark")) == 2
        assert not page.of("details")
        assert "more hits in this session" in site.part("/search?q=pebble").text


def test_what_was_not_looked_into_is_counted_too(site: Asking) -> None:
    assert "result 1" in plain(site.page("/search?q=seventeen OR beacon").text)
    empty = site.page("/search?q=seventeen")
    assert any("in=result" in link for link in empty.links()), "it offers to look there"


def test_search_teaches_and_shows_the_newest_when_nothing_is_asked(site: Asking) -> None:
    page = site.page("/search")
    examples = [link for link in page.links() if link.startswith("/search?q=")]
    assert len(examples) >= 5
    for link in examples:
        assert "problem" not in [tag.get("class") for tag in site.page(link).of("p")]
    assert f"/s/{HARBOUR}" in page.links()
    assert len(site.page("/search?q=-nothing", status=400).of("main")) == 1


def test_usage_narrows_by_a_click(site: Asking) -> None:
    def narrowed(by: str) -> str:
        page = site.page(f"/usage?since=all&by={by}")
        body = [tag["href"] or "" for tag in page.of("a") if tag.get("aria-label") and tag.get("tabindex")]
        assert body, f"no bar of the chart by {by} leads anywhere"
        assert [tag["tabindex"] for tag in page.of("a") if tag.get("tabindex")].count("0") == 1
        return body[-1]

    day = narrowed("day")
    assert "by=session" in day
    days = re.findall(r"(?:since|until)=(20\d\d-\d\d-\d\d)(?=&|$)", day)
    assert len(days) == 2
    assert days[0] == days[1]
    assert "Usage by session" in site.page(day).titles[0]
    assert f"/s/{LANTERN}" in site.page("/usage?since=all&by=session").links()
    for by, filter_ in (("model", "model="), ("project", "project="), ("tool", "tool="), ("week", "until=")):
        address = narrowed(by)
        assert filter_ in address
        page = site.page(address)
        assert len(page.of("tr")) >= 3, "what a bar stands for is there"
        assert any(tag.get("title") == "Take this away" for tag in page.of("a"))


def test_a_chart_adds_up_what_the_table_leaves_out(site: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = str(site.page("/usage?since=all&by=session").of("svg")[0]["aria-label"])
    assert "2 bars" in whole
    monkeypatch.setattr("reread.web.usage.MOST_ROWS", 1)
    page = site.page("/usage?since=all&by=session")
    assert len(page.of("tr")) < 4 + 3, "day, week and month so far have a row each"
    assert str(page.of("svg")[0]["aria-label"]) == whole


def test_a_month_and_a_block_are_narrowed_to_their_edges(site: Asking) -> None:
    month = next(link for link in site.page("/usage?by=month&since=all").links() if "until=" in link)
    assert "since=2026-01-01" in month
    assert "until=2026-01-31" in month
    block = next(link for link in site.page("/usage?by=block&since=all").links() if "until=" in link)
    assert len(site.page(block).of("tr")) >= 3


def test_what_comes_after_the_page_is_told_as_on_the_command_line(site: Asking, claude: Path) -> None:
    page = site.page("/usage?since=all")
    parts = [tag["data-fill"] or "" for _, tag in page.tags if tag.get("data-fill")]
    assert len(parts) == 2
    whole = plain(site.page("/usage?since=all&whole=1").text)
    for part in parts:
        assert plain(site.part(part).text) in whole
    with Archive(site.home, [claude]) as archive:
        saved = archive.billing.caching("day").caching.saved
    assert saved == 0
    assert "$0 against no cache" in whole
    assert "No block is open." in whole
    assert "Nothing. Claude Code reports limits" in whole


def test_limits_that_a_status_line_told_are_shown(site: Asking, claude: Path) -> None:
    now = int(time.time())
    line = {
        "session_id": LANTERN,
        "rate_limits": {
            "five_hour": {"used_percentage": 42, "resets_at": now + 3600},
            "seven_day": {"used_percentage": 17, "resets_at": now + 86400},
        },
    }
    told = read_status_line(json.dumps(line).encode(), now * 1000)
    assert told is not None
    with Archive(site.home, [claude]) as archive:
        assert client_totals.keep(archive.inner.connection, told, archive.machine, now * 1000)
    shown = plain(site.part("/usage/sidebar?since=all").text)
    assert "42 % used as of" in shown
    assert "17 % used as of" in shown


def test_worktrees_count_to_their_project(many: Path) -> None:
    with asking(many / "home", many / "claude") as site:
        rows = site.get("/usage/projects.csv?since=all").text.splitlines()
        assert [row.split(",")[0] for row in rows] == ["project", "/home/ann/quarry", "/home/ann/beach"]
        assert "2 areas" in str(read(site.get("/usage/sidebar?since=all").text).of("svg")[0]["aria-label"])
        grouped = plain(site.page("/sessions?group=1").text)
        assert "/home/ann/quarry 2 sessions · what they cost" in grouped


def test_a_project_of_worktrees_alone_has_its_own_name(tmp_path: Path) -> None:
    write_project(tmp_path, "tree", 2, "/home/ann/quarry/.claude/worktrees/deep")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        rows = site.get("/usage/projects.csv?since=all").text.splitlines()
        assert [row.split(",")[0] for row in rows] == ["project", "/home/ann/quarry"]


def test_charts_and_tables_are_files_to_keep(site: Asking) -> None:
    svg = site.get("/usage/usage.svg?by=model&since=all")
    assert svg.headers["content-disposition"] == 'attachment; filename="reread-usage-by-model.svg"'
    assert svg.text.startswith("<svg ")
    assert "lower bound" in svg.text, "it says itself what it was made from"
    table = list(csv.DictReader(io.StringIO(site.get("/usage/usage.csv?by=day&since=all").text)))
    assert table
    assert {"day", "requests", "cost_usd"} <= set(table[0])
    assert site.get("/usage/other.svg").status_code == 404
    assert site.get("/usage/usage.exe").status_code == 404
    assert site.get("/usage/usage.csv?since=never").status_code == 400


def test_a_budget_is_a_line_in_the_chart_of_everything(site: Asking) -> None:
    assert site.post("/usage/budgets", {"day": "0.01"}).status_code == 303
    assert "budget $0.01" in site.get("/usage?since=all&by=day").text
    assert 'class="limit"' not in site.get("/usage?since=all&by=month").text
    assert 'class="limit"' not in site.get("/usage?since=all&by=day&model=opus").text


def test_a_budget_leads_back_to_the_page_as_it_was_narrowed(site: Asking) -> None:
    page = site.page("/usage?since=all&by=month&model=opus")
    back = next(field["value"] or "" for field in page.of("input") if field.get("name") == "back")
    assert site.post("/usage/budgets", {"day": "5", "back": back}).headers["location"] == f"/usage{back}#budgets"
    assert sorted(back.removeprefix("?").split("&")) == ["by=month", "model=opus", "since=all"]
    elsewhere = site.post("/usage/budgets", {"day": "5", "back": "//evil.test"})
    assert elsewhere.headers["location"] == "/usage#budgets"


def test_models_without_a_price_are_named(tmp_path: Path) -> None:
    a_session(a_prompt("x"), a_reply("y", model="mystery-9"), id="odd").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/usage?since=all")
        assert "without 1 model that has no price" in plain(page.text)
        assert "No price is known for mystery-9" in page.text


def test_chips_take_a_filter_away_and_keep_the_others(site: Asking) -> None:
    page = site.page("/sessions?project=lantern&model=opus&sort=cost&group=1")
    chips = {tag["href"] for tag in page.of("a") if tag.get("title") == "Take this away"}
    assert chips == {"/sessions?model=opus&group=1&sort=cost", "/sessions?project=lantern&group=1&sort=cost"}
    assert "1 session of 2 · what they cost" in plain(page.text)
    assert "/usage?project=lantern&model=opus&since=all" in page.links()
    assert "what they cost" not in plain(site.page("/sessions?starred=1").text), "usage has no such filter"
    assert not [tag for tag in site.page("/sessions").of("a") if tag.get("title") == "Take this away"]


def test_a_heading_sorts_and_the_second_click_turns_around(site: Asking) -> None:
    page = site.page("/sessions?sort=prompts")
    assert "/sessions?up=1&sort=prompts" in page.links()
    assert "/sessions?sort=cost" in page.links()

    def listed(path: str) -> list[str]:
        return [link for link in site.page(path).links() if link.startswith("/s/")]

    assert listed("/sessions?sort=prompts&up=1") == listed("/sessions?sort=prompts")[::-1]


def test_home_tells_of_today(tmp_path: Path) -> None:
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    written = {"file_path": "/p/a.txt", "content": "a"}
    a_session(
        a_prompt("write it", timestamp=moment),
        a_reply(a_tool_call("Write", written, id="w"), timestamp=moment),
        a_tool_result("ok", of="w", timestamp=moment),
        a_reply("done", timestamp=moment),
        id="new",
        cwd="/p",
    ).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.page("/")
        shown = plain(page.text)
        for fact in ("session1", "prompt1", "file changed 1", "Requests, a year"):
            assert fact in shown
        today = datetime.now().astimezone().date().isoformat()
        assert any(link.startswith(f"/usage?by=session&since={today}") for link in page.links())
        assert len([tag for tag in page.of("svg") if "Calendar, 365 days" in (tag.get("aria-label") or "")]) == 1


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs a system whose zone can be set")
def test_a_day_with_a_clock_change_is_counted_from_its_first_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path, "quarry", 2, "/home/ann/quarry", "2026-10-25")
    early = [
        a_prompt("early", timestamp="2026-10-24T22:30:00.000Z"),
        a_reply("so", timestamp="2026-10-24T22:31:00.000Z"),
    ]
    a_session(*early, id="early").write(tmp_path / "claude" / "projects")
    noon = property(lambda _: datetime(2026, 10, 25, 12, tzinfo=UTC))
    monkeypatch.setattr("reread.web.archive_pool.ServerSettings.now", noon)
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        with asking(tmp_path / "home", tmp_path / "claude") as site:
            rows = list(csv.DictReader(io.StringIO(site.get("/usage/usage.csv?since=today").text)))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [(row["day"], row["requests"]) for row in rows if row["day"]] == [("2026-10-25", "3")]


def test_the_open_block_is_told_beside_requests_without_a_time(tmp_path: Path) -> None:
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    timeless = a_reply("when", timestamp="no time")
    a_session(a_prompt("go"), timeless, a_reply("now", timestamp=now)).write(tmp_path / "claude" / "projects")
    a_session(a_prompt("go"), a_reply("then", timestamp="2026-01-05T10:00:00.000Z"), id="then").write(
        tmp_path / "claude" / "projects"
    )
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "The open block ends" in plain(site.part("/usage/sidebar?since=all").text)


def test_the_outline_of_a_session_counts_turns_and_its_figures_prompts(tmp_path: Path) -> None:
    turns = [a_prompt("what is new?"), a_reply("this"), a_command("/review"), a_reply("it is fine")]
    a_session(*turns, id=HARBOUR).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.get(f"/s/{HARBOUR}").text
    outline = plain(read(page.partition('class="outline"')[2].partition("</details>")[0]).text)
    figures = plain(read(page.partition('class="top figures"')[2].partition("</section>")[0]).text)
    assert "2 turns" in outline
    assert "prompt" not in outline
    assert "1 prompt" in figures


def test_after_a_long_absence_pages_show_the_last_days_there_were(tmp_path: Path) -> None:
    claude = tmp_path / "claude"
    turns = [
        entry
        for day in (2, 3, 5)
        for entry in (
            a_prompt(f"on day {day}", timestamp=f"2024-03-0{day}T10:00:00.000Z"),
            a_reply("yes", timestamp=f"2024-03-0{day}T10:00:05.000Z"),
        )
    ]
    a_session(*turns, id="old").write(claude / "projects")
    with asking(tmp_path / "home", claude) as site:
        page = site.page("/")
        counted, friction = site.page("/usage"), site.page("/retro")
        chosen = site.page("/usage?since=30d"), site.page("/retro?since=30d")
    assert "these are the last days there were, up to 2024-03-05" in page.text
    assert "30 days to 2024-03-05" in page.text
    assert re.search(r"3 prompts", page.text)
    for all_of_it in (counted, friction):
        assert "Nothing in the last 30 days; this is everything." in all_of_it.text
        assert [a["href"] or "" for a in all_of_it.of("a") if a.get("aria-current") == "true"][-1].endswith("since=all")
    assert "2024-03-05" in counted.text
    assert "3 prompts" in friction.text
    for asked in chosen:
        assert "this is everything" not in asked.text


def test_a_span_begins_on_one_day_on_every_page_and_the_dearest_session_of_a_week_counts_that_week(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC)
    early, late = ((now - timedelta(days=days)).replace(hour=0, minute=1) for days in (6, 0))
    stamp = "{:%Y-%m-%dT%H:%M:%S.000Z}"
    for name, times in {"old": (now - timedelta(days=30), late), "early": (early,)}.items():
        said = [a_prompt("ask", timestamp=stamp.format(time)) for time in times]
        replies = [a_reply("so", timestamp=stamp.format(time)) for time in times]
        a_session(*(entry for pair in zip(said, replies, strict=True) for entry in pair), id=name).write(
            tmp_path / "claude" / "projects"
        )
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert "2 sessions" in site.page("/sessions?since=7d").text
        assert "2 requests" in plain(site.page("/usage?since=7d").text)
        home = plain(site.page("/").text)
        assert "1 request in this week" in home


def test_a_total_is_a_lower_bound_in_the_table_and_in_its_chart(tmp_path: Path) -> None:
    for number, model in enumerate(("claude-opus-4-8", "claude-unheard-of")):
        a_session(a_prompt("ask"), a_reply("so", model=model), id=f"s{number}").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        told = re.findall(r"≥\$\d+\.\d+", site.get("/usage?since=all&by=project&whole=1").text)
        assert len(told) >= 4 and len(set(told)) == 1, "card, chart, row and total"


def test_what_has_more_output_than_was_recorded_is_a_lower_bound_on_every_page(tmp_path: Path) -> None:
    stub = a_reply("said", usage={"input_tokens": 1_000_000, "output_tokens": 1}, stop_reason=None)
    a_session(a_prompt("ask"), stub, id="stub", version="2.1.50").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        [total] = set(re.findall(r"≥\$\d+\.\d+", site.get("/usage?since=all&by=session").text))
        for path in ("/sessions", "/s/stub", "/s/stub/cost", "/"):
            assert total in site.get(path).text, path
        head = site.get("/s/stub").text.partition('class="cost"')[2].partition("</a>")[0]
        assert total in head


def test_what_was_spent_so_far_is_a_lower_bound_where_the_total_is_one(tmp_path: Path) -> None:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    usage = {"input_tokens": 1_000_000, "output_tokens": 1}
    stub = a_reply("said", timestamp=now, usage=usage, stop_reason=None)
    a_session(a_prompt("ask", timestamp=now), stub, version="2.1.50").write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        page = site.get("/usage?since=all").text
    spent = plain(read(page.partition('id="budgets"')[2].partition("</table>")[0]).text)
    [total] = set(re.findall(r"≥\$\d+\.\d+", page.partition("<figure")[0].partition('id="budgets"')[0]))
    assert f"this month{total}" in spent
