"""Contents of files as far as they are known; and patches as the client stores them: applied, undone, made and
shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread.records.json_parts import object_of, objects_in

BOM = "\ufeff"
_LONE_NEWLINE = re.compile(r"(?<!\r)\n")


class Ending(StrEnum):
    """How the lines of a file end."""

    LF = "lf"
    CRLF = "crlf"


class Content(Struct, frozen=True):
    """A file's content; a `text` of None means that the file does not exist."""

    text: str | None
    """With plain newlines and without a byte-order mark; unchanged where both line endings occur."""
    ending: Ending | None = None
    """None if not known, if no line has an ending, or if both kinds occur."""
    has_bom: bool | None = None
    """None if not known."""
    is_end_told: bool = True
    """False if it is not known whether the last line has a newline."""

    @property
    def plain(self) -> str:
        """The text with plain newlines, whatever the file's line endings."""
        return plain(self.text or "")

    def says_the_same(self, other: Content) -> bool:
        if self.text is None or other.text is None:
            return self.text is other.text
        if self.is_end_told and other.is_end_told:
            return self.plain == other.plain
        return self.plain.removesuffix("\n") == other.plain.removesuffix("\n")

    def spelled_like(self, other: Content) -> Content:
        """This content, with everything it leaves open taken from another one with the same lines."""
        has_text = self.is_end_told and not _is_mixed(other)
        return replace(
            self,
            text=self.text if has_text else other.text,
            is_end_told=self.is_end_told or other.is_end_told,
            ending=self.ending if self.ending is not None else other.ending,
            has_bom=self.has_bom if self.has_bom is not None else other.has_bom,
        )

    def like_before(self, other: Content) -> Content:
        """This content; line ending and byte-order mark, if not known, are those the file had before."""
        if self.text is None:
            return self
        ending = self.ending if self.ending is not None else other.ending
        has_bom = self.has_bom if self.has_bom is not None else other.has_bom
        return replace(self, ending=ending, has_bom=has_bom)

    def settled(self) -> Content:
        """As the client reads it before an edit: it writes back the line ending that most lines have."""
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
        except UnicodeEncodeError:  # an unpaired surrogate, as only a transcript can hold
            return text.encode("utf-8", "surrogatepass")


ABSENT = Content(None)
"""The file does not exist."""


def exact(text: str) -> Content:
    """From a text with its own line endings and byte-order mark: one that was written, or a backup."""
    has_bom = text.startswith(BOM)
    text = text.removeprefix(BOM)
    if "\r\n" not in text:
        return Content(text, Ending.LF if "\n" in text else None, has_bom)
    if _LONE_NEWLINE.search(text):
        return Content(text, None, has_bom)
    return Content(text.replace("\r\n", "\n"), Ending.CRLF, has_bom)


def normalised(text: str, *, has_mark: bool = True) -> Content:
    """From a text the client has normalised; `has_mark`: whether the client would have kept a byte-order mark in it."""
    bom = text.startswith(BOM)
    return Content(plain(text.removeprefix(BOM)), None, (bom if has_mark else None))


