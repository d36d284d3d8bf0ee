"""What makes start-up quick behaves like what it stands for."""

from __future__ import annotations

from reread import lazy


def test_a_pattern_is_compiled_when_first_tried() -> None:
    words, octets = lazy.pattern(r"a+"), lazy.pattern(rb"a+")
    broken = lazy.pattern("(")  # nobody tries it
    assert (words.findall("aab a"), octets.sub(b"-", b"aab")) == (["aa", "a"], b"-b")
    assert broken is not None
