"""Which lines with several children are rewinds, which are artefacts of recording, and where the conversation ended."""

from __future__ import annotations

from typing import Any

import pytest

from reread.sessions import Branch, Notice, Session
from reread.testing import (
    Entry,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_system_line,
    a_tool_call,
    a_tool_result,
    an_attachment,
    an_ending,
    an_interrupt,
    build,
)

NIL = "00000000-0000-0000-0000-000000000000"


def prompts(branch: Branch) -> list[str]:
    return [turn.prompt.text for turn in branch.turns if turn.prompt is not None]


def branches(session: Session) -> list[list[str]]:
    assert session.coverage.is_complete
    assert all(left.reason == "repeats an earlier line" for left in session.coverage.unplaced)
    return [prompts(branch) for branch in session.branches]


class TestTheLadder:
    def test_1_side_branches_of_attachments_progress_and_system_lines_are_no_fork(self) -> None:
        session = build(
            a_prompt("a"),
            an_attachment("file", filename="x", to="a"),
            a_line("progress", data={"type": "hook_progress"}, to="a"),
            a_system_line("informational", to="a"),
            a_reply("b", to="a"),
            a_prompt("c"),
        )
        assert branches(session) == [["a", "c"]]

    def test_2_parallel_tools_are_one_line(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_tool_call(id="a"), a_tool_call(id="b"), a_tool_call(id="c")),
            a_tool_result("B", of="b"),
            a_tool_result("C", of="c"),
            a_tool_result("A", of="a"),
            a_reply("done"),
            a_prompt("next"),
            a_reply("bye"),
        )
        assert branches(session) == [["go", "next"]]
        assert [call.output.text for call in session.tool_calls if call.output] == ["A", "B", "C"]

    def test_3_results_of_one_message_are_no_fork(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_tool_call(id="a"), a_tool_call(id="b"), uuid="m"),
            a_tool_result("A", of="a", to="m-2"),
            a_tool_result("B", of="b", to="m-2"),
            a_reply("done"),
        )
        assert branches(session) == [["go"]]

    def test_4_a_dead_end_of_tool_traffic_is_inline(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply("first", uuid="m"),
            a_reply(a_tool_call(id="a"), to="m"),
            a_tool_result("A", of="a"),
            a_reply("second", to="m"),
            a_prompt("next"),
        )
        assert branches(session) == [["go", "next"]]

    def test_5_the_chain_may_go_on_through_a_progress_line(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_tool_call(id="a"), uuid="call"),
            a_line("progress", data={"type": "bash_progress"}, uuid="p", to="call"),
            a_tool_result("A", of="a", to="call"),
            a_reply("done", to="p"),
            a_prompt("next"),
        )
        assert branches(session) == [["go", "next"]]

    def test_5_the_chain_may_go_on_through_an_attachment(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_tool_call(id="a"), uuid="call"),
            a_tool_result("A", of="a", to="call"),
            an_attachment("hook_success", uuid="h", to="call"),
            a_reply("done", to="h"),
        )
        assert branches(session) == [["go"]]

    def test_6_copies_of_a_prompt_are_one(self) -> None:
        at = "2026-01-05T10:00:00.000Z"
        session = build(
            a_prompt("go"),
            a_reply("ok", uuid="m"),
            a_prompt("again", to="m", timestamp=at, uuid="one"),
            a_reply("answer", to="one"),
            a_prompt("again", to="m", timestamp=at, uuid="two"),
        )
        assert len(session.branches) == 1

    def test_7_two_prompts_side_by_side_are_a_rewind(self) -> None:
        session = build(
            a_prompt("go"), a_reply("ok"), a_prompt("left"), a_reply("L"), a_prompt("right", to="ok"), a_reply("R")
        )
        assert branches(session) == [["go", "right"], ["left"]]
        assert [branch.certain for branch in session.branches] == [True, True]

    def test_7_prompts_may_lie_behind_attachments(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply("ok"),
            an_attachment("date_change", newDate="x"),
            a_prompt("left"),
            a_reply("L"),
            an_attachment("date_change", newDate="y", to="ok"),
            a_prompt("right"),
        )
        assert branches(session) == [["go", "right"], ["left"]]

    def test_8_what_nothing_explains_is_a_branch_with_low_confidence(self) -> None:
        session = build(
            a_prompt("go", uuid="go"),
            a_reply("one", to="go"),
            a_prompt("left"),
            a_reply("two", to="go"),
            a_prompt("right"),
        )
        assert branches(session) == [["go", "right"], ["left"]]
        assert session.branches[1].certain is False


