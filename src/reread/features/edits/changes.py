"""The changes a session made to files: one value per call and file, applied as the client applies them, with the
branch, turn and prompt each belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reread.features.tool_use import twin_of
from reread.records import Record
from reread.records.json_parts import objects_in, text_or_none
from reread.sessions import MAIN, Branch, CallStatus, Conversation, Session, Subagent, ToolCall, Turn

from .patches import ABSENT, Content, Hunk, applied, changed_files, exact, inverted, normalised, read_hunks
from .shell import absolute, key_of

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class EditPosition(Struct, frozen=True, kw_only=True):
    session: str
    agent: str | None
    branch: str
    segment: int
    """The part of the tree between two rewinds; -1 where the session does not show it."""
    turn: int
    prompt: str | None
    prompt_uuid: str | None
    uuid: str | None
    """The line of the call."""
    time: datetime | None
    number: int
    """Its position among the calls of the session; orders calls without a time, or with the same time."""

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


class Done(Struct, frozen=True):
    """A call, the agent that made it, and the time of its result."""

    call: ToolCall
    agent: str | None
    time: datetime | None
    number: int = 0


class Whereabouts:
    """Finds the turn of every call of a session. A call of an agent belongs where the agent was started."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, done: Done) -> EditPosition:
        call = done.call
        branch, turn, segment = self._found(call.record, done.agent)
        prompt = turn.prompt if turn is not None else None
        return EditPosition(
            session=self._session.id,
            agent=done.agent or self._inline.get(id(call.record)),
            branch=branch,
            segment=segment,
            turn=turn.index if turn is not None else 0,
            prompt=prompt.text if prompt is not None else None,
            prompt_uuid=prompt.uuid if prompt is not None else None,
            uuid=call.uuid,
            time=done.time,
            number=done.number,
        )

    def segment_of(self, done: Done) -> int:
        return self._found(done.call.record, done.agent)[2]

    def path_of(self, branch: Branch) -> frozenset[int]:
        """The segments on the path of a branch, from the beginning to its end."""
        tree = self._session.tree
        segment = self._segments.get(branch.leaf or "", tree.active)
        return frozenset(tree.path(segment))

    @cached_property
    def _turns(self) -> dict[int, tuple[str, Turn]]:
        """Branch id and turn, by the `id()` of a record."""
        return {
            id(record): (branch.id, turn)
            for branch in self._session.branches
            for turn in branch.turns
            for record in turn.records
        }

    @cached_property
    def _segments(self) -> dict[str, int]:
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {record.uuid: segment for record, segment in pairs if record.uuid is not None}

    @cached_property
    def _agents(self) -> dict[str, Subagent]:
        return {agent.id: agent for agent in self._session.subagents}

    @cached_property
    def _inline(self) -> dict[int, str]:
        """The agent of every agent's line in the trunk's file, by the line's `id()`."""
        inline = (agent for agent in self._session.subagents if agent.is_recorded_inline)
        return {id(record): agent.id for agent in inline for record in agent.records}

    def _found(self, record: Record, agent: str | None) -> tuple[str, Turn | None, int]:
        for above in self._upwards(record, agent):
            if id(above) in self._turns:
                branch, turn = self._turns[id(above)]
                return branch, turn, self._segments.get(above.uuid or "", -1)
        return MAIN, None, -1

    def _upwards(self, record: Record, agent: str | None) -> Iterator[Record]:
        """The record, then the calls that started the agents around it."""
        yield record
        name = agent or self._inline.get(id(record))
        seen: set[str] = set()
        while name is not None and name not in seen and name in self._agents:
            seen.add(name)
            owner = self._agents[name]
            if owner.call is not None:
                yield owner.call.record
            name = owner.parent


def calls_of(session: Session) -> list[Done]:
    """Every call of a session and its agents, in the order of their results; lines without a time keep their place."""
    parts: list[tuple[str | None, Conversation]] = [(None, session)]
    parts += [(agent.id, agent) for agent in session.subagents if not agent.is_recorded_inline]
    found = sorted((done for name, part in parts for done in _timed(part, name)), key=_moment)
    return [replace(done, number=number) for number, done in enumerate(found)]


def _moment(done: Done) -> datetime:
    return done.time or _BEGINNING


def _timed(part: Conversation, agent: str | None) -> Iterator[Done]:
    """The time of a call is that of its result: the calls of one message run at the same time."""
    last: datetime | None = None
    for call in part.tool_calls:
        last = (call.output.time if call.output is not None else None) or call.time or last
        yield Done(call, agent, last)


