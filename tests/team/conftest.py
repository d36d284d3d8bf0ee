"""People of a team: each an archive of their own and a role in one PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

psycopg = pytest.importorskip("psycopg", reason="the extra reread[team] is not installed")

from reread.archive import Archive  # noqa: E402
from reread.billing import packaged_prices  # noqa: E402
from reread.team.payload import Sent, push  # noqa: E402
from reread.team.store import Store, grant, initialise  # noqa: E402

from .postgres import Server, programs  # noqa: E402


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    found = programs()
    if found is None:
        pytest.skip("no PostgreSQL here: install the distribution's package `postgresql`")
    # Its own user has to reach it, and every run of pytest closes the folder of all of them again.
    with TemporaryDirectory(prefix="reread-postgres-") as folder:
        made = Server(found, Path(folder))
        yield made
        made.stop()


class Team:
    """A store, and archives of people who push to it."""

    def __init__(self, server: Server, root: Path, place: Path | None = None) -> None:
        self.server, self.root = server, root
        if place is None:
            server.empty_store = server.empty_store or self._made(server.database())
            self.name = server.database(of=server.empty_store)
        else:
            self.name = self._made(server.database(place))

    def _made(self, name: str) -> str:
        with Store(self.server.url("owner", name), is_new=True) as store:
            initialise(store, packaged_prices())
        return name

    def url(self, role: str) -> str:
        return self.server.url(role, self.name)

    def join(self, role: str, team: str, *, sees_text: bool = True) -> None:
        with Store(self.url("owner")) as store:
            grant(store, role, team, sees_text=sees_text)

    def store(self, role: str) -> Store:
        return Store(self.url(role))

    def archive(self, person: str, *sources: Path) -> Archive:
        """Taken in already."""
        archive = Archive(self.root / f"home-{person}", list(sources) or [self.root / person])
        archive.sync()
        return archive

    def push(
        self, person: str, what: str = "ledger", *, is_hashed: bool = False, sources: tuple[Path, ...] = ()
    ) -> Sent:
        with self.archive(person, *sources) as archive, self.store(person) as store:
            return push(archive, store, None, what, is_hashed=is_hashed)


@pytest.fixture
def team(server: Server, tmp_path: Path) -> Team:
    return Team(server, tmp_path)
