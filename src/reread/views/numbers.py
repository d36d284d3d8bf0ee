"""Numbers as people read them."""

from __future__ import annotations

from reread.billing.money import in_dollars
from reread.errors import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from decimal import Decimal
    from pathlib import Path


def count(number: int, noun: str) -> str:
    """`1 branch`, `3 branches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def some(number: int | None, noun: str) -> str:
    """The same; empty if there is none."""
    return count(number, noun) if number else ""


def shown_of(shown: int, total: int, noun: str) -> str:
    """`20 of 1,234 sessions`; `20 sessions` if that is all."""
    return count(shown, noun) if shown >= total else f"{shown:,} of {count(total, noun)}"


def limited(shown: int, total: int, noun: str) -> str:
    """The same, with what shows the others."""
    return shown_of(shown, total, noun) + ("; --limit shows more" if shown < total else "")


def tokens(number: int) -> str:
    """`950`, `12.4k`, `3.1M`."""
    for limit, unit in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if number >= limit * 0.99995:  # from here on, rounding would give 1000.0 of the smaller unit
            return f"{number / limit:.1f}{unit}"
    return str(number)


def size(number: int) -> str:
    """`812 B`, `12.4 kB`, `3.1 GB`: decimal units, as for disks and in file listings."""
    for limit, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= limit * 0.99995:
            return f"{number / limit:.1f} {unit}"
    return f"{number} B"


def nano(nanodollars: int | None) -> Decimal | None:
    """Whole nanodollars, as the archive stores them, in dollars."""
    return in_dollars(nanodollars)


def money(dollars: Decimal | None, *, is_partial: bool) -> str:
    """`$1.23`; `≥$1.23` for a partial sum, which is a lower bound; `no price` if nothing of it has a price."""
    if dollars is None:
        return "no price" if is_partial else ""
    digits = (2 if dollars >= 1 else 4) if dollars else 0
    return f"{'≥' if is_partial else ''}${dollars:,.{digits}f}"


def costs(turn: Decimal | None, run: Decimal | None) -> str:
    """Of a turn, and of its run if that is more."""
    found = [(turn, ""), (run, "run ")] if turn != run else [(run, "")]
    return " · ".join(f"{lead}{money(each, is_partial=False)}" for each, lead in found if each)


def exact_money(nanodollars: int) -> str:
    """`$0.0061`, `$0.10`: all digits, at least two of cents."""
    whole, rest = divmod(nanodollars, 10**9)
    return f"${whole:,}.{f'{rest:09d}'.rstrip('0'):0<2}"


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `3m 20s`, `2h 5m`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes}m" if hours else f"{minutes}m {rest}s"


def percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 or share == 0 else f"{share:.1%}"


def by_version(version: str) -> tuple[tuple[int, str], ...]:
    """A sort key: 2.1.9 before 2.1.50."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in version.split("."))


def results_waiting(sessions: int) -> str:
    """The sentence of a search or status about tool results that are not indexed yet."""
    return f"tool results of {count(sessions, 'session')} are still being indexed"


def beside_lines(found: Iterable[tuple[Path, int]]) -> Iterator[str]:
    """What lies beside the sources, and how it is taken in."""
    for folder, transcripts in found:
        path = printable(str(folder))
        are = "lies" if transcripts == 1 else "lie"
        yield f"{count(transcripts, 'transcript')} {are} in {path}, not read: `reread sync --source {path}`"


def left_out_lines(sessions: Iterable[tuple[str, int]]) -> list[str]:
    """`2 sessions were forgotten on 2026-11-16 and are left out`: one line for each such day."""
    days: dict[str, int] = {}
    for _, at in sessions:
        day = _moment(at)[:10]
        days[day] = days.get(day, 0) + 1
    return [
        f"{count(number, 'session')} {'was' if number == 1 else 'were'} forgotten on {day}"
        f" and {'is' if number == 1 else 'are'} left out"
        for day, number in sorted(days.items())
    ]


def left_out_document(sessions: Iterable[tuple[str, int]]) -> list[dict[str, str]]:
    return [{"session": name, "forgotten": _moment(at)} for name, at in sessions]


def _moment(milliseconds: int) -> str:
    from datetime import UTC, datetime  # a sync that finds nothing new does not need it

    return f"{datetime.fromtimestamp(milliseconds // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