def test_a_rewind_to_the_first_prompt_is_a_second_root() -> None:
    session = build(a_prompt("left"), a_reply("L"), a_prompt("right", to=None), a_reply("R"))
    assert branches(session) == [["right"], ["left"]]
    assert session.branches[1].forked_at is None
    assert [branch.certain for branch in session.branches] == [True, True]


def test_a_rewind_to_a_shell_line_is_one() -> None:
    session = build(
        a_prompt("go"),
        a_reply("ok"),
        a_prompt("<bash-input>ls</bash-input>"),
        a_reply("one file"),
        a_prompt("right", to="ok"),
        a_reply("R"),
    )
    assert len(session.branches) == 2
    assert [branch.certain for branch in session.branches] == [True, True]


def test_results_of_parallel_calls_are_no_rewind() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call(id="a"), id="msg_1", uuid="first"),
        a_reply(a_tool_call(id="b"), id="msg_1", uuid="second", to="first"),
        a_tool_result("A", of="a", to="first"),
        a_tool_result("B", of="b", to="second"),
        a_reply("done"),
        a_prompt("next"),
    )
    assert branches(session) == [["go", "next"]]


def test_roots_are_rewinds_only_where_lines_are_linked() -> None:
    session = build(a_prompt("a", to=None), a_reply("b", to=None), a_prompt("c", to=None))
    assert branches(session) == [["a", "c"]]


def test_a_prompt_taken_back_is_a_branch_of_one_prompt() -> None:
    session = build(a_prompt("go"), a_reply("ok"), a_prompt("oops"), a_prompt("better", to="ok"), a_reply("fine"))
    assert branches(session) == [["go", "better"], ["oops"]]


def test_a_branch_knows_where_it_left_and_ended() -> None:
    session = build(
        a_prompt("go", uuid="aaaa"),
        a_reply("ok", uuid="bbbb"),
        a_prompt("left", uuid="cccccccc-left-1"),
        a_reply("L", uuid="dddd"),
        a_prompt("right", uuid="eeee", to="bbbb"),
        a_reply("R", uuid="ffff"),
    )
    main, left = session.branches
    assert (main.id, main.leaf, main.active, main.forked_at) == ("main", "ffff", True, None)
    assert (left.id, left.leaf, left.active, left.forked_at) == (f"{session.id}@cccccccc-lef", "dddd", False, "bbbb")
    assert [turn.index for turn in main.turns] == [1, 2]
    assert [turn.index for turn in left.turns] == [2]
    assert {turn.branch for turn in left.turns} == {left.id}


def test_a_rewind_leaves_a_notice_where_it_happened() -> None:
    session = build(a_prompt("go"), a_reply("ok"), a_prompt("left"), a_prompt("right", to="ok"))
    assert [step.what for step in session.turns[0].steps if hasattr(step, "what")] == ["rewound"]
    notice = session.turns[0].steps[-1]
    assert isinstance(notice, Notice)
    assert session.branches[1].id.removeprefix(session.id) in notice.text


def test_two_rewinds_to_one_point_are_three_branches_newest_first() -> None:
    session = build(
        a_prompt("go"),
        a_reply("ok"),
        a_prompt("one"),
        a_prompt("two", to="ok"),
        a_prompt("three", to="ok"),
        a_reply("end"),
    )
    assert branches(session) == [["go", "three"], ["two"], ["one"]]


def test_a_rewind_inside_an_abandoned_branch_is_a_branch_too() -> None:
    session = build(
        a_prompt("a"),
        a_reply("A"),
        a_prompt("b"),
        a_reply("B"),
        a_prompt("c"),
        a_prompt("d", to="B"),
        a_prompt("e", to="A"),
        a_reply("E"),
    )
    found = branches(session)
    assert found[0] == ["a", "e"]
    assert sorted(found[1:]) == [["b", "d"], ["c"]]


