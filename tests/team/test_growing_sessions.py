"""A session that goes on is sent from where it was: the store comes to what a push of the whole would have made."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

import pytest

from reread import zstd
from reread.archive import Archive
from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS
from reread.billing import packaged_prices
from reread.errors import SafeDamaged
from reread.team import payload as pushes
from reread.team.questions import search, session
from reread.team.store import Store, verify
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result, a_usage
from trees import append, generate, resume_copy

from .conftest import Team
from .postgres import Server
from .test_exact_over_the_team import PEOPLE, split
from .test_teams_apart import IDS, NOW

TABLES = {
    "session": """person, key, team, uuid, project, is_counted, session.digest, has_text, title.digest, content_digest,
                      title, numbers::text
                  FROM reread.session LEFT JOIN reread.title ON title.session = session.id""",
    "file": """session.key, person, file.key, role, kind, head, began, ended, lines, malformed, size, marks
               FROM reread.file JOIN reread.session ON session.id = file.session""",
    "told": """session.key, person, file.key, told.* FROM reread.told JOIN reread.file ON file.id = told.file
               JOIN reread.session ON session.id = file.session""",
    "response": """key, asked, person, team, uuid, input, output, files, rows, doubt, nanodollars, project, tools::text
                   FROM reread.response""",
    "text": """session.key, text.person, text.team, agent, position, text.uuid, time, line, words::text
               FROM reread.text JOIN reread.session ON session.id = text.session""",
}


def content(store: Store) -> list[tuple[object, ...]]:
    """Everything in a store, without the numbers it gave to rows."""
    found: list[tuple[object, ...]] = []
    for name, columns in TABLES.items():
        rows = store.connection.execute(f"SELECT {columns}".encode()).fetchall()
        found += sorted(((name, *row[:3], *row[4:]) if name == "told" else (name, *row) for row in rows), key=repr)
    return found


def grow(tree: Path, rng: random.Random) -> None:
    """Some files of a person go on, one loses its end, one is written anew."""
    files = sorted((tree / "projects").rglob("*.jsonl"))
    for path in rng.sample(files, 3):
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[: rng.randint(1, len(lines))]))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_sent_in_pieces_is_what_one_push_would_have_made(
    server: Server, team: Team, tmp_path: Path, seed: int
) -> None:
    truth = generate(tmp_path / "tree", size=500_000, seed=seed)
    rng = random.Random(seed)
    for person in PEOPLE:
        team.join(person, "builders")
    for step in range(3):
        split(tmp_path / "tree", tmp_path, seed)  # the same dealing, of what has grown
        if step:
            grow(tmp_path / rng.choice(PEOPLE), rng)
        for person in rng.sample(PEOPLE, len(PEOPLE)):
            assert team.push(person, "all").problems == []
        append(tmp_path / "tree", truth, seed=step, sessions=6)
        resume_copy(tmp_path / "tree", truth, seed=step)
    at_once = Team(server, tmp_path)
    for person in PEOPLE:
        at_once.join(person, "builders")
        at_once.push(person, "all")
    with team.store("owner") as store, at_once.store("owner") as other:
        assert content(store) == content(other)
        assert verify(store, packaged_prices())[1] == []
        assert bodies(store) == bodies(other)


def bodies(store: Store) -> list[tuple[str, bytes]]:
    rows = store.rows(
        """SELECT name, string_agg(body, '' ORDER BY part)
           FROM reread.content JOIN reread.session ON session.id = content.session
           GROUP BY session.person, session.key, name ORDER BY session.person, session.key, name"""
    )
    assert rows
    return [(name, zstd.decompress_all(body)) for name, body in rows]


class Growing(NamedTuple):
    path: Path
    rest: str

    def grow(self) -> None:
        with self.path.open("a") as file:
            file.write(self.rest)


@pytest.fixture
def long_one(team: Team, tmp_path: Path) -> Growing:
    """A session without its last turn, which comes later."""
    team.join("ann", "red")
    turns = [
        each for number in range(200) for each in (a_prompt(f"q{number} " * 30), a_reply(f"answer {number} " * 30))
    ]
    path = a_session(*turns, a_prompt("a late lantern"), a_reply("yes"), id=IDS["ann"]).write(
        tmp_path / "ann" / "projects"
    )
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-2]))
    return Growing(path, "".join(lines[-2:]))


@pytest.mark.parametrize("what", ["ledger", "text", "all"])
def test_little_is_sent_when_little_is_new(team: Team, long_one: Growing, what: str) -> None:
    whole = team.push("ann", what).bytes_sent
    long_one.grow()
    sent = team.push("ann", what)
    assert (sent.sent, sent.problems) == (1, [])
    assert sent.bytes_sent < whole / 8
    if what != "ledger":
        with team.store("ann") as store:
            assert search(store, "lantern", DEFAULT_FIELDS, Filter(), 5, NOW).total == 1
            assert len(session(store, IDS["ann"])[0].turns) == 201


def test_a_secret_that_is_learned_late_goes_from_what_was_sent_before(team: Team, tmp_path: Path) -> None:
    """What a name for a secret stands for may be said only later."""
    team.join("ann", "red")
    value = "kqz7Wm3Xv9Lb2Tn5"
    begun = a_session(a_prompt(f"first {value} there"), a_reply("yes"), id=IDS["ann"])
    path = begun.write(tmp_path / "ann" / "projects")
    team.push("ann", "text")
    call = (a_tool_call("Bash", {"command": f"export DB_PASSWORD={value}"}), a_tool_result("done"))
    later = a_session(*call, id=IDS["ann"]).write(tmp_path / "other")
    path.write_text(path.read_text() + later.read_text())
    team.push("ann", "text")
    with team.store("owner") as store:
        assert value not in repr(store.rows("SELECT line, words::text FROM reread.text"))


def test_a_session_that_another_push_changed_meanwhile_is_sent_whole(
    team: Team, long_one: Growing, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.push("ann", "text")
    long_one.grow()
    known = pushes._known

    def interrupted(store: Store, *arguments: object) -> object:
        found = known(store, *arguments)  # type: ignore[arg-type]
        with team.store("owner") as other:
            other.connection.execute("UPDATE reread.session SET digest = 'x'; UPDATE reread.title SET digest = '1.x'")
            other.connection.execute("DELETE FROM reread.text WHERE position > 3")
        return found

    monkeypatch.setattr(pushes, "_known", interrupted)
    with team.archive("ann") as archive, team.store("ann") as store:
        assert pushes.push(archive, store, None, "text").sent == 1
        assert len(session(store, IDS["ann"])[0].turns) == 201


def test_workers_make_the_text_that_one_process_makes(
    server: Server, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(tmp_path / "ann", size=300_000, seed=4)
    other = Team(server, tmp_path)
    told: list[tuple[int, int]] = []
    for each in (team, other):
        each.join("ann", "builders")
    assert team.push("ann", "text").problems == []
    monkeypatch.setattr("reread.workers.ALONE_BELOW", 0)
    with other.archive("ann") as archive, other.store("ann") as store:
        assert pushes.push(archive, store, None, "text", report=lambda *at: told.append(at)).problems == []
    assert told[-1][0] == told[-1][1] > 0
    with team.store("owner") as store, other.store("owner") as again:
        assert content(store) == content(again)


def test_a_session_that_cannot_be_read_is_told_and_the_others_go(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate(tmp_path / "ann", size=60_000, sessions=3, seed=5)
    team.join("ann", "builders")
    with team.archive("ann") as archive, team.store("ann") as store:
        broken = archive.sessions()[0].id
        whole = pushes.text_of

        def text_of(owned: Archive, each: pushes.Outgoing, known: pushes.StoreState) -> pushes.Document:
            if each.stored.row.uuid == broken:
                raise SafeDamaged(1, 0, "its bytes are gone")
            return whole(owned, each, known)

        monkeypatch.setattr(pushes, "text_of", text_of)
        sent = pushes.push(archive, store, None, "text")
        assert (sent.sent, sent.failed) == (len(archive) - 1, 1)
        [problem] = sent.problems
        assert problem.startswith(f"{broken} was not sent: ")
        assert "its bytes are gone" in problem
        monkeypatch.setattr(pushes, "text_of", whole)
        assert pushes.push(archive, store, None, "text").sent == 1


def test_a_push_reads_the_store_by_its_indexes_however_much_is_there(team: Team, tmp_path: Path) -> None:
    team.join("ann", "builders")
    for number in range(40):
        lines = [a_prompt("go"), *(a_reply(f"{number} {step}", usage=a_usage(output=step + 1)) for step in range(5))]
        a_session(*lines, id=f"0a1b2c3d-1111-4222-8333-{number:012}").write(tmp_path / "ann" / "projects")
    team.push("ann")
    with team.store("owner") as store:
        [(responses, read)] = store.rows(
            """SELECT (SELECT count(*) FROM reread.response), sum(seq_tup_read) FROM pg_stat_user_tables
               WHERE relname IN ('response', 'told')"""
        )
    assert responses == 200
    assert read < responses
