"""Section 7 of the counting contract: hit rate, savings, rebuilds, what they cost, and why they happened."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from reread.billing import Rated, packaged_prices
from reread.features.cache_rebuilds import Chain, Measured, chains, thinking_estimate
from reread.testing import (
    Agent,
    ContentBlock,
    Entry,
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_usage,
    an_attachment,
    build,
)

PRICES = packaged_prices()


def found(*entries: Entry | ContentBlock | Agent, copied: frozenset[str] = frozenset()) -> list[Chain]:
    return chains(build(a_prompt("go", uuid="root"), *entries), PRICES, copied)


def measured(*entries: Entry | ContentBlock | Agent, copied: frozenset[str] = frozenset()) -> list[Measured]:
    [chain] = found(*entries, copied=copied)
    return list(chain.requests)


def a_request(
    text: str = "so", *, read: int = 0, hour: int = 0, five: int = 0, uncached: int = 0, at: str = "", **fields: Any
) -> Entry:
    """A response that read and wrote so much: `hour` for an hour, `five` for five minutes."""
    if at:
        fields["timestamp"] = f"2026-03-01T{at}.000Z"
    usage = a_usage(uncached, 20, cache_read=read, cache_write=hour + five, cache_write_1h=hour)
    return a_reply(text, usage=usage, **fields)


def told(entry: Entry, reason: str | None, tokens: int | None = None) -> Entry:
    """The response with what the API says about its cache."""
    miss = None if reason is None else {"type": reason, "cache_missed_input_tokens": tokens}
    lines = (
        {**line, "message": {**line["message"], "diagnostics": {"cache_miss_reason": miss}}} for line in entry.lines
    )
    return replace(entry, lines=tuple(lines))


BEFORE = a_request("before", read=90_000, hour=9_000, uncached=1_000)
"""A prompt of 100,000 tokens."""


def test_the_worked_example_of_a_request_that_hits() -> None:
    [one] = measured(BEFORE)
    assert (one.prompt, one.saved, one.rebuild) == (100_000, 360_000_000, None)


def test_the_worked_example_of_a_first_request_that_costs_more_than_it_saves() -> None:
    [one] = measured(a_request(hour=50_000))
    assert one.saved == -250_000_000


def test_the_worked_example_of_a_premium() -> None:
    _, one = measured(BEFORE, a_request(hour=40_000))
    assert one.rebuild is not None
    assert (one.rebuild.tokens, one.rebuild.nanodollars) == (40_000, 380_000_000)


def test_a_request_that_sent_nothing_saved_nothing() -> None:
    [one] = measured(a_request())
    assert (one.prompt, one.saved) == (0, 0)


@pytest.mark.parametrize("model", ["glm-5.1", "claude-2", None])
def test_without_a_price_neither_savings_nor_a_premium_are_known(model: str | None) -> None:
    """Claude 2 has prices, but none for cached tokens."""
    _, one = measured(a_request(hour=100, model=model), a_request(hour=200, model=model))
    assert one.saved is None
    assert one.rebuild is not None
    assert (one.rebuild.tokens, one.rebuild.nanodollars) == (100, None)


class TestPremium:
    def test_the_hour_and_the_five_minutes_are_priced_apart(self) -> None:
        """30,000 x (10 - 0.5) + 10,000 x (6.25 - 0.5) micro-dollars."""
        _, one = measured(BEFORE, a_request(hour=30_000, five=10_000))
        assert one.rebuild is not None
        assert one.rebuild.nanodollars == 285_000_000 + 57_500_000

    def test_what_was_never_in_the_cache_is_no_rebuild(self) -> None:
        """The prompt before had 30,000 tokens; the rest of what is written would have been written anyway."""
        _, one = measured(a_request(hour=10_000, uncached=20_000), a_request(hour=10_000, five=35_000))
        assert one.rebuild is not None
        assert one.rebuild.tokens == 30_000
        assert one.rebuild.nanodollars == 10_000 * 9_500 + 20_000 * 5_750

    def test_what_is_still_read_was_not_lost(self) -> None:
        _, one = measured(a_request(hour=10_000), a_request(read=4_000, hour=20_000))
        assert one.rebuild is not None
        assert one.rebuild.tokens == 6_000

    def test_the_rates_are_those_of_a_long_prompt(self) -> None:
        """Haiku 5.5 above 100,000: 0.05 to read, 0.625 to write for five minutes."""
        first = a_request(uncached=300_000, model="claude-haiku-5-5")
        _, one = measured(first, a_request(five=200_000, model="claude-haiku-5-5"))
        assert one.rebuild is not None
        assert one.rebuild.nanodollars == 200_000 * (625 - 50)

    def test_every_part_is_rounded_once(self) -> None:
        """R20: three tokens at 137.5 come to 413, and would have been read for 33."""
        used = Rated(cache_write_5m=3, geo="us")
        assert PRICES.premium(used, 3, "claude-haiku-5-5", None) == 413 - 33
        assert PRICES.savings(used, "claude-haiku-5-5", None) == 330 - 413


class TestRebuild:
    @pytest.mark.parametrize(("read", "is_rebuild"), [(50_000, False), (49_999, True)])
    def test_it_reads_less_than_half_of_the_prompt_before(self, read: int, is_rebuild: bool) -> None:
        _, one = measured(BEFORE, a_request(read=read, hour=10_000))
        assert (one.rebuild is not None) is is_rebuild

    @pytest.mark.parametrize(("written", "is_rebuild"), [(9_000, False), (9_001, True)])
    def test_it_writes_more_than_the_request_before(self, written: int, is_rebuild: bool) -> None:
        _, one = measured(BEFORE, a_request(hour=written))
        assert (one.rebuild is not None) is is_rebuild

    def test_the_first_request_of_an_agent_is_none(self) -> None:
        trunk, agent = found(
            BEFORE,
            a_subagent(a_prompt("task"), a_request("inside", hour=40_000), where="inside"),
            a_request(read=99_000),
        )
        assert [one.rebuild for one in (*trunk.requests, *agent.requests)] == [None] * 3
        assert (trunk.agent, len(trunk.requests), len(agent.requests)) == (None, 2, 1)
        assert agent.agent is not None

    def test_advisors_are_no_part_of_the_chain(self) -> None:
        advice = {"type": "advisor_message", "model": "claude-opus-5", "input_tokens": 9, "output_tokens": 9}
        usage = a_usage(0, 20, cache_read=99_000, iterations=[advice])
        assert [one.prompt for one in measured(BEFORE, a_reply("asked", usage=usage))] == [100_000, 99_000]

    def test_the_order_is_that_of_time(self) -> None:
        late, early = a_request(read=40_000, at="10:05:00"), a_request(hour=40_000, at="10:00:00")
        assert [one.request.cache_read for one in measured(late, early)] == [0, 40_000]


class TestRewinds:
    BIG = (
        a_prompt("first", uuid="first", to="root"),
        a_request("grown", read=10_000, hour=90_000, uuid="grown"),
        a_request("more", read=100_000, hour=500, uuid="more"),
    )
    """A branch that grew to 100,500 tokens after a start of 10,000."""

    def test_going_back_loses_no_cache(self) -> None:
        start = a_request("start", hour=10_000, uuid="start", to="root")
        branch = (replace(self.BIG[0], to="start"), *self.BIG[1:])
        again = a_prompt("second", uuid="second", to="start"), a_request("other", read=10_000, hour=900)
        requests = measured(start, *branch, *again)
        assert len(requests) == 4
        assert [one.rebuild for one in requests] == [None] * 4

    def test_what_is_lost_after_going_back_is_held_against_the_prompt_it_goes_on_from(self) -> None:
        start = a_request("start", hour=10_000, uuid="start", to="root")
        branch = (replace(self.BIG[0], to="start"), *self.BIG[1:])
        again = a_prompt("second", uuid="second", to="start"), a_request("other", hour=11_000)
        rebuild = measured(start, *branch, *again)[-1].rebuild
        assert rebuild is not None
        assert (rebuild.tokens, rebuild.cause) == (10_000, "unknown")

    def test_a_compaction_that_was_rewound_explains_nothing(self) -> None:
        start = a_request("start", hour=10_000, uuid="start", to="root")
        branch = (replace(self.BIG[0], to="start"), a_request("grown"), a_system_line("microcompact_boundary"))
        again = a_prompt("second", uuid="second", to="start"), a_request("other", hour=11_000)
        rebuild = measured(start, *branch, *again)[-1].rebuild
        assert rebuild is not None
        assert rebuild.cause == "unknown"

    def test_after_a_rewind_to_the_beginning_a_chain_begins(self) -> None:
        again = a_prompt("anew", uuid="anew", to=None), a_request("other", hour=12_000)
        requests = measured(a_request("start", hour=10_000, to="root"), *again)
        assert [one.rebuild for one in requests] == [None, None]


REBUILD = a_request("after", hour=40_000)


def cause_of(*entries: Entry | ContentBlock | Agent, copied: frozenset[str] = frozenset()) -> tuple[str, bool, int]:
    rebuild = measured(*entries, copied=copied)[-1].rebuild
    assert rebuild is not None
    return rebuild.cause, rebuild.by_api, rebuild.tokens


class TestCause:
    def test_what_the_api_tells_comes_first(self) -> None:
        other = told(a_request("after", hour=40_000, model="claude-opus-5"), "system_changed", 12_000)
        assert cause_of(BEFORE, other) == ("system_changed", True, 12_000)

    def test_names_nobody_knows_are_told_all_the_same(self) -> None:
        assert cause_of(BEFORE, told(REBUILD, "moon_phase", 90_000)) == ("moon_phase", True, 40_000)

    def test_a_cause_may_come_without_a_number(self) -> None:
        assert cause_of(BEFORE, told(REBUILD, "previous_message_not_found")) == (
            "previous_message_not_found",
            True,
            40_000,
        )

    def test_usually_the_api_tells_nothing(self) -> None:
        assert cause_of(BEFORE, told(REBUILD, None)) == ("unknown", False, 40_000)

    def test_a_told_cause_makes_no_rebuild(self) -> None:
        _, one = measured(BEFORE, told(a_request(read=99_000, hour=10_000), "tools_changed", 10))
        assert one.rebuild is None

    @pytest.mark.parametrize("kind", ["compaction", "microcompaction", "summary"])
    def test_a_compaction_between(self, kind: str) -> None:
        between = {
            "compaction": a_compaction("in short"),
            "microcompaction": a_system_line("microcompact_boundary"),
            "summary": a_prompt("in short", isCompactSummary=True),
        }[kind]
        other = a_request("after", hour=40_000, model="claude-opus-5")
        assert cause_of(BEFORE, between, other)[:2] == ("compaction", False)
        assert cause_of(between, BEFORE, other)[0] == "model_changed"

    def test_another_model(self) -> None:
        other = a_request("after", hour=40_000, model="claude-opus-5", version="2.1.198")
        assert cause_of(BEFORE, other)[:2] == ("model_changed", False)

    def test_another_version_of_the_client(self) -> None:
        late = a_request("after", hour=40_000, version="2.1.198", at="23:00:00")
        assert cause_of(BEFORE, late)[:2] == ("version_changed", False)

    @pytest.mark.parametrize(
        ("hour", "five", "at", "cause"),
        [
            (0, 9_000, "10:05:00", "unknown"),
            (0, 9_000, "10:05:01", "expired"),
            (9_000, 0, "11:00:00", "unknown"),
            (9_000, 0, "11:00:01", "expired"),
        ],
    )
    def test_a_gap_longer_than_what_was_written_lives(self, hour: int, five: int, at: str, cause: str) -> None:
        before = a_request("before", hour=hour, five=five, read=91_000, at="10:00:00")
        assert cause_of(before, a_request("after", hour=40_000, at=at)) == (cause, False, 40_000)

    def test_reading_keeps_what_was_written_alive(self) -> None:
        written = a_request("written", five=50_000, at="10:00:00")
        read = a_request("read", read=50_000, at="10:04:00")
        assert cause_of(written, read, a_request("after", five=50_000, at="10:08:00"))[0] == "unknown"
        assert cause_of(written, read, a_request("after", five=50_000, at="10:09:01"))[0] == "expired"

    def test_a_resume_that_a_hook_tells_of(self) -> None:
        hook = an_attachment("hook_success", hookName="SessionStart:resume", hookEvent="SessionStart")
        assert cause_of(BEFORE, hook, REBUILD)[:2] == ("resumed_or_forked", False)
        assert cause_of(hook, BEFORE, REBUILD)[0] == "unknown"

    def test_a_resume_that_the_client_answers_itself(self) -> None:
        answer = a_reply("No response requested.", model="<synthetic>")
        assert cause_of(BEFORE, answer, REBUILD)[:2] == ("resumed_or_forked", False)

    def test_a_fork_that_says_so(self) -> None:
        before = replace(BEFORE, lines=tuple({**x, "forkedFrom": {"sessionId": "other"}} for x in BEFORE.lines))
        assert cause_of(before, REBUILD)[0] == "resumed_or_forked"

    def test_a_fork_that_only_other_files_show(self) -> None:
        before = a_request("before", read=100_000, id="msg_1")
        after = a_request("after", hour=40_000, id="msg_2")
        assert cause_of(before, after, copied=frozenset({"msg_1"}))[0] == "resumed_or_forked"
        assert cause_of(before, after, copied=frozenset({"msg_1", "msg_2"}))[0] == "unknown"


def estimate(*parts: str | ContentBlock | dict[str, Any], **fields: Any) -> int | None:
    [request] = build(a_prompt("go"), a_reply(*parts, **fields)).requests
    return thinking_estimate(request)


class TestThinking:
    def test_it_is_estimated_by_the_stored_text_of_all_blocks(self) -> None:
        thoughts = [{"type": "thinking", "thinking": "x" * size, "signature": "s"} for size in (7, 6)]
        assert estimate(*thoughts, "words", usage=a_usage(1, 50)) == 3

    def test_without_a_thought_it_is_none_at_all(self) -> None:
        assert estimate("words") == 0

    def test_it_is_never_more_than_the_output(self) -> None:
        assert estimate("words", thinking="x" * 400, usage=a_usage(1, 20)) == 20

    def test_where_the_api_tells_nothing_is_estimated(self) -> None:
        usage = a_usage(1, 50, output_tokens_details={"thinking_tokens": 12})
        assert estimate("words", thinking="x" * 100, usage=usage) is None

    @pytest.mark.parametrize(
        "hidden", [{"type": "thinking", "thinking": "", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}]
    )
    def test_hidden_thoughts_cannot_be_estimated(self, hidden: dict[str, Any]) -> None:
        assert estimate(hidden, "words") is None

    def test_nor_can_those_of_an_output_that_is_a_stub(self) -> None:
        stub = {"usage": a_usage(1, 2), "stop_reason": None, "version": "2.1.50"}
        assert estimate("words", thinking="x" * 100, **stub) is None


def test_a_file_of_an_agent_is_one_chain() -> None:
    agent = a_subagent(a_prompt("task"), BEFORE, REBUILD, id="a1")
    session = a_session(a_prompt("go"), a_request(), agent).build()
    [chain] = chains(session.subagents[0], PRICES)
    assert chain.agent is None
    assert [one.rebuild is not None for one in chain.requests] == [False, True]
