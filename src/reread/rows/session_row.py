"""The row of a session. A plain named tuple in a module of its own: listing sessions loads nothing larger."""

from __future__ import annotations

from typing import NamedTuple


class SessionRow(NamedTuple):
    """A session's description, and totals over all its files. Times are milliseconds since 1970 in UTC."""

    uuid: str
    folder: str
    project: str | None
    title: str
    started: int | None
    ended: int | None
    versions: list[str]
    models: list[str]
    git_branches: list[str]
    prompts: int
    turns: int
    requests: int
    tool_calls: int
    tool_errors: int
    thoughts: int
    output_tokens: int
    nanodollars: int | None
    unpriced_tokens: int
    subagents: int
    branches: int
    compactions: int
    bytes: int
    driver: str = ""
    """What its lines say about who drove it: see `reread.sessions.driver`."""
    opening: int | None = None
    """Equal for sessions whose first prompts begin alike."""
    second: str | None = None
    """The first prompt that the title does not tell."""
    continued_in: str | None = None
    """The session that goes on with the conversation, where the client moved it to the background."""
    team: str = ""
    """The team of sessions that it started, or was started for."""
    member: str = ""
    """What it is called in its team; empty for the one that started the team."""
