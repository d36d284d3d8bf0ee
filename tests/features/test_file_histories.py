"""Files rebuilt from a session: at every point what was on disk, and where that cannot be known, it is said."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import editing
from editing import Desk
from reread.features.edits.changes import changes_of
from reread.features.edits.history import (
    Event,
    FileHistory,
    histories_of,
    is_called,
    known_parts,
    rewinds_of,
    sightings_of,
)
from reread.features.edits.net import SessionEdits
from reread.features.edits.patches import exact
from reread.sessions import Session
from reread.testing import (
    ContentBlock,
    Entry,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_tool_call,
    a_tool_result,
    an_attachment,
    build,
)
from sampling import examples

FILE = "/home/ann/app/a.txt"
ReadBackup = Callable[[str, str], bytes | None]


def histories(session: Session, read_backup: ReadBackup | None = None) -> dict[str, FileHistory]:
    return histories_of([*sightings_of(session), *changes_of(session)], rewinds_of(session), read_backup)


def history(*entries: Entry | ContentBlock, read_backup: ReadBackup | None = None) -> FileHistory:
    [found] = histories(build(a_prompt("go"), *entries), read_backup).values()
    return found


def held(found: FileHistory | None) -> bytes | None:
    assert found is not None
    content = found.last
    return None if content is None or content.text is None else content.to_bytes()


def call(tool: str, twin: Any, *, status: str | None = None, uuid: str | None = None, **given: Any) -> list[Entry]:
    """A call on the file and its result."""
    given = {"file_path": FILE, **given}
    failed: dict[str, Any] = {"is_error": True} if status else {}
    name = f"toolu_{uuid or id(given)}"
    return [
        a_reply(a_tool_call(tool, given, id=name), uuid=uuid),
        a_tool_result(status or "done", of=name, twin=twin, **failed),
    ]


def write(content: str, before: str | None = None, **fields: Any) -> list[Entry]:
    kind = "create" if before is None else "update"
    twin: dict[str, Any] = {
        "type": kind,
        "filePath": FILE,
        "content": content,
        "structuredPatch": [],
        "originalFile": before,
    }
    return call("Write", twin | fields, content=content)


def edit(old: str, new: str, original: str | None, **fields: Any) -> list[Entry]:
    twin: dict[str, Any] = {
        "filePath": FILE,
        "oldString": old,
        "newString": new,
        "originalFile": original,
        "replaceAll": False,
    }
    return call("Edit", {**twin, "structuredPatch": [], **fields}, old_string=old, new_string=new)


def read(content: str, *, shown: int | None = None, total: int | None = None) -> list[Entry]:
    lines = content.count("\n") + 1
    file = {
        "filePath": FILE,
        "content": content,
        "numLines": shown or lines,
        "startLine": 1,
        "totalLines": total or lines,
    }
    return call("Read", {"type": "text", "file": file})


# Random sequences on a real file

WORDS = ["a", "b", "\tc", "d d", "", "e"]
contents = st.builds(
    lambda found, end, ending: ("\n".join(found) + end).replace("\n", ending),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8),
    st.sampled_from(["", "\n"]),
    st.sampled_from(["\n", "\n", "\r\n"]),
)
tellings = st.sampled_from(
    [editing.ALL, frozenset({"strings"}), frozenset({"strings", "patch"}), frozenset({"strings", "original"})]
)
operations = st.lists(
    st.tuples(
        st.sampled_from(["write", "edit", "edit", "edit", "all", "fail", "refuse"]),
        contents,
        st.integers(0, 100),
        tellings,
    ),
    max_size=10,
)


def play(desk: Desk, steps: list[tuple[str, str, int, frozenset[str]]], *, told: frozenset[str] | None = None) -> None:
    for kind, content, number, telling in steps:
        telling = told or telling
        text = (desk.now() or b"").decode().replace("\r\n", "\n")
        if kind == "write":
            desk.write(content, telling)
        elif kind == "fail":
            desk.fail()
        elif kind == "refuse":
            desk.refuse(text[:3] or "x", "never written")
        elif text.strip():
            start = number % len(text)
            old = text[start : start + 1 + number % 5]
            desk.edit(
                old if kind == "all" else unique(text, old, start),
                content.replace("\r\n", "\n"),
                is_all=kind == "all",
                told=telling,
            )


def unique(text: str, old: str, start: int) -> str:
    """The client refuses a string that occurs twice: a longer one is taken."""
    end = start + len(old)
    while text.count(text[start:end]) > 1:
        start, end = max(0, start - 1), min(len(text), end + 1)
    return text[start:end]


@settings(max_examples=examples(150))
@given(contents, operations)
def test_every_point_of_a_random_history_is_what_was_on_disk(
    first: str, steps: list[tuple[str, str, int, frozenset[str]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        desk.write(first)
        play(desk, steps)
        found = history(*desk.entries)
        assert found.gaps == []
        for uuid, content in desk.points.items():
            assert held(found.after(uuid)) == content
        assert held(found) == desk.now()


@settings(max_examples=examples(100))
@given(contents, operations, contents, operations)
def test_a_change_from_outside_is_a_gap_and_the_history_goes_on_from_what_is_told(
    first: str,
    steps: list[tuple[str, str, int, frozenset[str]]],
    other: str,
    more: list[tuple[str, str, int, frozenset[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        desk.write(first.replace("\r\n", "\n"))
        play(desk, [(kind, text.replace("\r\n", "\n"), *rest) for kind, text, *rest in steps])  # type: ignore[misc]
        before, count = desk.now(), len(desk.points)
        desk.outside(other.replace("\r\n", "\n"))
        is_changed = desk.now() != before
        play(desk, [(kind, text.replace("\r\n", "\n"), *rest) for kind, text, *rest in more], told=editing.ALL)  # type: ignore[misc]
        found = history(*desk.entries)
        for uuid, content in desk.points.items():
            assert held(found.after(uuid)) == content
        assert len(found.gaps) == (is_changed and len(desk.points) > count)


@settings(max_examples=examples(100))
@given(contents, operations)
def test_what_was_there_before_is_found_from_the_changes_back(
    first: str, steps: list[tuple[str, str, int, frozenset[str]]]
) -> None:
    """A session that begins with a file it never read whole: the first original tells the rest."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        desk.outside(first.replace("\r\n", "\n"))
        play(desk, [(kind, text.replace("\r\n", "\n"), *rest) for kind, text, *rest in steps], told=editing.ALL)  # type: ignore[misc]
        if desk.points:
            found = history(*desk.entries)
            assert found.base is not None
            assert found.base.to_bytes().decode() == first.replace("\r\n", "\n")


