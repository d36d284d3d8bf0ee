"""The rules for what a person notes on sessions: what a tag, a note and a title may be, what a change makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reread.errors import BadInput, printable
from reread.marks import Mark, tag_key

LONGEST_TAG = 60
LONGEST_TITLE = 200
LONGEST_NOTE = 10_000
_JOINERS = "\u200c\u200d"
"""They spell emoji and Persian, unlike all other letters that cannot be seen."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class Change(NamedTuple):
    """What to note; None leaves as it is, and an empty note or title takes it away."""

    starred: bool | None = None
    hidden: bool | None = None
    tags: tuple[str, ...] = ()
    untags: tuple[str, ...] = ()
    note: str | None = None
    title: str | None = None

    def checked(self) -> Change:
        """The same as it can be kept; raises BadInput with what is wrong."""
        tags, untags = tuple(map(tag_name, self.tags)), tuple(map(tag_name, self.untags))
        both = {tag_key(tag) for tag in tags} & {tag_key(tag) for tag in untags}
        if both:
            raise BadInput(f"the tag {min(both)!r} is both given and taken away")
        note = None if self.note is None else _text(self.note.strip(), "note", LONGEST_NOTE)
        title = None if self.title is None else _text(" ".join(self.title.split()), "title", LONGEST_TITLE)
        return self._replace(tags=tags, untags=untags, note=note, title=title)

    def of(self, mark: Mark) -> Mark:
        """What it makes of a mark. A tag that was there takes the new spelling."""
        gone = {tag_key(tag) for tag in (*self.tags, *self.untags)}
        tags = {tag_key(tag): tag for tag in (*(tag for tag in mark.tags if tag_key(tag) not in gone), *self.tags)}
        return Mark(
            starred=mark.starred if self.starred is None else self.starred,
            tags=tuple(tags[key] for key in sorted(tags)),
            note=mark.note if self.note is None else self.note or None,
            title=mark.title if self.title is None else self.title or None,
            hidden=mark.hidden if self.hidden is None else self.hidden,
        )


def tag_name(text: str) -> str:
    """A tag as it is kept: one line with single spaces. Raises BadInput for what is none."""
    from unicodedata import category, normalize

    name = normalize("NFC", " ".join(text.split(" ")).strip())
    if not name:
        raise BadInput("a tag needs at least one letter")
    if any(letter == "," or (category(letter) in _UNSEEN and letter not in _JOINERS) for letter in name):
        raise BadInput(f"the tag {printable(text)!r} has a comma, a line break or a letter that cannot be seen")
    if len(name) > LONGEST_TAG:
        raise BadInput(f"the tag {printable(name[:20])!r}... is longer than {LONGEST_TAG} letters")
    return " ".join(name.split())


def counted(marks: Iterable[Mark]) -> list[tuple[str, int]]:
    """Every tag in its commonest spelling with how many marks have it, the most used first."""
    spellings: dict[str, dict[str, int]] = {}
    for mark in marks:
        for tag in mark.tags:
            found = spellings.setdefault(tag_key(tag), {})
            found[tag] = found.get(tag, 0) + 1
    tags = [(max(found, key=lambda tag: (found[tag], tag)), sum(found.values())) for found in spellings.values()]
    return sorted(tags, key=lambda pair: (-pair[1], tag_key(pair[0])))


def _text(text: str, what: str, longest: int) -> str:
    if len(text) > longest:
        raise BadInput(f"the {what} is longer than {longest:,} letters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the {what} {printable(text[:40])!r} is no UTF-8") from error
    return text
