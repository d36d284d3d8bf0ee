"""Code has the colours that Pygments gives it, whichever way its rules are tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name, find_lexer_class_for_filename, get_all_lexers

from reread.views.html import quick_lexer
from reread.views.html.content import lexer_class_for
from reread.views.html.quick_lexer import quickened

LANGUAGES = (
    "python",
    "javascript",
    "typescript",
    "go",
    "rust",
    "bash",
    "css",
    "html",
    "sql",
    "c",
    "java",
    "ruby",
    "toml",
    "markdown",
)
PIECES = st.sampled_from(
    (
        "def f(a):\n",
        '"""x\n',
        "'",
        '"',
        "`${",
        "}",
        "{",
        "/*",
        "*/",
        "// a\n",
        "#!",
        "<<EOF\nx\nEOF\n",
        "if (",
        ")",
        "0x1f",
        "é",
        "\n",
        " ",
    )
)
OPTIONS = {"stripnl": False, "ensurenl": False, "stripall": False}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only after some pages of it."""
    monkeypatch.setattr(quick_lexer, "ENOUGH", -1)


def both(language: str) -> tuple[Lexer, Lexer]:
    kind = find_lexer_class_by_name(language)
    return kind(**OPTIONS), quickened(kind)(**OPTIONS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tokens_of_our_own_files_are_the_same_in_any_language(language: str) -> None:
    plain, quick = both(language)
    for path in (Path(__file__), Path(quick_lexer.__file__), *Path(__file__).parents[1].glob("*.md")):
        text = path.read_text("utf-8")
        assert list(quick.get_tokens(text)) == list(plain.get_tokens(text))


@given(st.sampled_from(LANGUAGES), st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join))
def test_the_tokens_of_anything_are_the_same(language: str, text: str) -> None:
    plain, quick = both(language)
    assert list(quick.get_tokens(text)) == list(plain.get_tokens(text))


def test_a_rule_that_refers_to_its_own_groups_is_tried_alone() -> None:
    plain, quick = both("bash")
    text = "cat <<'END' | sort\n$x\nEND\necho ${y:-1}\n"
    assert type(quick) is not type(plain)
    assert list(quick.get_tokens(text)) == list(plain.get_tokens(text))


def test_a_file_name_leads_to_the_lexer_that_pygments_would_choose() -> None:
    patterns = {pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns}
    names = {f"{before}{pattern.replace('*', 'q')}" for pattern in patterns for before in ("", "x.")}
    names |= patterns | {"Makefile.am", "a.tar.gz", ".bash_x", "?.c", "ASpec.hs", "py", ".py", "x.1", "nothing"}
    wrong = [name for name in sorted(names) if lexer_class_for(name) is not find_lexer_class_for_filename(name)]
    assert wrong == []
