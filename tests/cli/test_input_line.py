"""What is typed at `reread run`: editing, several lines, history, completion, paste, and what the screen shows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reread.cli.input_line import InputLine, KeyAction


def typed(*keys: str, **options: object) -> InputLine:
    line = InputLine(**options)  # type: ignore[arg-type]
    for each in keys:
        line.feed(each)
    return line


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["hello"], "hello"),
        (["helo", "\x1b[D", "l"], "hello"),
        (["ello", "\x01", "h", "\x05", "!"], "hello!"),
        (["hallo", "\x7f" * 4, "ello"], "hello"),
        (["one two", "\x17", "2"], "one 2"),
        (["one two", "\x15"], ""),
        (["one two", "\x1bb", "\x0b"], "one "),
        (["one two", "\x1bb", "\x1bb", "\x1bf", "!"], "one! two"),
        (["ab", "\x1b[D", "\x1b[3~"], "a"),
        (["first\\", "\n", "second"], "first\nsecond"),
        (["first", "\x1b\n", "second"], "first\nsecond"),
        (["\x1b[200~one\r\ntwo\x1b[201~ three"], "one\ntwo three"),
        (["\x1b[200~one\r", "two\x1b[2", "01~"], "one\ntwo"),
        (["a", "\x1b", "[D", "b"], "ba"),
        (["\x1b[200~\x1b[31mred\x07\x1b[201~"], "red"),
        (["日本", "\x7f"], "日"),
        (["ab\x1b[99~c\x00d"], "abcd"),
    ],
)
def test_keys_make_a_text(keys: list[str], text: str) -> None:
    assert typed(*keys).text == text


def test_enter_hands_the_text_over_and_keeps_the_keys_behind_it() -> None:
    line = InputLine()
    assert line.feed("one\ntwo") == (KeyAction.SUBMIT, "two")
    assert (line.take(), line.text) == ("one", "")


def test_control_d_leaves_an_empty_line_only() -> None:
    assert typed().feed("\x04")[0] is KeyAction.LEAVE
    line = typed("ab", "\x01")
    assert (line.feed("\x04")[0], line.text) == (None, "b")


def test_up_and_down_go_through_the_history_that_begins_like_the_text() -> None:
    line = InputLine(["fix it", "show me", "fix that"])
    line.feed("fix")
    seen = []
    for key in ("\x1b[A", "\x1b[A", "\x1b[A", "\x1b[B", "\x1b[B"):
        line.feed(key)
        seen.append(line.text)
    assert seen == ["fix that", "fix it", "fix it", "fix that", "fix"]


def test_up_moves_within_several_lines_first() -> None:
    line = typed("older", "\x1b\n", "newer", "\x1b[A", "!", history=["before"])
    assert line.text == "older!\nnewer"
    line.feed("\x1b[A")
    assert line.text == "older!\nnewer", "nothing in the history begins so"


WORDS = ("/model", "/mode", "/help", "@src/main.py", "@src/maps/")


def complete(word: str) -> list[str]:
    return [each for each in WORDS if each.startswith(word)]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["/h\t"], "/help "),
        (["/mo\t"], "/mode"),
        (["/mo\t\t"], "/model"),
        (["/mo\t\t\t"], "/mode"),
        (["look at @src/main\t"], "look at @src/main.py "),
        (["look at @src/map\t"], "look at @src/maps/"),
        (["@s\t"], "@src/ma"),
        (["either /h\t"], "either /h"),
        (["nothing\t"], "nothing"),
        (["/zzz\t"], "/zzz"),
    ],
)
def test_tab_completes_commands_and_files(keys: list[str], text: str) -> None:
    assert typed(*keys, complete=complete).text == text


def test_the_screen_has_the_text_wrapped_and_the_cursor_in_it() -> None:
    shown = typed("hello world", "\x1b\n", "x").rows("> ", 8)
    assert shown.lines == ["> hello", "   worl", "  d", "  x"]
    assert (shown.row, shown.column) == (3, 3)
    assert typed("日本語", "\x1b[D").rows("> ", 7).row == 1


def test_of_more_lines_than_the_screen_has_those_around_the_cursor_are_shown() -> None:
    line = typed("\x1b[200~" + "\n".join(map(str, range(60))) + "\x1b[201~")
    shown = line.rows("> ", 80).part(20)
    assert (shown.lines[-1], shown.row, shown.about) == ("  59", 19, "lines 41 to 60 of 60")
    line.feed("\x1b[A" * 30)
    shown = line.rows("> ", 80).part(20)
    assert (shown.lines[shown.row], len(shown.lines)) == ("  29", 20)


@given(st.text(max_size=40), st.integers(4, 20))
def test_no_row_is_wider_than_the_screen_and_no_keys_fail(keys: str, width: int) -> None:
    line = InputLine(["one", "two\nthree"], complete)
    left = keys
    for _ in range(50):
        asked, left = line.feed(left)
        assert 0 <= line.cursor <= len(line.text)
        if asked is None:
            break
        line.take()
    shown = line.rows("> ", width)
    assert 0 <= shown.row < len(shown.lines)
    assert 0 <= shown.column < width + 1
