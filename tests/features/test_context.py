"""What fills a context, what is offered and used, and what a compaction cost."""

from __future__ import annotations

from typing import Any

from reread.archive.context_report import context_of, offered_in
from reread.features.context import ContextPart, compositions_of, listings, used_in
from reread.sessions import Session
from reread.testing import (
    a_command,
    a_compaction,
    a_prompt,
    a_reply,
    a_system_line,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_attachment,
    build,
)

TOLD: dict[str, Any] = {
    "model": "claude-opus-4-8",
    "totalTokens": 9000,
    "rawMaxTokens": 200_000,
    "categories": [
        {"name": "System prompt", "tokens": 2000, "kind": "used"},
        {"name": "System tools (deferred)", "tokens": 5000, "isDeferred": True, "kind": "deferred"},
        {"name": "Skills", "tokens": 70, "kind": "used"},
        {"name": "Free space", "tokens": 191_000, "kind": "free"},
    ],
    "memoryFiles": [{"path": "/app/CLAUDE.md", "tokens": 160}],
    "mcpTools": [
        {"name": "mcp__maps__route", "serverName": "maps", "tokens": 400},
        {"name": "mcp__maps__later", "serverName": "maps", "tokens": 900, "isLoaded": False},
    ],
    "agents": [{"agentType": "owl", "tokens": 11}],
    "skills": {"skillFrontmatter": [{"name": "lamp", "tokens": 13}]},
}
"""As client 2.1.327 answers; a part that is not loaded, deferred or free fills nothing."""


def listing(*skills: str) -> Any:
    lines = "\n".join(f"- {name}: {'lights it when dark ' * 4}" for name in skills)
    return an_attachment("skill_listing", content=lines, names=list(skills))


def test_what_the_client_counted_is_taken_as_it_is() -> None:
    typed = a_system_line("local_command", content="", contextUsage=TOLD)
    [found] = compositions_of(build(a_prompt("go"), a_reply("Done."), typed))
    assert not found.is_estimate
    assert (found.total, found.limit, found.model) == (9000, 200_000, "claude-opus-4-8")
    assert found.parts == (
        ContextPart("system", "System prompt", 2000),
        ContextPart("mcp", "mcp__maps__route", 400),
        ContextPart("memory", "/app/CLAUDE.md", 160),
        ContextPart("skill", "lamp", 13),
        ContextPart("agent", "owl", 11),
    )


def test_elsewhere_parts_are_estimated_and_the_total_is_that_of_the_last_request() -> None:
    read = a_reply(a_tool_call("Read", {"file_path": "/app/a.py"}), usage=a_usage(input=100))
    session = build(
        a_prompt("go"), listing("lamp"), read, a_tool_result("x" * 4000), a_reply("Done.", usage=a_usage(input=5000))
    )
    [found] = compositions_of(session)
    sizes = {(part.kind, part.name): part.tokens for part in found.parts}
    assert found.is_estimate
    assert found.total == 5000 == sum(sizes.values())
    assert 2000 <= sizes["messages", "Read"] <= 2040
    assert sizes["skill", "lamp"] == len("lamp: " + "lights it when dark " * 4) // 4
    assert sizes["system", "the client's prompt, tools and memory"] == 100 - sizes["skill", "lamp"]
    assert sizes["system", "what the transcript does not show"] > 2500
    assert compositions_of(build(a_prompt("go"))) == []


def test_what_the_first_request_had_is_exact_and_the_rest_is_shared_out() -> None:
    read = a_reply(a_tool_call("Read", {"file_path": "/app/a.py"}), usage=a_usage(input=20_000))
    session = build(a_prompt("p" * 400), read, a_tool_result("x" * 4000), a_reply("Done.", usage=a_usage(input=21_500)))
    [found] = compositions_of(session)
    sizes = {part.name: part.tokens for part in found.parts}
    assert sizes["the client's prompt, tools and memory"] == 19_900
    assert 1400 <= sizes["Read"] <= 1500
    assert 130 <= sizes["prompts"] <= 150
    assert sizes.get("what the transcript does not show", 0) < 5


def test_only_what_is_said_after_a_compaction_fills_the_context() -> None:
    before = [a_prompt("long " * 900), a_reply("Done.", usage=a_usage(input=2000))]
    session = build(*before, a_compaction(), a_prompt("on"), a_reply("Yes.", usage=a_usage(input=2000)))
    [found] = compositions_of(session)
    sizes = {part.name: part.tokens for part in found.parts}
    assert sizes["prompts"] == 1
    assert "summary of what was compacted" in sizes


def offering() -> Session:
    agents = an_attachment(
        "agent_listing_delta", addedTypes=["owl", "Plan"], addedLines=["- owl: reviews", "- Plan: plans"]
    )
    servers = an_attachment("mcp_instructions_delta", addedNames=["maps"], addedBlocks=["Use maps for routes."])
    used = a_reply(a_tool_call("Skill", {"skill": "lamp"}))
    return build(a_prompt("go"), listing("lamp", "moth"), agents, servers, used, a_tool_result("ok"), a_reply("Done."))


def test_listings_have_what_a_person_can_take_away() -> None:
    assert set(listings(offering())) == {("skill", "lamp"), ("skill", "moth"), ("agent", "owl"), ("mcp", "maps")}
    assert used_in(offering()) == {("skill", "lamp"): 1}


def test_what_is_never_used_is_dead_weight_with_its_price() -> None:
    found = {each.name: each for each in offered_in([offering(), offering()])}
    assert {name for name, each in found.items() if each.is_dead_weight} == {"moth", "owl", "maps"}
    lamp = found["lamp"]
    assert (lamp.sessions, lamp.uses, lamp.is_estimate) == (2, 2, True)
    # 21 tokens at 5 dollars a million: written at 1.25 times the price, and read once at a tenth.
    assert (lamp.tokens, lamp.nanodollars) == (21, 21 * 6250 + 21 * 500)


def test_a_command_uses_the_skill_of_its_name() -> None:
    assert used_in(build(a_command("/lamp"), a_reply("Done.")))["skill", "lamp"] == 1


def test_a_compaction_costs_what_is_looked_up_again_until_a_file_is_changed() -> None:
    def calls(*made: Any) -> list[Any]:
        return [entry for each in made for entry in (a_reply(each), a_tool_result("ok"))]

    before = calls(a_tool_call("Read", {"file_path": "/app/a.py"}), a_tool_call("Bash", {"command": "make  test"}))
    after = calls(a_tool_call("Bash", {"command": "make test"}), a_tool_call("Read", {"file_path": "/app/new.py"}))
    work = calls(
        a_tool_call("Edit", {"file_path": "/app/a.py", "old_string": "a", "new_string": "b"}),
        a_tool_call("Read", {"file_path": "/app/a.py"}),
    )
    compacted = a_compaction(trigger="auto", pre_tokens=170_000, postTokens=4000)
    session = build(a_prompt("go"), *before, compacted, *after, *work, a_reply("Done."))
    [cost] = context_of(session).compactions
    assert (cost.trigger, cost.tokens_before, cost.tokens_after) == ("auto", 170_000, 4000)
    assert (cost.files, cost.commands, cost.decisions) == (1, 1, 0)
    assert cost.again == ("make test",)
    assert cost.actions == 2
    own = session.requests[len(before) // 2 :][:2]
    assert cost.nanodollars == sum(session.prices.cost(each, each.model, each.time) or 0 for each in own)