def plain(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """Lines with their newlines. Only a newline ends a line: `splitlines` also breaks at form feeds and other
    characters."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _is_mixed(content: Content) -> bool:
    return content.text is not None and "\r\n" in content.text


NO_NEWLINE = "\\ No newline at end of file"
CONTEXT = 3
_OTHER_SIDE = {"-": "+", "+": "-"}


class Hunk(Struct, frozen=True):
    """One hunk of a unified diff; lines begin with a space, a minus, a plus, or a backslash for a missing newline."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for line in self.lines)


def read_hunks(value: Any) -> tuple[Hunk, ...]:
    """From `structuredPatch`; items that are not hunks are left out."""
    return tuple(hunk for each in objects_in(value) if (hunk := _hunk(each)) is not None)


def _hunk(value: dict[str, Any]) -> Hunk | None:
    starts = [number for key in ("oldStart", "newStart") if type(number := value.get(key)) is int]
    told = value.get("lines")
    if len(starts) != 2 or not isinstance(told, list):
        return None
    lines = tuple(line for line in told if isinstance(line, str))
    sizes = {key: sum(not line.startswith((sign, "\\")) for line in lines) for key, sign in _LACKED.items()}
    old, new = (number if type(number := value.get(key)) is int else size for key, size in sizes.items())
    return Hunk(starts[0], old, starts[1], new, lines)


_LACKED = {"oldLines": "+", "newLines": "-"}
"""The sign of the lines that a side of a hunk lacks."""


def applied(hunks: Sequence[Hunk], text: str) -> str | None:
    """The text after a patch; None if a line does not fit."""
    old = split_lines(text)
    new: list[str] = []
    position = 0
    for hunk in hunks:
        start = max(0, hunk.old_start - 1) if hunk.old_lines else min(hunk.old_start, len(old))
        if not old:
            start = 0
        if start < position:
            return None
        new += old[position:start]
        result = _hunk_applied(hunk, old, start)
        if result is None:
            return None
        added, position = result
        new += added
    new += old[position:]
    return "".join(new) if _is_one_text(new) else None


def _hunk_applied(hunk: Hunk, old: Sequence[str], position: int) -> tuple[list[str], int] | None:
    """The lines that result from a hunk, and the position in the old text after it."""
    new: list[str] = []
    for number, line in enumerate(hunk.lines):
        kind, text = line[:1], line[1:]
        if kind == "\\":
            continue
        ends_here = hunk.lines[number + 1 : number + 2] == (NO_NEWLINE,)
        if kind == "+":
            new.append(text if ends_here else text + "\n")
            continue
        if position >= len(old) or _shown(old[position].removesuffix("\n")) != _shown(text.removesuffix("\r")):
            return None
        if kind == " ":
            new.append(old[position])
        position += 1
    return new, position


def _shown(line: str) -> str:
    """Patches show each tab at the start of a line as two spaces (1.0 to 2.1.325)."""
    if not line.startswith("\t"):
        return line
    text = line.lstrip("\t")
    return "  " * (len(line) - len(text)) + text


def _is_one_text(lines: Sequence[str]) -> bool:
    """Only the last line may lack its newline."""
    return {line[-1:] for line in lines[:-1]} <= {"\n"}


def inverted(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The patch that undoes a patch."""
    return tuple(
        Hunk(
            hunk.new_start,
            hunk.new_lines,
            hunk.old_start,
            hunk.old_lines,
            tuple(_OTHER_SIDE.get(line[:1], line[:1]) + line[1:] for line in hunk.lines),
        )
        for hunk in hunks
    )


class PatchStep(Struct, frozen=True):
    """Lines `old_start:old_end` of one text became `new_start:new_end` of another."""

    is_same: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def steps(old: Sequence[str], new: Sequence[str]) -> list[PatchStep]:
    """How one text becomes another, line by line. Equal ends are skipped before comparing: most edits are small."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    found = [PatchStep(True, 0, head, 0, head)] if head else []
    found += [
        PatchStep(tag == "equal", head + i1, head + i2, head + j1, head + j2)
        for tag, i1, i2, j1, j2 in middle.get_opcodes()
    ]
    if tail:
        found.append(PatchStep(True, len(old) - tail, len(old), len(new) - tail, len(new)))
    return found


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))


def hunks_between(before: str, after: str, context: int = CONTEXT) -> list[Hunk]:
    """The unified diff of two texts."""
    old, new = split_lines(before), split_lines(after)
    return [_hunk_of(group, old, new) for group in _groups(steps(old, new), context)]


def _groups(found: Sequence[PatchStep], context: int) -> list[list[PatchStep]]:
    """Changes with the lines around them; neighbouring changes share a hunk."""
    groups: list[list[PatchStep]] = []
    group: list[PatchStep] = []
    for number, step in enumerate(found):
        if not step.is_same:
            group.append(step)
            continue
        size = step.old_end - step.old_start
        is_first, is_last = number == 0, number == len(found) - 1
        if not is_first and (size > 2 * context or is_last):
            group.append(_part(step, 0, min(size, context)))
            groups.append(group)
            group = []
        if not is_last:
            kept = context if is_first or size > 2 * context else size
            group.append(_part(step, max(0, size - kept), size))
    if any(not step.is_same for step in group):
        groups.append(group)
    return [group for group in groups if any(not step.is_same for step in group)]


