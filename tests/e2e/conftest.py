"""Real clients, each in a scratch home of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from client.install import VERSIONS, claude_binary
from client.run import Scratch


@pytest.fixture(scope="session", params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Path:
    return claude_binary(request.param)


@pytest.fixture
def scratch(client: Path, tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(client, tmp_path) as scratch:
        yield scratch
