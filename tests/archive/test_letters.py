"""Plain text looked for letter by letter."""

from __future__ import annotations

import pytest

from reread.archive.text_search import Letters, as_read, readied


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("a **bold** `word`", "a bold word"),
        ("_so_ and __so__, but snake_case_name", "so and so, but snake_case_name"),
        ("see [the guide](https://example.org/a_b) first", "see the guide first"),
        ("x[i[0](n)", "x[i0"),
        ("~~gone~~", "gone"),
    ],
)
def test_signs_of_markdown_are_not_read(written: str, shown: str) -> None:
    assert as_read(written) == shown


@pytest.mark.parametrize("run", ["a" + "_" * 200_000 + "b", "[a](" * 100_000, "[x" * 100_000])
def test_no_run_of_signs_is_tried_again_from_each_of_them(run: str) -> None:
    assert as_read(run) == run  # tried again from each, the first one takes the better part of an hour


def test_spaces_stand_for_any_others() -> None:
    assert Letters("two  words").count(readied("Two\n\twörds, two words, twowords")) == 2
