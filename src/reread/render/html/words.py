"""What the model said: Markdown to HTML.

Markup in the text stays text. Links lead to web pages and mail addresses only; pictures are named, not fetched: a page
must not tell anyone that it was read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ..text import tabbed
from .code import coloured

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MOST_PARSED = 200_000
"""Characters; longer texts are shown as they are."""
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_SAFE = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)


def words(text: str) -> Markup:
    """Text of the model as it meant it."""
    clean = tabbed(text).encode("utf-8", "replace").decode()
    if len(clean) > MOST_PARSED:
        return Markup("<pre>{}</pre>").format(clean)
    return Markup(_parser().render(clean))  # noqa: S704  made by markdown-it with HTML off; see tests


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("only_safe_links", _keep_safe_links)
    for name, rule in (("fence", _fence), ("code_block", _fence), ("image", _picture)):
        parser.add_render_rule(name, rule)
    return parser


def _keep_safe_links(state: Any) -> None:
    """A link that leads elsewhere than to a page becomes the words it stands under."""
    for block in state.tokens:
        opened: list[bool] = []
        for token in block.children or ():
            if token.type == "link_open":
                address = str(token.attrs.get("href", ""))
                opened.append(_SAFE.match(address) is not None)
                token.attrs = {"href": address, "rel": "noopener noreferrer"} if opened[-1] else {}
                token.tag = "a" if opened[-1] else "span"
            elif token.type == "link_close":
                token.tag = "a" if not opened or opened.pop() else "span"
        if block.type in ("th_open", "td_open"):
            block.attrs = {}  # alignment comes as a style, which the page's policy forbids


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    language = token.info.split()[0] if token.info.split() else ""
    code = coloured(token.content.rstrip("\n"), language=language)
    return Markup('<pre class="code"><code>{}</code></pre>\n').format(code)


def _picture(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    return Markup('<span class="picture">[image: {}]</span>').format(token.content or str(token.attrs.get("src", "")))


def typed(text: str) -> Markup:
    """What a person typed, as it was typed: the style keeps its breaks, and only code within a line looks like it."""
    parts = _INLINE_CODE.split(tabbed(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )
