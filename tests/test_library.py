"""The library as people type it: keywords, texts, names of sessions, and errors that say what would have been right."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import reread
from reread import errors
from reread.archive import Answer, Archive
from reread.testing import a_prompt, a_session

SAMPLES = Path(reread.__file__).parent / "samples"
WITH_OUTPUT_FILE = Path(__file__).parent / "eras" / "e04-agent" / "source"
NEWEST = "3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with reread.open(home=tmp_path_factory.mktemp("home"), sources=[SAMPLES]) as opened:
        opened.sync()
        yield opened


def test_an_archive_is_a_collection_of_sessions(archive: Archive) -> None:
    assert len(archive) == len(archive.sessions()) == 18
    assert archive["@last"].id == archive["3f2a"].id == next(iter(archive)).id == NEWEST
    assert [each.id for each in archive] == [each.id for each in archive.sessions()]
    assert "3f2a" in archive
    assert "zzzz" not in archive


def test_a_session_is_found_by_whatever_named_one_before(archive: Archive) -> None:
    listed = archive.sessions(limit=1)[0]
    hit = archive.search("jitter", limit=1).hits[0]
    for name in (NEWEST, "@last", "@1", listed, listed.stored, hit.session):
        assert archive.session(name).id == NEWEST


@pytest.mark.parametrize(
    "since", ["2026-10-10", date(2026, 10, 10), datetime(2026, 10, 10), datetime(2026, 10, 10, tzinfo=UTC)]
)
def test_times_are_given_as_text_or_as_values(archive: Archive, since: str | date | datetime) -> None:
    found = archive.sessions(since=since, timezone="UTC")
    assert found
    assert found == [each for each in archive.sessions() if each.ended and each.ended.date() >= date(2026, 10, 10)]
    assert archive.usage(since=since, timezone="UTC").totals == archive.usage(since="2026-10-10", timezone=UTC).totals


def test_every_question_takes_the_filters_by_name(archive: Archive) -> None:
    ready = reread.Filter(project="lantern", tool="Edit")
    assert archive.sessions(project="lantern", tool="Edit") == archive.sessions(ready)
    assert archive.usage("model", project="lantern") == archive.usage("model", reread.Filter(project="lantern"))
    assert archive.prompts(project="lantern", limit=3) == archive.prompts(reread.Filter(project="lantern", limit=3))
    assert all("lantern" in (each.session.row.project or "") for each in archive.search("a", project="lantern").hits)
    assert archive.count_sessions(project="lantern") == len(archive.sessions(project="lantern")) > 0
    assert archive.search("jitter", fields="thinking") == archive.search("jitter", fields=["thinking"])


def test_files_decisions_summaries_and_branches_are_asked_of_sessions(archive: Archive) -> None:
    session = archive.session("5b2f")
    assert [each.status for each in session.diff("queue.py")] == ["modified"]
    assert session.diff("*.css") == []
    assert [each.answer for each in session.decisions] == ["SQLite file"]
    assert list(session.decisions) == archive.decisions()
    assert session.summary().decisions == session.decisions
    file = archive.file("checkout/Address.tsx")
    written = file.blame()
    assert "\n".join(each.text for each in written) == file.content.removesuffix("\n")
    assert file.at("2020-01-01") != file.content
    rewound = archive.session(NEWEST)
    assert sum(each.usage.requests for each in rewound.branches) == rewound.usage.requests
    assert reread.load(archive.sources[0] / "projects" / "-home-ann-lantern" / f"{NEWEST}.jsonl").diff()


def test_a_session_outlives_its_archive(tmp_path: Path) -> None:
    with reread.open(home=tmp_path, sources=[SAMPLES]) as opened:
        opened.sync()
        session = opened.session("5b2f")
    assert [each.path for each in session.diff()] == ["/home/ann/lantern/src/lantern/queue.py"]


MODEL = dict.fromkeys(("input", "output", "cache_write_5m", "cache_write_1h", "cache_read"), "1000")
PRICES = json.dumps({"as_of": "2026-11-01", "models": {"claude-opus-4-8": [MODEL]}})


def test_prices_in_the_folder_of_the_archive_count_wherever_that_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = SAMPLES / "projects" / "-home-ann-lantern" / f"{NEWEST}.jsonl"
    usual = reread.load(path).cost
    (tmp_path / "prices.json").write_text(PRICES)
    with reread.open(home=tmp_path, sources=[path]) as opened:
        opened.sync()
        own = opened.session(NEWEST).cost
        assert opened.usage("session").totals.cost == opened.session(NEWEST).total_usage.cost
    assert own is not None and usual is not None and own > 10 * usual
    assert reread.load(path).cost == usual
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    assert reread.load(path).cost == reread.load(NEWEST).cost == own


def test_a_home_and_sources_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    opened = reread.open(home="~/archive", sources=["~/.claude"])
    assert (opened.home, opened.sources) == (tmp_path / "archive", (tmp_path / ".claude",))


def test_no_sources_are_none_and_not_those_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(SAMPLES))
    assert reread.open(home=tmp_path).sources == (SAMPLES,)
    assert reread.open(home=tmp_path, sources=[]).sources == ()


class Place:
    """A path as other libraries have them."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return str(self._path)


