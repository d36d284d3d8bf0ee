"""Every line points to the edit that wrote it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import editing
from editing import Desk
from reread.features.edits.changes import changes_of
from reread.features.edits.history import BlamedLine, blame, histories_of, rewinds_of, sightings_of
from reread.testing import ContentBlock, Entry, a_prompt, a_reply, build
from sampling import examples

steps = st.lists(
    st.tuples(st.sampled_from(["write", "edit"]), st.integers(0, 50), st.integers(0, 4), st.integers(0, 4)), max_size=12
)


def blamed(*entries: Entry | ContentBlock) -> list[BlamedLine]:
    session = build(a_prompt("go"), *entries)
    [history] = histories_of([*sightings_of(session), *changes_of(session)], rewinds_of(session)).values()
    found = blame(history)
    assert found is not None
    return found


def authors(lines: list[BlamedLine]) -> list[tuple[str, str | None]]:
    return [(line.text, line.origin.change.place.uuid if line.origin.change else None) for line in lines]


@settings(max_examples=examples(150))
@given(st.integers(1, 6), steps)
def test_every_line_of_a_random_history_points_to_the_edit_that_wrote_it(
    first: int, found: list[tuple[str, int, int, int]]
) -> None:
    """The lines are all different, so that only one answer is right; those before the session have no author."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        truth: list[tuple[str, str | None]] = [(f"old {n}", None) for n in range(first)]
        desk.outside(text_of(truth))
        for number, (kind, start, removed, added) in enumerate(found):
            start = start % (len(truth) + 1)
            old = truth[start : start + removed]
            new = [f"step {number} line {n}" for n in range(added)]
            if not (old or new) or (kind == "edit" and not old) or (not truth and kind == "edit"):
                continue
            name = change(desk, kind, truth, start, old, new)
            truth[start : start + removed] = [(line, name) for line in new]
        if desk.points:
            assert authors(blamed(*desk.entries)) == truth


def change(
    desk: Desk,
    kind: str,
    truth: list[tuple[str, str | None]],
    start: int,
    old: list[tuple[str, str | None]],
    new: list[str],
) -> str:
    if kind == "write":
        after = [line for line, _ in truth[:start]] + new + [line for line, _ in truth[start + len(old) :]]
        return desk.write("".join(f"{line}\n" for line in after))
    return desk.edit(text_of(old), "".join(f"{line}\n" for line in new))


def text_of(found: list[tuple[str, str | None]]) -> str:
    return "".join(f"{line}\n" for line, _ in found)


def test_lines_from_a_gap_are_nobodys(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.txt")
    first = desk.write("one\ntwo\n")
    desk.outside("one\nstrange\ntwo\n")
    second = desk.edit("two", "2")
    lines = blamed(*desk.entries)
    assert authors(lines) == [("one", first), ("strange", None), ("2", second)]
    assert [line.origin.source.value for line in lines] == ["edit", "outside", "edit"]
    assert lines[1].origin.gap is not None


def test_a_file_that_went_back_has_its_old_authors(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.txt")
    first = desk.write("one\ntwo\n")
    desk.edit("two", "changed")
    desk.outside("one\ntwo\n")
    third = desk.edit("one", "1")
    assert authors(blamed(*desk.entries)) == [("1", third), ("two", first)]


def test_lines_before_the_first_change_are_before(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.txt")
    desk.outside("one\ntwo")
    desk.edit("two", "2", told=editing.ALL)
    assert [line.origin.source.value for line in blamed(*desk.entries)] == ["before", "edit"]


def test_the_prompt_and_the_turn_are_told(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a.txt")
    desk.write("one\n")
    desk.entries += [a_reply("done"), a_prompt("make it two", uuid="second")]
    desk.edit("one", "two")
    [line] = blamed(*desk.entries)
    assert line.origin.change is not None
    place = line.origin.change.place
    assert (place.prompt, place.prompt_uuid, place.turn) == ("make it two", "second", 2)
