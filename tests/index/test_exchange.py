"""Several machines of one person push to a folder and pull from it: all see all, once, byte for byte."""

from __future__ import annotations

import json
import os
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from exchanging import BACKUP, FEW, FIRST, MORE, SECOND, SHARED, Desk, exchange_all, files_below
from histories import write_backups
from reread import exchange
from reread.archive import Archive, Progress, model_answers
from reread.archive.filters import Filter
from reread.archive.model_answers import ModelAnswer
from reread.errors import BadInput
from reread.keys import file_key
from reread.safe.packs import Pack
from reread.safe.pieces import Damage, encode_piece, seal
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_usage
from trees import append, everything, generate


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "desk")
    agent = a_subagent(a_prompt("b"), a_reply("okapi"), id="abc")
    a_session(a_prompt("the alpaca"), a_reply("hay", usage=a_usage(output=7)), agent, id=FIRST).write(made.projects)
    chance = random.Random(3)
    write_backups(made.claude, {f"{number:016x}@v1": chance.randbytes(2_000) for number in range(3)}, FIRST)
    return made


@pytest.fixture
def laptop(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "laptop")
    a_session(a_prompt("the iguana"), a_reply("leaves", usage=a_usage(output=9)), id=SECOND).write(made.projects)
    return made


def test_workers_take_what_one_process_takes(
    desk: Desk, laptop: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(desk.more, size=300_000, seed=4)
    desk.push()
    laptop.pull()
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    monkeypatch.setattr("reread.ingest.rebuild.COMMIT_AFTER", 100_000)
    other = Desk(tmp_path, "other")
    told: list[Progress] = []
    with other.open() as archive, laptop.open() as alone:
        archive.safe.pull(other.folder, told.append)
        assert everything(archive) == everything(alone)
        archive.safe.verify(deep=True, report=told.append)
    assert {each.phase for each in told} == {"", "proving", "counting again"}
    assert {each.phase for each in told if each.bytes_done == each.bytes_total} == {"", "proving", "counting again"}
    other.assert_whole()


def test_both_see_all_and_count_it_as_one_archive_does(desk: Desk, laptop: Desk, tmp_path: Path) -> None:
    generate(desk.more, size=60_000, sessions=3, seed=1)
    generate(laptop.more, size=60_000, sessions=3, seed=2)
    exchange_all(desk, laptop)
    with Archive(tmp_path / "both", [desk.claude, desk.more, laptop.claude, laptop.more]) as both:
        both.sync()
        names = sorted(each.id for each in both.sessions())
        days, models = both.usage("day"), both.usage("model")
    assert len(names) >= 8
    for each in (desk, laptop):
        assert each.names() == names
        with each.open() as archive:
            assert archive.usage("day") == days
            assert archive.usage("model") == models
            assert {row.key for row in archive.usage("machine").rows} == {"desk", "laptop"}
            mine = {found.id for found in archive.sessions(Filter(machine="laptop"))}
            assert SECOND in mine
            assert FIRST not in mine
        each.assert_whole()
    assert (desk.found("iguana"), laptop.found("alpaca"), laptop.found("okapi")) == (1, 1, 1)


def test_run_twice_sends_nothing_and_takes_nothing_twice(desk: Desk, laptop: Desk) -> None:
    assert desk.push().sent == 1
    before = files_below(desk.folder)
    again = desk.push()
    assert (again.sent, again.unchanged, again.failed, again.bytes_sent) == (0, 1, 0, 0)
    assert files_below(desk.folder) == before
    assert laptop.pull().sessions == 1
    stored = files_below(laptop.root / "home" / "safe")
    done = laptop.pull()
    assert (done.sessions, done.bytes_taken, done.problems) == (0, 0, [])
    assert files_below(laptop.root / "home" / "safe") == stored
    # What came from another machine is sent on by nobody.
    assert laptop.push().sent == 1
    assert desk.pull().sessions == 1
    assert desk.push().bytes_sent == 0


def test_what_grew_is_sent_and_taken_alone(desk: Desk, laptop: Desk) -> None:
    truth = generate(desk.more, size=60_000, sessions=3)
    exchange_all(desk, laptop)
    append(desk.more, truth)
    done = desk.push()
    assert 0 < done.sent < len(desk.names())
    assert done.sent + done.unchanged == len(desk.names()) - 1  # the other is of the laptop
    taken = laptop.pull()
    assert taken.sessions == done.sent
    with desk.open() as one, laptop.open() as other:
        assert one.usage("day", Filter(machine="desk")).totals == other.usage("day", Filter(machine="desk")).totals
    laptop.assert_whole()


def test_restored_elsewhere_every_byte_is_there(desk: Desk, laptop: Desk, tmp_path: Path) -> None:
    exchange_all(desk, laptop)
    with desk.open() as archive:
        archive.safe.restore(FIRST, tmp_path / "here")
    shutil.rmtree(desk.root)
    with laptop.open() as archive:
        archive.safe.rebuild()
        archive.safe.restore(FIRST, tmp_path / "there")
        assert {each.label for each in [archive.inner.own_machine()]} == {"laptop"}
        assert {row.key for row in archive.usage("machine").rows} == {"desk", "laptop"}
    assert len(files_below(tmp_path / "here")) == 5
    assert files_below(tmp_path / "here") == files_below(tmp_path / "there")
    laptop.assert_whole()


def test_a_stopped_push_shows_nothing_and_the_next_one_clears_it(
    desk: Desk, laptop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("reread.exchange.push_packs._finish", stop)
        with pytest.raises(KeyboardInterrupt):
            desk.push()
    assert [path.suffix for path in desk.own.iterdir()] == [".part"]
    done = laptop.pull()
    assert (done.sessions, len(done.problems)) == (0, 1)
    assert laptop.names() == []
    assert desk.push().sent == 1
    assert not list(desk.own.glob("*.part"))
    assert laptop.pull().sessions == 1


@pytest.mark.parametrize("part", [0.1, 0.5, 0.95])
def test_half_a_pack_is_told_and_taken_the_next_time(part: float, desk: Desk, laptop: Desk) -> None:
    generate(desk.more, size=900_000, sessions=2)
    desk.push()
    pack = desk.packs[0]
    whole = pack.read_bytes()
    pack.write_bytes(whole[: int(len(whole) * part)])
    (problem,) = laptop.pull().problems
    assert "did not arrive whole yet" in problem
    assert problem.startswith("desk: ")
    laptop.assert_whole()
    pack.write_bytes(whole)
    assert laptop.pull().problems == []
    assert laptop.names() == desk.names()
    laptop.assert_whole()
    with desk.open() as one, laptop.open() as other:
        assert one.usage("day").totals == other.usage("day").totals


def test_a_pack_that_arrives_before_the_bytes_it_shares_is_taken_whole_in_the_end(tmp_path: Path) -> None:
    desk, laptop = Desk(tmp_path, "desk"), Desk(tmp_path, "laptop")
    a_session(*FEW, id=FIRST).write(desk.projects)
    write_backups(desk.claude, {BACKUP: b"shared"}, FIRST)
    desk.push()
    a_session(*MORE, id=SECOND).write(desk.projects)
    write_backups(desk.claude, {BACKUP: b"shared", "948ba454848ee7c8@v1": b"not shared"}, SECOND)
    desk.push()
    late = desk.packs[0].rename(tmp_path / "late")
    laptop.pull()
    late.rename(desk.own / "000001.pack")
    assert laptop.pull().problems == []
    assert [laptop.backup(name) for name in (FIRST, SECOND)] == [b"shared", b"shared"]
    laptop.assert_whole()


def test_backups_that_arrive_before_their_session_belong_to_it_once_it_is_there(tmp_path: Path) -> None:
    desk, laptop = Desk(tmp_path, "desk"), Desk(tmp_path, "laptop")
    a_session(*FEW, id=FIRST).write(desk.projects)
    desk.push()
    write_backups(desk.claude, {BACKUP: b"before the change"}, FIRST)
    desk.push()
    late = desk.packs[0].rename(tmp_path / "late")
    laptop.pull()
    assert laptop.names() == []
    late.rename(desk.own / "000001.pack")
    assert laptop.pull().problems == []
    assert laptop.backup(FIRST) == b"before the change"
    with laptop.open() as archive:
        assert archive.safe.status().backups == 1
        archive.safe.restore(FIRST, tmp_path / "back")
        assert (tmp_path / "back" / "file-history" / FIRST / BACKUP).read_bytes() == b"before the change"
    laptop.assert_whole()


def test_a_file_whose_beginning_came_into_a_later_pack_is_taken_with_one_pull(tmp_path: Path) -> None:
    """A push rewrites a pack without what was forgotten, and gives it the next number."""
    desk, laptop = Desk(tmp_path, "desk"), Desk(tmp_path, "laptop")
    a_session(*FEW, id=FIRST).write(desk.projects)
    a_session(*FEW, id=SECOND).write(desk.projects)
    desk.push()
    a_session(*MORE, id=FIRST).write(desk.projects)
    desk.push()
    with desk.open() as archive:
        archive.safe.forget(SECOND)
    desk.push()
    assert [path.name for path in desk.packs] == ["000002.pack", "000003.pack"]
    assert laptop.pull().problems == []
    assert laptop.found("axolotl") == 1
    laptop.assert_whole()


def test_a_backup_that_shared_the_bytes_of_a_forgotten_session_is_sent_with_them(tmp_path: Path) -> None:
    desk, laptop = Desk(tmp_path, "desk"), Desk(tmp_path, "laptop")
    a_session(*FEW, id=FIRST).write(desk.projects)
    write_backups(desk.claude, {BACKUP: b"shared"}, FIRST)
    desk.push()
    a_session(*MORE, id=SECOND).write(desk.projects)
    write_backups(desk.claude, {BACKUP: b"shared"}, SECOND)
    desk.push()
    with desk.open() as archive:
        archive.safe.forget(FIRST)
    desk.push()
    assert laptop.pull().problems == []
    assert laptop.backup(SECOND) == desk.backup(SECOND) == b"shared"
    laptop.assert_whole()


def test_a_session_that_moved_on_its_machine_has_moved_on_the_others(desk: Desk, laptop: Desk) -> None:
    folder = a_session(*FEW, a_subagent(*FEW, id="abc"), id=FIRST).write(desk.projects).parent
    exchange_all(desk, laptop)
    moved = folder.rename(folder.with_name("moved"))
    exchange_all(desk, laptop)
    with laptop.open() as archive:
        before = archive.find(FIRST)
        assert before.row.folder == str(moved)
        assert {Path(file).is_relative_to(moved) for file in before.files} == {True}
        archive.safe.rebuild()
        assert archive.find(FIRST).files == before.files


@pytest.mark.parametrize("at", [40, -3])
def test_bytes_that_changed_in_the_folder_are_not_taken_and_sent_again(at: int, desk: Desk, laptop: Desk) -> None:
    """In a header they are seen by any push, in what it tells of by a full one."""
    desk.push()
    pack = desk.packs[0]
    content = bytearray(pack.read_bytes())
    content[at] ^= 1
    pack.write_bytes(content)
    assert "is not whole" in laptop.pull().problems[0]
    laptop.assert_whole()
    assert (desk.push(full=at < 0).sent, desk.push(full=True).sent) == (1, 0)
    assert not pack.exists()
    assert laptop.pull().problems == []
    assert laptop.names() == [FIRST]
    laptop.assert_whole()


def test_half_a_journal_is_told_and_its_sessions_are_taken(desk: Desk, laptop: Desk) -> None:
    desk.push()
    journal = desk.own / exchange.JOURNAL
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) // 2])
    done = laptop.pull()
    assert done.sessions == 1
    assert "not whole yet" in done.problems[0]
    journal.write_bytes(whole)
    assert laptop.pull().problems == []


def test_what_is_forgotten_on_one_machine_is_forgotten_on_all_and_stays_so(
    desk: Desk, laptop: Desk, tmp_path: Path
) -> None:
    third = Desk(tmp_path, "third")
    exchange_all(desk, laptop, third)
    with laptop.open() as archive:
        archive.safe.forget(FIRST)
    laptop.push()
    late = Desk(tmp_path, "late")
    late.pull()
    assert late.names() == [SECOND]  # though the desk has not heard of it, and its packs are there
    assert desk.pull().forgotten == 1
    assert third.pull().forgotten == 1
    desk.push()
    assert b"0a1b2c3d-1111" not in b"".join(path.read_bytes() for path in desk.packs)
    for each in (desk, laptop, third, late):
        each.push()
        assert each.pull().forgotten == 0
        with each.open() as archive:
            archive.sync()
        assert each.names() == [SECOND]
        assert each.found("alpaca") == 0
        each.assert_whole()


def test_what_a_model_answered_about_a_session_goes_when_it_is_forgotten_elsewhere(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    answer = ModelAnswer(
        about="summary",
        subject=FIRST,
        session=FIRST,
        time=datetime(2026, 1, 5, tzinfo=UTC),
        model=None,
        cost_usd=None,
        evidence="the alpaca",
        text="It was about hay.",
    )
    with laptop.open() as archive:
        model_answers.keep(archive.home, answer)
        (archive.home / model_answers.FOLDER / "damaged.json").write_text("[]", "ascii")
    with desk.open() as archive:
        archive.safe.forget(FIRST)
    desk.push()
    assert laptop.pull().forgotten == 1
    with laptop.open() as archive:
        assert model_answers.kept(archive.home, "summary", FIRST) is None


def test_of_marks_the_later_one_wins_and_taking_away_is_one(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    with desk.open() as archive:
        archive.marks.set(FIRST, starred=True, tags=["zoo"], title="Animals", note="a note")
        wanted = archive.marks.all()
    desk.push()
    assert laptop.pull().marks == 1
    with laptop.open() as archive:
        assert archive.marks.all() == wanted
        archive.safe.rebuild()
        archive.marks.set(FIRST, title="Beasts", untags=["zoo"])
        wanted = archive.marks.all()
    laptop.push()
    desk.push()
    assert desk.pull().marks == 1
    assert laptop.pull().marks == 0
    with desk.open() as archive:
        assert archive.marks.all() == wanted
        archive.marks.set(FIRST, starred=False, title="", note="")
    exchange_all(desk, laptop)
    with laptop.open() as archive:
        assert archive.marks.all() == {}
    assert json.loads((laptop.root / "home" / "marks.json").read_bytes())["marks"] == []


def test_marks_are_no_newer_for_an_index_that_was_lost(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    with desk.open() as archive:
        archive.marks.set(FIRST, note="first thoughts")
    exchange_all(desk, laptop)
    with laptop.open() as archive:
        archive.marks.set(FIRST, note="second thoughts")
        wanted = archive.marks.all()
    for left in (desk.root / "home").glob("reread.db*"):
        left.unlink()
    exchange_all(desk, laptop)
    for each in (desk, laptop):
        with each.open() as archive:
            assert archive.marks.all() == wanted


@pytest.mark.parametrize("grown", [0, 1])
def test_a_session_on_two_machines_is_one_and_the_fuller_one_counts(grown: int, desk: Desk, laptop: Desk) -> None:
    both = [desk, laptop]
    for each in both:
        a_session(*FEW, id=SHARED).write(each.projects)
    exchange_all(*both)
    for each in both:
        assert each.names() == [FIRST, SECOND, SHARED]
        assert each.found("pangolin") == 1
        each.assert_whole()
    a_session(*MORE, id=SHARED).write(both[grown].projects)
    exchange_all(*both)
    for each in both:
        assert each.names() == [FIRST, SECOND, SHARED]
        assert (each.found("pangolin"), each.found("axolotl")) == (1, 1)
        with each.open() as archive:
            assert archive.usage("day").totals.output_tokens == 7 + 20 + 9 + 3 + 5
        each.assert_whole()
        assert each.push().bytes_sent == 0
        with each.open() as archive:
            archive.safe.rebuild()
            assert archive.sync().bytes == 0
            assert archive.usage("day").totals.output_tokens == 7 + 20 + 9 + 3 + 5
        assert each.names() == [FIRST, SECOND, SHARED]
        each.assert_whole()
        assert (each.push().bytes_sent, each.pull().bytes_taken) == (0, 0)
    with both[1 - grown].open() as archive:
        archive.safe.forget(SHARED)
    exchange_all(*reversed(both))
    exchange_all(*both)
    for each in both:
        assert each.names() == [FIRST, SECOND]
        each.assert_whole()


def test_going_on_with_what_another_machine_pushed_does_not_end_in_its_shorter_copy(desk: Desk, laptop: Desk) -> None:
    a_session(*FEW, id=SHARED).write(desk.projects)
    desk.push()
    laptop.pull()
    a_session(*MORE, id=SHARED).write(laptop.projects)
    laptop.push()
    desk.push()
    assert any(f"of this one: {SHARED[:8]}" in note for note in desk.pull().notes)
    assert not any("of this one" in note for note in desk.pull().notes)
    for _ in range(2):
        exchange_all(desk, laptop)
        for each in (desk, laptop):
            assert each.names() == [FIRST, SECOND, SHARED]
            assert each.found("axolotl") == 1
            each.assert_whole()
    assert (desk.push().bytes_sent, laptop.push().bytes_sent) == (0, 0)
    assert (desk.pull().bytes_taken, laptop.pull().bytes_taken) == (0, 0)


def test_a_session_that_two_machines_went_on_with_is_shown_both_ways(desk: Desk, laptop: Desk) -> None:
    a_session(*FEW, id=SHARED).write(desk.projects)
    desk.push()
    laptop.pull()
    ways = ((desk, "quokka"), (laptop, "numbat"))
    for each, animal in ways:
        a_session(*FEW, a_prompt(f"the {animal}"), id=SHARED).write(each.projects)
    exchange_all(desk, laptop)
    for each, _ in ways:
        assert [name.partition("~")[0] for name in each.names()] == [FIRST, SECOND, SHARED, SHARED]
        assert [each.found(animal) for _, animal in ways] == [1, 1]
        each.assert_whole()


def test_only_what_passes_a_filter_is_sent_and_a_dry_run_sends_nothing(desk: Desk) -> None:
    generate(desk.more, size=30_000, sessions=2)
    with desk.open() as archive:
        archive.sync()
        archive.marks.set(FIRST, starred=True)
        dry = archive.safe.push(desk.folder, is_dry=True)
        number = archive.count_sessions()
        assert (dry.sent, list(desk.folder.iterdir()), archive.safe.last_folder()) == (number, [], None)
        some = archive.safe.push(desk.folder, Filter(starred=True))
        assert (some.sent, some.unchanged) == (1, 0)
        assert archive.safe.push(desk.folder).sent == number - 1
        assert dry.bytes_sent > some.bytes_sent
        assert archive.safe.last_folder() == desk.folder


@pytest.mark.parametrize("content", [b"the same in both", b""])
@pytest.mark.parametrize("wanted", ["/home/ann/one", "/home/ann/two"])
def test_a_session_that_is_sent_alone_brings_the_bytes_its_backups_share(
    wanted: str, content: bytes, tmp_path: Path
) -> None:
    desk, laptop = Desk(tmp_path, "desk"), Desk(tmp_path, "laptop")
    for name, cwd in ((FIRST, "/home/ann/one"), (SECOND, "/home/ann/two")):
        a_session(*FEW, id=name, cwd=cwd).write(desk.projects)
        write_backups(desk.claude, {BACKUP: content}, name)
    with desk.open() as archive:
        archive.sync()
        archive.safe.push(desk.folder, Filter(project=wanted))
    laptop.pull()
    (name,) = laptop.names()
    assert laptop.backup(name) == content
    exchange_all(desk, laptop)
    assert [laptop.backup(name) for name in (FIRST, SECOND)] == [content, content]
    laptop.assert_whole()


def test_a_folder_that_is_not_there_is_not_made(desk: Desk, tmp_path: Path) -> None:
    with desk.open() as archive:
        for ask in (archive.safe.push, archive.safe.pull):
            with pytest.raises(BadInput, match="no such folder"):
                ask(tmp_path / "not mounted")
    assert not (tmp_path / "not mounted").exists()


def test_machines_that_push_and_pull_at_once_are_not_in_each_others_way(desk: Desk, laptop: Desk) -> None:
    both = (desk, laptop)
    for number, each in enumerate(both):
        generate(each.more, size=200_000, sessions=4, seed=number)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(3):
            pushed = [pool.submit(each.push) for each in both]
            pulled = [pool.submit(each.pull) for each in both]
            assert [sent.result().problems for sent in pushed] == [[], []]
            assert all(taken.result() for taken in pulled)
    exchange_all(desk, laptop)
    assert desk.names() == laptop.names()
    assert desk.usage() == laptop.usage()
    for each in both:
        each.assert_whole()


@pytest.mark.skipif(os.name == "nt", reason="there such paths are at home")
@pytest.mark.parametrize("root", ["C:", r"\\wsl.localhost\Ubuntu"])
def test_sessions_of_a_windows_machine_are_read_as_any_other(
    root: str, desk: Desk, laptop: Desk, tmp_path: Path
) -> None:
    desk.push()
    pack = desk.packs[0]
    with Pack(pack, 1) as opened:
        pieces = [opened.read(found.place) for found in opened.pieces()]
    content = b""
    for piece in pieces:
        assert not isinstance(piece, Damage)
        header, raw = piece
        path, source = (f"{root}{text}".replace("/", "\\") for text in (header.path, header.source))
        key = file_key(desk.id, path)
        content += encode_piece(*seal(replace(header, file=key, path=path, source=source), raw))
    pack.write_bytes(content)
    laptop.pull()
    assert laptop.names() == [FIRST]
    assert laptop.usage().totals == desk.usage().totals
    with desk.open() as one, laptop.open() as other:
        one.safe.restore(FIRST, tmp_path / "here")
        other.safe.restore(FIRST, tmp_path / "there")
    assert files_below(tmp_path / "here") == files_below(tmp_path / "there")
    laptop.assert_whole()
