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
from reread.views.html.quick_lexer import html_of, quickened

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
    "csharp",
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


@pytest.fixture(autouse=True, params=[-1, 1_000_000], ids=["joined", "alone"])
def enough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are joined at once, not only after some pages; or never."""
    monkeypatch.setattr(quick_lexer, "ENOUGH", request.param)


def both(language: str) -> tuple[Lexer, Lexer]:
    kind = find_lexer_class_by_name(language)
    return kind(**OPTIONS), quickened(kind)(**OPTIONS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_our_own_files_look_the_same_in_any_language(language: str) -> None:
    plain, quick = both(language)
    for path in (Path(__file__), Path(quick_lexer.__file__), *Path(__file__).parents[2].glob("*.md")):
        text = path.read_text("utf-8")
        assert html_of(quick, text) == html_of(plain, text)


@given(st.sampled_from(LANGUAGES), st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join))
def test_anything_looks_the_same(language: str, text: str) -> None:
    plain, quick = both(language)
    assert html_of(quick, text) == html_of(plain, text)


def test_a_rule_that_refers_to_its_own_groups_is_tried_alone() -> None:
    plain, quick = both("bash")
    text = "cat <<'END' | sort\n$x\nEND\necho ${y:-1}\n"
    assert type(quick) is not type(plain)
    assert html_of(quick, text) == html_of(plain, text)


def test_what_a_rule_asks_of_its_own_lexer_is_escaped_once() -> None:
    _, quick = both("markdown")
    assert html_of(quick, "# a < *b* &\n") == '<span class="c-gh"># a &lt; *b* &amp;</span>\n'
    assert html_of(quick, "- a < *b* &\n") == (
        '<span class="c-k">-</span> a &lt; <span class="c-ge">*b*</span> &amp;\n'
    )


def test_a_file_name_leads_to_the_lexer_that_pygments_would_choose() -> None:
    patterns = {pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns}
    names = {f"{before}{pattern.replace('*', 'q')}" for pattern in patterns for before in ("", "x.")}
    names |= patterns | {"Makefile.am", "a.tar.gz", ".bash_x", "?.c", "ASpec.hs", "py", ".py", "x.1", "nothing"}
    wrong = [name for name in sorted(names) if lexer_class_for(name) is not find_lexer_class_for_filename(name)]
    assert wrong == []
