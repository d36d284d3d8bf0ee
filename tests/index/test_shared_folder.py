"""What somebody else puts into the shared folder: files that are none, journals of somebody else, forgets unasked."""

from __future__ import annotations

import os
import shutil
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from exchanging import (
    BACKUP,
    FEW,
    FIRST,
    MORE,
    SECOND,
    SHARED,
    Desk,
    exchange_all,
    files_below,
    pieces_in,
    put_pieces,
    write_journal,
)
from histories import write_backups
from reread import exchange
from reread.errors import BadInput, RereadError
from reread.exchange import folder, forgotten, keys
from reread.exchange.keys import Proof
from reread.keys import session_mark
from reread.testing import a_prompt, a_reply, a_session

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "desk")
    a_session(*FEW, id=FIRST).write(made.projects)
    return made


@pytest.fixture
def laptop(tmp_path: Path) -> Desk:
    made = Desk(tmp_path, "laptop")
    a_session(*FEW, a_prompt("the iguana"), a_reply("leaves"), id=SECOND).write(made.projects)
    return made


def pull_unasked(desk: Desk) -> exchange.Pulled:
    with desk.open() as archive:
        return archive.safe.pull(desk.folder)


def pull_asked(desk: Desk, answer: bool | None, **options: Any) -> tuple[exchange.Pulled, list[bool]]:
    asked: list[bool] = []

    def agree(found: exchange.ForgottenElsewhere) -> bool | None:
        asked.append(found.is_proved)
        return answer

    with desk.open() as archive:
        return archive.safe.pull(desk.folder, agree=agree, **options), asked


# --- files that are none


@posix
def test_push_follows_no_link_in_the_place_of_its_own_part(desk: Desk, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    for name in ("000001.pack", "000007.pack.part", "journal.json", "notes"):
        (victim / name).write_bytes(b"mine")
    desk.own.symlink_to(victim)
    with pytest.raises(BadInput, match="is a link"):
        desk.push()
    assert set(files_below(victim).values()) == {b"mine"}
    assert len(files_below(victim)) == 4
    desk.own.unlink()
    assert desk.push().sent == 1


@posix
@pytest.mark.parametrize("kind", ["pipe", "device", "link", "folder"])
@pytest.mark.parametrize("name", ["journal.json", "000001.pack", "000002.pack"])
def test_what_is_no_regular_file_is_neither_read_nor_waited_for(
    kind: str, name: str, desk: Desk, laptop: Desk, tmp_path: Path
) -> None:
    exchange_all(desk, laptop)
    path = desk.own / name
    path.unlink(missing_ok=True)
    (tmp_path / "secret").write_bytes(b"of this machine")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if kind == "device" else tmp_path / "secret")
    assert laptop.pull().problems
    assert laptop.names() == [FIRST, SECOND]
    if kind == "folder":
        return
    assert desk.push(full=True).problems == []
    assert laptop.pull().problems == []
    assert (tmp_path / "secret").read_bytes() == b"of this machine"


