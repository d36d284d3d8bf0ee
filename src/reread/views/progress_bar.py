"""How far a long task has come, as one line."""

from __future__ import annotations

from .numbers import duration, size
from .text import clip

_FULL, _EMPTY = "━", "─"
_LONGEST_BAR = 30


def bar_line(done: int, total: int, seconds: float, width: int) -> str:
    """`━━━━━──── 45%  120 MB of 260 MB  85 MB/s  2s left`, as much of it as fits."""
    share = min(1.0, done / total) if total else 1.0
    facts = "  ".join([f"{share:4.0%}", *_facts(done, total, seconds)])
    room = max(0, min(_LONGEST_BAR, width - len(facts) - 3))
    filled = round(room * share)
    return clip(f"{_FULL * filled}{_EMPTY * (room - filled)} {facts}".strip(), max(1, width - 1))


def plain_line(done: int, total: int, seconds: float) -> str:
    """The same for a log."""
    return ", ".join(_facts(done, total, seconds))


def _facts(done: int, total: int, seconds: float) -> list[str]:
    rate = done / seconds if seconds > 0 else 0.0
    facts = [f"{size(done)} of {size(total)}", f"{size(round(rate))}/s"]
    if rate > 0 and done < total:
        facts.append(f"{duration((total - done) / rate)} left")
    return facts
