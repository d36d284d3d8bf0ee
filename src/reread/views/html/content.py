"""Words, code, images and long texts of a session as safe HTML, and the anchors of a page."""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup, escape
from pygments.lexers import find_lexer_class, find_lexer_class_by_name, get_all_lexers
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from reread.records import Document, Image
from reread.views.numbers import count, size
from reread.views.text import one_line, tabbed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments.lexer import Lexer
    from pygments.token import _TokenType


_USUAL = re.compile(r"[A-Za-z0-9_.@-]{1,80}")


def anchor(uuid: str) -> str:
    """`m-<uuid>`; for an id that is not a uuid, a digest of it."""
    if _USUAL.fullmatch(uuid):
        return f"m-{uuid}"
    return f"m-{sha256(uuid.encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


class Anchors:
    """Gives each anchor only once: several blocks may come from one line, and an anchor must be unique in a page."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def take(self, uuid: str | None, suffix: str = "") -> str:
        """The anchor of a uuid; empty without a uuid, or if the anchor is taken."""
        name = anchor(uuid + suffix) if uuid else ""
        if name in self._given:
            return ""
        self._given.add(name)
        return name


SHOWN_LINES = 24
SHOWN_CHARACTERS = 3_000
KEPT_CHARACTERS = 200_000
"""Characters of one text in a page."""
KEPT_LINES = 2_000
"""Lines of one diff or listing in a page; each is coloured and a row of its own."""


class CutLimits(NamedTuple):
    """How much of one text a page holds."""

    characters: int = KEPT_CHARACTERS
    lines: int = KEPT_LINES


USUAL = CutLimits()
WIDEST = CutLimits(5_000_000, 20_000)
"""For a page whose link leads beyond the usual limits."""


class Cut(NamedTuple):
    """A text in two parts."""

    head: str
    rest: str
    """The part behind the fold."""
    folded: str
    """`… 120 more lines`; empty if nothing is folded."""
    left_out: str
    """How much the page does not contain at all; empty if it contains everything."""


NOTHING = Cut("", "", "", "")


def cut(text: str, lines: int = SHOWN_LINES, characters: int = SHOWN_CHARACTERS, kept: int = KEPT_CHARACTERS) -> Cut:
    clean = tabbed(text).strip("\n")
    whole, beyond = clean[:kept], len(clean) - kept
    end = _end(whole, lines, characters)
    rest = whole[end:].removeprefix("\n")
    left_out = f"{count(beyond, 'more character')} not in this page" if beyond > 0 else ""
    if not rest:
        return Cut(whole, "", "", left_out)
    more = rest.count("\n") + 1
    folded = f"… {count(more, 'more line')}" if more > 1 else f"… {count(len(rest), 'more character')}"
    return Cut(whole[:end], rest, folded, left_out)


def _end(text: str, lines: int, characters: int) -> int:
    """Where the shown part ends; one or two more lines are not worth a fold."""
    position = -1
    for _ in range(lines):
        position = text.find("\n", position + 1)
        if position < 0:
            position = len(text)
            break
    if text.count("\n", position) <= 2:
        position = len(text)
    if position <= characters:
        return position
    line_end = text.rfind("\n", 0, characters)
    return line_end if line_end > characters // 2 else characters


LARGEST = 8_000_000
"""Bytes of one image; larger images are named instead of shown."""
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""Image types by their first bytes. SVG is left out because it can contain scripts."""
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""Of a JPEG, the markers of the segments that name its size."""
WIDEST_PICTURE = (480, 384)
"""Width and height of an image in a page, until one opens it."""


class Picture(NamedTuple):
    label: str
    kind: str = ""
    """Its media type; empty if the image cannot be shown."""
    data: str = ""
    """In base64."""
    shown: tuple[int, int] | None = None
    """Width and height in a page, so that it keeps its place before it is loaded; None if unknown."""

    @property
    def inside(self) -> str:
        """An address that holds the image itself."""
        return f"data:{self.kind};base64,{self.data}"

    @property
    def name(self) -> str:
        """What an address of its own calls it: the same bytes have the same name."""
        return sha256(self.data.encode()).hexdigest()[:24]


def pictures(blocks: Iterable[Any]) -> Iterator[Picture]:
    """The images and documents among some blocks."""
    for block in blocks:
        if isinstance(block, Image):
            yield _picture(block)
        elif isinstance(block, Document):
            kind = one_line((block.source.media_type if block.source else None) or "unknown type")[:60]
            yield Picture(f"document {one_line(block.title or '')[:200]} ({kind})")


def _picture(block: Image) -> Picture:
    source = block.source
    if source is None or source.data is None:
        where = one_line((source.url if source is not None else None) or "nowhere")[:200]
        return Picture(f"image at {where}, not fetched")
    if len(source.data) > LARGEST * 4 // 3:
        return Picture(f"image of {size(len(source.data) * 3 // 4)}, too large to show")
    data = "".join(source.data.split())
    try:
        raw = b64decode(data, validate=True)
    except (Error, ValueError):
        return Picture("image whose data is damaged")
    kind = _kind(raw)
    if kind is None:
        named = one_line(source.media_type or "unknown type")[:60]
        return Picture(f"{named} of {size(len(raw))}, which is no image")
    return Picture(f"{kind}, {size(len(raw))}", kind, data, _fitted(_dimensions(kind, raw)))


def _fitted(found: tuple[int, ...]) -> tuple[int, int] | None:
    """Width and height, so small that they fit."""
    if len(found) != 2 or not all(found):
        return None
    scale = min(1.0, *(most / side for most, side in zip(WIDEST_PICTURE, found, strict=True)))
    return round(found[0] * scale) or 1, round(found[1] * scale) or 1


def _dimensions(kind: str, raw: bytes) -> tuple[int, ...]:
    """The width and height that an image says it has; empty if it says none that is understood here."""
    if kind == "image/jpeg":
        at = 2
        while raw[at : at + 1] == b"\xff" and len(raw) > at + 9:
            if raw[at + 1] in _FRAMES:
                return struct.unpack(">HH", raw[at + 5 : at + 9])[::-1]
            at += 2 + int.from_bytes(raw[at + 2 : at + 4], "big")
        return ()
    layout, at = ("<HH", 6) if kind == "image/gif" else (">II", 16) if kind == "image/png" else ("<HH", 26)
    if len(raw) < at + 8 or (kind == "image/webp" and raw[12:16] != b"VP8 "):
        return ()
    return struct.unpack_from(layout, raw, at)


def _kind(raw: bytes) -> str | None:
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS if raw.startswith(start)), None)


MOST_COLOURED = 60_000
"""Characters; longer code stays plain, because some lexers need seconds for a megabyte."""
LONGEST_COLOURED_LINE = 2_000
"""Code with a longer line, such as a minified file, stays plain: colours do not help there, and patterns backtrack."""


def coloured(text: str, *, language: str = "", path: str = "") -> Markup:
    """Text as code, coloured by language or by the name of the file."""
    lines = _coloured_lines(text.split("\n"), language, path, MOST_COLOURED)
    return Markup("\n".join(lines))  # noqa: S704  each is escaped


_most_in_diffs = ContextVar("most_in_diffs", default=MOST_COLOURED)


@contextmanager
def colouring_at_most(characters: int) -> Iterator[None]:
    """Within this context, longer diffs and files stay plain, because the page sends them later, when they are opened.
    Colouring them took four fifths of the time of a session's first screen."""
    before = _most_in_diffs.set(characters)
    try:
        yield
    finally:
        _most_in_diffs.reset(before)


