"""A session that lies in several folders: each copy has an address and a name, and leads to the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import reread
from reread.archive import Archive
from reread.errors import AmbiguousSession, UnknownSession
from reread.testing import a_prompt, a_reply, a_session, a_usage
from reread.web.archive_pool import ArchivePool, ServerSettings
from web.asking import asking

KEPT = "3f2a0000-aaaa-4000-8000-000000000001"


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The second copy went on."""
    folder = tmp_path / "claude"
    for name, more in (("one", []), ("other", [a_prompt("and go on"), a_reply("Gone on.")])):
        said = [a_prompt("keep two of me", uuid="c-1"), a_reply("Kept.", uuid="c-2"), *more]
        a_session(*said, id=KEPT, cwd=f"/home/ann/{name}").write(folder / "projects")
    return folder


@pytest.fixture
def home(claude: Path, tmp_path: Path) -> Path:
    with Archive(tmp_path / "home", [claude]) as archive:
        archive.sync()
    return tmp_path / "home"


def names(home: Path) -> list[str]:
    with Archive(home) as archive:
        return [each.stored.name for each in archive.sessions()]


def test_each_copy_has_an_address_and_names_the_others(home: Path, claude: Path) -> None:
    newest, older = names(home)
    with asking(home, claude) as site:
        assert {f"/s/{newest}", f"/s/{older}"} <= set(site.page("/sessions").links())
        pages = {name: site.page(f"/s/{name}") for name in (newest, older)}
        assert "Gone on." in pages[newest].text
        assert "Gone on." not in pages[older].text
        assert f"/s/{older}" in pages[newest].links()
        assert f"/s/{newest}" in pages[older].links()
        plain = site.page(f"/s/{KEPT}")
        assert "Gone on." in plain.text, "the id alone is the newest, as everywhere"
        assert next(each for each in plain.of("div") if "data-session" in each)["data-session"] == f"/s/{newest}"
        assert "Gone on." not in site.get(f"/s/{older}/turns").text
        assert site.get(f"/s/{KEPT}~000000").status_code == 404


def test_a_cost_that_another_session_tells_too_is_marked(tmp_path: Path) -> None:
    shared = a_reply("yes", id="msg_1", usage=a_usage(10, 200), timestamp="2026-11-02T10:00:00.000Z")
    for name in ("a11", "b0b"):
        a_session(a_prompt("q"), shared, id=name).write(tmp_path / "claude" / "projects")
    with Archive(tmp_path / "home", [tmp_path / "claude"]) as archive:
        archive.sync()
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        costs = [tag for tag in site.page("/sessions").of("span") if tag.get("class") == "cost"]
        assert sorted(bool(tag.get("title")) for tag in costs) == [False, True]


def test_a_page_that_was_opened_by_the_plain_id_still_hears_when_a_copy_has_come(home: Path, claude: Path) -> None:
    newest, older = names(home)
    library = ArchivePool(ServerSettings(home, (claude,)))
    stamps = library.stamps([KEPT, newest, older, "nobody"])
    library.close()
    assert stamps[KEPT] == stamps[newest] != stamps[older]
    assert "nobody" not in stamps


def test_the_name_of_a_copy_outlasts_the_other_one(home: Path) -> None:
    newest, older = names(home)
    with Archive(home) as archive:
        archive.safe.forget(older)
        left = archive.find(newest)
        assert (left.name, left.row.project) == (KEPT, "/home/ann/other")
        with pytest.raises(UnknownSession):
            archive.find(older)


def test_a_session_without_copies_is_called_by_its_id(tmp_path: Path) -> None:
    a_session(a_prompt("alone"), id=KEPT).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as site:
        assert f"/s/{KEPT}" in site.page("/sessions").links()
        assert "Also kept as" not in site.page(f"/s/{KEPT}").text


def test_names_stay_when_the_index_is_made_anew(home: Path) -> None:
    before = names(home)
    with Archive(home) as archive:
        archive.safe.rebuild()
    assert names(home) == before
    assert len(set(before)) == 2


def test_a_copy_is_found_by_its_name_and_by_a_beginning_of_it(home: Path) -> None:
    newest, older = names(home)
    sign = older.rpartition("~")[2]
    with Archive(home) as archive:
        found = {wanted: archive.find(wanted).name for wanted in (KEPT, "3f2a", older, f"3f2a~{sign}", "@2")}
        assert found == {KEPT: newest, "3f2a": newest, older: older, f"3f2a~{sign}": older, "@2": older}
        assert [each.name for each in archive.copies(archive.find(older))] == [newest]


def test_copies_are_not_chosen_from_where_it_cannot_be_undone(home: Path) -> None:
    newest, older = names(home)
    with Archive(home) as archive:
        with pytest.raises(AmbiguousSession) as raised:
            archive.safe.forget("3f2a")
        assert newest in str(raised.value)
        assert older in str(raised.value)
        archive.safe.forget(older)
    assert names(home) == [KEPT], "what is left needs no sign any more"


def test_the_command_line_says_which_copy_it_shows_and_takes_the_name_of_the_other(home: Path, claude: Path) -> None:
    newest, older = names(home)
    where = ("--home", home, "--source", claude)
    done = reread("show", KEPT, *where)
    assert "Gone on." in done.out
    assert f"this is {newest} in " in done.err
    assert f"there is also {older} in " in done.err
    named = reread("show", older, *where)
    assert "Kept." in named.out
    assert "Gone on." not in named.out
    assert "there is also" not in named.err
    refused = reread("archive", "forget", KEPT, "--yes", "--home", home)
    assert refused.code != 0
    assert older in refused.err
