"""Which copy of a response counts, and whose it is: the one place that decides (R2 to R4).

A resume, a fork, an agent that replays its parent, a backup, a second machine: each tells a response once more. Give
`settle` all copies of one key, in any order and from anywhere; its answer depends on what they say, never on when they
came. A database elsewhere can group its rows by `key` (advisors' calls aside) and call it, or sort as `nearness` does:

    owner    ORDER BY is_sidechain, time IS NULL, time, began IS NULL, began, ended, head, file   LIMIT 1
    counted  ORDER BY output DESC, and then as the owner                                          LIMIT 1

`began` and `ended` are the first and the last time of a response in the same file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from .response import Response

if TYPE_CHECKING:
    from .prices import Prices

Nearness = tuple[bool, bool, int, bool, int, int, str, str]


def nearness(copy: Response) -> Nearness:
    """Sorts copies by their right to own a response: a main conversation before a sidechain, the earliest row, the
    earliest conversation (one that began first; a fork begins as its origin does and mostly goes on after it), and
    last the smaller digest of the file's beginning and the smaller key of the file.
    """
    time, began = copy.time, copy.began
    return copy.is_sidechain, time is None, time or 0, began is None, began or 0, copy.ended or 0, copy.head, copy.file


def settle(copies: Sequence[Response]) -> Response:
    """What the copies of one response come to: `owner` says whose it is and `file` whose counts are taken, whole.

    Most output counts, on a tie the copy that owns it: an agent that replays its parent's messages reports other cache
    figures. Time, place and branch are the owner's. Only web searches are the most of any copy; a response is as sure
    as its surest copy. The money is that of the copy that counts: see `settle_all`, which prices the owner's day.
    """
    ranked = sorted(copies, key=nearness)
    owner, counted = ranked[0], max(ranked, key=lambda copy: copy.output)
    return replace(
        counted,
        owner=owner.file,
        time=owner.time,
        head=owner.head,
        began=owner.began,
        ended=owner.ended,
        is_sidechain=owner.is_sidechain,
        is_abandoned=owner.is_abandoned,
        place=owner.circumstance,
        web_searches=max(copy.web_searches for copy in copies),
        doubt=min(copy.doubt for copy in copies),
        rows=sum(copy.rows for copy in copies),
        files=len(copies),
    )


def settle_advice(advised: Response, asked: Response) -> Response:
    """An advisor's call inside the copy that counts: it goes where its response goes."""
    return replace(
        advised,
        owner=asked.owner,
        time=asked.time,
        is_sidechain=asked.is_sidechain,
        is_abandoned=asked.is_abandoned,
        place=asked.place,
        files=asked.files,
    )


def settle_all(told: Iterable[Response], prices: Prices | None = None) -> Iterator[Response]:
    """Every response once, out of what several files tell, and the advisors that were asked in what counts.

    With prices, what several files tell has the money of its owner's day.
    """
    first: dict[str, Response] = {}
    copies: dict[str, list[Response]] = {}
    advised = []
    for each in told:
        if not each.rows:
            advised.append(each)
        elif each.key in first:
            copies.setdefault(each.key, [first[each.key]]).append(each)
        else:
            first[each.key] = each
    for key, several in copies.items():
        settled = settle(several)
        first[key] = settled if prices is None else prices.priced(settled)
    yield from first.values()
    for each in advised:
        asked = first.get(each.response)
        if asked is None or asked.files == 1:
            yield each
        elif asked.file == each.file:
            settled = settle_advice(each, asked)
            yield settled if prices is None else prices.priced(settled)
