"""The time of a session in a real browser: by mouse and by key to any moment, with the files as they were."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from e2e.browsing import Opened, findings, needs_chromium
from editing import Desk
from reread.testing import a_prompt, a_reply, a_session

pytestmark = [pytest.mark.e2e, needs_chromium]

POEM = "/home/ann/app/poem.txt"


def write_sessions(claude: Path) -> None:
    claude.mkdir(parents=True)
    desk = Desk(claude.parent / "poem.txt", POEM)
    desk.write("one\ntwo\n")
    first = len(desk.entries)
    desk.write("one\nTWO\nthree\n")
    a_session(
        a_prompt("write a poem"),
        *desk.entries[:first],
        a_reply("There it is."),
        a_prompt("better"),
        *desk.entries[first:],
        a_reply("Now it is better."),
        id="poet",
        cwd="/home/ann/app",
    ).write(claude / "projects")
    for name in ("other", "third"):
        a_session(a_prompt(f"the {name}"), a_reply("Well."), id=f"talk-{name}").write(claude / "projects")


@pytest.mark.parametrize(
    "opened",
    [{}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}],
    indirect=True,
    ids=["wide", "phone"],
)
def test_any_moment_is_reached_by_key_and_by_mouse_and_the_files_are_as_they_were(opened: Opened) -> None:
    page = opened.go("/s/poet")
    page.keyboard.press("T")
    bar, slider = page.locator("#time"), page.get_by_label("A moment of this session")
    expect(slider).to_be_focused()
    expect(bar.locator(".what")).to_have_text("prompt 1")
    page.keyboard.press("End")
    expect(bar.locator(".what")).to_have_text("answer, in turn 2")
    expect(bar.locator(".cost")).to_contain_text("$")
    spent = bar.locator(".cost").inner_text()
    bar.get_by_text("Files as they were").click()
    row = bar.locator(".changed-files summary")
    expect(row).to_contain_text("poem.txt")
    expect(row.locator("ins")).to_have_text("+3")
    row.click()
    expect(bar.locator(".diff")).to_contain_text("TWO")
    assert not findings(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    for _ in range(3):
        page.keyboard.press("[")
    expect(bar.locator(".what")).to_have_text("answer, in turn 1")
    expect(row.locator("ins")).to_have_text("+2")
    expect(bar.locator(".diff")).to_contain_text("two")  # it stays open through its time
    expect(bar.locator(".diff")).not_to_contain_text("TWO")
    assert bar.locator(".cost").inner_text() != spent
    box = slider.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 3, box["y"] + box["height"] / 2)
    expect(bar.locator(".what")).to_have_text("prompt 1")
    expect(bar).to_contain_text("No file had been changed by then.")
    slider.press("[")
    expect(page.locator(".key-told")).to_have_text("this is the first moment")
    slider.press("Escape")
    expect(bar).to_be_hidden()


def test_the_track_reads_on_hover_moves_on_drag_and_plays(opened: Opened) -> None:
    page = opened.go("/s/poet")
    page.keyboard.press("T")
    expect(page.locator(".track .prompt")).to_have_count(2)
    expect(page.locator(".track polygon")).to_have_attribute("points", re.compile("1000,60$"))
    bar, box = page.locator("#time"), page.locator(".track svg").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] - 1, middle)
    expect(bar.locator(".what")).to_have_text("answer, in turn 2")
    page.mouse.move(box["x"] + 1, middle - 300)
    expect(bar.locator(".what")).to_have_text("prompt 1")
    page.mouse.move(box["x"] + 1, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, middle)
    page.mouse.up()
    expect(page.get_by_label("A moment of this session")).to_have_value(re.compile("[1-9]"))
    page.get_by_label("A moment of this session").fill("0")
    page.get_by_label("Play, a turn a second").click()
    expect(bar.locator(".what")).to_have_text("prompt 2")
    expect(page.get_by_label("Play, a turn a second")).to_have_attribute("aria-pressed", "false")


def test_files_changed_are_rows_that_open_their_diff(opened: Opened) -> None:
    page = opened.go("/s/poet")
    page.get_by_text("Files changed", exact=True).click()
    row = page.locator(".changes .changed-files summary")
    expect(row.locator("ins")).to_have_text("+3")
    expect(row.locator("del")).to_have_text("−0")
    row.click()
    expect(page.locator(".changes .diff")).to_contain_text("three")
    page.get_by_text("The whole file, 4 lines").click()
    expect(page.locator(".changes .whole-file pre")).to_contain_text("TWO")
    assert not findings(page)