def is_sent_later() -> bool:
    """Whether the folded parts of a call are sent later, so that for now only their presence matters."""
    return _most_in_diffs.get() == 0


def coloured_lines(lines: Sequence[str], *, path: str) -> Sequence[str]:
    """Lines of code, coloured in the context of the lines around them; as many as were given. They are HTML in plain
    strings instead of `Markup`, because a page may have a hundred thousand of them."""
    return _coloured_lines(lines, "", path, _most_in_diffs.get())


def _coloured_lines(lines: Sequence[str], language: str, path: str, most: int) -> Sequence[str]:
    text = "\n".join(lines)
    if tabbed(text) != text or text.count("\n") >= len(lines):
        text = "\n".join([tabbed(line).replace("\n", " ") for line in lines])
    is_short = len(text) < most + len(lines) and max(map(len, text.split("\n"))) <= LONGEST_COLOURED_LINE
    lexer = _lexer(language.lower(), PurePosixPath(path.replace("\\", "/")).name) if is_short else None
    found = _coloured_text(lexer, text) if lexer is not None else ()
    return found if len(found) == len(lines) else escaped(text).split("\n")[: len(lines)]


@cache
def _lexer(language: str, name: str) -> Lexer | None:
    """The lexer for a language or a file name; None for plain text, which needs none."""
    found = None
    if language:
        try:
            found = find_lexer_class_by_name(language)
        except ClassNotFound:
            return None
    elif name:
        found = lexer_class_for(name)
    if found is None or found.name == "Text only":
        return None
    return found(stripnl=False, ensurenl=False, stripall=False)


