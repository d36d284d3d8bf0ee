"""The five-hour windows that usage limits are counted in: those a status line told of, and an estimate for the rest.

Without anybody telling, a window begins at the full hour (UTC) of its first request and lasts five hours; the next
request after it opens another. Imports nothing: a status line is drawn every few hundred milliseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SECONDS = 5 * 3600
QUARTER = 900
_PER_HOUR = 4
_PER_WINDOW = 5 * _PER_HOUR


def told_apart(told: Iterable[int]) -> list[int]:
    """Windows by their beginning in seconds, without those that begin inside another: somebody changed accounts."""
    kept: list[int] = []
    for start in sorted(told):
        if not kept or start // QUARTER >= kept[-1] // QUARTER + _PER_WINDOW:
            kept.append(start)
    return kept


def window_starts(quarters: Iterable[int], told: Sequence[int] = ()) -> dict[int, int]:
    """When the window began that each quarter of an hour lies in, in seconds; they come in the order of time.

    `told` are windows as `told_apart` gives them. A quarter that one begins in is all its own; an estimated window
    ends where a told one begins, and begins no earlier than the one before it ends.
    """
    starts: dict[int, int] = {}
    position, earliest, estimate = 0, 0, -_PER_WINDOW
    for quarter in quarters:
        while position < len(told) and told[position] // QUARTER + _PER_WINDOW <= quarter:
            earliest = told[position] // QUARTER + _PER_WINDOW
            position += 1
        if position < len(told) and told[position] // QUARTER <= quarter:
            starts[quarter] = told[position]
            continue
        if quarter >= estimate + _PER_WINDOW or estimate < earliest:
            estimate = max(quarter - quarter % _PER_HOUR, earliest, estimate + _PER_WINDOW)
        starts[quarter] = estimate * QUARTER
    return starts


def window_end(start: int, told: Sequence[int] = ()) -> int:
    """When a window ends, in seconds; an estimated one at the latest where a told one begins."""
    after = [each for each in told if start < each < start + SECONDS]
    return min([start + SECONDS, *after]) if start not in told else start + SECONDS


def last_window(back: Iterable[tuple[int, int | None, int, int]]) -> list[tuple[int, int | None, int, int]]:
    """Of rows by quarter, newest first, as many as it takes to know when the last window began."""
    found: list[tuple[int, int | None, int, int]] = []
    for row in back:
        if found and found[-1][0] - row[0] >= _PER_WINDOW:
            break
        found.append(row)
    return found
