"""What a transcript held before it was rewritten in place, put where it stood.

Newer clients drop the lines before a compaction. The safe has every generation of a file; what an earlier one held and
a later one does not is still part of the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reread.records import CompactBoundary, Record

from .tree import joined_after


def with_earlier(records: Iterable[Record], earlier: Sequence[Sequence[Record]]) -> list[Record]:
    """The lines of a file with those that its earlier generations alone have; the newest of these comes first.

    Lines without a uuid are state of the client, which the newest generation has. A file in whose place another
    conversation was put gets nothing.
    """
    found = list(records)
    for older in earlier:
        places = {record.uuid: place for place, record in enumerate(found) if record.uuid is not None}
        lost = [record for record in older if record.uuid is not None and record.uuid not in places]
        if lost and (len(lost) < sum(each.uuid is not None for each in older) or _follows(found, lost)):
            found = _placed(found, older, places)
    return found


def _follows(records: Sequence[Record], lost: Sequence[Record]) -> bool:
    """Whether lines name one of the lost ones as what came before, or begin with a compaction of the same session."""
    names = {record.uuid for record in lost}
    first = next((record for record in records if record.uuid is not None), None)
    if isinstance(first, CompactBoundary) and first.session_id == lost[0].session_id:
        return True
    return any(record.parent_uuid in names or not names.isdisjoint(joined_after(record)) for record in records)


def _placed(records: Sequence[Record], older: Sequence[Record], places: dict[str, int]) -> list[Record]:
    before: dict[int, list[Record]] = {}
    waiting: list[Record] = []
    last = -1
    for record in older:
        if record.uuid is None:
            continue
        place = places.get(record.uuid)
        if place is None:
            waiting.append(record)
        else:
            before.setdefault(place, []).extend(waiting)
            waiting, last = [], place
    before.setdefault(last + 1, []).extend(waiting)
    return [
        record for place in range(len(records) + 1) for record in (*before.get(place, ()), *records[place : place + 1])
    ]
