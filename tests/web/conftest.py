"""The application over archives of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.kept import fill
from web.asking import Asking, asking


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """A folder of Claude Code with two sessions."""
    folder = tmp_path / "claude"
    fill(folder)
    return folder


@pytest.fixture
def site(claude: Path, tmp_path: Path) -> Iterator[Asking]:
    with asking(tmp_path / "home", claude) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    """The same for all tests of a module: only for those whose requests never get past the guard."""
    folder = tmp_path_factory.mktemp("guarded")
    fill(folder / "claude")
    with asking(folder / "home", folder / "claude") as made:
        yield made


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Asking]:
    """An archive with nothing in it, over no source."""
    with asking(tmp_path / "empty") as made:
        yield made
