"""The full-text index: what it is given for a text, and where matches are in a text."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, islice
from operator import add
from typing import NamedTuple

from msgspec import Struct

from reread import lazy
from reread.features.search_text import texts_of
from reread.records import Record, decode
from reread.sessions.progress_lines import of_agent

from .meta import FIELDS

INSERT_WORDS = [f"INSERT INTO search(rowid, {name}) VALUES (?, ?)" for name in FIELDS]  # noqa: S608  our own names

LACKING = b"\x1f"
"""Ends what FTS5 is given for a text if that lacks some words, or if FTS5 cuts it into other words than a pattern
would. It is not a letter, so the index ignores it; the writer of the words records the block with `NOTE_LACKING`."""
NOTE_LACKING = "INSERT OR IGNORE INTO partly_indexed VALUES (?)"

_UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ecf\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f"  # Myanmar
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"  # Hangul
    "\u1780-\u17d3"  # Khmer
    "\u3005-\u3007\u3021-\u3029\u3041-\u3096\u3099\u309a\u309d-\u309f"  # marks, Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Katakana
    "\u3105-\u312f\u31a0-\u31bf"  # Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""Scripts written without spaces. Korean has spaces, but its particles are attached to words, so it is cut the same
way."""

_RUN = f"[{_UNSPACED}]+"
_RUNS = f"([{_UNSPACED}]+)"
_LAST_RUN = f"[{_UNSPACED}]+\\Z"
_UNEVEN = "[\u0e00-\u17ff\u3099\u309a\ua960-\ua97c\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\U0002f800-\U0002fa1f]"
"""Letters that can be encoded in two ways, or can have marks."""
_HALF_WIDTH = lazy.pattern("[\uff66-\uff9f]")
_PIECES = f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+"
_ASCII_PIECES = lazy.pattern(r"[^\W_]+")


@cache
def _late(pattern: str) -> re.Pattern[str]:
    """Compiled on first use: tables of scripts take 1 to 5 ms each, and a search in English needs none."""
    return re.compile(pattern)


