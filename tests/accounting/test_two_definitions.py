"""The ledger's SQL against a definition in Python that works on sessions: they agree on every grouping and filter.

The definition stands on the library's public pieces alone: requests of conversations, `collapse` across all files,
`add_up`. It keeps where each response is at home itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

from accounting.traps import write_traps
from reread import Session, Tokens
from reread.archive import Archive
from reread.billing import Prices, packaged_prices
from reread.queries.filters import Filter
from reread.records import ToolUse
from reread.sessions import Conversation, Copy, Request, Subagent, collapse, home_and_winner, is_of_one_file
from trees import a_tree

ERAS = sorted(path for path in (Path(__file__).parents[1] / "eras").iterdir() if path.is_dir())
BERLIN = ZoneInfo("Europe/Berlin")
Key = str | None
Rows = dict[Key, dict[Key, Tokens]]


class Part(NamedTuple):
    """One response or one call of an advisor, with the copy that is its home and the session of that."""

    model: str | None
    tokens: Tokens
    time: datetime | None
    home: Request
    home_file: Conversation
    session: str
    tools: tuple[str, ...]


def definition(archive: Archive, prices: Prices) -> list[Part]:
    """Every response once over all files, its parts priced for the day of its home."""
    places: dict[object, list[tuple[Request, Conversation, str]]] = {}
    for number, (conversation, session) in enumerate(files(archive)):
        for request in conversation.requests:
            key = (number, *request.key) if is_of_one_file(request.key) else request.key
            places.setdefault(key, []).append((request, conversation, session))
    found = []
    for copies in places.values():
        requests = [request for request, _, _ in copies]
        at_home, winner = home_and_winner([as_copy(request) for request in requests])
        [request] = collapse([[each] for each in requests]) if len(requests) > 1 else requests
        home, conversation, session = copies[at_home]
        tools = tools_of(requests[winner])
        for used, model in request.parts():
            cost = prices.cost(used, model, request.time)
            tokens = Tokens(
                requests=1,
                input_tokens=used.input,
                output_tokens=used.output,
                cache_read_tokens=used.cache_read,
                cache_write_5m_tokens=used.cache_write_5m,
                cache_write_1h_tokens=used.cache_write_1h,
                web_searches=used.web_searches,
                unpriced_tokens=used.total if cost is None else 0,
                nanodollars=cost,
            )
            found.append(Part(model, tokens, request.time, home, conversation, session, tools))
    return found


def files(archive: Archive) -> Iterator[tuple[Conversation, str]]:
    """Every file with its session, in the order the archive came to know them."""
    numbers = {str(path): int(str(number)) for path, number in archive.sql("SELECT path, id FROM file")[1]}
    found: list[tuple[int, Conversation, str]] = []
    for listed in archive.sessions():
        name = listed.stored.row.uuid
        session: Session = archive.session(name)
        own = [agent for agent in session.subagents if not agent.is_recorded_inline]
        found += [(number_of(part, session, numbers), part, name) for part in (session, *own)]
    found.sort(key=lambda each: each[0])
    yield from ((part, name) for _, part, name in found)


def number_of(part: Conversation, session: Session, numbers: dict[str, int]) -> int:
    def is_own(path: str) -> bool:
        is_agents = Path(path).stem in (f"agent-{part.id}", part.id)
        return path.endswith(".jsonl") and (is_agents if isinstance(part, Subagent) else not _is_agent(path))

    return min((numbers[path] for path in session.files if path in numbers and is_own(path)), default=0)


def _is_agent(path: str) -> bool:
    return "subagents" in Path(path).parts or Path(path).name.startswith("agent-")


def as_copy(request: Request) -> Copy:
    return Copy(request.output_tokens, request.is_sidechain, request.time.timestamp() if request.time else None)


def tools_of(request: Request) -> tuple[str, ...]:
    names = {block.name for row in request.rows for block in row.blocks if type(block) is ToolUse and block.name}
    return tuple(sorted(names))


def local_day(time: datetime | None, zone: tzinfo) -> str | None:
    return None if time is None else time.astimezone(zone).date().isoformat()


def week(time: datetime | None, zone: tzinfo) -> str | None:
    if time is None:
        return None
    day = time.astimezone(zone).date()
    return (day - timedelta(days=day.weekday())).isoformat()


def agent_of(part: Part) -> str | None:
    named = part.home.winner.attribution_agent
    if named is not None:
        return named
    if isinstance(part.home_file, Subagent):
        return part.home_file.type or part.home_file.kind.value
    return "subagent" if part.home.is_sidechain else None


def keys(by: str, parts: list[Part], zone: tzinfo) -> Callable[[Part], Key]:
    starts = blocks(part.time for part in parts if part.time is not None)
    found: dict[str, Callable[[Part], Key]] = {
        "day": lambda part: local_day(part.time, zone),
        "week": lambda part: week(part.time, zone),
        "month": lambda part: (local_day(part.time, zone) or "")[:7] or None,
        "block": lambda part: None if part.time is None else starts[part.time],
        "model": lambda part: part.model,
        "session": lambda part: part.session,
        "project": lambda part: part.home.winner.cwd,
        "branch": lambda part: part.home.winner.git_branch,
        "agent": agent_of,
        "skill": lambda part: part.home.winner.attribution_skill,
    }
    return found[by]


def blocks(times: Iterable[datetime]) -> dict[datetime, str]:
    """R22, word by word."""
    starts: dict[datetime, str] = {}
    start: datetime | None = None
    for time in sorted(times):
        if start is None or time >= start + timedelta(hours=5):
            start = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        starts[time] = start.isoformat().replace("+00:00", "Z")
    return starts


def rows(parts: list[Part], kept: list[Part], by: str, zone: tzinfo) -> Rows:
    key = keys(by, parts, zone)
    found: Rows = {}
    for part in kept:
        models = found.setdefault(key(part), {})
        models[part.model] = plus(models.get(part.model, Tokens()), part.tokens)
    return found


def plus(one: Tokens, other: Tokens) -> Tokens:
    money = [each.nanodollars for each in (one, other) if each.nanodollars is not None]
    counts = {
        name: getattr(one, name) + getattr(other, name) for name in Tokens.__struct_fields__ if name != "nanodollars"
    }
    return Tokens(**counts, nanodollars=sum(money) if money else None)


def told(archive: Archive, by: str, wanted: Filter, zone: tzinfo) -> Rows:
    report = archive.usage(by, wanted, zone)
    return {row.key: {each.model: each.tokens for each in row.models} for row in report.rows}


def plain(found: Rows, by: str, prices: Prices) -> Rows:
    """With models as reports call them: what names one model is one."""
    from reread.queries.usage import shown_model

    made: Rows = {}
    for key, models in found.items():
        name = shown_model(key, prices) if by == "model" else key
        for model, tokens in models.items():
            own = made.setdefault(name, {})
            shown = shown_model(model, prices)
            own[shown] = plus(own.get(shown, Tokens()), tokens)
    return made


BY = ("day", "week", "month", "block", "model", "session", "project", "branch", "agent", "skill")


def filters(parts: list[Part]) -> list[tuple[Filter, Callable[[Part], bool]]]:
    """Filters with what they mean; the window cuts the tree in its middle, once within a quarter of an hour."""
    times = sorted(part.time for part in parts if part.time is not None)
    middle = times[len(times) // 2] if times else datetime(2026, 1, 1, tzinfo=UTC)
    whole = middle.replace(minute=0, second=0, microsecond=0)
    project = next((part.home.winner.cwd for part in parts if part.home.winner.cwd), "/home")
    branch = next((part.home.winner.git_branch for part in parts if part.home.winner.git_branch), "main")
    tool = next((name for part in parts for name in part.tools), "Bash")
    return [
        (Filter(), lambda _: True),
        (Filter(since=whole), lambda part: part.time is not None and part.time >= whole),
        (Filter(until=middle), lambda part: part.time is not None and part.time < middle),
        (Filter(model="OPUS"), lambda part: "opus" in (part.model or "").lower()),
        (Filter(project=project.upper()), lambda part: project.lower() in (part.home.winner.cwd or "").lower()),
        (Filter(git_branch=branch), lambda part: part.home.winner.git_branch == branch),
        (Filter(tool=tool), lambda part: any(fnmatch(name.lower(), tool.lower()) for name in part.tools)),
        (
            Filter(project=project, since=middle),
            lambda part: (
                project.lower() in (part.home.winner.cwd or "").lower()
                and part.time is not None
                and part.time >= middle
            ),
        ),
    ]


def assert_agree(archive: Archive) -> int:
    prices = packaged_prices()
    parts = definition(archive, prices)
    for wanted, is_kept in filters(parts):
        kept = [part for part in parts if is_kept(part)]
        for by in BY:
            for zone in (UTC, BERLIN) if by in ("day", "week", "month") else (UTC,):
                assert told(archive, by, wanted, zone) == plain(rows(parts, kept, by, zone), by, prices), (by, wanted)
        whole = archive.usage("tool", wanted, UTC).totals
        assert whole == archive.usage("model", wanted, UTC).totals
    return len(parts)


def synced(folder: Path, *sources: Path) -> Archive:
    archive = Archive(folder / "home", sources, machine="desk")
    assert archive.sync().problems == []
    return archive


def test_they_agree_on_every_trap(tmp_path: Path) -> None:
    write_traps(tmp_path / "projects")
    with synced(tmp_path, tmp_path / "projects") as archive:
        assert assert_agree(archive) >= 39


@pytest.mark.parametrize("era", ERAS, ids=lambda path: path.name)
def test_they_agree_on_every_era(tmp_path: Path, era: Path) -> None:
    with synced(tmp_path, era) as archive:
        assert_agree(archive)


@pytest.mark.parametrize("seed", [21, 22])
def test_they_agree_on_generated_trees(tmp_path: Path, seed: int) -> None:
    tree = a_tree(tmp_path, size=500_000, seed=seed)
    with synced(tmp_path, tree.source) as archive:
        assert assert_agree(archive) > 100


def test_the_sums_kept_by_quarter_are_those_of_the_ledger(tmp_path: Path) -> None:
    """A report of days reads the sums; with a filter that lets everything pass, it reads the ledger."""
    write_traps(tmp_path / "projects")
    with synced(tmp_path, tmp_path / "projects") as archive:
        for by in ("day", "week", "month", "block", "model"):
            everything = Filter(tool="*", since=datetime(2000, 1, 1, 0, 7, tzinfo=UTC))
            called = archive.usage(by, everything, UTC)
            assert called.totals.requests < archive.usage(by, timezone=UTC).totals.requests
            dated = archive.usage(by, Filter(since=datetime(2000, 1, 1, tzinfo=UTC)), UTC)
            assert archive.usage(by, Filter(since=datetime(2000, 1, 1, 0, 7, tzinfo=UTC)), UTC) == dated
