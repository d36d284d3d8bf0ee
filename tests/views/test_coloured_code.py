"""Code has the colours that Pygments gives it."""

from __future__ import annotations

from pygments.lexers import find_lexer_class_for_filename, get_all_lexers

from reread.views.html.content import coloured, lexer_class_for


def test_a_token_has_a_span_in_each_of_its_lines_and_is_escaped_once() -> None:
    assert coloured("/* <a>\nb */ x", language="c") == (
        '<span class="c-cm">/* &lt;a&gt;</span>\n<span class="c-cm">b */</span> x'
    )
    assert coloured("a < *b* &", language="markdown") == 'a &lt; <span class="c-ge">*b*</span> &amp;'


def test_a_file_name_leads_to_the_lexer_that_pygments_would_choose() -> None:
    patterns = {pattern for _, _, patterns, _ in get_all_lexers(plugins=False) for pattern in patterns}
    names = {f"{before}{pattern.replace('*', 'q')}" for pattern in patterns for before in ("", "x.")}
    names |= patterns | {"Makefile.am", "a.tar.gz", ".bash_x", "?.c", "ASpec.hs", "py", ".py", "x.1", "nothing"}
    wrong = [name for name in sorted(names) if lexer_class_for(name) is not find_lexer_class_for_filename(name)]
    assert wrong == []