def test_whatever_stands_for_a_path_is_one(tmp_path: Path) -> None:
    path = SAMPLES / "projects" / "-home-ann-lantern" / f"{NEWEST}.jsonl"
    assert reread.load(Place(path)).id == NEWEST
    assert list(reread.read(Place(path))) == list(reread.read(str(path)))
    opened = reread.open(home=Place(tmp_path), sources=Place(path))
    assert (opened.home, opened.sources) == (tmp_path, (path,))


@pytest.mark.parametrize("wrong", [None, 7, b"a.jsonl", "a.jsonl".encode, io.BytesIO(b"{}"), [Path("a.jsonl")]])
def test_what_is_no_path_is_an_error_of_ours(wrong: Any) -> None:
    asks: list[Callable[[Any], object]] = [
        reread.load,
        lambda given: next(reread.read(given)),
        lambda given: next(reread.follow(given)),
        lambda given: reread.open(home=0 if given is None else given),  # type: ignore[arg-type]
        lambda given: reread.open(sources=[given]),
    ]
    for ask in asks:
        with pytest.raises(reread.BadInput):
            ask(wrong)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_folder_that_cannot_be_is_an_error_of_ours(name: str) -> None:
    with pytest.raises(reread.BadInput):
        reread.open(home=name)
    with pytest.raises(reread.BadInput):
        reread.open(sources=[name])


def test_what_another_archive_listed_is_found_by_its_name(archive: Archive, tmp_path: Path) -> None:
    with reread.open(home=tmp_path, sources=[SAMPLES / "projects" / "-home-ann-orchard"]) as other:
        other.sync()
        known = {each.id for each in other.sessions()}
        for listed in archive.sessions():
            if listed.id in known:
                assert other.session(listed).records == archive.session(listed).records
            else:
                with pytest.raises(reread.UnknownSession):
                    other.session(listed)
        copied = next(each for each in archive.sessions() if each.id in known)
        assert other.inner.find_one(copied.stored).row.uuid == copied.id


def test_half_an_emoji_names_nothing(archive: Archive) -> None:
    with pytest.raises(reread.UnknownSession):
        archive.session("\ud83d")
    assert "\ud83d" not in archive
    assert archive.usage(model="\ud83d").rows == ()
    with pytest.raises(reread.BadInput):
        archive.billing.explain("\ud83d")


def test_files_are_asked_for_by_any_path(archive: Archive) -> None:
    session = archive.session("5b2f")
    assert session.diff(Path("lantern/queue.py")) == session.diff("lantern/queue.py") != []
    assert archive.files.touched(Path("lantern/queue.py")) == archive.files.touched("lantern/queue.py")
    assert archive.inner.keeps(str(SAMPLES)) and archive.inner.keeps(SAMPLES)


def test_a_database_is_written_to_a_new_file_only(archive: Archive, tmp_path: Path) -> None:
    own = tmp_path / "own.db"
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("CREATE TABLE mine (number)")
    before = own.read_bytes()
    with pytest.raises(reread.StoreError, match="there is a file already"):
        archive.write_database(own)
    assert own.read_bytes() == before
    assert archive.write_database(str(tmp_path / "new.db")).rows["sessions"] == 18


def outputs(session: reread.Session) -> list[str | None]:
    return [session.full_output(call) for call in session.tool_calls]


def test_outputs_in_files_of_their_own_are_read_when_the_archive_is_closed_and_in_another_process(
    tmp_path: Path,
) -> None:
    with reread.open(home=tmp_path / "home", sources=[WITH_OUTPUT_FILE]) as opened:
        opened.sync()
        [session] = opened
        before = outputs(session)
        assert before[0] is not None and before[0].startswith("   1 logs/0001.log")
        handed = pickle.loads(pickle.dumps(session))  # noqa: S301  our own
    assert outputs(session) == outputs(handed) == before
    assert handed.summary() == session.summary()
    shutil.rmtree(tmp_path / "home")
    shown = outputs(handed)[0]
    assert shown is not None and "Preview" in shown
    assert not (tmp_path / "home").exists()


def test_a_copy_of_an_archive_opens_its_own_database(archive: Archive) -> None:
    handed = pickle.loads(pickle.dumps(archive))  # noqa: S301  our own
    with handed:
        assert handed.sessions() == archive.sessions()
    assert archive.inner.is_open


def test_what_is_shown_says_what_it_is(archive: Archive, tmp_path: Path) -> None:
    assert repr(archive) == f"<Archive {archive.home}, 18 sessions>"
    nothing = Archive(tmp_path / "none")
    assert repr(nothing) == f"<Archive {tmp_path / 'none'}, nothing imported yet>"
    assert nothing and not (tmp_path / "none").exists()
    assert repr(archive.sessions(limit=1)) == f"[<Listed {NEWEST} 'Fix the flaky retry test', $0.45>]"
    assert repr(archive.usage("project", project="lantern")).startswith("<UsageReport by project, 2 rows, ")
    assert "2 turns" not in repr(archive.session(NEWEST).branches[0])