def _part(step: PatchStep, start: int, end: int) -> PatchStep:
    return PatchStep(True, step.old_start + start, step.old_start + end, step.new_start + start, step.new_start + end)


def _hunk_of(group: Sequence[PatchStep], old: Sequence[str], new: Sequence[str]) -> Hunk:
    lines: list[str] = []
    for step in group:
        if step.is_same:
            lines += _marked(" ", old[step.old_start : step.old_end])
        else:
            lines += _marked("-", old[step.old_start : step.old_end])
            lines += _marked("+", new[step.new_start : step.new_end])
    old_start, old_end = group[0].old_start, group[-1].old_end
    new_start, new_end = group[0].new_start, group[-1].new_end
    return Hunk(
        # A side without lines is numbered by the line before it, as in every unified diff.
        old_start + (old_end > old_start),
        old_end - old_start,
        new_start + (new_end > new_start),
        new_end - new_start,
        tuple(lines),
    )


def _marked(mark: str, lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        found.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            found.append(NO_NEWLINE)
    return found


_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


class DiffLine(NamedTuple):
    sign: str
    """`+`, `-` or a space."""
    text: str
    number: int | None = None


def is_edit(tool: str) -> bool:
    return tool in _EDITS


def patched(result: Any) -> list[DiffLine]:
    """From the structured twin of an edit's result; a new file is all additions."""
    if not isinstance(result, dict):
        return []
    found = [line for hunk in read_hunks(result.get("structuredPatch")) for line in numbered(hunk)]
    if not found and result.get("type") == "create" and isinstance(result.get("content"), str):
        return _added(result["content"])
    return found


def numbered(hunk: Hunk) -> Iterator[DiffLine]:
    """The lines of a hunk, each with its number: removed lines in the old text, others in the new one."""
    before, after = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign = line[:1] if line[:1] in "+-" else " "
        yield DiffLine(sign, line[1:], before if sign == "-" else after)
        before += sign != "+"
        after += sign != "-"


def proposed(tool: str, tool_input: Any) -> list[DiffLine]:
    """What an edit would do, from its input alone, before its place in the file is known."""
    if not isinstance(tool_input, dict):
        return []
    if tool == "MultiEdit":
        return [line for part in objects_in(tool_input.get("edits")) for line in _replaced(part)]
    if tool == "Edit":
        return _replaced(tool_input)
    text = tool_input.get("content") if tool == "Write" else tool_input.get("new_source")
    return _added(text) if isinstance(text, str) else []


def _replaced(edit: Mapping[str, Any]) -> list[DiffLine]:
    old, new = edit.get("old_string"), edit.get("new_string")
    return compared_lines(str(old or "").splitlines(), str(new or "").splitlines())


def compared_lines(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Removed and added lines in order, with the unchanged lines between them."""
    found: list[DiffLine] = []
    for step in steps(old, new):
        if step.is_same:
            found += [DiffLine(" ", line) for line in new[step.new_start : step.new_end]]
        else:
            found += [DiffLine("-", line) for line in old[step.old_start : step.old_end]]
            found += [DiffLine("+", line) for line in new[step.new_start : step.new_end]]
    return found


def _added(text: str) -> list[DiffLine]:
    return [DiffLine("+", line, number) for number, line in enumerate(text.splitlines(), 1)]


def changed(lines: Sequence[DiffLine]) -> str:
    """`+3 −1`."""
    added, removed = (sum(line.sign == sign for line in lines) for sign in "+-")
    return " ".join([*([f"+{added}"] if added else []), *([f"−{removed}"] if removed else [])])


def bash_changes(result: Mapping[str, Any]) -> Iterator[tuple[str, list[DiffLine]]]:
    """Path and lines of each file that a shell command changed; its result shows them since 2.1.325."""
    for file in changed_files(result):
        yield file["filePath"], patched({"structuredPatch": file["hunks"]})


def changed_files(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The files of such a result, each with its path and its hunks."""
    for file in objects_in(object_of(result.get("bashEditDiff")).get("files")):
        if isinstance(file.get("filePath"), str) and read_hunks(file.get("hunks")):
            yield file
