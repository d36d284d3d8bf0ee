"""What the retrospective knows of a session, on the map beside it: where the person had to say it again, and more."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from reread.analyses.friction.events import Event, Kind
from reread.render.html.anchors import anchor
from reread.render.retro import kind_name
from reread.render.text import shorten

from .unfolding import MOST_MARKS, Mark, Unfolding

_MARKED = {
    Kind.CORRECTION: "corrected",
    Kind.RE_ASK: "corrected",
    Kind.LOOP: "slowed",
    Kind.REWORK: "slowed",
    Kind.MANUAL_STEP: "slowed",
    Kind.STALL: "slowed",
}
"""The others are there already, as failed, rejected and interrupted calls, rewinds and compactions; or, as files that
were read again, are too many and matter too little for a map."""


def friction_marks(unfolding: Unfolding, events: Iterable[Event]) -> list[Mark]:
    """In the order of the conversation; what happened on another branch is not among it."""
    wanted = {event.uuid: event for event in events if event.kind in _MARKED and event.uuid is not None}
    found = unfolding.found(wanted) if wanted else iter(())
    return [
        Mark(
            what=_MARKED[wanted[uuid].kind],
            y=height,
            tip=f"{kind_name(wanted[uuid].kind.value)}: {shorten(wanted[uuid].evidence, 90)}",
            anchor=anchor(uuid),
            piece=piece,
        )
        for uuid, piece, height in islice(found, MOST_MARKS)
    ]
