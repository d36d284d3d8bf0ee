"""A backup as docs/team.md says, brought back on another server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reread.archive import UsageReport
from reread.billing import packaged_prices
from reread.team.questions import usage
from reread.team.store import Store, initialise, verify
from reread.testing import a_prompt, a_reply, a_session

from .conftest import Team
from .postgres import Server, programs


@pytest.fixture
def other_server() -> Iterator[Server]:
    found = programs()
    assert found is not None
    with TemporaryDirectory(prefix="reread-postgres-") as folder:
        made = Server(found, Path(folder))
        yield made
        made.stop()


def _reports(url: str) -> list[UsageReport]:
    with Store(url) as store:
        return [usage(store, by, timezone=UTC) for by in ("day", "session", "person", "team", "project", "model")]


def _backup(team: Team, *command: str) -> str:
    found = programs()
    assert found is not None
    at = ("-h", "127.0.0.1", "-p", f"{team.server.port}", "-U", "owner")
    return subprocess.run(
        [str(found / command[0]), *at, *command[1:]], check=True, capture_output=True, text=True
    ).stdout


def _restore(url: str, statements: str) -> None:
    subprocess.run(["psql", "-q", "-X", url], input=statements, check=True, capture_output=True, text=True)


def test_a_store_comes_back_on_another_server_with_every_figure_and_right(
    team: Team, other_server: Server, tmp_path: Path
) -> None:
    for name, colour, what in (("ann", "red", "text"), ("bob", "blue", "ledger")):
        team.join(name, colour)
        told = a_session(a_prompt(f"one of {name}"), a_reply("yes"), cwd=f"/src/{colour}")
        told.write(tmp_path / name / "projects")
        team.push(name, what)
    before = {role: _reports(team.url(role)) for role in ("owner", "ann", "bob")}
    roles, store = _backup(team, "pg_dumpall", "--roles-only"), _backup(team, "pg_dump", "-n", "reread", team.name)

    name = other_server.database()
    urls = {role: other_server.url(role, name) for role in before}
    _restore(urls["owner"], roles)
    _restore(urls["owner"], store)
    with Store(urls["ann"]) as copy:
        assert not usage(copy, "person").rows
    with Store(urls["owner"], is_new=True) as copy:
        assert initialise(copy, packaged_prices()) == []
        assert verify(copy, packaged_prices())[1] == []
    assert {role: _reports(url) for role, url in urls.items()} == before
    with team.archive("ann") as archive, Store(urls["ann"]) as copy:
        from reread.team.payload import push

        assert push(archive, copy, None, "text").unchanged == 1
