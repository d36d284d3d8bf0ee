"""Whether a session is found by describing it: `make eval` prints how often it is the first, among five, among ten.

The titles that the client's model gave to sessions are free labels: each is a question whose answer is its session. No
field with a title is searched, so the label itself is never what is found.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from measuring import interval
from prompts import CORPUS
from reread.archive import Archive
from reread.archive.text_search import SearchAnswer
from reread.loading import SourceTree
from reread.records import AiTitle, Summary

FIELDS = "prompt,text,thinking,tool"
RANKS = (1, 5, 10)


class Title(NamedTuple):
    text: str
    session: str


class Asked(NamedTuple):
    rank: int | None
    """None if the session is not among the ten best."""
    is_empty: bool
    seconds: float
    """Of the processor."""


def titles(places: Iterable[Path]) -> Iterator[Title]:
    """The titles that models wrote, each with its session; a summary names a line of the session it is about."""
    sessions = list(SourceTree(list(places)))
    owners = {record.uuid: session.id for session in sessions for record in session.records if record.uuid is not None}
    found: dict[Title, None] = {}
    for session in sessions:
        for record in session.records:
            if isinstance(record, AiTitle) and record.ai_title:
                found[Title(record.ai_title, session.id)] = None
            elif isinstance(record, Summary) and record.summary and record.leaf_uuid in owners:
                found[Title(record.summary, owners[record.leaf_uuid])] = None
    yield from found


def ask(archive: Archive, title: Title) -> Asked:
    began = time.process_time()
    answer = archive.search(title.text, FIELDS, limit=RANKS[-1])
    seconds = time.process_time() - began
    shown = sessions_of(answer)
    rank = shown.index(title.session) + 1 if title.session in shown else None
    return Asked(rank, not shown, seconds)


def sessions_of(answer: SearchAnswer) -> list[str]:
    """The sessions in the order in which a person sees them."""
    return list(dict.fromkeys(hit.session.row.uuid for hit in (*answer.hits, *answer.nearest)))[: RANKS[-1]]


def report(places: list[Path]) -> None:
    with tempfile.TemporaryDirectory(prefix="reread-eval-") as home, Archive(Path(home), places) as archive:
        archive.sync()
        asked = [ask(archive, title) for title in titles(places)]
    print(f"search: {len(asked)} titles as questions, in {FIELDS}")
    for most in RANKS:
        right = sum(each.rank is not None and each.rank <= most for each in asked)
        least, best = interval(right, len(asked))
        print(f"  hit@{most}: {right} of {len(asked)}, {right / max(1, len(asked)):.0%} ({least:.0%} to {best:.0%})")
    print(f"  no answer at all: {sum(each.is_empty for each in asked)}")
    times = sorted(each.seconds for each in asked) or [0.0]
    print(
        f"  {times[len(times) // 2] * 1000:.0f} ms of the processor, p95 {times[int(len(times) * 0.95)] * 1000:.0f} ms"
    )


if __name__ == "__main__":
    report([Path(each) for each in sys.argv[1:]] or [CORPUS / "recorded", CORPUS / "labelled"])