def lexer_class_for(name: str) -> type[Lexer] | None:
    """Chooses like Pygments' `find_lexer_class_for_filename`, which first compiles 900 patterns, in 0.25 s."""
    by_pattern = _lexers_by_pattern()
    endings = [each for start in range(len(name)) if not _GLOB.search(each := "*" + name[start:], 1)]
    globs = [each for each in _globs() if fnmatchcase(name, each)]
    found = [
        (kind.priority + (0 if "*" in pattern else 0.5), kind.__name__, kind)
        for pattern in ([] if _GLOB.search(name) else [name]) + endings + globs
        for lexer in by_pattern.get(pattern, ())
        if (kind := find_lexer_class(lexer)) is not None
    ]
    return max(found, key=lambda each: each[:2])[2] if found else None


_GLOB = re.compile(r"[*?\[]")
"""A wildcard. A pattern with one after its first character is more than the end of a name."""


@cache
def _globs() -> list[str]:
    return [pattern for pattern in _lexers_by_pattern() if _GLOB.search(pattern, 1)]


@cache
def _lexers_by_pattern() -> dict[str, list[str]]:
    """Names of lexers by file name pattern, without plugins, so that a page looks the same on every machine."""
    found: dict[str, list[str]] = {}
    for lexer, _, patterns, _ in get_all_lexers(plugins=False):
        for pattern in patterns:
            found.setdefault(pattern, []).append(lexer)
    return found


@lru_cache(maxsize=128)
def _coloured_text(lexer: Lexer, text: str) -> Sequence[str]:
    """Cached, because a fifth of what a session reads it has read before."""
    return "".join([_span(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)]).split("\n")


def _span(kind: _TokenType, value: str) -> str:
    """A token as HTML, with a span in each of its lines if it has a colour."""
    name, shown = _css_class(kind), escaped(value)
    if not name:
        return shown
    return "\n".join([f'<span class="{name}">{part}</span>' if part else "" for part in shown.split("\n")])


def escaped(text: str) -> str:
    """Like `markupsafe.escape`, without a `Markup` object for each of a hundred thousand tokens."""
    if text.isalnum() or not text:
        return text
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("'", "&#39;").replace('"', "&#34;")


@cache
def _css_class(kind: _TokenType) -> str:
    """The CSS class, `c-k` or `c-s1`, from Pygments' short names; the style sheet selects by the first letter."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in ("", "w", "p", "n") else f"c-{name[:2]}"


MOST_PARSED = 200_000
"""Characters; longer texts are shown as plain text."""
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]{1,300})`(?!`)")
_SAFE = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)


def words(text: str) -> Markup:
    """The model's Markdown as safe HTML."""
    clean = tabbed(text).encode("utf-8", "replace").decode()
    if len(clean) > MOST_PARSED:
        return Markup("<pre>{}</pre>").format(clean)
    return Markup(_parser().render(clean))  # noqa: S704  made by markdown-it with HTML off; see tests


