"""`reread retro`: what a person reads, what a script reads, and what happens on bad input."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.archive.friction_report import kind_called
from reread.features.friction import kind_meanings
from reread.testing import a_prompt, a_reply, a_session
from troubled import ONE, RULE, THREE, TWO, troubled, write

KINDS = [
    "interrupt",
    "rejection",
    "hook_block",
    "hook_error",
    "tool_error",
    "correction",
    "re_ask",
    "loop",
    "rework",
    "read_waste",
    "rewind",
    "manual_step",
    "repeated_instruction",
    "permission_toil",
    "stall",
    "compaction",
    "unsaid",
]


@pytest.fixture
def retro(run: Run, tmp_path: Path) -> Kept:
    claude = tmp_path / ".claude"
    for name, day in ((ONE, "2026-02-04"), (TWO, "2026-03-04"), (THREE, "2026-04-08")):
        write(troubled(name), claude / "projects", day)
    return Kept(run, claude, tmp_path / "archive")


def test_the_document_has_the_fields_of_the_contract(retro: Kept) -> None:
    found = retro.json("retro")
    assert next(iter(found)) == "schema"
    assert found["schema"] == "reread.retro/1"
    for event in found["events"]:
        assert event["kind"] in KINDS
        assert event["cause"] in ("agent", "environment", "prompt")
        assert event["session"] in (ONE, TWO, THREE)
        assert event["uuid"]
        assert event["timestamp"].endswith("Z")
        assert event["evidence"]
        assert 0.5 <= event["confidence"] <= 1
        assert event["cost_usd"] is None or re.fullmatch(r"\d+\.\d{9}", event["cost_usd"])
    assert {event["kind"] for event in found["events"]} >= {"tool_error", "correction", "interrupt", "rejection"}
    [told] = [pattern for pattern in found["patterns"] if pattern["kind"] == "repeated_instruction"]
    assert (told["count"], told["sessions"], told["example"]) == (3, [ONE, TWO, THREE], RULE)
    [memory] = [each for each in found["suggestions"] if "3 times in 3 sessions" in each["title"]]
    assert memory["draft"] == f"- {RULE}"
    assert {each["session"] for each in memory["moments"]} == {ONE, TWO, THREE}
    assert [each["uuid"] for each in memory["moments"]] == memory["evidence"]


def test_the_text_says_what_hurt_what_repeats_and_what_to_change_in_this_order(retro: Kept) -> None:
    said = retro("retro").out
    places = [said.index(heading) for heading in ("What hurt most", "By week", "What repeats", "What to change")]
    assert places == sorted(places)
    assert said.startswith("All time\n3 sessions · 9 prompts")
    assert f"│ - {RULE}" in said


def test_a_period_stands_beside_what_was_before(retro: Kept) -> None:
    said = retro("retro", "--since", "2026-03-01").out
    assert said.startswith("Since 2026-03-01\n2 sessions · 6 prompts")
    assert "before: 1 session, 3 prompts" in " ".join(said.split())
    assert re.search(r"correction +4 .*66\.7 \(\d+\.\d–\d+\.\d\) +66\.7", said)
    assert f"│ - {RULE}" in said, "corrected twice, in two sessions"
    assert all(len(line) <= 80 or line.lstrip().startswith("reread show") for line in said.splitlines())


def test_every_command_the_text_names_shows_the_moment(retro: Kept) -> None:
    commands = re.findall(r"reread (show \S+ --around \S+)", retro("retro", "--limit", "50").out)
    assert len(commands) > 5
    for command in dict.fromkeys(commands):
        assert retro(*command.split()).code == 0, command


def test_one_session_can_be_named_by_id_or_file(retro: Kept, run: Run) -> None:
    by_id = retro.json("retro", THREE[:6])
    assert (by_id["session"], by_id["sessions"], by_id["baseline"]) == (THREE, 1, {"sessions": 2, "prompts": 6})
    by_file = run("retro", retro.trunk(THREE))
    assert by_file.code == 0, by_file.err
    assert "oryxq" in by_file.out
    assert THREE in by_file.out


def test_suggestions_alone(retro: Kept) -> None:
    said = retro("retro", "--suggestions").out
    assert f"│ - {RULE}" in said
    assert "What hurt most" not in said
    document = retro.json("retro", "--suggestions")
    assert document["events"] == document["patterns"] == []
    assert document["suggestions"]


def test_markdown_has_tables_quotes_and_drafts(retro: Kept) -> None:
    said = retro("retro", "--format", "markdown").out
    assert said.startswith("# All time\n")
    assert "| kind | times | sessions |" in said
    assert f"   - {RULE}" in said
    assert said.count("   ```") % 2 == 0


def test_kinds_agents_confidence_and_limit(retro: Kept) -> None:
    assert {each["kind"] for each in retro.json("retro", "--kind", "interrupt")["events"]} == {"interrupt"}
    assert not [each for each in retro.json("retro")["events"] if each["agent"]]
    assert {each["agent"] for each in retro.json("retro", "--agents")["events"]} == {None, "abc"}
    assert {each["confidence"] for each in retro.json("retro", "--min-confidence", "1")["events"]} == {1.0}
    assert len(retro.json("retro", "--limit", "2")["events"]) == 2


@pytest.mark.parametrize(
    ("printed", "kind"),
    [
        ("re-ask", "re_ask"), ("Re-asks", "re_ask"), ("needless read", "read_waste"), ("tool errors", "tool_error"),
        ("repeated permissions", "permission_toil"), ("interrupts", "interrupt"), ("rework", "rework"),
    ],
)  # fmt: skip
def test_the_printed_name_of_a_kind_is_taken(printed: str, kind: str) -> None:
    assert kind_called(printed).value == kind


def test_what_is_none_is_left_out_and_comes_back(retro: Kept) -> None:
    [uuid] = [e["uuid"] for e in retro.json("retro", THREE)["events"] if "oryxq" in e["evidence"]]
    said = retro("retro", "--wrong", uuid, "--kind", "correction")
    assert said.code == 0, said.err
    assert said.out.startswith("correction is left out from now on: reread show")
    assert uuid not in {each["uuid"] for each in retro.json("retro")["events"]}
    assert "1 marked as wrong (--include-wrong)" in retro("retro").out
    shown = {each["uuid"]: each["wrong"] for each in retro.json("retro", "--include-wrong")["events"]}
    assert shown[uuid] is True
    assert retro.json("retro", "--right", uuid) == {
        "schema": "reread.label/1", "uuid": uuid, "kinds": ["correction"], "session": THREE, "wrong": False,
    }  # fmt: skip
    assert uuid in {each["uuid"] for each in retro.json("retro")["events"]}


def test_an_empty_period_says_so(retro: Kept) -> None:
    ran = retro("retro", "--since", "2030-01-01")
    assert ran.code == 0
    assert "no prompts and no friction in this period" in ran.out
    found = retro.json("retro", "--since", "2030-01-01")
    assert (found["events"], found["patterns"], found["suggestions"]) == ([], [], [])


def test_a_calm_session_says_so(run: Run, tmp_path: Path) -> None:
    a_session(a_prompt("hello there"), a_reply("hello")).write(tmp_path / ".claude" / "projects")
    said = Kept(run, tmp_path / ".claude", tmp_path / "archive")("retro").out
    assert "nothing went wrong here, as far as the lines tell" in said


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["feed"], "no session"),
        (["--kind", "grief"], "there is no kind 'grief'"),
        (["--by", "size"], "there is no order 'size'"),
        (["--min-confidence", "2"], "is not a number from 0 to 1"),
        (["--wrong", "feed"], "there is no moment at record 'feed'"),
        (["--wrong", ""], "there is no moment at record ''"),
        (["--right", "feed"], "nothing was said about a line 'feed'"),
        (["--wrong", "a", "--right", "a"], "contradict each other"),
        (["--wrong", "a", ONE], "take one line"),
        (["--since", "2026-05-01", "--until", "2026-04-01"], "--since must lie before --until"),
    ],
)
def test_bad_input_is_one_sentence(retro: Kept, arguments: list[str], sentence: str) -> None:
    ran = retro("retro", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("window", "title"),
    [
        (["--since", "2026-03-01", "--until", "2026-03-31"], "From 2026-03-01 to 2026-03-31"),
        (["--until", "2026-03-31"], "Until 2026-03-31"),
        (["--until", "2026-03-31T14:00"], "Until 2026-03-31"),
        (["--since", "2026-03-01"], "Since 2026-03-01"),
    ],
)
def test_the_head_names_the_first_day_and_the_last(retro: Kept, window: list[str], title: str) -> None:
    assert title in retro("retro", "--timezone", "Asia/Tokyo", *window).out.splitlines()


OTHER_PRICES = """{"models": {"claude-opus-4-8": {"input": "70", "output": "1", "cache_read": "3",
    "cache_write_5m": "9", "cache_write_1h": "9"}}}"""


def costs(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return sorted((event["uuid"], event["kind"], event["cost_usd"]) for event in found["events"] if event["cost_usd"])


def test_what_moments_cost_follows_the_prices_in_force(run: Run, retro: Kept, tmp_path: Path) -> None:
    before = costs(retro.json("retro", "--agents"))
    (retro.home / "prices.json").write_text(OTHER_PRICES)
    after = costs(retro.json("retro", "--agents"))
    assert [each[:2] for each in after] == [each[:2] for each in before]
    assert after != before
    fresh = Kept(run, retro.claude, tmp_path / "fresh")
    fresh.home.mkdir()
    (fresh.home / "prices.json").write_text(OTHER_PRICES)
    assert costs(fresh.json("retro", "--agents")) == after
    (retro.home / "prices.json").unlink()
    assert costs(retro.json("retro", "--agents")) == before


def test_what_has_no_price_is_told_and_not_counted_as_free(run: Run, tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    for name, day in ((ONE, "2026-02-04"), (TWO, "2026-03-04")):
        write(troubled(name), claude / "projects", day)
    for path in claude.rglob(f"*{TWO}*.jsonl"):
        path.write_text(path.read_text("utf-8").replace("claude-opus-4-8", "our-own-model"), "utf-8")
    kept = Kept(run, claude, tmp_path / "archive")
    found = kept.json("retro")
    paid = [event for event in found["events"] if event["tokens"]]
    assert {event["session"] for event in paid if event["cost_usd"] is None} == {TWO}
    assert {event["session"] for event in paid if event["cost_usd"] is not None} == {ONE}
    [corrections] = [group for group in found["kinds"] if group["kind"] == "correction"]
    assert corrections["cost_usd"] is not None
    assert corrections["unpriced_moments"] == sum(event["session"] == TWO for event in paid)
    assert any(line.split()[0] == "correction" and "≥$" in line for line in kept("retro").out.splitlines() if line)
    assert "no price" in kept("retro", TWO).out
    (kept.home / "prices.json").write_text('{"aliases": {"our-own-model": "claude-opus-4-8"}}')
    priced = kept.json("retro")
    assert not any(group["unpriced_moments"] for group in priced["kinds"])
    assert len(costs(priced)) == len(paid)
    (kept.home / "prices.json").unlink()
    assert kept.json("retro")["kinds"] == found["kinds"]


def test_moments_that_an_earlier_version_found_change_as_their_session_did(retro: Kept) -> None:
    before = costs(retro.json("retro"))
    with closing(sqlite3.connect(retro.home / "reread.db")) as connection:
        connection.execute("UPDATE friction SET spent_first = NULL, spent_last = NULL")
        connection.commit()
    (retro.home / "prices.json").write_text(OTHER_PRICES)
    after = costs(retro.json("retro", "--no-sync"))
    assert [each[:2] for each in after] == [each[:2] for each in before]
    assert after != before


def test_help_says_what_each_kind_means(run: Run) -> None:
    said = " ".join(run("retro", "--help").out.split())
    assert all(f"{kind} {meaning}" in said for kind, meaning in kind_meanings().items())
    assert "kinds:" not in run("retro", "-h").out