def test_a_command_beside_a_prompt_is_a_rewind_too() -> None:
    session = build(a_prompt("go"), a_reply("ok"), a_prompt("left"), a_command("/review", to="ok"), a_reply("R"))
    assert branches(session) == [["go", "/review"], ["left"]]


class TestTheActiveBranch:
    FORKED = (a_prompt("go"), a_reply("ok"), a_prompt("left"), a_reply("L"), a_prompt("right", to="ok"), a_reply("R"))

    def active(self, *after: Entry) -> list[str]:
        return branches(build(*self.FORKED, *after))[0]

    def test_it_ends_with_the_last_line_of_the_talk(self) -> None:
        assert self.active() == ["go", "right"]

    def test_a_last_prompt_names_its_end(self) -> None:
        assert self.active(an_ending("L")) == ["go", "left"]

    def test_a_last_prompt_may_name_a_line_beside_the_talk(self) -> None:
        assert self.active(a_system_line("turn_duration", uuid="t", to="L"), an_ending("t")) == ["go", "left"]

    def test_a_stale_last_prompt_is_not_believed(self) -> None:
        assert self.active(an_ending("L"), a_prompt("more", to="R"), a_reply("M")) == ["go", "right", "more"]

    def test_bookkeeping_after_a_last_prompt_does_not_make_it_stale(self) -> None:
        assert self.active(an_ending("L"), a_line("mode", mode="normal"), a_prompt("x", isMeta=True, to="R")) == [
            "go",
            "left",
        ]

    @pytest.mark.parametrize("leaf", [NIL, "gone"])
    def test_a_last_prompt_that_names_no_line_says_nothing(self, leaf: str) -> None:
        assert self.active(an_ending(leaf)) == ["go", "right"]

    def test_lines_of_teams_and_meta_lines_do_not_end_it(self) -> None:
        assert self.active(a_reply("team", to="L", teamName="t"), a_prompt("meta", to="L", isMeta=True)) == [
            "go",
            "right",
        ]


class TestCompaction:
    def test_the_talk_goes_on_after_it(self) -> None:
        session = build(a_prompt("a"), a_reply("b"), a_compaction("so far"), a_prompt("c"), a_reply("d"))
        assert branches(session) == [["a", "c"]]
        assert len(session.compactions) == 1

    def test_it_joins_the_branch_it_names(self) -> None:
        session = build(
            *TestTheActiveBranch.FORKED, a_compaction("so far", after="L"), a_prompt("go on"), a_reply("on it")
        )
        assert branches(session) == [["go", "left", "go on"], ["right"]]

    @pytest.mark.parametrize(
        "metadata",
        [{"preservedSegment": {"headUuid": "x", "tailUuid": "tail"}}, {"preservedMessages": {"uuids": ["y", "tail"]}}],
    )
    def test_without_that_line_it_joins_what_it_preserved(self, metadata: dict[str, Any]) -> None:
        session = build(
            a_prompt("go"),
            a_reply("ok"),
            a_prompt("left"),
            a_reply("L", uuid="tail"),
            a_prompt("right", to="ok"),
            a_reply("R"),
            a_compaction("so far", after="lost", **metadata),
            a_prompt("go on"),
        )
        assert branches(session) == [["go", "left", "go on"], ["right"]]

    def test_without_any_named_line_it_stands_where_the_file_has_it(self) -> None:
        session = build(*TestTheActiveBranch.FORKED, a_compaction("so far", after="lost"), a_prompt("go on"))
        assert branches(session) == [["go", "right", "go on"], ["left"]]


