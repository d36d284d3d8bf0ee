"""`--json` of every command: the fields scripts rely on, their types, and nothing but one document on stdout."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.running import Run
from reread.testing import (
    Transcript,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_image,
    an_interrupt,
)

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
MONEY = re.compile(r"\d+(\.\d+)?")


class Time(str):
    """ISO 8601 UTC with Z."""

    __slots__ = ()


class Money(str):
    """A decimal string in USD."""

    __slots__ = ()


SESSION: dict[str, Any] = {
    "id": str,
    "project": (str, None),
    "title": str,
    "started": (Time, None),
    "ended": (Time, None),
    "versions": [str],
    "prompts": int,
    "turns": int,
    "requests": int,
    "tool_calls": int,
    "tool_errors": int,
    "thoughts": int,
    "output_tokens": int,
    "cost_usd": (Money, None),
    "subagents": int,
    "branches": int,
    "compactions": int,
    "continued_in": (str, None),
    "files": [str],
    "bytes": int,
    "present": bool,
    "places": [dict],
    "archived": bool,
    "expires": (Time, None),
    "belongs_to": (str, None),
    "copied_from": [str],
    "copied_cost_usd": (Money, None),
    "starred": bool,
    "tags": [str],
    "note": (str, None),
    "hidden": bool,
    "typed": bool,
}
USAGE: dict[str, Any] = {
    "requests": int,
    "input_tokens": int,
    "output_tokens": int,
    "cache_read_tokens": int,
    "cache_write_5m_tokens": int,
    "cache_write_1h_tokens": int,
    "web_searches": int,
    "cost_usd": (Money, None),
    "unpriced_tokens": int,
}
PROMPT: dict[str, Any] = {"uuid": str, "text": str, "timestamp": (Time, None), "images": int}
STEPS: dict[str, dict[str, Any]] = {
    "thinking": {"uuid": str, "message_id": (str, None), "text": str, "timestamp": (Time, None)},
    "text": {"uuid": str, "text": str, "timestamp": (Time, None)},
    "tool": {
        "uuid": str,
        "id": str,
        "name": str,
        "server": (str, None),
        "input": dict,
        "result": {"text": str, "is_error": bool, "status": str},
        "agent": (str, None),
    },
    "agent": {"id": str, "turns": list},
    "notice": {"what": str, "text": str},
}
BRANCH: dict[str, Any] = {"id": str, "leaf": (str, None), "active": bool, "forked_at": (str, None)}
THOUGHT: dict[str, Any] = {
    "session": str,
    "uuid": str,
    "message_id": (str, None),
    "timestamp": (Time, None),
    "text": str,
    "characters": int,
    "estimated_tokens": int,
}
TOOL: dict[str, Any] = {"name": str, "server": (str, None), "tool": str, "calls": int, "errors": int, "rejected": int}
DOCTOR: dict[str, Any] = {
    "schema": str,
    "files": int,
    "lines": int,
    "records": int,
    "malformed": [{"file": str, "line": int, "reason": str}],
    "unknown_types": dict,
    "unmodelled_fields": dict,
    "versions": dict,
    "orphan_parents": int,
    "cross_file_duplicates": int,
    "retention": {"cleanup_period_days": int, "expiring_sessions": int},
    "price_table_date": str,
}


def check(value: Any, shape: Any, where: str = "document") -> None:
    """Fails where a value has not the shape; more fields than the contract names are welcome."""
    if isinstance(shape, tuple):
        if value is None and None in shape:
            return
        kinds = [kind for kind in shape if kind is not None]
        if len(kinds) == 1:
            check(value, kinds[0], where)
        else:
            assert type(value) in kinds, f"{where} is {value!r}"
    elif isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert set(shape) <= set(value), f"{where} lacks {set(shape) - set(value)}"
        for key, part in shape.items():
            check(value[key], part, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for number, item in enumerate(value):
            check(item, shape[0], f"{where}[{number}]")
    elif shape in (Time, Money):
        pattern = TIME if shape is Time else MONEY
        assert isinstance(value, str), where
        assert pattern.fullmatch(value), f"{where} is {value!r}"
    else:
        assert type(value) is shape, f"{where} is {value!r}"


def one_of_everything() -> Transcript:
    return a_session(
        a_prompt("look at this", an_image()),
        a_reply(
            a_thought("a thought that is long enough"),
            "words",
            a_tool_call("mcp__github__search", {"q": "x"}, id="toolu_search"),
            a_tool_call("Agent", {"description": "help"}, id="toolu_agent"),
            usage=a_usage(1000, 1000, cache_read=5000, cache_write=300, cache_write_1h=100, web_searches=2),
        ),
        a_tool_result("broken", of="toolu_search", is_error=True),
        a_subagent(a_prompt("task"), a_reply("done", thinking="the agent thinks, too"), of="toolu_agent"),
        a_tool_result("done", of="toolu_agent"),
        a_queued_prompt("and be quick"),
        a_reply("more", model="a-model-nobody-prices", usage=a_usage(7, 11)),
        an_interrupt(),
        a_line("brand-new", uuid="new-line"),
        a_compaction(),
        a_prompt("second"),
        a_reply(a_tool_call("Bash", {"command": "ls"}), uuid="call"),
        a_prompt("third", to="call"),
        a_reply("end"),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return one_of_everything().write(tmp_path / "projects")


def answer(run: Run, *arguments: str | Path) -> Any:
    ran = run(*arguments, "--json")
    assert (ran.code, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert next(iter(document)) == "schema"
    return document


def all_steps(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    steps = [step for turn in turns for step in turn["steps"]]
    return [*steps, *(inner for step in steps if step["kind"] == "agent" for inner in all_steps(step["turns"]))]


def test_the_overview_lists_sessions(run: Run, path: Path) -> None:
    document = answer(run, "--source", path.parent)
    check(document, {"schema": str, "sessions": [SESSION]})
    assert document["schema"] == "reread.sessions/1"
    (row,) = document["sessions"]
    assert row["files"][0] == str(path)
    assert row["bytes"] == sum(Path(file).stat().st_size for file in row["files"])
    counted = {name: row[name] for name in ("prompts", "tool_calls", "tool_errors", "subagents", "compactions")}
    assert counted == {"prompts": 4, "tool_calls": 3, "tool_errors": 1, "subagents": 1, "compactions": 1}


def test_a_session_has_turns_steps_and_branches(run: Run, path: Path) -> None:
    document = answer(run, "show", path)
    assert document["schema"] == "reread.session/1"
    turn = {"index": int, "branch": str, "prompt": (PROMPT, None), "steps": [{"kind": str}], "usage": USAGE}
    check(document, {"session": SESSION, "turns": [turn], "branches": [BRANCH]})
    steps = all_steps(document["turns"])
    for step in steps:
        check(step, STEPS[step["kind"]], step["kind"])
    assert {step["kind"] for step in steps} == set(STEPS)
    assert [turn["index"] for turn in document["turns"]] == list(range(1, len(document["turns"]) + 1))
    assert [branch["id"] for branch in document["branches"] if branch["active"]] == ["main"]


def test_the_first_prompt_is_as_typed_and_counts_its_images(run: Run, path: Path) -> None:
    prompt = answer(run, "show", path)["turns"][0]["prompt"]
    assert (prompt["text"], prompt["images"]) == ("look at this", 1)


def test_a_call_names_its_server_its_result_and_its_agent(run: Run, path: Path) -> None:
    steps = all_steps(answer(run, "show", path)["turns"])
    calls = {step["id"]: step for step in steps if step["kind"] == "tool"}
    search, delegated = calls["toolu_search"], calls["toolu_agent"]
    assert (search["name"], search["server"], search["input"]) == ("mcp__github__search", "github", {"q": "x"})
    assert search["result"] == {"text": "broken", "is_error": True, "status": "error"}
    assert delegated["agent"] == "a1"
    (agent,) = [step for step in steps if step["kind"] == "agent"]
    assert steps[steps.index(delegated) + 1] is agent
    assert {step["result"]["status"] for step in calls.values()} <= {
        "ok",
        "error",
        "rejected",
        "interrupted",
        "missing",
    }


def test_notices_are_of_the_kinds_the_contract_names(run: Run, path: Path) -> None:
    kinds = {step["what"] for step in all_steps(answer(run, "show", path)["turns"]) if step["kind"] == "notice"}
    assert kinds == {"interrupted", "compacted", "queued", "unknown"}


def test_money_is_a_string_and_unknown_where_there_is_no_price(run: Run, tmp_path: Path) -> None:
    """The worked example of the contract: 1000 in, 1000 out, 5000 from the cache, Claude Opus 4.8."""
    usage = a_usage(1000, 1000, cache_read=5000)
    priced = a_session(a_prompt("q"), a_reply("a", usage=usage), id="priced").write(tmp_path)
    assert answer(run, "show", priced)["turns"][0]["usage"]["cost_usd"] == "0.032500000"
    unpriced = a_session(a_prompt("q"), a_reply("a", model="a-model-nobody-prices"), id="unpriced").write(tmp_path)
    document = answer(run, "show", unpriced)
    assert document["session"]["cost_usd"] is None
    assert document["turns"][0]["usage"]["cost_usd"] is None
    assert document["turns"][0]["usage"]["unpriced_tokens"] == 30


def test_a_partly_priced_turn_sums_what_has_a_price(run: Run, path: Path) -> None:
    usage = answer(run, "show", path)["turns"][0]["usage"]
    assert usage["unpriced_tokens"] == 18
    assert usage["cost_usd"] is not None
    assert (usage["cache_write_5m_tokens"], usage["cache_write_1h_tokens"], usage["web_searches"]) == (200, 100, 2)


def test_turns_and_branches_are_chosen_in_json_too(run: Run, path: Path) -> None:
    document = answer(run, "show", path, "--turns", "2")
    assert [turn["index"] for turn in document["turns"]] == [2]
    assert len(document["branches"]) >= 1


def test_thoughts_carry_their_place_and_size(run: Run, path: Path) -> None:
    document = answer(run, "thinking", path)
    counters = {"schema": str, "skipped_short": int, "empty_with_signature": int, "redacted": int}
    check(document, {**counters, "thoughts": [THOUGHT]})
    assert document["schema"] == "reread.thinking/1"
    assert len(document["thoughts"]) == 2
    for thought in document["thoughts"]:
        assert thought["characters"] == len(thought["text"])
        assert thought["estimated_tokens"] == thought["characters"] // 4


def test_prompts_carry_their_place(run: Run, path: Path) -> None:
    document = answer(run, "prompts", path)
    check(document, {"schema": str, "prompts": [{**PROMPT, "session": str, "project": (str, None)}]})
    assert document["schema"] == "reread.prompts/1"


def test_tools_are_split_by_server(run: Run, path: Path) -> None:
    document = answer(run, "tools", path)
    check(document, {"schema": str, "tools": [TOOL]})
    assert document["schema"] == "reread.tools/1"
    row = next(tool for tool in document["tools"] if tool["server"] is not None)
    wanted = {"name": "mcp__github__search", "server": "github", "tool": "search", "calls": 1, "errors": 1}
    assert {key: row[key] for key in wanted} == wanted


def test_the_doctor_reports_in_one_document(run: Run, path: Path) -> None:
    document = answer(run, "doctor", "--source", path.parent)
    check(document, DOCTOR)
    assert document["schema"] == "reread.doctor/1"
    assert document["unknown_types"] == {"brand-new": 1}


@pytest.mark.parametrize("command", ["thinking", "prompts", "tools"])
def test_an_empty_answer_is_still_a_document(run: Run, path: Path, command: str) -> None:
    document = answer(run, command, "--source", path.parent, "--project", "nowhere")
    assert document[{"thinking": "thoughts"}.get(command, command)] == []


def test_text_of_every_script_survives(run: Run, tmp_path: Path) -> None:
    text = 'naïve 漢字 🙂 "quoted" back\\slash \x07'
    path = a_session(a_prompt(text)).write(tmp_path)
    assert answer(run, "prompts", path)["prompts"][0]["text"] == text
