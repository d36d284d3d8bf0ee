"""A sync in a process of its own, to be killed, starved or run beside another.

    python syncing.py HOME SOURCE [COMMIT_AFTER [ALONE_BELOW]]

Small commits make small trees take as many transactions as large ones; ALONE_BELOW 0 makes it start workers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from reread import workers
from reread.archive import Archive
from reread.errors import RereadError
from reread.ingest import sync

__all__ = ["RUN", "started"]

RUN = Path(__file__)


def started(
    home: Path, source: Path, *, commit: int = 300_000, alone: int = 0, environ: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(RUN), str(home), str(source), str(commit), str(alone)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=None if environ is None else {**os.environ, **environ},
    )


def main(home: str, source: str, *limits: str) -> int:
    for (module, name), value in zip(((sync, "COMMIT_AFTER"), (workers, "ALONE_BELOW")), limits, strict=False):
        assert isinstance(getattr(module, name), int)
        setattr(module, name, int(value))
    print("begun", flush=True)  # noqa: T201
    try:
        with Archive(Path(home), [Path(source)], machine="desk") as archive:
            result = archive.sync()
    except RereadError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
        return 3
    for problem in result.problems:
        print(problem, file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