class TestBrokenGraphs:
    def test_a_line_whose_parent_is_gone_stands_where_the_file_has_it(self) -> None:
        session = build(a_prompt("a"), a_reply("b"), a_prompt("c", to="gone"), a_reply("d"))
        assert branches(session) == [["a", "c"]]
        assert len(session.tree.orphans) == 1

    def test_a_line_that_is_its_own_parent(self) -> None:
        assert branches(build(a_prompt("a"), a_reply("b", uuid="b", to="b"), a_prompt("c"))) == [["a", "c"]]

    def test_a_cycle_is_cut_once(self) -> None:
        session = build(
            a_prompt("a", uuid="a", to="c"), a_reply("b", uuid="b", to="a"), a_prompt("c", uuid="c", to="b")
        )
        assert len(session.tree.order) == 3
        assert branches(session) == [["a", "c"]] or branches(session) == [["c", "a"]]

    def test_a_uuid_used_for_two_different_lines_keeps_both(self) -> None:
        session = build(a_prompt("a", uuid="x"), a_reply("b"), a_prompt("c", uuid="x"), a_reply("d", to="b"))
        assert branches(session) == [["a", "c"]]
        assert session.coverage.unplaced == ()
        assert session.tree.repeated == [2]

    def test_a_line_before_its_parent_is_read_after_it(self) -> None:
        session = build(
            a_prompt("a", uuid="a"),
            a_tool_result("out", of="t", to="late"),
            a_reply(a_tool_call(id="t"), uuid="late", to="a"),
            a_reply("done"),
        )
        assert session.tree.order == [0, 2, 1, 3]
        assert branches(session) == [["a"]]

    def test_a_long_chain_is_walked_without_recursion(self) -> None:
        entries = [entry for n in range(3000) for entry in (a_prompt(f"p{n}"), a_reply(f"r{n}"))]
        session = a_session(*entries).build()
        assert len(session.turns) == 3000

    def test_a_long_chain_in_reverse_is_walked_too(self) -> None:
        size = 3000
        entries = [a_prompt(f"p{n}", uuid=f"u{n}", to=f"u{n - 1}" if n else None) for n in reversed(range(size))]
        session = a_session(*entries).build()
        assert session.tree.order == list(reversed(range(size)))


def test_an_interrupt_and_an_error_make_no_branch() -> None:
    session = build(
        a_prompt("a"),
        a_reply("half", uuid="h"),
        an_interrupt(to="a"),
        a_reply("API Error: 529", model="<synthetic>", isApiErrorMessage=True, to="h"),
        a_prompt("b", to="h"),
    )
    assert branches(session) == [["a", "b"]]


class TestLeavingAndComingBack:
    """`/exit` hangs from a caveat, and what a resume goes on with hangs from the caveat, too."""

    CAVEAT = "<local-command-caveat>Caveat: ...</local-command-caveat>"
    BYE = "<local-command-stdout>Bye!</local-command-stdout>"

    def left(self, number: int) -> list[Entry]:
        return [
            a_prompt(self.CAVEAT, isMeta=True, uuid=f"caveat-{number}"),
            a_command("/exit", to=f"caveat-{number}"),
            a_prompt(self.BYE),
        ]

    @pytest.mark.parametrize("model", ["<synthetic>", "claude-opus-4-5-20251101"])
    def test_it_is_no_rewind(self, model: str) -> None:
        session = build(
            a_prompt("a"),
            a_reply("b"),
            *self.left(1),
            a_reply("No response requested.", model=model, to="caveat-1"),
            a_prompt("c"),
            a_reply("d"),
            *self.left(2),
            a_reply("No response requested.", model=model, to="caveat-2"),
            a_prompt("e"),
            a_reply("f"),
        )
        (only,) = branches(session)
        assert [prompt for prompt in only if prompt != "/exit"] == ["a", "c", "e"]

    def test_a_local_command_at_the_beginning_is_no_rewind_either(self) -> None:
        session = build(a_command("/clear", to=None), a_prompt(self.BYE), a_prompt("a", to=None), a_reply("b"))
        assert branches(session) == [["a"]]

    def test_a_command_that_was_answered_can_be_left_behind(self) -> None:
        session = build(
            a_prompt("a"), a_reply("b"), a_command("/review"), a_reply("fine"), a_prompt("c", to="b"), a_reply("d")
        )
        assert len(session.branches) == 2
        assert branches(session)[0] == ["a", "c"]
