"""Hunks as lines with looks."""

from __future__ import annotations

import pytest

from reread.features.edits.patches import Hunk, hunks_between
from reread.views.file_tables import bar, hunk_lines, place
from reread.views.text import Style


def test_a_hunk_stands_below_its_place_and_each_line_has_its_look() -> None:
    lines = list(hunk_lines(hunks_between("a\nb\n", "a\nc")))
    assert [(line.text, line.look) for line in lines] == [
        ("@@ -1,2 +1,2 @@", "cyan"),
        (" a", None),
        ("-b", "red"),
        ("+c", "green"),
        ("\\ No newline at end of file", "dim"),
    ]
    assert lines[3].painted(Style(True)) == "\x1b[32m+c\x1b[0m"
    assert lines[1].painted(Style(True)) == " a"
    assert lines[3].painted(Style(False)) == "+c"


def test_a_terminal_gets_no_characters_it_would_obey() -> None:
    [_, line] = hunk_lines([Hunk(1, 0, 1, 1, ("+\x1b[2Jx\r",))])
    assert line.text == "+x"


@pytest.mark.parametrize(
    ("hunk", "expected"), [(Hunk(0, 0, 1, 3, ()), "@@ -0,0 +1,3 @@"), (Hunk(5, 1, 5, 1, ()), "@@ -5 +5 @@")]
)
def test_places_are_written_as_in_every_unified_diff(hunk: Hunk, expected: str) -> None:
    assert place(hunk) == expected


@pytest.mark.parametrize(
    ("added", "removed", "width", "expected"),
    [(2, 1, 10, "++-"), (0, 0, 10, ""), (100, 1, 10, "++++++++++-"), (0, 3, 10, "---")],
)
def test_a_bar_has_a_sign_for_every_line_or_for_many(added: int, removed: int, width: int, expected: str) -> None:
    assert "".join(part.text for part in bar(added, removed, width)) == expected