def numbered(content: str) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(content.split("\n"), 1))


def _look(desk: Desk, cut: int) -> None:
    """A read as agents have it, without a twin; a cut one ends in the middle with a word about that."""
    shown = numbered((desk.now() or b"").decode()).split("\n")
    text = "\n".join(shown) if cut >= len(shown) else "\n".join([*shown[:cut], "... [cut]"])
    name = f"toolu_look{len(desk.entries)}"
    desk.entries += [a_reply(a_tool_call("Read", {"file_path": desk.named}, id=name)), a_tool_result(text, of=name)]


def _append(desk: Desk, text: str) -> None:
    desk.outside((desk.now() or b"").decode() + text)
    name = f"toolu_shell{len(desk.entries)}"
    command = a_tool_call("Bash", {"command": f"printf '%s' {text!r} >> {desk.named}"}, id=name)
    desk.entries += [a_reply(command), a_tool_result("", of=name, twin={"stdout": "", "stderr": ""})]


@settings(max_examples=examples(150))
@given(
    contents,
    st.lists(
        st.one_of(
            operations.map(lambda some: ("play", some)),
            st.integers(1, 9).map(lambda cut: ("look", cut)),
            st.sampled_from(["x", "y\n"]).map(lambda text: ("append", text)),
        ),
        max_size=5,
    ),
)
def test_nothing_is_lost_without_a_word(first: str, steps: list[tuple[str, Any]]) -> None:
    """Whatever happens to a file beside writes and edits: what is rebuilt is what it held, or a gap is told."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        desk.write(first.replace("\r\n", "\n"))
        for kind, what in steps:
            if kind == "play":
                play(desk, [(tool, text.replace("\r\n", "\n"), *rest) for tool, text, *rest in what])
            elif kind == "look":
                _look(desk, what)
            else:
                _append(desk, what)
        found = history(*desk.entries)
        assert held(found) == desk.now() or found.gaps or found.last is None


@settings(max_examples=examples(150))
@given(contents, operations)
def test_the_parts_that_patches_tell_are_lines_of_the_file(
    first: str, steps: list[tuple[str, str, int, frozenset[str]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "a.txt")
        desk.outside(first.replace("\r\n", "\n"))
        edits = [(kind, text.replace("\r\n", "\n"), *rest) for kind, text, *rest in steps if kind != "write"]
        play(desk, edits, told=frozenset({"patch"}))  # type: ignore[arg-type]
        if not desk.points:
            return
        found = history(*desk.entries)
        real = (desk.now() or b"").decode().split("\n")
        for line in known_parts(found):
            assert line.text.replace("\t", "  ") == real[line.number - 1].replace("\t", "  ")


# Single facts


REFUSED = "The user doesn't want to proceed with this tool use"
STRINGS = {"old_string": "two", "new_string": "x"}


@pytest.mark.parametrize(
    "entries",
    [
        call("Edit", "Error: nothing", status="<tool_use_error>x", **STRINGS),
        call("Edit", "User rejected tool use", status=REFUSED, **STRINGS),
        call("Write", None, status="[Request interrupted by user for tool use]", content="x"),
        [a_reply(a_tool_call("Write", {"file_path": FILE, "content": "x"}))],
    ],
    ids=["failed", "rejected", "interrupted", "without a result"],
)
def test_calls_without_effect_change_nothing(entries: list[Entry]) -> None:
    found = history(*edit("one", "two", "one\n"), *entries)
    assert len(found.changes) == 1
    assert held(found) == b"two\n"


def test_the_patch_has_the_quotes_that_the_strings_lack() -> None:
    patch = editing.patch("say \u201chi\u201d\n", "say \u201cho\u201d\n")
    found = history(*edit('"hi"', '"ho"', "say \u201chi\u201d\n", oldString="\u201chi\u201d", structuredPatch=patch))
    assert held(found) == "say \u201cho\u201d\n".encode()


def test_what_the_person_changed_before_agreeing_is_in_the_patch_alone() -> None:
    patch = editing.patch("one\n", "mine\n")
    found = history(*edit("one", "theirs", "one\n", structuredPatch=patch, userModified=True))
    assert held(found) == b"mine\n"


def test_several_edits_in_one_call() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": True}]
    twin = {"filePath": FILE, "edits": edits, "originalFileContents": "a c c\n", "structuredPatch": []}
    found = history(*call("MultiEdit", twin, edits=edits))
    assert held(found) == b"b d d\n"


def test_a_notebook_is_told_whole() -> None:
    twin = {"notebook_path": FILE, "original_file": "{}", "updated_file": "{1}", "error": ""}
    found = history(*call("NotebookEdit", twin, notebook_path=FILE))
    assert (found.base, held(found)) == (exact("{}").__class__("{}", None, False), b"{1}")


def test_a_shell_command_counts_where_the_client_compared_files() -> None:
    hunks = [{"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+one\r"]}]
    more = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 2, "lines": [" one", "+two"]}]
    gone = {"filePath": FILE, "hunks": [{**more[0], "newLines": 0, "lines": ["-one"]}], "deleted": True}

    def ran(*files: dict[str, Any]) -> list[Entry]:
        return call("Bash", {"stdout": "", "bashEditDiff": {"files": list(files)}}, command="make")

    made = ran({"filePath": FILE, "hunks": hunks, "created": True})
    grown = ran({"filePath": FILE, "hunks": more})
    assert held(history(*made)) == b"one\r\n"
    assert held(history(*made, *grown)) == b"one\r\ntwo\r\n"
    assert held(history(*made, *grown, *ran(gone))) is None


def test_the_end_of_a_file_that_a_command_made_is_learned_later() -> None:
    hunks = [{"oldStart": 0, "oldLines": 0, "newStart": 1, "newLines": 1, "lines": ["+one"]}]
    twin = {"bashEditDiff": {"files": [{"filePath": FILE, "hunks": hunks, "created": True}]}}
    found = history(*call("Bash", twin, command="printf one > a.txt"), *read("one", shown=1, total=1))
    assert found.gaps == []
    assert held(found) == b"one"


def test_a_read_of_the_whole_file_is_where_a_history_may_begin() -> None:
    found = history(*read("one\ntwo\n"), *call("Edit", None, old_string="two", new_string="2"))
    assert held(found) == b"one\n2\n"
    assert held(FileHistory(path=FILE, base=found.base, versions=())) == b"one\ntwo\n"


def test_a_read_of_a_part_tells_nothing() -> None:
    found = history(*call("Edit", None, old_string="two", new_string="2"), *read("one\n", shown=1, total=9))
    assert found.last is None


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("     1→one\n     2→two\n     3→\n\n<system-reminder>x</system-reminder>", b"one\n2\n"),
        ("1\tone\n2\ttwo", b"one\n2"),
        ("     7→one\n     8→two", None),
        ("     1→" + "x" * 2000 + "\n     2→two", None),
        ("no numbers: two", None),
    ],
)
def test_a_read_without_a_twin_is_taken_from_its_numbered_lines(shown: str, expected: bytes | None) -> None:
    entries = [a_reply(a_tool_call("Read", {"file_path": FILE}, id="toolu_r")), a_tool_result(shown, of="toolu_r")]
    assert held(history(*entries, *call("Edit", None, old_string="two", new_string="2"))) == expected


def test_patches_alone_are_undone_from_what_is_known_later() -> None:
    first = editing.patch("a\nb\n", "a\nB\n")
    entries = [*edit("b", "B", None, structuredPatch=first), *edit("a", "A", "a\nB\n")]
    found = history(*entries)
    assert (found.base.text if found.base else None, held(found)) == ("a\nb\n", b"A\nB\n")
    assert [version.content.text if version.content else None for version in found.versions] == ["a\nB\n", "A\nB\n"]


def test_an_edit_that_cannot_have_fitted_is_a_gap_with_an_unknown_content() -> None:
    found = history(*write("one\n"), *call("Edit", None, old_string="elsewhere", new_string="x"))
    assert len(found.gaps) == 1
    assert found.last is None


def test_times_and_lines_lead_to_the_same_points() -> None:
    session = build(a_prompt("go"), *write("one\n"), *edit("one", "two", "one\n"))
    [found] = histories(session).values()
    first, second = found.changes
    assert first.place.time is not None
    assert held(found.until(first.place.time)) == b"one\n"
    assert held(found.until(first.place.time + timedelta(hours=1))) == b"two\n"
    assert held(found.after(second.result or "")) == b"two\n"
    assert held(found.after((first.place.uuid or "")[:12])) == b"one\n"
    assert found.after("nothing") is None
    assert found.until(datetime.min.replace(tzinfo=UTC)).versions == ()


def test_without_times_things_happened_in_the_order_they_stand_in() -> None:
    entries = [*write("one\n"), *read("one\n"), *edit("one", "two", "one\n"), *read("two\n")]
    timeless = [msgspec.structs.replace(entry, lines=({**entry.lines[0], "timestamp": None},)) for entry in entries]
    found = history(*timeless)
    assert found.gaps == []
    assert held(found) == b"two\n"


def test_a_file_beside_a_prompt_is_seen_whole() -> None:
    file = {"filePath": FILE, "content": "one\n", "numLines": 2, "startLine": 1, "totalLines": 2}
    mention = an_attachment("file", filename=FILE, content={"type": "text", "file": file})
    found = history(mention, *call("Edit", None, old_string="one", new_string="two"))
    assert held(found) == b"two\n"


def test_the_beginning_of_a_line_must_be_long_enough_to_be_no_time() -> None:
    assert is_called("7d0e1f2a-1111", "7d0e1f2a")
    assert not is_called("7d0e1f2a-1111", "7d")
    assert is_called("7d", "7d")
    assert not is_called(None, "7d0e1f2a")


def test_a_gap_is_told_by_its_ends() -> None:
    found = history(*write("one\n"), *edit("two", "2", "zero\ntwo\n"))
    [gap] = found.gaps
    assert gap.start is not None
    assert gap.end is not None
    assert not gap.is_return
    assert found.gap_at(gap.start + timedelta(milliseconds=1)) == gap
    assert found.gap_at(gap.end) is None


# Branches and backups


def snapshot(time: str, backups: dict[str, str | None], *, is_update: bool = False) -> Entry:
    tracked = {path: {"backupFileName": name, "version": 1, "backupTime": time} for path, name in backups.items()}
    return a_line(
        "file-history-snapshot",
        messageId="m",
        snapshot={"messageId": "m", "timestamp": time, "trackedFileBackups": tracked},
        isSnapshotUpdate=is_update,
    )


def at(second: int) -> str:
    return f"2026-01-05T09:00:{second:02d}.500Z"


def rewound(*after: Entry) -> Session:
    """One file written, changed on a branch that is left, and whatever comes then."""
    return build(
        a_prompt("first", uuid="p1"),  # second 1
        *write("one\n"),  # 2, 3
        a_reply("done", uuid="r1"),  # 4
        a_prompt("second", uuid="p2", to="r1"),  # 5
        *edit("one", "left", "one\n"),  # 6, 7
        a_reply("changed", uuid="r2"),  # 8
        a_prompt("third", uuid="p3", to="r1"),  # 9
        *after,
    )


def last_held(session: Session, read_backup: ReadBackup | None = None) -> bytes | None:
    [found] = histories(session, read_backup).values()
    return held(found)


def test_what_a_rewind_left_behind_does_not_count_where_nothing_tells_otherwise() -> None:
    session = rewound(a_reply("ok"))
    [found] = histories(session).values()
    assert held(found) == b"one\n"
    assert [(gap.is_return, gap.is_assumed) for gap in found.gaps] == [(True, True)]
    assert held(found.after(found.changes[1].place.uuid or "")) == b"left\n"


def test_the_next_original_tells_whether_a_rewind_took_the_file_back() -> None:
    assert last_held(rewound(*edit("one", "main", "one\n"))) == b"main\n"
    assert last_held(rewound(*edit("left", "main", "left\n"))) == b"main\n"


def test_an_edit_without_an_original_fits_the_branch_it_is_on() -> None:
    assert last_held(rewound(*call("Edit", None, old_string="one", new_string="main"))) == b"main\n"
    assert last_held(rewound(*call("Edit", None, old_string="left", new_string="main"))) == b"main\n"


def test_a_second_rewind_goes_back_to_its_own_fork() -> None:
    """What the first rewind left behind was gone already; the second leaves only what came after it."""
    session = build(
        a_prompt("first", uuid="p1"),
        *write("one\n"),
        a_reply("done", uuid="r1"),
        a_prompt("second", uuid="p2", to="r1"),
        *edit("one", "left", "one\n"),
        a_prompt("third", uuid="p3", to="r1"),
        *edit("one", "kept", "one\n"),
        a_reply("kept", uuid="r3"),
        a_prompt("fourth", uuid="p4", to="r3"),
        *edit("kept", "left too", "kept\n"),
        a_prompt("fifth", uuid="p5", to="r3"),
        a_reply("ok"),
    )
    assert last_held(session) == b"kept\n"


def test_a_read_on_a_branch_is_known_to_the_branch() -> None:
    session = build(
        a_prompt("first", uuid="p1"),
        *read("one\n"),
        a_reply("done", uuid="r1"),
        a_prompt("second", uuid="p2", to="r1"),
        *call("Edit", None, old_string="one", new_string="left"),
        a_prompt("third", uuid="p3", to="r1"),
        *call("Edit", None, old_string="one", new_string="main"),
    )
    main, left = session.branches
    [diff] = SessionEdits(session).between(left, main)
    assert [line for hunk in diff.hunks for line in hunk.lines] == ["-left", "+main"]


def test_endings_told_later_hold_for_earlier_contents() -> None:
    entries = [*edit("one", "1", "one\ntwo\n"), snapshot(at(5), {"a.txt": "f00d@v2"})]
    found = history(*entries, read_backup=lambda *_: b"1\r\ntwo\r\n")
    assert held(found) == b"1\r\ntwo\r\n"
    assert held(FileHistory(path=FILE, base=found.base, versions=())) == b"one\r\ntwo\r\n"


def test_the_name_of_a_backup_tells_that_a_file_went_back() -> None:
    session = build(
        a_prompt("first", uuid="p1"),
        *write("one\n"),
        a_reply("done", uuid="r1"),
        snapshot(at(4), {"a.txt": "f00d@v2"}),
        a_prompt("second", uuid="p2", to="r1"),
        *edit("one", "left", "one\n"),
        a_prompt("third", uuid="p3", to="r1"),
        snapshot(at(9), {"a.txt": "f00d@v2"}),
        a_reply("ok"),
    )
    [found] = histories(session).values()
    assert held(found) == b"one\n"
    assert [(gap.is_return, gap.is_assumed) for gap in found.gaps] == [(True, False)]


def test_a_new_name_tells_that_the_file_stayed() -> None:
    session = rewound(snapshot(at(9), {"a.txt": "f00d@v3"}), a_reply("ok"))
    [found] = histories(session).values()
    assert held(found) == b"left\n"
    assert found.gaps == []


def test_a_file_that_a_rewind_took_away_is_not_there() -> None:
    session = rewound(snapshot(at(9), {"a.txt": None}), a_reply("ok"))
    [found] = histories(session).values()
    assert found.last is not None
    assert found.last.text is None


def test_a_backup_that_can_be_read_has_the_bytes() -> None:
    backups = {"f00d@v1": b"one\r\ntwo\r\n"}
    entries = [snapshot(at(0), {"a.txt": "f00d@v1"}, is_update=True), *edit("one", "1", "one\ntwo\n")]
    found = history(*entries, read_backup=lambda _session, name: backups.get(name))
    assert held(found) == b"1\r\ntwo\r\n"
    assert found.gaps == []


def test_a_new_name_without_a_change_of_ours_is_a_gap() -> None:
    entries = [*write("one\n"), snapshot(at(5), {"a.txt": "f00d@v2"}), snapshot(at(6), {"a.txt": "f00d@v3"})]
    found = history(*entries)
    assert len(found.gaps) == 1
    assert found.last is None


def test_a_delta_names_a_backup_too() -> None:
    delta = a_line(
        "file-history-delta",
        trackingPath="a.txt",
        backup={"backupFileName": None, "version": 1, "backupTime": at(1)},
        timestamp=at(1),
    )
    found = history(delta, *call("Write", None, content="one\n"))
    assert found.base is not None
    assert found.base.text is None


def test_branches_have_contents_of_their_own() -> None:
    session = rewound(*edit("one", "main", "one\n"))
    edits = SessionEdits(session)
    main, left = session.branches
    assert [diff.after.text for diff in edits.on(main) if diff.after] == ["main\n"]
    assert [diff.after.text for diff in edits.on(left) if diff.after] == ["left\n"]
    [between] = edits.between(left, main)
    assert [line for hunk in between.hunks for line in hunk.lines] == ["-left", "+main"]


def test_what_both_branches_share_is_no_difference() -> None:
    session = build(
        a_prompt("first", uuid="p1"),
        *write("one\n"),
        *call("Write", {"type": "create", "filePath": "/b", "content": "b\n"}, file_path="/b", content="b\n"),
        *edit("one", "two", None),
        a_reply("done", uuid="r1"),
        a_prompt("second", uuid="p2", to="r1"),
        a_reply("only talk"),
        a_prompt("third", uuid="p3", to="r1"),
        a_reply("only talk here, too"),
    )
    main, left = session.branches
    assert SessionEdits(session).between(left, main) == []
    assert [file.path for file in SessionEdits(session).on(main)] == [FILE, "/b"]


def test_names_of_backups_of_two_sessions_are_not_compared() -> None:
    """Each session counts its versions by itself: that another one has another name tells nothing of the file."""
    first = a_session(
        a_prompt("a", timestamp=at(1)), *write("one\n"), snapshot(at(5), {FILE: "f00d@v3"}), id="s1"
    ).build()
    second = a_session(a_prompt("b", timestamp=at(6)), snapshot(at(7), {FILE: "f00d@v1"}), id="s2").build()
    events: list[Event] = []
    for each in (first, second):
        events += [*sightings_of(each), *changes_of(each)]
    [found] = histories_of(events).values()
    assert found.last is not None
    assert found.last.text == "one\n"
    assert found.gaps == []


def test_a_new_name_of_the_same_session_still_tells_of_a_change_outside() -> None:
    entries = (snapshot(at(5), {FILE: "f00d@v3"}), snapshot(at(7), {FILE: "f00d@v4"}))
    first = a_session(a_prompt("a", timestamp=at(1)), *write("one\n"), *entries, id="s1").build()
    second = a_session(a_prompt("b", timestamp=at(5)), snapshot(at(6), {FILE: "f00d@v1"}), id="s2").build()
    events: list[Event] = []
    for each in (first, second):
        events += [*sightings_of(each), *changes_of(each)]
    [found] = histories_of(events).values()
    assert found.last is None
    assert len(found.gaps) == 1


def test_a_file_only_one_branch_made_is_not_there_on_the_other() -> None:
    other = call("Write", {"type": "create", "filePath": "/b", "content": "b\n"}, file_path="/b", content="b\n")
    session = rewound(*other)
    main, left = session.branches
    by_path = {diff.path: diff for diff in SessionEdits(session).between(left, main)}
    assert by_path["/b"].status == "added"
    assert by_path[FILE].status == "modified"


def test_agents_change_files_where_they_were_started() -> None:
    session = build(
        a_prompt("go", uuid="p"),
        a_reply(a_tool_call("Task", {"prompt": "do"}, id="toolu_task")),
        a_subagent(a_prompt("do"), *write("agent\n"), of="toolu_task", id="helper"),
        a_tool_result("done", of="toolu_task"),
    )
    [change] = changes_of(session)
    assert (change.place.agent, change.place.turn, change.place.prompt) == ("helper", 1, "go")
    assert change.place.branch == "main"


def test_net_changes_leave_out_what_was_undone() -> None:
    session = build(a_prompt("go"), *write("b\n", "a\n"), *write("a\n", "b\n"))
    [diff] = SessionEdits(session).on_disk()
    assert diff.hunks == []
    assert not diff.is_change


def test_windows_paths_are_one_file_however_they_are_spelled() -> None:
    session = a_session(
        a_prompt("go"),
        *call("Write", None, file_path="C:\\app\\a.txt", content="one\n"),
        *call("Edit", None, file_path="c:/app/a.txt", old_string="one", new_string="two"),
        cwd="C:\\app",
    ).build()
    assert [held(found) for found in histories(session).values()] == [b"two\n"]


# What was lost without a word


def test_a_read_that_was_cut_in_the_middle_is_not_the_whole_file() -> None:
    whole = "".join(f"line {number}\n" for number in range(1, 9))
    cut = "\n".join(numbered(whole).split("\n")[:4]) + "\n\n[cut here]"
    name = "toolu_read"
    looked = [a_reply(a_tool_call("Read", {"file_path": FILE}, id=name)), a_tool_result(cut, of=name)]
    found = history(*write(whole), *looked)
    assert held(found) == whole.encode()
    assert found.gaps == []


def test_a_read_with_a_reminder_behind_it_is_the_whole_file() -> None:
    text = numbered("one\ntwo\n") + "\n\n<system-reminder>\nbe good\n</system-reminder>\n"
    looked = [a_reply(a_tool_call("Read", {"file_path": FILE}, id="r")), a_tool_result(text, of="r")]
    assert held(history(*looked)) == b"one\ntwo\n"


def test_a_twin_that_has_fewer_lines_than_it_says_is_not_the_whole_file() -> None:
    found = history(*write("one\ntwo\nthree\n"), *read("one\n", shown=4, total=4))
    assert held(found) == b"one\ntwo\nthree\n"


def test_a_string_that_stands_there_twice_tells_that_the_file_was_another() -> None:
    """The client refuses such an edit; that it went well means that the file held something else."""
    found = history(*write("a\nb\na\n"), *call("Edit", None, old_string="a", new_string="c"))
    assert found.last is None
    assert len(found.gaps) == 1


def test_all_of_a_string_may_be_asked_for_in_words() -> None:
    found = history(*write("a\na\n"), *call("Edit", None, old_string="a", new_string="c", replace_all="true"))
    assert held(found) == b"c\nc\n"


def bash(command: str, **twin: Any) -> list[Entry]:
    name = f"toolu_{len(command)}"
    return [a_reply(a_tool_call("Bash", {"command": command}, id=name)), a_tool_result("", of=name, twin=twin)]


def test_a_command_that_may_have_changed_a_file_is_a_gap() -> None:
    found = history(*write("one\n"), *bash(f"cat more >> {FILE}"))
    assert held(found) == b"one\n"
    assert [gap.command for gap in found.gaps] == [">>"]


def test_a_command_that_did_not_is_none() -> None:
    assert history(*write("one\n"), *bash(f"chmod +x {FILE}")).gaps == []
    assert history(*write("one\n"), *bash(f"sed -i s/x/y/ {FILE}"), *read("one\n")).gaps == []
    told = {"filePath": FILE, "hunks": editing.patch("one\n", "one\ntwo\n")}
    found = history(*write("one\n"), *bash(f"echo two >> {FILE}", bashEditDiff={"files": [told]}))
    assert (held(found), found.gaps) == (b"one\ntwo\n", [])


def test_lines_that_others_changed_are_a_gap_unless_they_are_known() -> None:
    def changed(snippet: str) -> Entry:
        return an_attachment("edited_text_file", filename=FILE, snippet=snippet)

    assert history(*write("one\ntwo\n"), changed("1\tone\n2\ttwo")).gaps == []
    found = history(*write("one\ntwo\n"), changed("2\tother"))
    assert found.last is None
    assert len(found.gaps) == 1