_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})


class Replacement(Struct, frozen=True):
    old: str
    new: str
    is_all: bool = False


def replaced(text: str, replacements: Iterable[Replacement]) -> str | None:
    """The text after applying all of them in order; None if one finds nothing to replace."""
    for each in replacements:
        result = _replaced(text, each)
        if result is None:
            return None
        text = result
    return text


def _replaced(text: str, each: Replacement) -> str | None:
    if not each.old:  # creates a file, or fills an empty one
        return each.new if not text.strip() else None
    old = _with_its_newline(text, each)
    # Without "all" the client refuses a string that occurs twice. If it does here, this is not the text the file had.
    if old not in text or (not each.is_all and text.count(each.old) > 1):
        return None
    return text.replace(old, each.new) if each.is_all else text.replace(old, each.new, 1)


def _with_its_newline(text: str, each: Replacement) -> str:
    """Removing whole lines removes the newline after them too (seen in 2.1.197 and 2.1.325)."""
    is_removal = not each.new and not each.old.endswith("\n") and f"{each.old}\n" in text
    return f"{each.old}\n" if is_removal else each.old


def restored(text: str, replacements: Iterable[Replacement]) -> str | None:
    """The text before all of them; None unless only one text is possible."""
    for each in reversed(list(replacements)):
        if each.is_all or not each.new or text.count(each.new) != 1:
            return None
        before = text.replace(each.new, each.old, 1)
        if _replaced(before, each) != text:
            return None
        text = before
    return text


def differs_in_quotes(one: str, other: str) -> bool:
    """The client keeps a file's curly quotes where the model sends straight ones; only the patch shows them."""
    is_possible = len(one) == len(other) and one != other and not (one.isascii() and other.isascii())
    return is_possible and one.translate(_STRAIGHT) == other.translate(_STRAIGHT)


Json = dict[str, Any]


