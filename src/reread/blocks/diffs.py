"""What an edit changes, as lines with numbers: from the patch of its result, or from its input before it ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reread.features.edits.patches import Hunk, read_hunks, steps

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
    """The lines of a hunk, each with its place in the text it stands in."""
    before, after = hunk.old_start, hunk.new_start
    for line in hunk.lines:
        sign = line[:1] if line[:1] in "+-" else " "
        yield DiffLine(sign, line[1:], before if sign == "-" else after)
        before += sign != "+"
        after += sign != "-"


def proposed(tool: str, given: Any) -> list[DiffLine]:
    """What an edit would do, by its input alone: where in the file is not known yet."""
    if not isinstance(given, dict):
        return []
    if tool == "MultiEdit":
        edits = given.get("edits")
        parts = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
        return [line for part in parts for line in _replaced(part)]
    if tool == "Edit":
        return _replaced(given)
    text = given.get("content") if tool == "Write" else given.get("new_source")
    return _added(text) if isinstance(text, str) else []


def _replaced(edit: Mapping[str, Any]) -> list[DiffLine]:
    old, new = edit.get("old_string"), edit.get("new_string")
    return compared(str(old or "").splitlines(), str(new or "").splitlines())


def compared(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    """Lines taken away and put in, in their order, with those between."""
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
    """Path and lines of each file that a shell command changed; since 2.1.325 its result tells."""
    changed_files = result.get("bashEditDiff")
    files = changed_files.get("files") if isinstance(changed_files, dict) else None
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and isinstance(file.get("filePath"), str) and read_hunks(file.get("hunks")):
            yield file["filePath"], patched({"structuredPatch": file["hunks"]})
