"""How smoothly a session of 10,000 messages scrolls in a real browser, beside an empty long page of the same server.

    python bench/scrolling.py [--screens 120]

Scrolls as a person does with a wheel, waits for what is loaded meanwhile, and counts frames that took longer than
50 ms and the tasks that kept the page from answering. Needs Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from pages import FLAGS, LONG, serving, write_long
from reread.archive import Archive

LONG_FRAME = 50.0
NOTCH, NOTCHES = 100, 8
"""Pixels of one turn of the wheel, and how many make a screen."""
WATCH = """() => {
  window.frames_seen = []; window.tasks_seen = [];
  let last = performance.now();
  const step = now => { window.frames_seen.push(now - last); last = now; requestAnimationFrame(step); };
  requestAnimationFrame(step);
  new PerformanceObserver(list => { for (const each of list.getEntries()) window.tasks_seen.push(each.duration); })
    .observe({entryTypes: ["longtask"]});
}"""
TALL = """() => {
  document.querySelector("main").replaceChildren();
  for (let n = 0; n < 4000; n++) {
    const line = document.createElement("p");
    line.textContent = `line ${n}`;
    document.querySelector("main").append(line);
  }
}"""


class Scrolled(NamedTuple):
    frames: list[float]
    tasks: list[float]
    pieces: int

    def told(self, name: str) -> str:
        ordered = sorted(self.frames)
        slow = sum(frame > LONG_FRAME for frame in ordered)
        return (
            f"{name:34} {len(ordered):6,} frames, median {ordered[len(ordered) // 2]:5.1f} ms, 99 of 100 within "
            f"{ordered[len(ordered) * 99 // 100]:6.1f} ms, longest {ordered[-1]:6.1f} ms; "
            f"{slow} over {LONG_FRAME:.0f} ms, "
            f"{len(self.tasks)} long tasks, {self.pieces:,} pieces in the page"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screens", type=int, default=120)
    given = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium is not None, "install Chromium"
    with tempfile.TemporaryDirectory(prefix="reread-bench-") as folder, sync_playwright() as playwright:
        source, home = write_long(Path(folder)), Path(folder) / "home"
        with Archive(home, [source]) as archive:
            archive.sync()
        with serving(home, [source]) as server:
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            name, _, token = server.cookie.partition("=")
            base = f"http://127.0.0.1:{server.port}"
            page.context.add_cookies([{"name": name, "value": token, "url": base}])
            page.goto(f"{base}/empty")
            page.evaluate(TALL)
            empty = scrolled(page, given.screens)
            page.goto(f"{base}/s/{LONG}")
            long = scrolled(page, given.screens)
            browser.close()
    print(empty.told("an empty long page"))
    print(long.told("a session of 10,000 messages"))
    slower, longer = sum(long.frames) / sum(empty.frames), max(long.frames) / max(empty.frames)
    print(f"time in frames: {slower:.2f}x, longest frame: {longer:.1f}x")


def scrolled(page: Page, screens: int) -> Scrolled:
    page.wait_for_timeout(500)
    page.mouse.move(600, 450)
    page.evaluate(WATCH)
    for _ in range(screens):
        for _ in range(NOTCHES):
            page.mouse.wheel(0, NOTCH)
            page.wait_for_timeout(16)
    found: dict[str, Any] = page.evaluate(
        "() => ({frames: window.frames_seen.slice(2), tasks: window.tasks_seen,"
        " pieces: document.querySelectorAll('.piece').length})"
    )
    return Scrolled(found["frames"], found["tasks"], found["pieces"])


if __name__ == "__main__":
    main()
