"""Two branches of a session compared: what they share, what each said and used, what each made of files."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from editing import Desk
from reread.features.edits.net import BranchOutcome, BranchSide, Comparison, SessionEdits, compare
from reread.sessions import Session
from reread.testing import ContentBlock, Entry, a_prompt, a_reply, a_subagent, a_tool_call, a_tool_result, build

FILE = "/home/ann/app/a.txt"


def prompts(way: BranchSide) -> list[str]:
    return [turn.prompt.text for turn in way.turns if turn.prompt is not None]


def between(session: Session, left: str, right: str) -> Comparison:
    found = {branch.id.rpartition("@")[2]: branch for branch in session.branches}
    return compare(session, found[left], found[right])


def wrote(name: str, content: str, path: str = FILE) -> list[Entry]:
    """A file written as a whole."""
    twin: dict[str, Any] = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
    call = a_tool_call("Write", {"file_path": path, "content": content}, id=f"toolu_{name}")
    return [a_reply(call, uuid=name), a_tool_result("done", of=f"toolu_{name}", twin=twin)]


def outcomes(found: Comparison) -> dict[str, BranchOutcome]:
    return {Path(file.path).name: file.outcome for file in found.files}


def test_two_ways_share_what_was_before_they_parted() -> None:
    session = build(
        a_prompt("one", uuid="p1"),
        a_reply("first", uuid="r1"),
        a_prompt("two", uuid="p2"),
        a_reply("second", uuid="r2"),
        a_prompt("left", uuid="left"),
        a_reply("went left"),
        a_prompt("more left"),
        a_reply("still left"),
        a_prompt("right", uuid="right", to="r2"),
        a_reply("went right"),
    )
    found = between(session, "left", "main")
    assert [turn.prompt.text for turn in found.shared if turn.prompt is not None] == ["one", "two"]
    assert prompts(found.left) == ["left", "more left"]
    assert prompts(found.right) == ["right"]
    assert found.left.used.requests == 2
    assert found.left.used.cost == 2 * (found.right.used.cost or Decimal(0))
    assert found.left.used.cost
    turned = between(session, "main", "left")
    assert (prompts(turned.left), prompts(turned.right)) == (["right"], ["left", "more left"])


def test_a_way_that_left_a_way_that_was_left_itself_has_both_their_turns() -> None:
    session = build(
        a_prompt("one", uuid="p1"),
        a_reply("first", uuid="r1"),
        a_prompt("aside", uuid="aside"),
        a_reply("so", uuid="so"),
        a_prompt("deeper", uuid="deeper"),
        a_reply("deep"),
        a_prompt("otherwise", uuid="otherwise", to="so"),
        a_reply("other"),
        a_prompt("back", uuid="back", to="r1"),
        a_reply("end"),
    )
    assert {branch.id.rpartition("@")[2] for branch in session.branches} == {"main", "aside", "deeper"}
    found = between(session, "deeper", "aside")
    assert (prompts(found.left), prompts(found.right)) == (["deeper"], ["otherwise"])
    assert [turn.prompt.text for turn in found.shared if turn.prompt is not None] == ["one", "aside"]
    apart = between(session, "deeper", "main")
    assert (prompts(apart.left), prompts(apart.right)) == (["aside", "deeper"], ["back"])


def test_a_rewind_to_the_first_prompt_shares_nothing() -> None:
    session = build(
        a_prompt("one", uuid="p1"), a_reply("first"), a_prompt("anew", uuid="p2", to=None), a_reply("second")
    )
    found = between(session, "p1", "main")
    assert found.shared == ()
    assert (prompts(found.left), prompts(found.right)) == (["one"], ["anew"])


def test_the_agents_of_a_way_count_to_it() -> None:
    session = build(
        a_prompt("one", uuid="p1"),
        a_reply("first", uuid="r1"),
        a_prompt("ask around", uuid="ask"),
        a_reply(a_tool_call("Task", {"description": "d", "prompt": "look"}, id="t1")),
        a_subagent(a_prompt("look"), a_reply("seen"), a_reply("and more"), of="t1"),
        a_tool_result("seen", of="t1"),
        a_prompt("do it yourself", uuid="own", to="r1"),
        a_reply("done"),
    )
    found = between(session, "ask", "main")
    assert (found.left.used.requests, found.right.used.requests) == (3, 1)


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [
        (["a\n"], [], BranchOutcome.LEFT_ONLY),
        ([], ["a\n"], BranchOutcome.RIGHT_ONLY),
        (["a\n"], ["a\n"], BranchOutcome.SAME),
        (["b\n", "a\n"], ["a\n"], BranchOutcome.SAME),
        (["a\n"], ["b\n"], BranchOutcome.DIFFERENT),
    ],
)
def test_a_file_is_told_by_who_changed_it_and_how_it_ended(
    left: Sequence[str], right: Sequence[str], outcome: BranchOutcome
) -> None:
    def calls(side: str, contents: Sequence[str]) -> list[Entry]:
        return [entry for number, content in enumerate(contents) for entry in wrote(f"{side}{number}", content)]

    session = build(
        a_prompt("one", uuid="p1"),
        *wrote("before", "old\n", "/home/ann/app/both.txt"),
        a_reply("first", uuid="r1"),
        a_prompt("left", uuid="left"),
        *calls("l", left),
        a_reply("so"),
        a_prompt("right", uuid="right", to="r1"),
        *calls("r", right),
        a_reply("so"),
    )
    found = between(session, "left", "main")
    assert outcomes(found) == {"a.txt": outcome}, "what was done before they parted is no difference"


def test_what_each_way_did_begins_where_they_parted(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.txt", FILE)
    desk.write("one\ntwo\nthree\n")
    shared: list[Entry | ContentBlock] = list(desk.entries)
    before = desk.now()
    sides: list[list[Entry | ContentBlock]] = []
    for old, new in (("one", "ONE"), ("three", "THREE")):
        desk.entries.clear()
        desk.path.write_bytes(before or b"")
        desk.edit(old, new)
        sides.append(list(desk.entries))
    session = build(
        a_prompt("go", uuid="p1"),
        *shared,
        a_reply("first", uuid="r1"),
        a_prompt("left", uuid="left"),
        *sides[0],
        a_prompt("right", uuid="right", to="r1"),
        *sides[1],
    )
    [file] = between(session, "left", "main").files
    assert file.outcome is BranchOutcome.DIFFERENT
    assert file.left is not None
    assert file.right is not None
    assert [side.before.plain for side in (file.left, file.right) if side.before] == ["one\ntwo\nthree\n"] * 2
    changed = [
        [line for hunk in diff.hunks for line in hunk.lines if line[0] != " "] for diff in (file.left, file.right)
    ]
    assert changed == [["-one", "+ONE"], ["-three", "+THREE"]]
    across = [line for hunk in file.between.hunks for line in hunk.lines if line[0] != " "]
    assert sorted(across) == sorted(["-ONE", "+one", "-three", "+THREE"])


def test_what_is_not_known_is_told_as_unknown() -> None:
    def edit(name: str, new: str) -> list[Entry]:
        given = {"file_path": FILE, "old_string": "x", "new_string": new}
        return [a_reply(a_tool_call("Edit", given, id=name), uuid=name), a_tool_result("done", of=name)]

    session = build(
        a_prompt("one", uuid="p1"),
        a_reply("first", uuid="r1"),
        a_prompt("left", uuid="left"),
        *edit("e1", "y"),
        a_prompt("right", uuid="right", to="r1"),
        *edit("e2", "z"),
    )
    found = between(session, "left", "main")
    assert outcomes(found) == {"a.txt": BranchOutcome.UNKNOWN}
    assert found.files[0].left is not None
    assert [line for hunk in found.files[0].left.hunks for line in hunk.lines] == ["-x", "+y"]


def test_a_branch_beside_itself_differs_in_nothing() -> None:
    session = build(a_prompt("one"), *wrote("w", "a\n"), a_reply("so"))
    found = compare(session, session.branches[0], session.branches[0], SessionEdits(session))
    assert (found.left.turns, found.right.turns, found.files) == ((), (), ())
    assert len(found.shared) == 1