class FileChange(Struct, frozen=True, kw_only=True):
    """What one call did to one file."""

    path: str
    tool: str
    call: str | None
    """The id of the call."""
    result: str | None
    """The line of its result."""
    place: EditPosition
    before: Content | None = None
    """The whole file before it, where the client recorded it."""
    content: Content | None = None
    """The whole file after it, where the call or its result has it."""
    replacements: tuple[Replacement, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    is_by_person: bool = False
    """The person changed the edit before agreeing: only the patch shows what was written."""
    is_creation: bool = False

    @property
    def key(self) -> str:
        return key_of(self.path)

    def after(self, before: Content | None) -> Content | None:
        """The file after the change; None if that cannot be known."""
        if self.content is not None:
            return self.content
        before = ABSENT if before is None and self.is_creation else before
        if before is None:
            return None
        base = before.settled()
        text = self._edited(base.plain)
        return None if text is None else replace(base, text=text)

    def undone(self, after: Content) -> Content | None:
        """The file before the change, worked out from the file after it; None if that cannot be known."""
        if self.is_creation:
            return ABSENT
        if self.before is not None:
            return self.before if self.content is not None else self.before.like_before(after)
        if after.text is None:
            return None
        text = applied(inverted(self.hunks), after.plain) if self.hunks else None
        if text is None and self.replacements:
            text = restored(after.plain, self.replacements)
        return None if text is None else replace(after, text=text)

    def _edited(self, text: str) -> str | None:
        """The strings show what was replaced, the patch shows the result; but old clients show tabs in it as spaces."""
        by_strings = replaced(text, self.replacements) if self.replacements else None
        if by_strings is not None and not self.is_by_person and self._has_no_quotes_to_keep(text, by_strings):
            return by_strings
        by_patch = applied(self.hunks, text) if self.hunks else None
        if by_strings is None or by_patch is None:
            return by_patch if by_strings is None else by_strings
        is_patch_right = self.is_by_person or differs_in_quotes(by_strings, by_patch)
        return by_patch if is_patch_right else by_strings

    def _has_no_quotes_to_keep(self, *texts: str) -> bool:
        """Whether all is ASCII, as in most files: then there are no curly quotes, and the patch need not be applied."""
        lines = (line for hunk in self.hunks for line in hunk.lines)
        return all(map(str.isascii, texts)) and all(map(str.isascii, lines))


def changes_of(session: Session, copied: frozenset[int] = frozenset()) -> list[FileChange]:
    """Every change of a session and its agents, on all branches, in the order they were made.

    Lines whose `id()` is in `copied` belong to another session and are left out.
    """
    where = Whereabouts(session)
    found: list[FileChange] = []
    for done in calls_of(session):
        made = _READERS.get(done.call.name)
        if made is not None and done.call.status is CallStatus.OK and id(done.call.record) not in copied:
            found += made(done.call, where.of(done))
    return found


def _common(call: ToolCall, place: EditPosition) -> Json:
    result = call.output.uuid if call.output is not None else None
    return {"tool": call.name, "call": call.id, "result": result, "place": place}


def _path(call: ToolCall, twin: Json, *keys: str) -> str | None:
    named = {**call.fields, **twin}
    found = next((named[key] for key in keys if isinstance(named.get(key), str) and named[key]), None)
    return None if found is None else absolute(found, call.record.cwd)


def _write(call: ToolCall, place: EditPosition) -> Iterator[FileChange]:
    twin = twin_of(call)
    path = _path(call, twin, "filePath", "file_path")
    content = _either(twin, "content")
    content = content if content is not None else _either(call.fields, "content")
    if path is None or content is None:
        return
    original = text_or_none(twin.get("originalFile"))
    is_creation = twin.get("type") == "create" and original is None
    yield FileChange(
        path=path,
        before=normalised(original) if original is not None else None,
        content=exact(content),
        hunks=read_hunks(twin.get("structuredPatch")),
        is_by_person=twin.get("userModified") is True,
        is_creation=is_creation,
        **_common(call, place),
    )


def _edit(call: ToolCall, place: EditPosition) -> Iterator[FileChange]:
    twin, tool_input = twin_of(call), call.fields
    path = _path(call, twin, "filePath", "file_path")
    if path is None:
        return
    original = _either(twin, "originalFile", "originalFileContents")
    edits = twin.get("edits") or tool_input.get("edits")
    told = objects_in(edits) if isinstance(edits, list) else [{**tool_input, **twin}]
    replacements = tuple(each for edit in told if (each := _replacement(edit)) is not None)
    hunks = read_hunks(twin.get("structuredPatch"))
    makes_file = original == "" and bool(replacements) and not replacements[0].old
    yield FileChange(
        path=path,
        before=ABSENT if makes_file else normalised(original) if original is not None else None,
        replacements=replacements,
        hunks=hunks,
        is_by_person=twin.get("userModified") is True,
        is_creation=makes_file,
        **_common(call, place),
    )


def _replacement(edit: Json) -> Replacement | None:
    old, new = (_either(edit, f"{name}String", f"{name}_string") for name in ("old", "new"))
    if old is None or new is None:
        return None
    is_all = any(edit.get(name) in (True, "true") for name in ("replaceAll", "replace_all"))
    return Replacement(old, new, is_all)


def _either(edit: Json, *keys: str) -> str | None:
    """The first that is text. The client's spelling comes first: it holds the string as it was found in the file."""
    return next((edit[key] for key in keys if isinstance(edit.get(key), str)), None)


def _notebook(call: ToolCall, place: EditPosition) -> Iterator[FileChange]:
    twin = twin_of(call)
    path = _path(call, twin, "notebook_path")
    if path is None or text_or_none(twin.get("error")):
        return
    before, after = text_or_none(twin.get("original_file")), text_or_none(twin.get("updated_file"))
    yield FileChange(
        path=path,
        before=normalised(before) if before is not None else None,
        content=normalised(after) if after is not None else None,
        **_common(call, place),
    )


def _shell(call: ToolCall, place: EditPosition) -> Iterator[FileChange]:
    """The changes a command made to files, where the client compared them before and after (2.1.325)."""
    for file in changed_files(twin_of(call)):
        hunks = read_hunks(file["hunks"])
        is_creation = file.get("created") is True
        text = applied(hunks, "") if is_creation else None
        # These patches never show whether the last line has a newline.
        made = replace(exact(text), is_end_told=False) if text is not None else None
        yield FileChange(
            path=file["filePath"],
            hunks=hunks,
            before=ABSENT if is_creation else None,
            content=ABSENT if file.get("deleted") is True else made,
            is_creation=is_creation,
            **_common(call, place),
        )


_READERS: dict[str, Callable[[ToolCall, EditPosition], Iterator[FileChange]]] = {
    "Write": _write,
    "Edit": _edit,
    "MultiEdit": _edit,
    "NotebookEdit": _notebook,
    "Bash": _shell,
}
"""The tools that change files, with the functions that read changes from their calls and results."""