WRONG: list[Callable[[Archive], object]] = [
    lambda a: a.session(5),  # type: ignore[arg-type]
    lambda a: a[None],  # type: ignore[index]
    lambda a: a.sessions("lantern"),  # type: ignore[arg-type]
    lambda a: a.sessions(sinse="7d"),  # type: ignore[call-arg]
    lambda a: a.sessions(since="one day"),
    lambda a: a.sessions(since=5),  # type: ignore[arg-type]
    lambda a: a.sessions(since="2026-10-02", until="2026-10-01"),
    lambda a: a.sessions(limit=0),
    lambda a: a.sessions(limit=10**30),
    lambda a: a.sessions(limit="3"),  # type: ignore[arg-type]
    lambda a: a.sessions(starred="yes"),  # type: ignore[arg-type]
    lambda a: a.sessions(tags=3),  # type: ignore[arg-type]
    lambda a: a.sessions(project=7),  # type: ignore[arg-type]
    lambda a: a.sessions(machine="nobody's"),
    lambda a: a.usage("moon"),
    lambda a: a.usage(["day"]),  # type: ignore[arg-type]
    lambda a: a.usage(timezone="Nowhere/At_All"),
    lambda a: a.usage(timezone=2),  # type: ignore[arg-type]
    lambda a: a.search(5),  # type: ignore[arg-type]
    lambda a: a.search("x", fields=["nowhere"]),
    lambda a: a.search("x", fields=5),  # type: ignore[arg-type]
    lambda a: a.search("x", limit=-1),
    lambda a: a.search("(", is_regex=True),
    lambda a: a.thinking(min_length="x"),  # type: ignore[arg-type]
    lambda a: a.decisions(topic=5),  # type: ignore[arg-type]
    lambda a: a.file(5),  # type: ignore[arg-type]
    lambda a: a.file("no such file"),
    lambda a: a.file("checkout/Address.tsx").at(5),  # type: ignore[arg-type]
    lambda a: a.file("checkout/Address.tsx").at("never"),
    lambda a: a.sql(5),  # type: ignore[arg-type]
    lambda a: a.sql("DELETE FROM session"),
    lambda a: a.billing.caching("moon"),
    lambda a: a.billing.explain(5),  # type: ignore[arg-type]
    lambda a: a.friction.retro(kinds="headache"),
    lambda a: a.friction.retro(by="moon"),
    lambda a: a.friction.mark_wrong(5),  # type: ignore[arg-type]
    lambda a: a.marks.set("@last", tags=5),  # type: ignore[arg-type]
    lambda a: a.marks.set("@last", note=5),  # type: ignore[arg-type]
    lambda a: a.marks.set("@last", starred="yes"),  # type: ignore[arg-type]
    lambda a: a.marks.move_project(1, 2),  # type: ignore[arg-type]
    lambda a: a.safe.restore("@last", 5),  # type: ignore[arg-type]
    lambda a: a.safe.push("/no/such/folder"),
    lambda a: a.inner.label_machine(5),  # type: ignore[arg-type]
    lambda _: reread.load(5),  # type: ignore[arg-type]
    lambda _: reread.open(home=5),  # type: ignore[arg-type]
    lambda _: reread.open(sources=5),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("ask", WRONG, ids=range(len(WRONG)))
def test_wrong_arguments_are_bad_input_in_one_sentence(archive: Archive, ask: Callable[[Archive], object]) -> None:
    with pytest.raises(reread.BadInput) as raised:
        ask(archive)
    assert "\n" not in str(raised.value)


def test_every_exception_is_in_one_tree_and_can_be_imported() -> None:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert {each.__name__ for each in found} == set(errors.__all__)
    assert all(issubclass(each, reread.RereadError) for each in found)
    assert all(getattr(reread, each.__name__) is each for each in found)


AskForAnswer = Callable[[Archive], Answer[Any]]
ANSWERS: tuple[AskForAnswer, ...] = (
    lambda a: a.search("lantern"),
    lambda a: a.usage("model"),
    lambda a: a.prompts(),
    lambda a: a.thinking(),
    lambda a: a.billing.caching(),
    lambda a: a.friction.retro(),
)


@pytest.mark.parametrize("ask", ANSWERS)
def test_an_answer_is_gone_through_counted_and_shown_as_a_table(
    archive: Archive, ask: Callable[[Archive], Answer[object]]
) -> None:
    answer = ask(archive)
    rows = answer.to_dicts()
    assert len(answer) == len(list(answer)) == len(rows) <= answer.total
    assert all(isinstance(row, dict) and set(row) == set(rows[0]) for row in rows)
    assert answer._repr_html_().count("<tr>") == len(rows) + 1
    assert max(map(len, (repr(answer), *map(repr, answer)))) <= 300
    assert answer


def test_the_table_of_an_answer_is_escaped(tmp_path: Path) -> None:
    a_session(a_prompt("<b>lantern</b> " + "x" * 500)).write(tmp_path / "projects")
    with reread.open(tmp_path / "home", tmp_path / "projects") as archive:
        archive.sync()
        shown = archive.prompts()._repr_html_()
    assert "&lt;b&gt;lantern" in shown
    assert "x…</td>" in shown


def test_the_length_of_an_archive_that_is_not_there_is_none_and_makes_none(tmp_path: Path) -> None:
    assert len(reread.open(tmp_path / "none", [])) == 0
    assert reread.open(tmp_path / "none", []).is_empty
    assert not (tmp_path / "none").exists()


def test_what_an_answer_holds_names_its_session(archive: Archive) -> None:
    hit = next(iter(archive.search("lantern")))
    assert archive.session(hit).id == hit.session.row.uuid
