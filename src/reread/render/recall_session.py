"""A session, or a stretch of it, for a model that looks up its past."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from reread.blocks.model import CallBlock, NoticeBlock, PromptBlock, ShownBlock, ThinkingBlock, WordsBlock
from reread.blocks.of_session import SessionBlocks, prompt_block
from reread.queries.around import Piece, Way
from reread.sessions import Prompt, Said, Session, Status, Turn

from .calls import ending, summary, tool_label, without_error_tags
from .numbers import count
from .recall import LONGEST_PATH, MOST, RECORD, Recall, bounded, short
from .terminal import WITHDRAWN
from .text import one_line

_LINE, _FOUND_LINE = 2_000, 5_000
"""Letters of one line of a session, and of the one that was asked for."""
_LEAST = 200
_POINT = 240
_TITLE = 100
_NOTES = 400
"""Letters kept free for what is said around a stretch."""


def heading(session: Session, recall: Recall) -> str:
    facts = [
        f'session="{short(session.id)}"',
        recall.line(session.title, _TITLE),
        recall.line(session.project, LONGEST_PATH),
        recall.at(session.started),
        count(len(session.prompts), "prompt"),
    ]
    return f"{' · '.join(fact for fact in facts if fact)} {RECORD}"


def outline_text(session: Session, recall: Recall) -> str:
    """Each turn in a line or two: what was asked, and the last that was said."""
    turns = session.turns
    room = max(_LEAST // 3, min(_POINT, MOST // (2 * len(turns) or 1)))
    head = f"{heading(session, recall)}\nturns, each with its prompt and the last words of the reply:"
    lines = [_turn(turn, room, recall) for turn in turns]
    return bounded(head, lines, lambda left: f'… {left} more: turns="{turns[-left].index}-" reads them')


def _turn(turn: Turn, room: int, recall: Recall) -> str:
    asked = recall.line(turn.prompt.text, room) if turn.prompt is not None else "(no prompt)"
    said = next((step.text for step in reversed(turn.steps) if isinstance(step, Said) and step.text.strip()), "")
    return f"{turn.index}. {asked}" + (f"\n   → {recall.line(said, room)}" if said else "")


def way_text(session: Session, way: Way, recall: Recall, *, is_onward: bool) -> str:
    """A stretch of a way: around a piece of it, or from that piece onward."""
    head = heading(session, recall) + (f"\n({one_line(way.name)})" if way.name else "")
    teller = _Teller(session, way, recall, found=None if is_onward else way.at)
    shown = _stretch(way, teller.told, MOST - len(head) - _NOTES, is_onward=is_onward)
    lines, turn = [head], None
    if shown.start > 0 and not is_onward:
        lines.append(f"… {count(shown.start, 'line')} before{_asked('around', way, shown)}")
    for number in shown:
        if way.pieces[number].turn.index != turn:
            turn = way.pieces[number].turn.index
            lines.append(f"— turn {turn} —")
        lines.append(teller.told(number))
    if shown.stop < len(way.pieces):
        lines.append(f"… {count(len(way.pieces) - shown.stop, 'line')} after{_asked('after', way, reversed(shown))}")
    return "\n".join(line for line in lines if line)


def _asked(how: str, way: Way, numbers: Iterable[int]) -> str:
    """How to read on: by the outermost line that has a name."""
    name = next((name for number in numbers if (name := way.pieces[number].name) is not None), None)
    return f': {how}="{short(name)}"' if name is not None else ""


def _stretch(way: Way, told: Callable[[int], str], room: int, *, is_onward: bool) -> range:
    """The pieces that fit: the first one in any case, then by turns one after and one before, or only those after."""
    first = last = way.at
    room -= len(told(way.at))
    waiting = deque([+1] if is_onward else [+1, -1])
    while waiting:
        step = waiting.popleft()
        place = last + 1 if step > 0 else first - 1
        if 0 <= place < len(way.pieces) and len(told(place)) < room:
            room -= len(told(place)) + 1
            first, last = min(first, place), max(last, place)
            waiting.append(step)
    return range(first, last + 1)


class _Teller:
    """Tells the pieces of a way, each once."""

    def __init__(self, session: Session, way: Way, recall: Recall, found: int | None) -> None:
        self._way = way
        self._blocks = SessionBlocks(session, has_agents=False)
        self._writer = RecallWriter(recall, session.project)
        self._found = found
        self._told: dict[int, str] = {}

    def told(self, number: int) -> str:
        if number not in self._told:
            self._told[number] = self._tell(self._way.pieces[number], is_found=number == self._found)
        return self._told[number]

    def _tell(self, piece: Piece, *, is_found: bool) -> str:
        """Nothing for what says nothing, such as a thought that the client did not keep."""
        most = max(_LEAST, (_FOUND_LINE if is_found else _LINE) // len(piece.said))
        prompts = [prompt_block(said) for said in piece.said if isinstance(said, Prompt)]
        steps = self._blocks.steps([said for said in piece.said if not isinstance(said, Prompt)])
        parts = [self._writer.told(block, most, is_found=is_found) for block in (*prompts, *steps)]
        told = "\n".join(part for part in parts if part)
        return f"{'>>> ' if is_found else ''}[{short(piece.name)}] {told}" if told else ""


class RecallWriter:
    """Writes blocks for a model: who speaks, and as much as there is room for."""

    def __init__(self, recall: Recall, project: str | None) -> None:
        self._recall = recall
        self._project = project

    def told(self, block: ShownBlock, most: int, *, is_found: bool = False) -> str:
        if isinstance(block, CallBlock):
            return "\n".join([self._call(block), *(self._whole(block, most) if is_found else ())])
        speaker, text = _SPOKEN[type(block)](block)
        said = self._recall.prose(text, most)
        return f"{speaker}: {said}" if said else ""

    def _call(self, call: CallBlock) -> str:
        """The point of it, and how it ended."""
        point = self._recall.line(summary(call, self._project), _POINT)
        end = self._recall.line(ending(call), _POINT) or ("" if call.status is Status.OK else call.status.value)
        return "tool: " + " · ".join(part for part in (tool_label(call.name), point, end) if part)

    def _whole(self, call: CallBlock, most: int) -> list[str]:
        given = json.dumps(call.input, ensure_ascii=False, default=str)
        output = without_error_tags(call.output.whole if call.output is not None else "")
        return [f"  {label}: {self._recall.prose(text, most // 2)}" for label, text in (("in", given), ("out", output))]


def _marked(block: WordsBlock | ThinkingBlock) -> str:
    return WITHDRAWN.get(block.withdrawn or "", "") + block.text if block.text else ""


def _noticed(notice: NoticeBlock) -> tuple[str, str]:
    summary_of_all = f"\n{notice.detail}" if notice.what == "compacted" and notice.detail else ""
    return "note", f"{notice.labelled}{summary_of_all}" if notice.text else ""


_SPOKEN: dict[type[ShownBlock], Callable[[Any], tuple[str, str]]] = {
    PromptBlock: lambda block: ("user", block.text or "(no text)"),
    WordsBlock: lambda block: ("claude", _marked(block)),
    ThinkingBlock: lambda block: ("thought", _marked(block)),
    NoticeBlock: _noticed,
}
"""Who says it, and what."""
