"""What finding friction costs, against reading the same sessions: `python bench/finding.py FOLDER [SESSIONS]`.

CPU time of one process, best of three rounds. Folding is what taking a session in asks of it anyway.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

from reread import sources
from reread.features.friction import find
from reread.loading import OrphanAgentFiles, load_session
from reread.sessions import Session

ROUNDS = 3


def main(folder: str, sessions: str = "400") -> None:
    gc.set_threshold(100_000, 50, 100)  # as the command line does
    files = list(sources.find(Path(folder)))
    groups = sorted(sources.group(files), key=lambda group: -(group.trunk.size if group.trunk else 0))
    orphans = OrphanAgentFiles(files)
    picked = groups[:: max(1, len(groups) // int(sessions))]
    best = [float("inf")] * 3
    size = events = 0
    for _ in range(ROUNDS):
        spent = [0.0] * 3
        size = events = 0
        for group in picked:
            began = time.process_time()
            session = load_session(group, orphans.of(group))
            loaded = time.process_time()
            fold(session)
            folded = time.process_time()
            events += len(find(session).events)
            found = time.process_time()
            size += session.size
            spent = [spent[0] + loaded - began, spent[1] + folded - loaded, spent[2] + found - folded]
            del session
        best = [min(pair) for pair in zip(best, spent, strict=True)]
    load, folding, finding = best
    print(f"{len(picked)} sessions, {size / 1e6:.0f} MB, {events} events")
    print(f"load {load:.2f} s, fold {folding:.2f} s, find {finding:.2f} s")
    print(
        f"finding against loading {finding / load:.2f}x, against loading and folding {finding / (load + folding):.2f}x"
    )


def fold(session: Session) -> None:
    """What taking a session in works out of it."""
    assert session.total_usage is not None
    assert all(branch.id for branch in session.branches)
    assert all(call.status for call in session.tool_calls)
    assert session.span is not None
    assert session.prompts is not None
    assert session.thinking() is not None


if __name__ == "__main__":
    main(*sys.argv[1:])
