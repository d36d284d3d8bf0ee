"""What agents said, as progress lines of a transcript repeat it (`agent_progress`, up to 2.1.81).

It needs none of a session, so that a search may read such a line without importing how sessions are made.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from reread.records import AgentProgress, ProgressLine, Record, Spoken, decode


def agent_of(line: Record) -> str | None:
    """The agent that a progress line is about; None for any other line."""
    progress = line.progress if isinstance(line, ProgressLine) else None
    return progress.agent_id if isinstance(progress, AgentProgress) else None


def agent_line(line: Record) -> Spoken | None:
    """The agent's line that a progress line repeats; `raw`, `line` and `offset` are those of the progress line."""
    progress = line.progress if isinstance(line, ProgressLine) else None
    if not isinstance(progress, AgentProgress) or not bytes(progress.message):
        return None
    record = decode(bytes(progress.message))
    if not isinstance(record, Spoken):
        return None
    return replace(
        record,
        uuid=record.uuid or line.uuid,
        timestamp=record.timestamp or line.timestamp,
        session_id=line.session_id,
        cwd=line.cwd,
        version=line.version,
        git_branch=line.git_branch,
        agent_id=progress.agent_id,
        is_sidechain=True,
        raw=line.raw,
        line=line.line,
        offset=line.offset,
    )


def of_agent(record: Record) -> Record:
    """The agent's line that a progress line repeats; any other line is returned as it is."""
    return agent_line(record) or record


def lines_by_progress(lines: Iterable[Record], claimed: Collection[str]) -> dict[int, Spoken]:
    """The agents' lines found only in progress lines, by the `id()` of the progress line.

    Agents in `claimed` are left out: they have lines of their own, which hold more than the progress lines repeat.
    """
    found: dict[int, Spoken] = {}
    known: set[tuple[str, str]] = set()
    for line in lines:
        agent = agent_of(line)
        if agent is None or agent in claimed:
            continue
        spoken = agent_line(line)
        if spoken is None or (spoken.uuid is not None and (agent, spoken.uuid) in known):
            continue
        known.add((agent, spoken.uuid or ""))
        found[id(line)] = spoken
    return found