# unicode61 (3.40) treats code points newer than its table, such as recent emoji, as letters: "done🫠" is one token.
_EMOJI = lazy.pattern("[\U0001f000-\U0001faff]+")
_ESCAPES = lazy.pattern(r"\x1b\[[0-9;:?<=>]*[!-/]*[@-~]")
_DATA_URL = lazy.pattern(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,[!#-&*-;=?-\[\]^_a-z|~]{100,}")

_ARROW = "→".encode()
_LINE_NUMBER = lazy.pattern(rb"\n *+[0-9]++" + _ARROW)
"""The client puts a number before every line of a file it shows. Nobody searches for these, and they separate the words
of a phrase. Without possessive quantifiers this pattern takes half as long again."""

_LONGEST_WORD = 200
_BLOB = lazy.pattern(r"[A-Za-z0-9+/=_-]{201,}")
_BLOB_RUN = b"x" * (_LONGEST_WORD + 1)
_STRIDE = 8
_BLOB_SAMPLE = b"x" * (_LONGEST_WORD // _STRIDE)
_SEGMENT = lazy.pattern(r"[A-Za-z0-9]+")
_LONG_SEGMENT = 16
"""Base64 has a `+` or `/` every 32 characters on average, a long path a separator every eight."""

_NAME_TAIL = lazy.pattern(rb"A(?:(?<=aA)|(?<=AA)aa)[aA0]*")
"""A name from its first inner boundary on, in letters of `_KINDS`. With a literal first, `re` jumps to each capital."""
_PART = lazy.pattern(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_NAME = 80


def _table(kinds: dict[str, bytes]) -> bytes:
    """A table for `bytes.translate` that maps each byte to the letter of its kind, and all others to a space."""
    table = bytearray(b" " * 256)
    for kind, members in kinds.items():
        for member in members:
            table[member] = ord(kind)
    return bytes(table)


_ASCII = bytes(range(128))
_LOWER, _UPPER, _DIGITS = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"
_KINDS = _table(
    {
        "a": _LOWER,
        "A": _UPPER,
        "0": _DIGITS,
        # First bytes of unspaced scripts. Not 0xe2 (dashes, quotes, arrows, boxes), which most texts have.
        "C": bytes([0xE0, 0xE1, *range(0xE3, 0xEE)]),
        "?": bytes([0xEF, 0xF0]),
        # Letters of other scripts, marks, private use: some are letters only for unicode61, or `i` or `s` for `(?i)`.
        "o": bytes([0xC4, 0xC5, *range(0xCC, 0xE0), 0xEE, *range(0xF1, 0xF5)]),
    }
)
_RARE = lazy.pattern(rb"\xef[\xa4-\xab\xbd\xbe]|\xf0[\xa0-\xbf]")
"""Unspaced scripts with the first bytes that otherwise begin emoji and their selectors."""
_KNOWN_SIGN = (
    rb"\x80[\x80-\xbf]|\x81[\x80-\xa4]|\x82[\xa0-\xb9]|\x86[\x80-\x89\x90-\xbf]|\x8f[\x80-\xb3]|\x90[\x80-\xa6]"
    rb"|\x91[\xa0-\xbf]|\x9c[\x81-\xbf]|\xad[\x80-\x8c\x90-\x99]|\x84[\x80-\xa9\xab-\xbf]"
    rb"|[\x85\x87-\x8e\x92-\x9b\x9d-\xac][\x80-\xbf]"
)
"""What follows 0xe2 in dashes, quotes, arrows, boxes. unicode61 is Unicode 6.1 and treats anything newer as letters;
the Kelvin sign is a `k` for `(?i)`."""
_YOUNG_SIGN = lazy.pattern(rb"\xe2(?!%b)" % _KNOWN_SIGN)
_SURE = lazy.pattern(
    rb"(?:[\xc2\xc3\xc6-\xcb\xcf-\xd3][\x80-\xbf]|\xc4[\x80-\xaf\xb2-\xbf]|\xc5[\x80-\xbe]|\xce[\xa3-\xbf]|\xe2(?:%b)"
    rb"|\xe3(?:[\x80\x83][\x80-\xbf]|\x81[\x81-\xbf]|\x82[\x80-\x96\x99-\xbf])|\xe4[\xb8-\xbf][\x80-\xbf]|[\xe5-\xe9\xeb\xec][\x80-\xbf]{2}"
    rb"|\xef(?:\xb8[\x8e\x8f]|\xbc[\x81-\xbf]|\xbd[\x80-\xbf]|\xbf\xbd)|\xf0\x9f[\x80-\xab][\x80-\xbf])*+" % _KNOWN_SIGN
)
"""Characters for which unicode61 and Python agree whether they belong to a word and which ASCII letters they equal. Not
all such characters, but those of most texts."""
_BLOB_KINDS = _table({"x": _LOWER + _UPPER + _DIGITS + b"+/=_-"})


def indexable(text: str, *, with_parts: bool = True) -> str:
    """What FTS5 is given for a text: the cleaned text, and the parts of its camelCase names at the end.

    They are at the end and not next to the name, so that a phrase that contains the name still has its words next to
    each other. In code the parts are half of the cost: leave them out where nobody would miss them.
    """
    return indexable_bytes(text, with_parts=with_parts).decode()


def indexable_bytes(text: str, *, with_parts: bool = True) -> bytes:
    """`indexable` in UTF-8: a text is cleaned as bytes, and a sync need not decode them again."""
    words, raw, is_whole = _cleaned(text)
    parts = _name_parts(raw) if with_parts else b""
    words = b"%b\n%b" % (words, parts) if parts else words
    return words if is_whole else words + LACKING


def query_tokens(text: str) -> list[str]:
    """The tokens to search for in place of a typed word or phrase, in order; FTS5 still cuts each at its punctuation.

    Every character of an unspaced run begins a token in the index. So the last, single character of a run at the end of
    a query is left out (more may follow in the text), and a query of one such character must search for a prefix.
    """
    tokens = _cleaned(text)[0].decode().split()
    last = None if text.isascii() else _late(_LAST_RUN).search(text)
    if last is not None and len(_composed(last[0])) > 1:
        tokens.pop()
    return tokens


def is_unspaced(text: str) -> bool:
    """Whether a text consists of scripts without spaces only."""
    return not text.isascii() and _late(_RUN).fullmatch(text) is not None


def has_token(text: str) -> bool:
    """Whether unicode61 finds a token in a text: letters, digits, and code points that it does not know."""
    return any(character.isalnum() or unicodedata.category(character) in ("Co", "Cn") for character in text)


def _cleaned(text: str) -> tuple[bytes, bytes, bool]:
    """The bytes of a text without noise; the same before unspaced runs are cut; and whether every word that a pattern
    could look for begins a word in them, apart from the numbers before the lines of a file."""
    raw = _encoded(text)
    if not text.isascii() and _ARROW in raw:
        raw = _LINE_NUMBER.sub(b"\n", b"\n" + raw)
    length = len(raw)
    if b"data:" in raw and _DATA_URL.search(decoded := raw.decode()):
        raw = _DATA_URL.sub(" ", decoded).encode()
    if len(raw) > _LONGEST_WORD and _holds_blob(raw):
        raw = _BLOB.sub(_kept_if_words, raw.decode()).encode()
    if b"\x1b" in raw or b"\0" in raw:
        raw = _ESCAPES.sub(" ", raw.decode()).replace("\0", " ").encode()
    is_whole = len(raw) == length
    if text.isascii():
        return raw, raw, is_whole
    kinds = raw.translate(_KINDS)
    return _with_unspaced_cut(raw, kinds), raw, is_whole and _is_cut_alike(raw, kinds)


def _is_cut_alike(raw: bytes, kinds: bytes) -> bool:
    """Whether words begin at the same places for FTS5 and a pattern; most texts have only ASCII, dashes and arrows."""
    is_plain = b"C" not in kinds and b"?" not in kinds and b"o" not in kinds and _YOUNG_SIGN.search(raw) is None
    return is_plain or _SURE.fullmatch(raw.translate(None, _ASCII)) is not None


def _with_unspaced_cut(raw: bytes, kinds: bytes) -> bytes:
    """Removes emoji and cuts scripts without spaces; most texts have neither."""
    has_emoji = b"\xf0" in raw
    has_runs = b"C" in kinds or (b"?" in kinds and _RARE.search(raw) is not None)
    if not has_emoji and not has_runs:
        return raw
    text = raw.decode()
    text = _EMOJI.sub(" ", text) if has_emoji else text
    return (_cut_in_pairs(text) if has_runs else text).encode()


def _holds_blob(raw: bytes) -> bool:
    """Whether a text has a long run without spaces. Most texts are ruled out by every eighth byte, which is ten times
    faster than a regex."""
    return _BLOB_SAMPLE in raw[::_STRIDE].translate(_BLOB_KINDS) and _BLOB_RUN in raw.translate(_BLOB_KINDS)


def _encoded(text: str) -> bytes:
    """The text as SQLite accepts it, with lone surrogates replaced."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _kept_if_words(blob: re.Match[str]) -> str:
    segments = _SEGMENT.findall(blob[0])
    is_words = len(blob[0]) <= _LONG_SEGMENT * len(segments)
    return blob[0] if is_words else " "


def _cut_in_pairs(text: str) -> str:
    pieces = _late(_RUNS).split(text)
    runs = pieces[1::2]
    pieces[1::2] = map(_pairs, map(_composed, runs) if _late(_UNEVEN).search(text) else runs)
    return "".join(pieces)


@lru_cache(maxsize=1 << 12)
def _pairs(run: str) -> str:
    """`検索中` becomes `検索 索中 中`: the last character is alone, so that every character begins a token."""
    return f" {' '.join(map(add, run, run[1:] + ' '))}"


def _composed(run: str) -> str:
    """A run with one character per letter: file names from macOS are decomposed, and unicode61 cuts at vowel signs."""
    run = unicodedata.normalize("NFKC" if _HALF_WIDTH.search(run) else "NFC", run)
    return "".join([character for character in run if unicodedata.category(character)[0] != "M"])


def _name_parts(raw: bytes) -> bytes:
    """`fetch User Name HTTP Server` for a text with `fetchUserName` and `HTTPServer`; each part once."""
    kinds = raw.translate(_KINDS)
    start_after = kinds.rfind
    names = {raw[start_after(b" ", 0, tail.start()) + 1 : tail.end()] for tail in _NAME_TAIL.finditer(kinds)}
    return b" ".join(dict.fromkeys([part for name in sorted(names) for part in _parts(name)])) if names else b""


@lru_cache(maxsize=1 << 14)
def _parts(name: bytes) -> tuple[bytes, ...]:
    """The parts of a name; none for random identifiers, in which the case changes all the time."""
    parts = _PART.findall(name)
    letters = sum(map(len, parts))
    usual = 2 if letters == len(name) else 3
    if len(name) > _LONGEST_NAME or letters < usual * len(parts):
        return ()
    return tuple(part for part in parts if len(part) > 1)


class Occurrence(Struct, frozen=True):
    """Where a word or phrase is in a text."""

    start: int
    end: int
    is_word: bool
    """False for a part of a longer name or run."""


class _Folding(dict[int, str]):
    """Maps each character to one lower-case character without diacritics, so that offsets stay the same."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if "\uff66" <= character <= "\uff9d":
            folded = unicodedata.normalize("NFKC", character)
        else:
            apart = unicodedata.normalize("NFD", character)
            folded = (apart[0] if _ONLY_MARKS.fullmatch(apart, 1) else character).lower()
        self[code] = folded if len(folded) == 1 else character
        return self[code]


_FOLDING = _Folding()
_MARKS = "[\u0300-\u036f]*+"
"""Possessive: marks given back by backtracking would be tried as a gap, which takes eleven seconds for 20,000 marks."""
_ONLY_MARKS = lazy.pattern(_MARKS)
_MARK = "[\u0300-\u036f]"
_NEEDS_TABLE = "[\u00c0-\u1fff\u212a\u212b\uff66-\uff9f]"
_MAY_FOLD = re.compile(rb"[\xc3-\xe1\xea]|\xe2(?:[\x84\x85\x92\x93\xb0-\xb7]|\x86[\x80-\x88])|\xef[^\xb8]|\xf0[^\x9f]")
"""First bytes of characters that have another case or a mark; not quotes, dashes, arrows, boxes, emoji, Han, Hangul."""
_MOST_REPLACED = 200
"""How many different letters of a text are replaced one at a time; with more, the table is used."""
_GAP = r"(?:\n *[0-9]+→|[\W_])"
_REST_OF_WORD = f"[^\\W_{_UNSPACED}]*"


def occurrences(text: str, phrase: str, *, is_prefix: bool) -> Iterator[Occurrence]:
    """Where FTS5 would find a word or phrase in the original text, in order; exact enough to highlight it.

    Parts of camelCase names count, as they are in the index. A prefix extends to its whole word.
    """
    pieces = pieces_of(phrase)
    if not pieces:
        return
    folded, _, has_marks = _folded(text)
    last = len(text)
    for match in _pattern(pieces, has_marks).finditer(folded):
        start, end = match.span()
        # Most are inside other words, and a search finds a common word ten thousand times: no test is made twice, and
        # no function is called, for those.
        is_at_start = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum())
        if not is_at_start and not _is_in_name(text, start):
            continue
        if is_prefix and not is_unspaced(folded[end - 1]):
            end = _end_of(_late(_REST_OF_WORD).match(folded, end), end)
        is_at_end = end == last or not (text[end - 1].isalnum() and text[end].isalnum())
        if is_at_end or _is_in_name(text, end):
            yield Occurrence(start, end, is_at_start and is_at_end)


_MOST_INSIDE = 2_000
"""A text with more of them usually has enough whole words near its beginning, where `occurrences` stops."""


class Counted(NamedTuple):
    """How often a word or phrase occurs in a text."""

    number: int
    has_word: bool
    """Whether one of the occurrences is a whole word."""


def counted(text: str, phrase: str, *, is_prefix: bool, most: int) -> Counted:
    """Counts what `occurrences` finds, up to `most`."""
    pieces = pieces_of(phrase)
    if len(pieces) == 1 and not is_prefix and phrase.isascii() and not _folded(text).has_marks:
        (word,) = pieces
        is_letter = len(word) == 1 and word.isalpha() and not _folded(text).has_accents
        words, parts = _count_letter(text, word, most) if is_letter else _count_word(text, word, most)
        if parts < most:
            return Counted(min(words + parts, most), words > 0)
    found = list(islice(occurrences(text, phrase, is_prefix=is_prefix), most))
    return Counted(len(found), any(each.is_word for each in found))


def _count_word(text: str, word: str, most: int) -> tuple[int, int]:
    """How often it is a whole word, and how often a part of a name; 0 and `most` if counting would take too long."""
    folded = _folded(text).text
    # Nearly all are whole words, which need not be looked at singly.
    everywhere = folded.count(word)
    inside = [match.span() for match in islice(_inside(word).finditer(folded), _MOST_INSIDE)]
    if len(inside) == _MOST_INSIDE:
        return 0, most
    # Nearly all others are like `the` in `other`: without a capital, no part of a name begins or ends there.
    names = [at for at in inside if not ((said := text[at[0] - 1 : at[1] + 1]).islower() and said.isascii())]
    return everywhere - len(inside), sum([_is_edge(text, start) and _is_edge(text, end) for start, end in names])


def _count_letter(text: str, letter: str, most: int) -> tuple[int, int]:
    """Like `_count_word`, for one letter and up to `most` words: nearly all words contain it, but it is a part of a
    name only next to capitals."""
    words = sum(1 for _ in islice(_alone(letter).finditer(_folded(text).text), most))
    every = chain(_inside(letter.upper()).finditer(text), _beside_capital(letter).finditer(text))
    inside = [match.span() for match in islice(every, _MOST_INSIDE)]
    if len(inside) == _MOST_INSIDE:
        return 0, most
    return words, sum([_is_edge(text, start) and _is_edge(text, end) for start, end in inside])


@lru_cache(maxsize=256)  # called for every text
def pieces_of(phrase: str) -> tuple[str, ...]:
    """The words of a word or phrase that must follow each other, folded as texts are."""
    phrase = phrase.translate(_FOLDING)
    return tuple((_ASCII_PIECES if phrase.isascii() else _late(_PIECES)).findall(phrase))


def folded(text: str) -> str:
    """The text in lower case and without diacritics, with the same length."""
    return _folded(text).text


class _Folded(NamedTuple):
    text: str
    has_accents: bool = False
    """Whether letters outside ASCII may have become ASCII letters."""
    has_marks: bool = False
    """Whether some marks are characters of their own, behind their letter."""


@lru_cache(maxsize=1)  # all terms of a query are looked for in one text before the next
def _folded(text: str) -> _Folded:
    if text.isascii():
        return _Folded(text.lower())
    raw = text.encode("utf-8", "surrogatepass")
    others = raw.translate(None, _ASCII)
    # `bytes.lower` changes only ASCII, which is enough for texts with a dash or an arrow: a third of the time.
    lowered = raw.lower().decode("utf-8", "surrogatepass")
    if _MAY_FOLD.search(others) is None:
        return _Folded(lowered)
    letters = "".join(set(others.decode("utf-8", "surrogatepass")))
    if _late(_NEEDS_TABLE).search(letters) is None:
        return _Folded(text.lower())
    has_marks = _late(_MARK).search(letters) is not None
    return _Folded(_without_accents(lowered, letters), has_accents=True, has_marks=has_marks)


def _without_accents(text: str, letters: str) -> str:
    """Replaces one letter at a time: most texts have few that change, and a table takes up to fifteen times as long."""
    changing = [letter for letter in letters if letter.translate(_FOLDING) != letter]
    if len(changing) > _MOST_REPLACED:
        return text.translate(_FOLDING)
    for letter in changing:
        text = text.replace(letter, letter.translate(_FOLDING))
    return text


@lru_cache(maxsize=256)
def _alone(word: str) -> re.Pattern[str]:
    """A word without a letter or digit before or behind it; the word comes first, so that `re` can jump."""
    return re.compile(rf"{word}(?![^\W_])(?<![^\W_]{word})")


@lru_cache(maxsize=256)
def _beside_capital(word: str) -> re.Pattern[str]:
    """A word with a capital behind it, or with a letter or digit outside ASCII next to it."""
    other = r"(?![\0-\x7f])[^\W_]"
    return re.compile(rf"{word}(?:(?=[A-Z]|{other})|(?<={other}{word}))")


@lru_cache(maxsize=256)
def _inside(word: str) -> re.Pattern[str]:
    """A word with a letter or digit before or behind it; the word comes first, so that `re` can jump."""
    return re.compile(rf"{word}(?:(?=[^\W_])|(?<=[^\W_]{word}))")


@lru_cache(maxsize=256)
def _pattern(pieces: tuple[str, ...], has_marks: bool) -> re.Pattern[str]:
    pattern = ""
    for before, piece in zip(("", *pieces), pieces, strict=False):
        is_loose = is_unspaced(before[-1:]) or is_unspaced(piece[0])
        gap = "" if not before else f"{_GAP}*" if is_loose else f"{_GAP}+"
        pattern += gap + ("".join(re.escape(letter) + _MARKS for letter in piece) if has_marks else re.escape(piece))
    return re.compile(pattern)


def _end_of(match: re.Match[str] | None, otherwise: int) -> int:
    return match.end() if match else otherwise


def _is_edge(text: str, at: int) -> bool:
    """Whether a word, or a part of a name, may begin or end here."""
    return at in (0, len(text)) or not (text[at - 1].isalnum() and text[at].isalnum()) or _is_in_name(text, at)


def _is_in_name(text: str, at: int) -> bool:
    """Whether a part of a name may begin or end here, between two letters."""
    before, after = text[at - 1], text[at]
    if after.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower()):
        return True
    return not (before.isascii() and after.isascii()) and (is_unspaced(before) or is_unspaced(after))


class BlockText(NamedTuple):
    uuid: str | None
    """The uuid of its line."""
    text: str


def text_at(kind: str, content: bytes, part: int) -> BlockText | None:
    """A text of a line of a file of this kind, by its number; None if the line has no such text."""
    if kind == "tool_result":
        return BlockText(None, content.decode("utf-8", "replace"))
    # A block that was taken back extends over several lines of a capture, which begin with their time.
    if kind == "capture" and content[:1].isdigit():
        from reread.live.capture_fold import withdrawn_in  # imports the whole protocol, and few hits need it

        return BlockText(*withdrawn_in(content))
    return text_in(decode(content), part)


def text_in(record: Record, part: int) -> BlockText | None:
    """A text of a decoded line of a transcript."""
    record = of_agent(record)
    texts = texts_of(record)
    return BlockText(record.uuid, texts[part].text) if part < len(texts) else None


TextName = tuple[bytes, int, int, int, str]
"""The hash of the piece that a text is in, where the line begins in it, the line's length, the text's number, its
kind."""


class HeldTexts:
    """The texts that searches read last: the next search, a letter or a filter later, mostly finds the same.

    Texts are held and not pieces: those of a search take 1 MB, their pieces 24. A text is named by the hash of its
    piece, so that its name never means another text, whatever a sync or a forget moves meanwhile. Later damage does not
    matter: the text was proved when it was read.
    """

    def __init__(self, most: int = 8 << 20) -> None:
        self._most = most
        self._size = 0
        self._texts: OrderedDict[TextName, BlockText] = OrderedDict()
        self._forgotten: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def get(self, name: TextName) -> BlockText | None:
        found = self._texts.get(name)
        if found is not None:
            self._texts.move_to_end(name)
        return found

    def hold(self, name: TextName, text: BlockText) -> None:
        """Holds a text in place of those unused for the longest time; a large text is not held."""
        if _size(text) > self._most // 8:
            return
        self._texts[name] = text
        self._size += _size(text)
        while self._size > self._most:
            self._size -= _size(self._texts.popitem(last=False)[1])

    def forget(self, forgotten: dict[str, int]) -> None:
        """Drops all texts if something was forgotten since: it cannot be found any more, but would stay in memory."""
        if forgotten != self._forgotten:
            self._forgotten = forgotten
            self._texts.clear()
            self._size = 0


def _size(text: BlockText) -> int:
    """The size of a text, with an estimate for its name."""
    return sys.getsizeof(text.text) + 500
