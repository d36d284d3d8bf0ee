"""The full-text index: what it is given for a text, and where matches lie in a text."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import chain, islice
from operator import add

from msgspec import Struct

from reread import lazy
from reread.features.search_text import texts_of
from reread.lazy import NamedTuple
from reread.records import ProgressLine, Record, decode

from .meta import FIELDS

__all__ = [
    "INSERT_WORDS",
    "LACKING",
    "NOTE_LACKING",
    "Counted",
    "Occurrence",
    "counted",
    "has_token",
    "indexable",
    "indexable_bytes",
    "is_unspaced",
    "occurrences",
    "pieces_of",
    "query_tokens",
]


INSERT_WORDS = [f"INSERT INTO search(rowid, {name}) VALUES (?, ?)" for name in FIELDS]  # noqa: S608  our own names

LACKING = b"\x1f"
"""Ends what FTS5 is given for a text of whose words it gets not all, or finds others in it than a pattern does. It is
no letter, so the index takes no notice of it; who writes the words notes which text it was (`NOTE_LACKING`)."""
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
"""Scripts written without spaces. Korean has them, but its particles stick to the word, so it is cut the same way."""

_RUN = f"[{_UNSPACED}]+"
_RUNS = f"([{_UNSPACED}]+)"
_LAST_RUN = f"[{_UNSPACED}]+\\Z"
_UNEVEN = "[\u0e00-\u17ff\u3099\u309a\ua960-\ua97c\ud7b0-\ud7fb\uf900-\ufaff\uff66-\uff9f\U0002f800-\U0002fa1f]"
"""Letters that may be written in two ways, or carry marks."""
_HALF_WIDTH = lazy.pattern("[\uff66-\uff9f]")
_PIECES = f"[{_UNSPACED}]+|[^\\W_{_UNSPACED}]+"
_ASCII_PIECES = lazy.pattern(r"[^\W_]+")


@cache
def _late(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: tables of scripts take 1 to 5 ms each, and a search in English needs none."""
    return re.compile(pattern)


# unicode61 (3.40) takes code points newer than its table, young emoji among them, for letters: "done🫠" is one token.
_EMOJI = lazy.pattern("[\U0001f000-\U0001faff]+")
_ESCAPES = lazy.pattern(r"\x1b\[[0-9;:?<=>]*[!-/]*[@-~]")
_DATA_URL = lazy.pattern(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,[!#-&*-;=?-\[\]^_a-z|~]{100,}")

_ARROW = "→".encode()
_LINE_NUMBER = lazy.pattern(rb"\n *+[0-9]++" + _ARROW)
"""The client puts one before every line of a file it shows: words nobody looks for, between those of a phrase. Without
the pluses that give nothing back it takes half as long again."""

_LONGEST_WORD = 200
_BLOB = lazy.pattern(r"[A-Za-z0-9+/=_-]{201,}")
_BLOB_RUN = b"x" * (_LONGEST_WORD + 1)
_STRIDE = 8
_BLOB_SAMPLE = b"x" * (_LONGEST_WORD // _STRIDE)
_SEGMENT = lazy.pattern(r"[A-Za-z0-9]+")
_LONG_SEGMENT = 16
"""Base64 has a `+` or `/` every 32 characters on average; a long path has a separator every eight."""

_NAME_TAIL = lazy.pattern(rb"A(?:(?<=aA)|(?<=AA)aa)[aA0]*")
"""A name from its first inner border on, as kinds. With a literal in front the engine jumps from capital to capital."""
_PART = lazy.pattern(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LONGEST_NAME = 80


def _table(kinds: dict[str, bytes]) -> bytes:
    """For bytes.translate: each byte to the letter of its kind, a space for all others."""
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
        # First bytes of unspaced scripts; 0xe2 (dashes, quotes, arrows, boxes) is in most texts and needs no care.
        "C": bytes([0xE0, 0xE1, *range(0xE3, 0xEE)]),
        "?": bytes([0xEF, 0xF0]),
        # Letters of other scripts, marks, private use: some are letters to unicode61 alone, or an `i` or `s` to `(?i)`.
        "o": bytes([0xC4, 0xC5, *range(0xCC, 0xE0), 0xEE, *range(0xF1, 0xF5)]),
    }
)
_RARE = lazy.pattern(rb"\xef[\xa4-\xab\xbd\xbe]|\xf0[\xa0-\xbf]")
"""Unspaced scripts behind the first bytes that mostly begin emoji and their selectors."""
_KNOWN_SIGN = (
    rb"\x80[\x80-\xbf]|\x81[\x80-\xa4]|\x82[\xa0-\xb9]|\x86[\x80-\x89\x90-\xbf]|\x8f[\x80-\xb3]|\x90[\x80-\xa6]"
    rb"|\x91[\xa0-\xbf]|\x9c[\x81-\xbf]|\xad[\x80-\x8c\x90-\x99]|\x84[\x80-\xa9\xab-\xbf]"
    rb"|[\x85\x87-\x8e\x92-\x9b\x9d-\xac][\x80-\xbf]"
)
"""Behind 0xe2: dashes, quotes, arrows, boxes. unicode61 is Unicode 6.1, and takes what is younger for letters; the sign
of Kelvin is a `k` to `(?i)`."""
_YOUNG_SIGN = lazy.pattern(rb"\xe2(?!%b)" % _KNOWN_SIGN)
_SURE = lazy.pattern(
    rb"(?:[\xc2\xc3\xc6-\xcb\xcf-\xd3][\x80-\xbf]|\xc4[\x80-\xaf\xb2-\xbf]|\xc5[\x80-\xbe]|\xce[\xa3-\xbf]|\xe2(?:%b)"
    rb"|\xe3(?:[\x80\x83][\x80-\xbf]|\x81[\x81-\xbf]|\x82[\x80-\x96\x99-\xbf])|\xe4[\xb8-\xbf][\x80-\xbf]|[\xe5-\xe9\xeb\xec][\x80-\xbf]{2}"
    rb"|\xef(?:\xb8[\x8e\x8f]|\xbc[\x81-\xbf]|\xbd[\x80-\xbf]|\xbf\xbd)|\xf0\x9f[\x80-\xab][\x80-\xbf])*+" % _KNOWN_SIGN
)
"""Characters of which unicode61 and Python agree whether they belong to a word and which ones of ASCII they are like:
those of most texts, not all."""
_BLOB_KINDS = _table({"x": _LOWER + _UPPER + _DIGITS + b"+/=_-"})


def indexable(text: str, *, with_parts: bool = True) -> str:
    """What FTS5 is given for a text: cleaned, and the parts of its camelCase names added at the end.

    At the end, not beside the name, so that a phrase through the name still has its words next to each other.
    In code the parts are half of the cost: leave them out where nobody would miss them.
    """
    return indexable_bytes(text, with_parts=with_parts).decode()


def indexable_bytes(text: str, *, with_parts: bool = True) -> bytes:
    """The same in UTF-8: a text is cleaned as bytes, and a sync need not make characters of them again."""
    words, raw, is_whole = _cleaned(text)
    parts = _name_parts(raw) if with_parts else b""
    words = b"%b\n%b" % (words, parts) if parts else words
    return words if is_whole else words + LACKING


def query_tokens(text: str) -> list[str]:
    """What a query looks for instead of a typed word or phrase, in order; FTS5 still cuts each at its punctuation.

    Every character of an unspaced run begins one token of the index. So a run at the end of a query leaves out its
    last, single character (more may follow in the text), and a query of one such character must ask for a prefix.
    """
    tokens = _cleaned(text)[0].decode().split()
    last = None if text.isascii() else _late(_LAST_RUN).search(text)
    if last is not None and len(_composed(last[0])) > 1:
        tokens.pop()
    return tokens


def is_unspaced(text: str) -> bool:
    """Whether a text is all of a script that needs no spaces."""
    return not text.isascii() and _late(_RUN).fullmatch(text) is not None


def has_token(text: str) -> bool:
    """Whether unicode61 finds anything in a text: letters, digits, and code points it was never told about."""
    return any(character.isalnum() or unicodedata.category(character) in ("Co", "Cn") for character in text)


def _cleaned(text: str) -> tuple[bytes, bytes, bool]:
    """The bytes of a text without noise, the same before unspaced runs were cut, and whether every word that a pattern
    could ask for begins a word of them; the numbers before the lines of a file apart."""
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
    """Whether FTS5 sees words begin wherever a pattern does; most texts have nothing but ASCII, dashes and arrows."""
    is_plain = b"C" not in kinds and b"?" not in kinds and b"o" not in kinds and _YOUNG_SIGN.search(raw) is None
    return is_plain or _SURE.fullmatch(raw.translate(None, _ASCII)) is not None


def _with_unspaced_cut(raw: bytes, kinds: bytes) -> bytes:
    """Emoji go, scripts without spaces are cut; most texts have neither."""
    has_emoji = b"\xf0" in raw
    has_runs = b"C" in kinds or (b"?" in kinds and _RARE.search(raw) is not None)
    if not has_emoji and not has_runs:
        return raw
    text = raw.decode()
    text = _EMOJI.sub(" ", text) if has_emoji else text
    return (_cut_in_pairs(text) if has_runs else text).encode()


def _holds_blob(raw: bytes) -> bool:
    """A look at every eighth byte rules it out for most texts: ten times faster than a regex."""
    return _BLOB_SAMPLE in raw[::_STRIDE].translate(_BLOB_KINDS) and _BLOB_RUN in raw.translate(_BLOB_KINDS)


def _encoded(text: str) -> bytes:
    """What SQLite can take: half a surrogate pair is no character."""
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
    """`検索中` as `検索 索中 中`: the last stands alone, so that every character begins a token."""
    return f" {' '.join(map(add, run, run[1:] + ' '))}"


def _composed(run: str) -> str:
    """One character per letter: file names from macOS come decomposed, and unicode61 cuts at vowel signs."""
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
    """Nothing for what only looks like a name: in random identifiers the case changes all the time."""
    parts = _PART.findall(name)
    letters = sum(map(len, parts))
    usual = 2 if letters == len(name) else 3
    if len(name) > _LONGEST_NAME or letters < usual * len(parts):
        return ()
    return tuple(part for part in parts if len(part) > 1)


class Occurrence(Struct, frozen=True):
    """Where a word or phrase stands in a text."""

    start: int
    end: int
    is_word: bool
    """False for a part of a longer name or run."""


class _Folding(dict[int, str]):
    """Each character to one lower-case character without diacritics, so that offsets stay right."""

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
"""All of them: what a letter gives back would be tried as a gap, which for 20,000 marks takes eleven seconds."""
_ONLY_MARKS = lazy.pattern(_MARKS)
_MARK = "[\u0300-\u036f]"
_NEEDS_TABLE = "[\u00c0-\u1fff\u212a\u212b\uff66-\uff9f]"
_MAY_FOLD = re.compile(rb"[\xc3-\xe1\xea]|\xe2(?:[\x84\x85\x92\x93\xb0-\xb7]|\x86[\x80-\x88])|\xef[^\xb8]|\xf0[^\x9f]")
"""First bytes of what has another case or a mark; not of quotes, dashes, arrows, boxes, emoji, Han and Hangul."""
_MOST_REPLACED = 200
"""Letters of one text: a table of all there are has thousands."""
_GAP = r"(?:\n *[0-9]+→|[\W_])"
_REST_OF_WORD = f"[^\\W_{_UNSPACED}]*"


def occurrences(text: str, phrase: str, *, is_prefix: bool) -> Iterator[Occurrence]:
    """Where FTS5 would see a word or phrase in the original text, in order; close enough to mark it.

    Parts of camelCase names count, as they are in the index. A prefix takes its whole word.
    """
    pieces = pieces_of(phrase)
    if not pieces:
        return
    folded, _, has_marks = _folded(text)
    last = len(text)
    for match in _pattern(pieces, has_marks).finditer(folded):
        start, end = match.span()
        # Most are inside of other words, and a common word is found ten thousand times in a search: nothing is called
        # or asked twice for those.
        is_at_start = start == 0 or not (text[start - 1].isalnum() and text[start].isalnum())
        if not is_at_start and not _is_in_name(text, start):
            continue
        if is_prefix and not is_unspaced(folded[end - 1]):
            end = _end_of(_late(_REST_OF_WORD).match(folded, end), end)
        is_at_end = end == last or not (text[end - 1].isalnum() and text[end].isalnum())
        if is_at_end or _is_in_name(text, end):
            yield Occurrence(start, end, is_at_start and is_at_end)


_MOST_INSIDE = 2_000
"""A longer text mostly has enough whole words near its beginning, and `occurrences` stops there."""


class Counted(NamedTuple):
    """How often a word or phrase stands in a text."""

    number: int
    has_word: bool
    """Whether one of them is a whole word."""


def counted(text: str, phrase: str, *, is_prefix: bool, most: int) -> Counted:
    """What `occurrences` finds, the first few at most."""
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
    """How often it is a whole word, and how often a part of a name; `most` parts where it would take long to tell."""
    folded = _folded(text).text
    # Nearly all are whole words, which nobody needs to look at one by one.
    everywhere = folded.count(word)
    inside = [match.span() for match in islice(_inside(word).finditer(folded), _MOST_INSIDE)]
    if len(inside) == _MOST_INSIDE:
        return 0, most
    # Nearly all the others are as `the` in `other`: without a capital no part of a name begins or ends there.
    names = [at for at in inside if not ((said := text[at[0] - 1 : at[1] + 1]).islower() and said.isascii())]
    return everywhere - len(inside), sum([_is_edge(text, start) and _is_edge(text, end) for start, end in names])


def _count_letter(text: str, letter: str, most: int) -> tuple[int, int]:
    """The same for one letter, up to `most` words: it stands in nearly all others, and only near capitals as a part."""
    words = sum(1 for _ in islice(_alone(letter).finditer(_folded(text).text), most))
    every = chain(_inside(letter.upper()).finditer(text), _beside_capital(letter).finditer(text))
    inside = [match.span() for match in islice(every, _MOST_INSIDE)]
    if len(inside) == _MOST_INSIDE:
        return 0, most
    return words, sum([_is_edge(text, start) and _is_edge(text, end) for start, end in inside])


@lru_cache(maxsize=256)  # asked for every text
def pieces_of(phrase: str) -> tuple[str, ...]:
    """The words of a word or phrase that must follow each other, folded as texts are."""
    phrase = phrase.translate(_FOLDING)
    return tuple((_ASCII_PIECES if phrase.isascii() else _late(_PIECES)).findall(phrase))


def folded(text: str) -> str:
    """As long as the text, lower-case and without diacritics."""
    return _folded(text).text


class _Folded(NamedTuple):
    text: str
    has_accents: bool = False
    """Whether other letters than those of ASCII may have become such."""
    has_marks: bool = False
    """Whether some stand by themselves, behind their letter."""


@lru_cache(maxsize=1)  # all terms of a query look at one text before the next
def _folded(text: str) -> _Folded:
    if text.isascii():
        return _Folded(text.lower())
    raw = text.encode("utf-8", "surrogatepass")
    others = raw.translate(None, _ASCII)
    # Bytes have the case of ASCII alone, and for texts with a dash or an arrow that is all: a third of the time.
    lowered = raw.lower().decode("utf-8", "surrogatepass")
    if _MAY_FOLD.search(others) is None:
        return _Folded(lowered)
    letters = "".join(set(others.decode("utf-8", "surrogatepass")))
    if _late(_NEEDS_TABLE).search(letters) is None:
        return _Folded(text.lower())
    has_marks = _late(_MARK).search(letters) is not None
    return _Folded(_without_accents(lowered, letters), has_accents=True, has_marks=has_marks)


def _without_accents(text: str, letters: str) -> str:
    """A letter at a time: most texts have few that change, and going by the table takes up to fifteen times as long."""
    changing = [letter for letter in letters if letter.translate(_FOLDING) != letter]
    if len(changing) > _MOST_REPLACED:
        return text.translate(_FOLDING)
    for letter in changing:
        text = text.replace(letter, letter.translate(_FOLDING))
    return text


@lru_cache(maxsize=256)
def _alone(word: str) -> re.Pattern[str]:
    """Where a word has no letter or digit before or behind it; the word comes first, so that `re` can jump."""
    return re.compile(rf"{word}(?![^\W_])(?<![^\W_]{word})")


@lru_cache(maxsize=256)
def _beside_capital(word: str) -> re.Pattern[str]:
    """Where a capital is behind a word, or any letter or digit that is not of ASCII is beside it."""
    other = r"(?![\0-\x7f])[^\W_]"
    return re.compile(rf"{word}(?:(?=[A-Z]|{other})|(?<={other}{word}))")


@lru_cache(maxsize=256)
def _inside(word: str) -> re.Pattern[str]:
    """Where a word stands with a letter or digit before or behind it; the word comes first, so that `re` can jump."""
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
    """Of its line."""
    text: str


def text_at(kind: str, content: bytes, part: int) -> BlockText | None:
    """Which text of a line of a file of this kind; None where the line has no such."""
    if kind == "tool_result":
        return BlockText(None, content.decode("utf-8", "replace"))
    # A block that was taken back lies in several lines of a capture, and these begin with their time.
    if kind == "capture" and content[:1].isdigit():
        from reread.live.capture_fold import withdrawn_in  # with the whole protocol: few hits are such

        return BlockText(*withdrawn_in(content))
    return text_in(decode(content), part)


def text_in(record: Record, part: int) -> BlockText | None:
    """The same of a line of a transcript that was read."""
    if isinstance(record, ProgressLine):
        from reread.sessions.agents import of_agent  # with all of a session: few hits are such

        record = of_agent(record)
    texts = texts_of(record)
    return BlockText(record.uuid, texts[part].text) if part < len(texts) else None


TextName = tuple[bytes, int, int, int, str]
"""The hash of the piece that a text lies in; where in it the line begins, how long it is, which part, of which kind."""


class HeldTexts:
    """The texts that searches read last: the next one, a letter or a filter later, mostly finds the same.

    Texts and not pieces: those of a search take 1 MB, their pieces 24. A text goes by the hash of its piece, so that
    its name never stands for another, whatever a sync or a forget moves meanwhile. Damage that comes later does not
    hide it: it was proved when it was read.
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
        """In place of those that were not asked for the longest; not what would take the place of many."""
        if _size(text) > self._most // 8:
            return
        self._texts[name] = text
        self._size += _size(text)
        while self._size > self._most:
            self._size -= _size(self._texts.popitem(last=False)[1])

    def forget(self, forgotten: dict[str, int]) -> None:
        """Lets go of all where something was forgotten since: nobody could find it, but its words would stay here."""
        if forgotten != self._forgotten:
            self._forgotten = forgotten
            self._texts.clear()
            self._size = 0


def _size(text: BlockText) -> int:
    """With about what its name takes."""
    return sys.getsizeof(text.text) + 500