def test_a_journal_of_a_million_forgotten_keys_is_not_read(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    write_journal(desk.own, forgotten=[(f"{number:032x}", 1) for number in range(1_000_000)])
    tracemalloc.start()
    try:
        problems = laptop.pull().problems
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "larger than" in problems[0]
    assert most < 40 << 20


@pytest.mark.parametrize(
    "changed",
    [
        {"label": "\x1b[31mred\n"},
        {"label": "\ud800"},
        {"label": "x" * 10_000},
        {"marks": [("x", 1 << 70, None)]},
        {"marks": [("\ud800", 1, {"title": "x"})]},
        {"marks": [("x", 1, {"title": "\ud800", "tags": 7})]},
        {"marks": [(SECOND, 1 << 50, {"hidden": True})]},
        {"forgotten": [("content:" + "9" * 5000 + ":a:b", 1)]},
        {"forgotten": [("content:\u0663:a:b", 1 << 70)]},
        {"packs": {"../../x": 1 << 70}},
    ],
)
def test_a_journal_that_cannot_be_right_stops_nothing(changed: dict[str, Any], desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    laptop.forget_machines()
    write_journal(desk.own, **changed)
    done = laptop.pull()
    assert all(label.isprintable() for label in done.machines)
    assert laptop.names() == [FIRST, SECOND]
    laptop.assert_whole()
    with laptop.open() as archive:
        assert not archive.marks.all().get(SECOND)
        archive.safe.rebuild()


def test_a_mark_is_of_the_session_that_it_names(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    laptop.forget_machines()
    write_journal(desk.own, marks=[(FIRST, 1, {"session": SECOND, "title": "Animals"})])
    laptop.pull()
    with laptop.open() as archive:
        assert archive.marks.all().keys() == {FIRST}


# --- journals are signed


def forget(desk: Desk, session: str) -> None:
    with desk.open() as archive:
        archive.safe.forget(session)
    desk.push()


def test_the_key_of_a_machine_is_shown_once_and_compared_from_then_on(desk: Desk, laptop: Desk) -> None:
    desk.push()
    code = exchange.own_code(desk.root / "home")
    assert code is not None
    assert [code in note for note in laptop.pull().notes] == [True]
    assert laptop.pull().notes == []
    (desk.root / "home" / "machine.key").unlink()
    desk.push()
    (problem,) = laptop.pull().problems
    new = exchange.own_code(desk.root / "home")
    assert new is not None
    assert (new in problem, code == new) == (True, False)
    done, _ = pull_asked(laptop, None, trust="desk")
    assert (done.problems, len(done.notes)) == ([], 1)
    assert laptop.pull().problems == []


def test_what_a_strange_journal_marks_and_forgets_is_left_out(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    write_journal(desk.own, forgotten=[(session_mark(SECOND), 1)], marks=[(SECOND, 1, {"hidden": True})])
    done, asked = pull_asked(laptop, answer=True)
    assert "not signed as before" in done.problems[0]
    assert (done.forgotten, asked, done.left) == (0, [], [])
    assert laptop.names() == [FIRST, SECOND]


def test_a_signed_journal_that_was_changed_is_strange(desk: Desk, laptop: Desk, tmp_path: Path) -> None:
    desk.push()
    known = keys.KnownMachines(tmp_path)
    path = desk.own / exchange.JOURNAL
    text, line, _ = path.read_bytes().split(b"\n", 2)
    assert known.prove(desk.id, text, line).proof is Proof.NEW
    assert known.prove(desk.id, text + b" ", line).proof is Proof.STRANGE
    assert known.prove(laptop.id, text, line).proof is Proof.STRANGE
    known.learn(desk.id, line[:64].decode())
    assert known.prove(desk.id, text, line).proof is Proof.KNOWN
    assert known.prove(desk.id, text, b"").proof is Proof.STRANGE


# --- forgets that arrive


def test_nothing_is_forgotten_unasked(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    forget(laptop, FIRST)
    for _ in range(2):
        done = pull_unasked(desk)
        assert (done.forgotten, [each.machine for each in done.left]) == (0, ["laptop"])
        assert [one.row.uuid for one in done.left[0].sessions] == [FIRST]
        assert desk.names() == [FIRST, SECOND]
    done, asked = pull_asked(desk, answer=None)
    assert (done.forgotten, asked) == (0, [True])
    done, asked = pull_asked(desk, answer=False)
    assert (done.forgotten, done.left, asked) == (0, [], [True])
    done, asked = pull_asked(desk, answer=True)  # who wanted to keep it is not asked again
    assert (done.forgotten, done.left, asked) == (0, [], [])
    assert desk.names() == [FIRST, SECOND]


def test_a_forget_with_a_new_key_or_none_is_not_proved(
    desk: Desk, laptop: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (desk, laptop):
        each.push()
    forget(laptop, SECOND)
    write_journal(laptop.own, forgotten=[(session_mark(FIRST), 1)])
    assert pull_asked(desk, answer=None)[1] == [False]
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    monkeypatch.setattr(keys, "ed25519", _Missing())
    laptop.push()
    forget(laptop, SECOND) if SECOND in laptop.names() else None
    write_journal(laptop.own, forgotten=[(session_mark(FIRST), 1)])
    assert pull_asked(desk, answer=None)[1] == [False]
    assert exchange.own_code(desk.root / "home") is None


class _Missing:
    """A module that is not installed."""

    def __getattr__(self, name: str) -> Any:
        raise ImportError(name)


def test_what_is_agreed_to_is_kept_aside_and_can_be_brought_back(desk: Desk, laptop: Desk, tmp_path: Path) -> None:
    exchange_all(desk, laptop)
    with desk.open() as archive:
        archive.safe.restore(FIRST, tmp_path / "before")
    shutil.rmtree(desk.claude)
    desk.claude.mkdir()
    forget(laptop, FIRST)
    assert desk.pull().forgotten == 1
    assert desk.names() == [SECOND]
    with desk.open() as archive:
        assert archive.safe.bring_back() == [FIRST]
        archive.safe.restore(FIRST, tmp_path / "after")
    assert files_below(tmp_path / "before") == files_below(tmp_path / "after")
    desk.assert_whole()
    assert desk.pull().forgotten == 0
    assert desk.names() == [FIRST, SECOND]
    with desk.open() as archive:
        assert archive.safe.bring_back() == []


def test_what_is_kept_aside_is_gone_after_thirty_days(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    forget(laptop, FIRST)
    desk.pull()
    aside = desk.root / "home" / "forgotten"
    assert len(list(aside.iterdir())) == 1
    for days, left in ((forgotten.DAYS - 1, 1), (forgotten.DAYS + 1, 0)):
        (only,) = aside.iterdir()
        only.rename(aside / str(int(only.name) - days * 86_400_000))
        desk.pull()
        assert len(list(aside.iterdir())) == left
        if left:
            (only,) = aside.iterdir()
            only.rename(aside / str(int(only.name) + days * 86_400_000))


def test_a_key_of_a_journal_keeps_no_other_session_out(desk: Desk, laptop: Desk) -> None:
    """A key that is one letter's digest would leave out every transcript."""
    exchange_all(desk, laptop)
    laptop.forget_machines()
    from reread.index.user_data import content_mark

    write_journal(desk.own, forgotten=[(content_mark(b"{").key, 1), (session_mark("x"), 1)])
    laptop.pull()
    a_session(a_prompt("new"), id="4d5e6f70-4444-4555-8666-777788889999").write(laptop.projects)
    with laptop.open() as archive:
        assert archive.sync().problems == []
        assert len(archive.sessions()) == 3


def test_a_folder_that_cannot_be_read_is_one_sentence(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(RereadError, match="cannot be read"):
        folder.other_parts(tmp_path / "none", desk.id)
    assert replace(folder.Journal(machine="x", label="y"), label="z").label == "z"


def test_pieces_of_a_machine_are_its_own_in_its_folder_alone(desk: Desk, laptop: Desk, tmp_path: Path) -> None:
    desk.push()
    laptop.push()
    put_pieces(laptop.own, pieces_in(desk.own))
    put_pieces(desk.own, [])
    tablet = Desk(tmp_path, "tablet")
    assert any("not of the machine whose folder" in problem for problem in tablet.pull().problems)
    assert tablet.names() == []


def test_no_more_than_a_handful_is_forgotten_unasked_also_in_several_pulls(desk: Desk, laptop: Desk) -> None:
    names = [f"5e6f7081-5555-4666-8777-88889999000{number}" for number in range(6)]
    for name in names:
        a_session(*FEW, id=name).write(desk.projects)
    exchange_all(desk, laptop)
    for part in (names[:4], names[4:]):
        with laptop.open() as archive:
            for name in part:
                archive.safe.forget(name)
        laptop.push()
        small: list[bool] = []
        with desk.open() as archive:
            archive.safe.pull(desk.folder, agree=lambda found, small=small: small.append(found.is_small) or True)  # type: ignore[misc]
        assert small == [part == names[:4]]


def test_a_machine_keeps_its_label_when_its_journal_is_not_believed(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    write_journal(desk.own, label="laptop")
    assert laptop.pull().machines == ["desk"]
    (desk.own / exchange.JOURNAL).unlink()
    assert laptop.pull().machines == ["desk"]


# --- a machine is thrown out


def test_all_of_a_machine_is_thrown_out_and_nothing_else(desk: Desk, laptop: Desk) -> None:
    write_backups(laptop.claude, {BACKUP: b"the same on both"}, SECOND)
    write_backups(desk.claude, {BACKUP: b"the same on both"}, FIRST)
    for each in (desk, laptop):
        a_session(*FEW, id=SHARED).write(each.projects)
    a_session(*MORE, id=SHARED).write(laptop.projects)
    laptop.push()
    desk.pull()  # so that the backup of the desk shares the bytes that came from the laptop
    exchange_all(desk, laptop)
    assert desk.found("axolotl") == 1
    shutil.rmtree(desk.claude)  # the copy of the shared session is all that the desk has of it
    desk.claude.mkdir()
    with desk.open() as archive:
        assert archive.safe.forget_machine("laptop").label == "laptop"
    assert desk.names() == [FIRST, SHARED]
    assert (desk.found("iguana"), desk.found("axolotl")) == (0, 0)
    assert desk.backup(FIRST) == b"the same on both"
    desk.assert_whole()
    for path in (desk.root / "home").rglob("*"):
        assert not path.is_file() or SECOND.encode() not in path.read_bytes(), path
    desk.push()
    (note,) = desk.pull().notes
    assert "laptop was thrown out here" in note
    assert desk.names() == [FIRST, SHARED]
    done, _ = pull_asked(desk, None, trust="laptop")
    assert (done.problems, desk.names(), desk.found("axolotl")) == ([], [FIRST, SECOND, SHARED], 1)
    desk.assert_whole()
    assert laptop.pull().forgotten == 0
    assert laptop.names() == [FIRST, SECOND, SHARED]


def test_this_machine_and_unknown_ones_are_not_thrown_out(desk: Desk, laptop: Desk) -> None:
    exchange_all(desk, laptop)
    with desk.open() as archive:
        with pytest.raises(BadInput, match="is this machine"):
            archive.safe.forget_machine("desk")
        with pytest.raises(BadInput, match="no machine is called"):
            archive.safe.forget_machine("tablet")
    assert desk.names() == [FIRST, SECOND]


@pytest.mark.parametrize("has_own", [True, False])
def test_a_machine_that_lost_file_and_index_never_takes_the_id_of_another(
    desk: Desk, laptop: Desk, *, has_own: bool
) -> None:
    if has_own:
        desk.push()
    laptop.push()
    desk.pull()
    home = desk.root / "home"
    for path in (*home.glob("machine.json"), *home.glob("reread.db*")):
        path.unlink()
    with desk.open() as archive:
        archive.sync()
        found = archive.inner.own_machine().id
    assert (found == desk.id) == has_own
    assert found != laptop.id
