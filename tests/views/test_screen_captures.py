"""What real clients said, on the screen: nothing lost, nothing twice, within the width, and the same as documents."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from reread.live import events
from reread.live.capture import replay
from reread.live.events import Event
from reread.views.screen import Screen
from reread.views.session_json import event_document
from reread.views.text import Style, harmless
from reread.views.values import View, encoded
from screens import displayed

CAPTURES = sorted((Path(__file__).parents[1] / "wire" / "captures").glob("*/*.wire"))


def name(wire: Path) -> str:
    return f"{wire.parent.name}-{wire.stem}"


def events_of(wire: Path) -> list[Event]:
    return [event for _, event in replay(wire)]


def rows(found: list[Event], width: int, *, is_terminal: bool) -> list[str]:
    screen = Screen(View(width=width, style=Style(is_terminal)), is_terminal=is_terminal)
    return displayed("".join(map(screen.show, found)) + screen.rest(), width)


def squeezed(text: str) -> str:
    return re.sub(r"[\s│]", "", text)


def has_no_deltas(found: list[Event]) -> list[Event]:
    return [event for event in found if not isinstance(event, events.Delta)]


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_every_thought_and_word_is_on_the_screen(wire: Path) -> None:
    found = events_of(wire)
    said = [event for event in found if isinstance(event, events.Thinking | events.Text)]
    for width, is_terminal in ((60, True), (100, False)):
        screen = squeezed("".join(rows(found, width, is_terminal=is_terminal)))
        for event in said:
            assert squeezed(harmless(event.text)) in screen


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_a_terminal_shows_in_the_end_what_a_file_would_hold(wire: Path) -> None:
    found = events_of(wire)
    passing = ("  · waiting for the model", "  · compacting")
    shown = rows(found, 80, is_terminal=True)
    shown = shown[:-1] if shown[-1].startswith(passing) else shown
    assert "\n".join(shown).rstrip() == "\n".join(rows(found, 80, is_terminal=False)).rstrip()


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_blocks_that_were_not_taken_back_look_the_same_without_their_deltas(wire: Path) -> None:
    found = events_of(wire)
    if any(isinstance(event, events.Withdrawn) for event in found):
        pytest.skip("shows what was taken back")
    whole = rows(has_no_deltas(found), 80, is_terminal=False)
    assert sorted(map(squeezed, rows(found, 80, is_terminal=False))) == sorted(map(squeezed, whole))


@pytest.mark.parametrize("wire", CAPTURES, ids=name)
def test_every_event_is_a_document_with_its_place_first(wire: Path) -> None:
    for event in events_of(wire):
        document = json.loads(encoded(event_document(event)))
        assert list(document)[:5] == ["event", "session", "agent", "message_id", "index"]
