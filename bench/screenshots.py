"""Pictures of the pages on a desk, on a dark tablet and on a phone, and what the rules of accessibility say about each.

    python bench/screenshots.py [--to docs/images] [--only NAME]

The sessions are those of `reread demo`; what waits on the page Live is asked by the tests' stand-in for the client.
One of them has a Chinese title, so a font with such letters must be there (Debian: fonts-wqy-microhei).
Ends with 1 where a page breaks a rule or is wider than its screen.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

from reread.cli import overview

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1440, "height": 900}},
    "dark": {"viewport": {"width": 1024, "height": 768}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
SESSION = "/s/3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65"


class Shot(NamedTuple):
    path: str
    act: Callable[[Page], None] = lambda _: None


def _time(page: Page) -> None:
    page.keyboard.press("T")
    page.locator("#time").wait_for()
    for _ in range(3):
        page.keyboard.press("PageUp")
    page.keyboard.press("End")
    page.locator(".then-files summary").first.click()
    page.locator("#time .changed-files, #time .empty").first.wait_for()


def _cost(page: Page) -> None:
    page.keyboard.press("$")
    page.locator(".turn-costs li").first.wait_for()


def _agents(page: Page) -> None:
    page.locator("#agents summary").click()
    page.locator(".lanes li").first.wait_for()


def _palette(page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("lantern")
    page.locator(".palette li").nth(2).wait_for()


def _list(page: Page) -> None:
    page.keyboard.press("Shift+L")
    page.locator("#session-list a.row").first.wait_for()


def _filled(page: Page) -> None:
    page.locator("[data-fill] .chart, [data-fill] .table").first.wait_for()


SHOTS = {
    "home": Shot("/"),
    "live": Shot("/live", lambda page: page.locator(".queued").first.wait_for()),
    "sessions": Shot("/sessions"),
    "session": Shot(SESSION),
    "cost": Shot(SESSION, _cost),
    "agents": Shot(SESSION, _agents),
    "list-beside": Shot(SESSION, _list),
    "time": Shot(SESSION, _time),
    "palette": Shot("/sessions", _palette),
    "search": Shot("/search?q=retry"),
    "usage": Shot("/usage?since=all", _filled),
    "retro": Shot("/retro?since=all"),
    "secrets": Shot("/secrets", lambda page: page.locator("main progress").wait_for(state="detached")),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--only", choices=list(SHOTS), action="append")
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        wait_for_a_question(browser.new_page(), address)
        found = [
            problem
            for screen, look in SCREENS.items()
            for problem in shoot(browser.new_page(**look), address, screen, given.only or list(SHOTS), given.to)
        ]
        browser.close()
    print("\n".join(found) or "no page breaks a rule")
    return int(bool(found))


def shoot(page: Page, address: str, screen: str, names: list[str], to: Path) -> Iterator[str]:
    base = address.partition("/?")[0]
    page.goto(address)
    for name in names:
        page.goto(f"{base}{SHOTS[name].path}")
        SHOTS[name].act(page)
        page.wait_for_timeout(400)
        for each in Axe().run(page).response["violations"]:
            yield f"{name} {screen}: {each['id']} {each['nodes'][0]['html'][:160]}"
        if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            yield f"{name} {screen}: wider than its screen"
        picture = to / f"{name}-{screen}.webp"
        wire = page.context.new_cdp_session(page)
        drawn = wire.send("Page.captureScreenshot", {"format": "webp", "quality": 70})
        picture.write_bytes(b64decode(drawn["data"]))
        page.evaluate("localStorage.removeItem('reread-list')")  # what one picture opens does not stay for the next
        print(f"{picture.name:28} {picture.stat().st_size / 1000:5.0f} kB")


def wait_for_a_question(page: Page, address: str) -> None:
    """A session that waits, for the page Live."""
    page.goto(address)
    page.goto(f"{address.partition('/?')[0]}/live")
    page.get_by_label("Prompt").fill("Write a poem about the harbour")
    page.get_by_label("Folder").fill(tempfile.gettempdir())
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"/live/[\w-]+$"))
    page.locator(".ask").first.wait_for()
    page.close()


@contextmanager
def serving() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="reread-shots-") as folder:
        client = Path(folder) / "claude"
        fake = ROOT / "tests" / "live" / "fake_client.py"
        client.write_text(f"#!/bin/sh\nexec '{sys.executable}' '{fake}' asks_permission \"$@\"\n")
        client.chmod(client.stat().st_mode | stat.S_IXUSR)
        place, home = Path(folder, "sample"), Path(folder, "home")
        overview._lay_out(place, datetime.now(UTC))  # `demo serve` itself starts no client
        overview._fill(place, home)
        options = ("--no-browser", "--port", "0", "--claude", str(client), "--source", str(place), "--home", str(home))
        environment = {**os.environ, "HOME": folder}
        command = [sys.executable, "-m", "reread", "serve", *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().split()[-1]
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
