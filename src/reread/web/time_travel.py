"""The time of a session: all its moments for the slider, and the files as they were at one of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from reread.errors import BadInput
from reread.features.edits.net import FileDiff
from reread.features.timeline import TimelinePoint, files_at
from reread.views.html import parts
from reread.views.html.content import anchor, coloured_lines
from reread.views.html.session import SessionParts
from reread.views.numbers import money, nano, tokens

from . import pages
from .session_view import SessionView

MOST_POINTS = 1_500
"""Stops of the slider; prompts are among them whatever their number."""
LONGEST_FILE = 3_000
"""Lines of a file that are shown as it was."""


def points_in(reading: SessionView, request: Request) -> Response:
    """Every moment, short: what a page says while one drags, without asking again."""
    branch = reading.branch(pages.value(request, "branch"))
    places = branch.places
    points = _thinned(reading.timeline(branch.name))
    found = [_document(point, places[anchor(point.uuid)].piece) for point in points if anchor(point.uuid) in places]
    return Response(msgspec.json.encode(found), media_type="application/json")


def _thinned(points: list[TimelinePoint]) -> list[TimelinePoint]:
    step = -(-len(points) // MOST_POINTS)
    return (
        [point for number, point in enumerate(points) if number % step == 0 or point.what == "prompt"] if points else []
    )


def _document(point: TimelinePoint, piece: int) -> dict[str, Any]:
    return {
        "time": point.time.isoformat(),
        "to": anchor(point.uuid),
        "piece": piece,
        "turn": point.turn,
        "what": point.what[:60],
        "context": tokens(point.context),
        "cost": money(nano(point.nanodollars), is_partial=point.is_partial),
    }


def files_in(reading: SessionView, request: Request) -> Response:
    """The files that were changed by a moment, or one of them as it was."""
    moment = _moment(pages.value(request, "time"))
    diffs = files_at(reading.histories, moment)
    if pages.value(request, "file"):
        return _one_file(reading, diffs, request)
    rows = SessionParts(reading.session, parts.Sections()).file_rows(diffs)
    return pages.fragment("files_then.html", files=rows, time=moment.isoformat(), base=request.url.path)


def _content(diff: FileDiff) -> dict[str, Any]:
    """The whole file, where it is known."""
    text = diff.after.text if diff.after is not None else None
    lines = text.split("\n") if text is not None else []
    shown = coloured_lines(lines[:LONGEST_FILE], path=diff.path)
    return {
        "is_known": diff.is_known,
        "is_there": diff.after is None or diff.after.text is not None,
        "lines": shown,
        "left_out": max(0, len(lines) - LONGEST_FILE),
        "has_gaps": bool(diff.gaps),
    }


def changed_file(reading: SessionView, request: Request) -> Response:
    """The diff of one of the files that were changed in the end."""
    return _one_file(reading, reading.net_changes, request)


def _one_file(reading: SessionView, diffs: Sequence[FileDiff], request: Request) -> Response:
    wanted = pages.number(request, "file", -1)
    if not 0 <= wanted < len(diffs):
        raise HTTPException(404)
    made = SessionParts(reading.session, parts.Sections()).file_diff(diffs[wanted])
    return pages.fragment("file_then.html", diff=made, **_content(diffs[wanted]))


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadInput(f"{text[:40]!r} is no moment with a time zone")
    return found
