"""A session is its content: the same one in several places is one, kept and counted once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.archive.filters import Filter
from reread.archive.search_language import ALL_FIELDS
from reread.testing import Transcript, a_prompt, a_reply, a_session, a_subagent, a_usage

ID = "0a1b2c3d-1111-4222-8333-444455556666"
FEW = (a_prompt("the alpaca"), a_reply("yes", usage=a_usage(output=7)))
MORE = (*FEW, a_prompt("the iguana"), a_reply("no", usage=a_usage(output=5)))


def told(*entries: object) -> Transcript:
    return a_session(*entries, id=ID)  # type: ignore[arg-type]


def opened(folder: Path, *sources: str, machine: str = "desk") -> Archive:
    return Archive(folder / "home", [folder / name for name in sources], machine=machine)


def places(archive: Archive) -> list[tuple[object, ...]]:
    return archive.sql("SELECT path, present FROM file_copy ORDER BY path")[1]


def assert_one(archive: Archive, output: int, words: dict[str, int]) -> None:
    assert [each.id for each in archive.sessions()] == [ID]
    assert archive.usage("day").totals.output_tokens == output
    assert {word: archive.search(word, ALL_FIELDS).total for word in words} == words
    assert archive.safe.verify().damaged == []


@pytest.mark.parametrize("at_once", [True, False])
def test_an_equal_copy_is_a_place_and_its_bytes_are_kept_once(at_once: bool, tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
    one = told(*FEW, agent).write(tmp_path / "one")
    if not at_once:
        with opened(tmp_path, "one") as archive:
            archive.sync()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        result = archive.sync()
        assert result.bytes == (sum(path.stat().st_size for path in one.parent.rglob("*.jsonl")) if at_once else 0)
        words = {"alpaca": 1, "pangolin": 1}
        assert_one(archive, 27, words)
        assert len(places(archive)) == 2
        assert archive.is_current()
        assert archive.sync().bytes == 0
        archive.safe.rebuild()
        assert len(places(archive)) == 2
        assert archive.sync().bytes == 0
        assert_one(archive, 27, words)
        shutil.rmtree(tmp_path / "two")
        archive.sync()
        assert {present for _, present in places(archive)} == {0}


@pytest.mark.parametrize("at_once", [True, False])
def test_the_beginning_of_a_session_is_a_place_of_it(at_once: bool, tmp_path: Path) -> None:
    told(*MORE).write(tmp_path / "one")
    if not at_once:
        with opened(tmp_path, "one") as archive:
            archive.sync()
    old = told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "two", "one") as archive:
        archive.sync()
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        assert places(archive) == [(str(old), 1)]


def test_a_copy_that_goes_on_is_the_session_and_the_other_its_place(tmp_path: Path) -> None:
    old = told(*FEW).write(tmp_path / "one")
    new = told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        new.write_bytes(told(*MORE).bytes)
        assert not archive.is_current()
        result = archive.sync()
        assert result.bytes == new.stat().st_size - old.stat().st_size
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        assert archive.find(ID).files == [str(new)]
        assert places(archive) == [(str(old), 1)]
        assert archive.transcript(ID) == new.read_bytes()
        assert archive.sync().bytes == 0
        archive.safe.rebuild()
        assert archive.find(ID).files == [str(new)]
        assert archive.transcript(ID) == new.read_bytes()
        assert archive.sync().bytes == 0
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})


def test_a_session_is_found_by_each_folder_it_lies_in(tmp_path: Path) -> None:
    told(*FEW).write(tmp_path / "one")
    told(*FEW).write(tmp_path / "two")
    a_session(a_prompt("another alpaca"), a_reply("well"), id="another").write(tmp_path / "three")
    with opened(tmp_path, "one", "two", "three") as archive:
        archive.sync()
        for name, session in (("one", ID), ("two", ID), ("three", "another")):
            wanted = Filter(sources=(str(tmp_path / name),))
            assert [each.id for each in archive.sessions(wanted)] == [session]
            assert archive.search("alpaca", base=wanted).total == 1
            assert [row.key for row in archive.usage("session", base=wanted).rows] == [session]


def test_a_copy_that_is_left_behind_by_a_fuller_one_is_still_there(tmp_path: Path) -> None:
    old = told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
    told(*MORE).write(tmp_path / "two")
    with opened(tmp_path, "two") as archive:
        archive.sync()
        assert places(archive) == [(str(old), 1)]
        old.unlink()
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        assert places(archive) == [(str(old), 0)]


@pytest.mark.parametrize("grows", ["transcript", "agent", "both in turn"])
def test_what_did_not_grow_after_a_move_is_still_of_its_session_after_a_rebuild(grows: str, tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
    folder = told(*FEW, agent).write(tmp_path / "one").parent
    with opened(tmp_path, "one") as archive:
        archive.sync()
        for number, what in enumerate({"both in turn": ["agent", "transcript"]}.get(grows, [grows])):
            folder = folder.rename(folder.with_name(f"moved-{number}"))
            archive.sync()
            pattern = "agent-*.jsonl" if what == "agent" else f"{ID}.jsonl"
            [path] = folder.rglob(pattern)
            path.write_bytes(path.read_bytes() + b'{"type": "system", "content": "later"}\n')
            archive.sync()
        before = archive.find(ID)
        archive.safe.rebuild()
        assert archive.sync().bytes == 0
        [after] = archive.sessions()
        assert (after.stored.files, after.stored.row) == (before.files, before.row)
        assert archive.safe.verify().damaged == []


def test_where_a_session_was_moved_is_known_after_a_rebuild_though_it_did_not_grow_there(tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")
    folder = told(*FEW, agent).write(tmp_path / "one").parent
    with opened(tmp_path, "one") as archive:
        archive.sync()
        folder = folder.rename(folder.with_name("moved"))
        archive.sync()
        before = archive.find(ID)
        shutil.rmtree(folder)
        archive.sync()
        archive.safe.rebuild()
        [after] = archive.sessions()
        assert (after.stored.files, after.stored.row) == (before.files, before.row)
        assert {path for (path,) in archive.sql("SELECT folder FROM session")[1]} == {str(folder)}
        assert archive.safe.verify().damaged == []


def test_a_moved_session_is_shown_whole_though_a_part_of_it_is_where_it_was_before(tmp_path: Path) -> None:
    old = told(*MORE).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
        new = old.parent.with_name("moved") / old.name
        new.parent.mkdir()
        old.rename(new)
        archive.sync()
        told(*FEW).write(tmp_path / "one")
        archive.sync()
        new.unlink()
        archive.sync()
        assert_one(archive, 12, {"iguana": 1})
        archive.sync(full=True)
        assert_one(archive, 12, {"iguana": 1})


@pytest.mark.parametrize("is_hard", [True, False])
def test_a_transcript_that_a_link_leads_to_goes_on_though_the_walk_meets_the_link_first(
    is_hard: bool, tmp_path: Path
) -> None:
    path = told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
        link = path.parent.parent / "-a" / "link.jsonl"
        link.parent.mkdir()
        link.hardlink_to(path) if is_hard else link.symlink_to(path)
        path.write_bytes(told(*MORE).write(tmp_path / "later").read_bytes())
        archive.sync()
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        assert archive.sessions()[0].stored.row.folder == str(path.parent)
        assert archive.is_current()


def test_a_source_that_is_reached_by_another_path_today_goes_on(tmp_path: Path) -> None:
    path = told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
    (tmp_path / "two").symlink_to(tmp_path / "one")
    path.write_bytes(told(*MORE).write(tmp_path / "later").read_bytes())
    with opened(tmp_path, "two") as archive:
        archive.sync()
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        assert archive.is_current()


def test_copies_that_went_their_own_ways_are_two(tmp_path: Path) -> None:
    told(*FEW, a_prompt("the okapi")).write(tmp_path / "one")
    other = told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        assert_one(archive, 7, {"okapi": 1})
        other.write_bytes(told(*MORE).bytes)
        archive.sync()
        names = [each.id for each in archive.sessions()]
        assert len(names) == 2
        assert all(name.startswith(f"{ID}~") for name in names)
        assert [archive.transcript(name) for name in names].count(other.read_bytes()) == 1
        assert archive.usage("day").totals.output_tokens == 12
        assert archive.safe.verify().damaged == []


def test_a_folder_that_was_moved_takes_its_sessions_with_it(tmp_path: Path) -> None:
    old = told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
    shutil.move(tmp_path / "one", tmp_path / "two")
    new = tmp_path / "two" / old.relative_to(tmp_path / "one")
    with opened(tmp_path, "two") as archive:
        result = archive.sync()
        assert result.bytes == 0
        assert_one(archive, 7, {"alpaca": 1})
        [session] = archive.sessions()
        assert (session.stored.files, session.stored.present) == ([str(new)], True)
        assert places(archive) == [(str(old), 0)]


def test_a_transcript_under_another_name_is_the_same_session_and_goes_on(tmp_path: Path) -> None:
    old = told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
        new = old.rename(old.with_name("kept.jsonl"))
        assert archive.sync().bytes == 0
        assert_one(archive, 7, {"alpaca": 1})
        new.write_bytes(told(*MORE).bytes)
        archive.sync()
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        [session] = archive.sessions()
        assert session.stored.files == [str(new)]
        assert len(archive.session(ID).requests) == 2
        new.write_bytes(told(*FEW).bytes)
        archive.sync()
        assert_one(archive, 12, {"iguana": 1})  # what the file no longer has is still part of the session


def test_a_transcript_under_another_name_that_says_something_else_is_another_session(tmp_path: Path) -> None:
    old = told(*MORE).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
        old.unlink()
        old.with_name("kept.jsonl").write_bytes(told(a_prompt("the okapi"), *FEW[1:]).bytes)
        for _ in range(2):
            archive.sync()
            assert {each.id for each in archive.sessions()} == {ID, "kept"}
            assert len(archive.session(ID).requests) == 2
            assert archive.search("okapi", ALL_FIELDS).total == 1
            assert archive.safe.verify().damaged == []
            archive.safe.rebuild()


def test_who_is_called_by_an_id_has_it_and_who_only_told_it_is_called_by_its_file(tmp_path: Path) -> None:
    own = told(*MORE).write(tmp_path / "one")
    content = own.read_bytes()
    other = own.rename(own.with_name("kept.jsonl"))
    other.write_bytes(told(a_prompt("the okapi"), *FEW[1:]).bytes)
    with opened(tmp_path, "one") as archive:
        archive.sync()
        assert [each.id for each in archive.sessions()] == [ID]
        own.write_bytes(content)
        for _ in range(2):
            archive.sync()
            assert {each.id for each in archive.sessions()} == {ID, "kept"}
            assert archive.transcript(ID) == content
            assert archive.safe.verify().damaged == []
            archive.safe.rebuild()


def test_the_same_session_on_another_machine_is_one(tmp_path: Path) -> None:
    told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one", machine="laptop") as archive:
        archive.sync()
    new = told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "two") as archive:
        assert archive.sync().bytes == 0
        assert_one(archive, 7, {"alpaca": 1})
        for machine in ("laptop", "desk"):
            assert [each.id for each in archive.sessions(Filter(machine=machine))] == [ID]
        new.write_bytes(told(*MORE).bytes)
        archive.sync()
        assert_one(archive, 12, {"alpaca": 1, "iguana": 1})
        assert archive.sql("SELECT machine FROM session")[1] == [("desk",)]


def test_a_fork_under_another_id_stays_a_session_of_its_own(tmp_path: Path) -> None:
    path = told(*FEW).write(tmp_path / "one")
    path.with_name(f"{ID.replace('0a', '9a')}.jsonl").write_bytes(told(*MORE).bytes)
    with opened(tmp_path, "one") as archive:
        archive.sync()
        assert len(archive.sessions()) == 2


def test_forgetting_a_session_forgets_it_in_all_its_places(tmp_path: Path) -> None:
    told(*FEW).write(tmp_path / "one")
    told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        archive.safe.forget(ID)
        assert archive.sync().sessions == 0
        assert archive.sessions() == []
        assert places(archive) == []


def forgotten(folder: Path) -> None:
    """A session that was taken in from one folder, and forgotten."""
    told(*FEW).write(folder / "one")
    with opened(folder, "one", machine="laptop") as archive:
        archive.sync()
        archive.safe.forget(ID)


def test_what_was_forgotten_stays_so_under_another_path_and_machine_and_says_so(tmp_path: Path) -> None:
    forgotten(tmp_path)
    told(*MORE).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        result = archive.sync()
        assert (result.bytes, archive.sessions()) == (0, [])
        assert list(result.left_out) == [ID]
        assert [name for name, _ in archive.safe.status().left_out] == [ID]
        assert archive.is_current()
        archive.safe.rebuild()
        archive.sync()
        assert archive.sessions() == []


def test_what_was_forgotten_is_known_by_its_content_whatever_it_is_called(tmp_path: Path) -> None:
    forgotten(tmp_path)
    path = told(*MORE).write(tmp_path / "two")
    path.rename(path.with_name("1b2c3d4e-2222-4333-8444-555566667777.jsonl"))
    other = told(a_prompt("an okapi")).write(tmp_path / "two")
    other.rename(other.with_name("2c3d4e5f-3333-4444-8555-666677778888.jsonl"))
    with opened(tmp_path, "two") as archive:
        archive.sync()
        assert [each.id for each in archive.sessions()] == ["2c3d4e5f-3333-4444-8555-666677778888"]


def test_of_copies_that_went_their_own_ways_one_can_be_forgotten(tmp_path: Path) -> None:
    told(*FEW, a_prompt("the okapi")).write(tmp_path / "one")
    told(*MORE).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        okapi = next(each.id for each in archive.sessions() if b"okapi" in archive.transcript(each.id))
        archive.safe.forget(okapi)
        shutil.copytree(tmp_path / "one", tmp_path / "three")
    with opened(tmp_path, "one", "two", "three") as archive:
        assert list(archive.sync().left_out) == [ID]
        assert_one(archive, 12, {"iguana": 1, "okapi": 0})


def test_a_crash_in_a_forget_forgets_neither_id_nor_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(*FEW).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        archive.sync()
        with monkeypatch.context() as patch:
            patch.setattr("reread.index.custody.settle", _killed)
            with pytest.raises(KeyboardInterrupt):
                archive.safe.forget(ID)
    told(*FEW).write(tmp_path / "two")
    with opened(tmp_path, "two") as archive:
        archive.sync()
        assert archive.sessions() == []


@pytest.mark.parametrize("cut", [True, False])
def test_a_copy_is_shown_again_when_the_original_lost_what_it_has(cut: bool, tmp_path: Path) -> None:
    first = told(*MORE).write(tmp_path / "one")
    told(*MORE).write(tmp_path / "two")
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        lines = first.read_bytes().splitlines(keepends=True)
        other = [line.replace(b"iguana", b"pangolin") for line in lines]
        first.write_bytes(b"".join(lines[:1] if cut else other))
        archive.sync()
        archive.sync()
        assert {name: archive.search(name).total for name in ("iguana", "pangolin")} == {
            "iguana": 1,
            "pangolin": 0 if cut else 1,
        }
        assert archive.sync().sessions == 0
        assert archive.safe.verify(deep=True).damaged == []


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def _harm(folder: Path, rng: random.Random) -> None:
    """One thing that may happen to a transcript."""
    path = rng.choice(sorted(folder.rglob("*.jsonl")))
    lines = path.read_bytes().splitlines(keepends=True)
    match rng.choice(["name", "move", "copy", "cut", "grow", "change", "remove"]):
        case "name" | "copy" as what:
            other = path.with_name(f"{rng.choice('ab')}-{path.name}")
            shutil.copy(path, other)
            path.unlink() if what == "name" else None
        case "move":
            other = folder / "projects" / rng.choice("xyz") / path.name
            other.parent.mkdir(parents=True, exist_ok=True)
            path.rename(other)
        case "cut":
            path.write_bytes(b"".join(lines[: rng.randint(1, len(lines))]))
        case "grow":
            path.write_bytes(b"".join(lines) + lines[-1].replace(b"msg_", b"msg_%x" % rng.getrandbits(16)))
        case "change":
            path.write_bytes(b"".join(lines).replace(b"msg_", b"msg_%x" % rng.getrandbits(16)))
        case "remove" if len(list(folder.rglob("*.jsonl"))) > 1:
            path.unlink()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_to_files_lists_and_sums_and_what_is_shown_agree(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    told(*MORE).write(tmp_path / "one")
    a_session(*MORE, id=ID.replace("6666", "7777")).write(tmp_path / "one")
    with opened(tmp_path, "one") as archive:
        for _ in range(8):
            archive.sync()
            assert archive.safe.verify(deep=True).damaged == []
            rows = [each.stored for each in archive.sessions()]
            assert [each.row.requests for each in rows] == [len(archive.session(each).requests) for each in rows]
            _harm(tmp_path / "one", rng)


def test_what_comes_when_all_that_was_known_is_gone_belongs_to_the_same_session(tmp_path: Path) -> None:
    agent = a_subagent(a_prompt("look"), a_reply("found the okapi", usage=a_usage(output=3)), id="abc")
    trunk = told(*FEW, agent).write(tmp_path / "one")
    [late] = (tmp_path / "one").rglob("agent-abc.jsonl")
    content = late.read_bytes()
    late.unlink()
    with opened(tmp_path, "one") as archive:
        archive.sync()
        trunk.unlink()
        late.write_bytes(content)
        archive.sync()
        assert_one(archive, 10, {"alpaca": 1, "okapi": 1})
        assert archive.session(ID).title == "the alpaca"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_files_of_a_session_come_and_go_in_any_order(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    agents = [
        a_subagent(a_prompt(f"look {number}"), a_reply("yes", usage=a_usage(output=number)), id=f"a{number}")
        for number in range(3)
    ]
    told(*MORE, *agents).write(tmp_path / "one")
    content = {path: path.read_bytes() for path in sorted((tmp_path / "one").rglob("*.jsonl"))}
    for path in content:
        path.unlink() if rng.random() < 0.5 else None
    seen: set[Path] = set()
    with opened(tmp_path, "one") as archive:
        for _ in range(8):
            archive.sync()
            seen |= {path for path in content if path.exists()}
            assert archive.safe.verify(deep=True).damaged == []
            assert {name for each in archive.sessions() for name in each.stored.files} == set(map(str, seen))
            path = rng.choice(list(content))
            path.unlink() if path.exists() else path.write_bytes(content[path])


def test_files_left_behind_when_a_session_moved_are_restored_among_its_own(tmp_path: Path) -> None:
    trunk = told(*FEW, a_subagent(a_prompt("b"), a_reply("pangolin"), id="abc")).write(tmp_path / "one")
    for name in ("first", "second"):
        journal = trunk.with_suffix("") / "subagents" / "workflows" / name / "journal.jsonl"
        journal.parent.mkdir(parents=True)
        journal.write_text(f'{{"type":"{name}"}}\n')
    before = {path.relative_to(trunk.parent): path.read_bytes() for path in trunk.parent.rglob("*") if path.is_file()}
    with opened(tmp_path, "one", "two") as archive:
        archive.sync()
        moved = tmp_path / "two" / trunk.relative_to(tmp_path / "one")
        moved.parent.mkdir(parents=True)
        trunk.rename(moved)
        shutil.rmtree(tmp_path / "one")
        archive.sync()
        archive.safe.restore(ID, tmp_path / "back")
    back = tmp_path / "back"
    assert {path.relative_to(back): path.read_bytes() for path in back.rglob("*") if path.is_file()} == before
