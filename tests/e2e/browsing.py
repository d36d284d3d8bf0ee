"""A real browser, and what it complains about."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from web.serving import Served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; install the package chromium")

# The first for machines where tests run as root; the others keep the browser from calling home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class Opened(NamedTuple):
    page: Page
    server: Served
    claude: Path
    complaints: list[str]
    """What the browser had to complain about."""
    foreign: list[str]
    """Requests to anywhere else."""

    def go(self, path: str) -> Page:
        self.page.goto(f"{self.server.base}{path}")
        return self.page


def open_page(context: BrowserContext, server: Served, claude: Path) -> Opened:
    page = context.new_page()
    found = Opened(page, server, claude, [], [])
    page.on("console", lambda said: found.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("response", lambda got: found.complaints.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith((server.base, "data:")) else found.foreign.append(asked.url),
    )
    return found


def findings(page: Page, *rules: str) -> list[tuple[str, str, str]]:
    """What the rules of accessibility say against a page: all of them, or those that are named."""
    found = Axe().run(page, options={"runOnly": [*rules]} if rules else None).response["violations"]
    return [(each["impact"], each["id"], each["nodes"][0]["html"]) for each in found]
