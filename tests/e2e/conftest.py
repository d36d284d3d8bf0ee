"""Real clients, each in a scratch home of its own, and a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, StorageState, expect, sync_playwright

from client.install import VERSIONS, claude_binary
from client.run import Scratch
from e2e.browsing import CHROMIUM, FLAGS, Opened, open_page
from web.serving import Served, served, until

expect.set_options(timeout=30_000)  # a test waits for what must come; a busy machine may take its time


@pytest.fixture(params=[pytest.param(each, marks=pytest.mark.sampled(1, over="client")) for each in VERSIONS])
def client(request: pytest.FixtureRequest) -> Path:
    return claude_binary(request.param)


@pytest.fixture
def scratch(client: Path, tmp_path: Path) -> Iterator[Scratch]:
    with Scratch(client, tmp_path) as scratch:
        yield scratch


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer: while it is open, no other test of the process could run a loop of its own."""
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """A server on the sessions that the module's `write_sessions` writes, and where they lie."""
    folder = tmp_path_factory.mktemp("web")
    request.module.write_sessions(folder / "claude")
    with served(folder / "home", folder / "claude") as server:
        yield server, folder / "claude"


@pytest.fixture(scope="module")
def signed_in(browser: Browser, place: tuple[Served, Path]) -> StorageState:
    """What a browser keeps that was once at the printed address, after the sessions were imported."""
    context = browser.new_context()
    found = open_page(context, *place)
    found.page.goto(found.server.address)
    until(lambda: _lists(found) >= 3)
    kept = context.storage_state()
    context.close()
    return kept


def _lists(found: Opened) -> int:
    try:
        return found.go("/sessions").locator(".list a.row").count()
    except Error:  # the page loaded itself again meanwhile, since more was imported
        return 0


@pytest.fixture
def opened(
    browser: Browser, place: tuple[Served, Path], signed_in: StorageState, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    """An empty page that may see the sessions that its module's `place` serves; in the end nobody has complained."""
    wanted = getattr(request, "param", {})
    size = {"viewport": {"width": 1300, "height": 900}}
    context = browser.new_context(**{**size, "storage_state": signed_in, **wanted})
    found = open_page(context, *place)
    yield found
    assert not found.complaints
    assert not found.foreign
    context.close()
