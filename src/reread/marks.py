"""What a person noted on sessions (stars, tags, notes, titles) and said about moved folders; the rules for both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from reread import lazy
from reread.errors import BadInput, printable


class Mark(NamedTuple):
    """What a person noted on one session."""

    starred: bool = False
    tags: tuple[str, ...] = ()
    """As they were spelled, in alphabetical order."""
    note: str | None = None
    title: str | None = None
    """Replaces the title that its files give it."""
    hidden: bool = False
    typed: bool | None = None
    """Whether a person typed its prompts, as one said; a session of the archive has False where a program drove it."""

    def has_tags(self, tags: Iterable[str]) -> bool:
        """Whether it has all these tags, in whatever spelling."""
        own = {tag_key(tag) for tag in self.tags}
        return all(tag_key(tag) in own for tag in tags)

    @property
    def words(self) -> str:
        """The text that can be searched: title, note and tags; empty if there are none."""
        tags = " ".join(f"#{tag}" for tag in self.tags)
        return "\n".join(part for part in (self.title, self.note, tags) if part)


NO_MARK = Mark()


def tag_key(tag: str) -> str:
    """A key that is equal for all spellings of a tag."""
    return tag.casefold()


_DRIVE = lazy.pattern(r"[A-Za-z]:(?=[/\\]|$)")
_SHELL_DRIVE = lazy.pattern(r"\A/([Cc])(?=/|$)")
"""How Git's shell calls the first drive. Other letters may well be folders of Linux, such as `/w`."""


def spelled(path: str) -> str:
    """The one spelling of a path: `C:\\app` for `c:\\app`, `C:/app` and `/c/app`; any path but Windows' as it is."""
    path = _SHELL_DRIVE.sub(r"\1:", path) if path[:1] == "/" else path
    return path[0].upper() + path[1:].replace("/", "\\") if path[1:2] == ":" and _DRIVE.match(path) else path


def below(path: str, folder: str) -> str | None:
    """The rest of a path behind the folder, with forward slashes; None if the path is neither it nor below it.

    Windows accepts either slash and ignores case, and the folder may be one of another machine.
    """
    plain, above = spelled(path).replace("\\", "/"), spelled(folder).replace("\\", "/").rstrip("/")
    head, rest = plain[: len(above)], plain[len(above) :].rstrip("/")
    is_same = head == above or (_DRIVE.match(above) is not None and head.lower() == above.lower())
    return rest if is_same and rest[:1] in ("", "/") else None


def _joined(folder: str, rest: str) -> str:
    """A folder extended by what `below` returned; the slash of a root is part of its name."""
    bare = folder.rstrip("/\\")
    if not rest:
        return folder if not bare or _DRIVE.fullmatch(bare) else bare
    return bare + (rest.replace("/", "\\") if "\\" in folder else rest)


class Moves(NamedTuple):
    """All that a person said about moved folders."""

    pairs: tuple[tuple[str, str], ...] = ()
    """The earlier folder, and today's."""

    def today(self, path: str) -> str:
        """A path as it is called today. One move may lead to another; each is applied once, so there is no loop."""
        path = spelled(path)
        left = sorted(self.pairs, key=lambda pair: -len(pair[0]))  # of nested folders the inner one first
        while step := next((pair for pair in left if below(path, pair[0]) is not None), None):
            path = _joined(step[1], below(path, step[0]) or "")
            left.remove(step)
        return path

    def is_called(self, path: str | None, text: str) -> bool:
        """Whether a text is part of the path as it was, or as it is called today."""
        return any(each.lower() in name.lower() for name in self._names(path) for each in (text, spelled(text)))

    def is_below(self, path: str | None, folder: str) -> bool:
        """Whether the path was in a folder, or is today; whole names are compared: `app2` is not in `app`."""
        return any(below(name, folder) is not None for name in self._names(path))

    def _names(self, path: str | None) -> list[str]:
        return [path, self.today(path)] if path else [""]

    def check(self, old: str, new: str) -> None:
        """Raises BadInput if this move would lead back to where it began."""
        if below(new, old) is not None:
            raise BadInput(f"{printable(new)} is {printable(old)} or lies in it, so it cannot be what that is today")
        today = Moves(tuple(pair for pair in self.pairs if pair[0] != old)).today(new)
        if below(today, old) is not None:
            advice = "`reread projects unmove` takes that back"
            raise BadInput(f"{printable(new)} is {printable(today)} today, as was said before; {advice}")


NO_MOVES = Moves()


LONGEST_TAG = 60
LONGEST_TITLE = 200
LONGEST_NOTE = 10_000
_JOINERS = "\u200c\u200d"
"""Invisible characters that are allowed, because emoji and Persian are spelled with them."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class MarkChange(NamedTuple):
    """A change of a mark: None leaves a field as it is, and an empty note or title removes it."""

    starred: bool | None = None
    hidden: bool | None = None
    tags: tuple[str, ...] = ()
    untags: tuple[str, ...] = ()
    note: str | None = None
    title: str | None = None
    typed: bool | None = None

    def checked(self) -> MarkChange:
        """The change in the form that is stored; raises BadInput with what is wrong."""
        tags, untags = tuple(map(tag_name, self.tags)), tuple(map(tag_name, self.untags))
        both = {tag_key(tag) for tag in tags} & {tag_key(tag) for tag in untags}
        if both:
            raise BadInput(f"the tag {min(both)!r} is both given and taken away")
        note = None if self.note is None else _text(self.note.strip(), "note", LONGEST_NOTE)
        title = None if self.title is None else _text(" ".join(self.title.split()), "title", LONGEST_TITLE)
        return self._replace(tags=tags, untags=untags, note=note, title=title)

    def of(self, mark: Mark) -> Mark:
        """The mark with this change applied. A tag that it had already takes the new spelling."""
        gone = {tag_key(tag) for tag in (*self.tags, *self.untags)}
        tags = {tag_key(tag): tag for tag in (*(tag for tag in mark.tags if tag_key(tag) not in gone), *self.tags)}
        return Mark(
            starred=mark.starred if self.starred is None else self.starred,
            tags=tuple(tags[key] for key in sorted(tags)),
            note=mark.note if self.note is None else self.note or None,
            title=mark.title if self.title is None else self.title or None,
            hidden=mark.hidden if self.hidden is None else self.hidden,
            typed=mark.typed if self.typed is None else self.typed,
        )


def tag_name(text: str) -> str:
    """A tag as it is stored: one line with single spaces. Raises BadInput if the text cannot be a tag."""
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
    """Every tag in its commonest spelling with the number of marks that have it, the most used first."""
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
        raise BadInput(f"the {what} {printable(text[:40])!r} is not valid UTF-8") from error
    return text