@cache
def _parser(has_breaks: bool = False) -> MarkdownIt:
    """With `has_breaks`, every line break is kept, as a typed prompt needs it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "maxNesting": 20, "breaks": has_breaks})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.push("only_safe_links", _keep_safe_links)
    parser.core.ruler.push("no_empty_headings", _without_empty_headings)
    for name, rule in (("fence", _fence), ("code_block", _fence), ("image", _image_link)):
        parser.add_render_rule(name, rule)
    return parser


PAGE_HEADINGS = 2
"""Levels of the page itself and of its prompts: a heading of a reply is below them."""


def _keep_safe_links(state: Any) -> None:
    """Replaces a link that is not http, https or mailto by its text; lowers headings below those of the page, without
    a level left out."""
    levels = sorted({block.tag for block in state.tokens if block.type == "heading_open"})
    lowered = {tag: f"h{min(6, number)}" for number, tag in enumerate(levels, PAGE_HEADINGS + 1)}
    for block in state.tokens:
        if block.type in ("heading_open", "heading_close"):
            block.tag = lowered[block.tag]
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
            block.attrs = {}  # drops the alignment, a style attribute that the page's policy forbids


def _without_empty_headings(state: Any) -> None:
    """An empty cell in the first row of a table is the heading of nothing."""
    for cell, inside, end in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if cell.type == "th_open" and not inside.content:
            cell.tag = end.tag = "td"


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    language = token.info.split()[0] if token.info.split() else ""
    code = coloured(token.content.rstrip("\n"), language=language)
    return Markup('<pre class="code"><code>{}</code></pre>\n').format(code)


def _image_link(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    return Markup('<span class="picture">[image: {}]</span>').format(token.content or str(token.attrs.get("src", "")))


class FoldedWords(NamedTuple):
    """What a person wrote, in two parts: shown and folded."""

    head: Markup
    rest: Markup
    """The part behind the fold."""
    folded: str
    """`… 120 more lines`; empty if nothing is folded."""
    left_out: str
    is_markdown: bool


PROMPT_LINES, PROMPT_CHARACTERS = 12, 2_000
"""How much of a prompt is shown before the fold."""
_BLOCKS = re.compile(r"^ {0,3}(?:[-*+] |\d{1,3}[.)] |#{1,6} |> |```|~~~|\|.*\|)|\*\*\S", re.MULTILINE)
"""Marks that are only written as Markdown. Single stars and underscores are not enough: paths and logs have them."""
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)


def prompt_words(text: str, kept: int = KEPT_CHARACTERS) -> FoldedWords:
    """A prompt as Markdown if it is written as such, else as it was typed; folded after a dozen lines."""
    found = cut(text, PROMPT_LINES, PROMPT_CHARACTERS, kept)
    if not _BLOCKS.search(found.head) and not _BLOCKS.search(found.rest):
        return FoldedWords(typed(found.head), typed(found.rest), found.folded, found.left_out, False)
    head, rest = _whole_fences(found.head, found.rest)
    return FoldedWords(_prompt_markdown(head), _prompt_markdown(rest), found.folded, found.left_out, True)


def _whole_fences(head: str, rest: str) -> tuple[str, str]:
    """Closes a fence that the fold cuts, and opens it again behind the fold."""
    fences = _FENCE.findall(head)
    if not rest or len(fences) % 2 == 0:
        return head, rest
    return f"{head}\n{fences[-1]}", f"{fences[-1]}\n{rest}"


def _prompt_markdown(text: str) -> Markup:
    clean = text.encode("utf-8", "replace").decode()
    if len(clean) > MOST_PARSED:
        return Markup("<pre>{}</pre>").format(clean)
    return Markup(_parser(True).render(clean))  # noqa: S704  made by markdown-it with HTML off; see tests


def typed(text: str) -> Markup:
    """A prompt as it was typed. The style sheet keeps its line breaks; only inline code is marked up."""
    parts = _INLINE_CODE.split(tabbed(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )
