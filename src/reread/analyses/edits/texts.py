"""Contents of files as far as they are known, and the lines they are made of.

The client shows models and transcripts a file with plain newlines and often without its byte-order mark, and writes
it back with what it had: so what a file says is told apart from how its bytes spell it.
"""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

BOM = "\ufeff"
_LONE_NEWLINE = re.compile(r"(?<!\r)\n")


class Ending(StrEnum):
    """How the lines of a file end."""

    LF = "lf"
    CRLF = "crlf"


class Content(Struct, frozen=True):
    """A file's content; text None is a file that is not there."""

    text: str | None
    """With plain newlines and without a byte-order mark; as it is where both endings occur."""
    ending: Ending | None = None
    """None where nobody told, or where there is none, or several."""
    has_bom: bool | None = None
    """None where nobody told."""
    is_end_told: bool = True
    """False where nobody told whether the last line has a newline."""

    @property
    def plain(self) -> str:
        """What the lines say, however they end."""
        return plain(self.text or "")

    def says_the_same(self, other: Content) -> bool:
        if self.text is None or other.text is None:
            return self.text is other.text
        if self.is_end_told and other.is_end_told:
            return self.plain == other.plain
        return self.plain.removesuffix("\n") == other.plain.removesuffix("\n")

    def spelled_like(self, other: Content) -> Content:
        """Another content that says the same, for all that this one does not tell."""
        has_text = self.is_end_told and not _is_mixed(other)
        return replace(
            self,
            text=self.text if has_text else other.text,
            is_end_told=self.is_end_told or other.is_end_told,
            ending=self.ending if self.ending is not None else other.ending,
            has_bom=self.has_bom if self.has_bom is not None else other.has_bom,
        )

    def like_before(self, other: Content) -> Content:
        """With the ending and the mark the file had before, where this one does not tell."""
        if self.text is None:
            return self
        ending = self.ending if self.ending is not None else other.ending
        has_bom = self.has_bom if self.has_bom is not None else other.has_bom
        return replace(self, ending=ending, has_bom=has_bom)

    def settled(self) -> Content:
        """As the client reads it before an edit: it writes back the ending that most lines have."""
        if self.text is None or not _is_mixed(self):
            return self
        crlf = self.text.count("\r\n")
        most = Ending.CRLF if crlf > self.text.count("\n") - crlf else Ending.LF
        return replace(self, text=self.plain, ending=most)

    def to_bytes(self) -> bytes:
        text = self.text or ""
        if self.ending is Ending.CRLF:
            text = text.replace("\n", "\r\n")
        text = (BOM if self.has_bom else "") + text
        try:
            return text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a character, as only a transcript can hold
            return text.encode("utf-8", "surrogatepass")


ABSENT = Content(None)
"""The file is not there."""


def exact(text: str) -> Content:
    """From a text that has its endings and its mark: what was written, or a backup."""
    has_bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    if "\r\n" not in text:
        return Content(text, Ending.LF if "\n" in text else None, has_bom)
    if _LONE_NEWLINE.search(text):
        return Content(text, None, has_bom)
    return Content(text.replace("\r\n", "\n"), Ending.CRLF, has_bom)


def told(text: str, *, has_mark: bool = True) -> Content:
    """From a text the client has normalised; `has_mark` says that it would show a byte-order mark."""
    bom = text.startswith(BOM)
    return Content(plain(text.removeprefix(BOM)), None, (bom if has_mark else None))


def plain(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """Lines with their newlines. Only newlines end one: `splitlines` breaks at form feeds and more."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _is_mixed(content: Content) -> bool:
    return content.text is not None and "\r\n" in content.text
