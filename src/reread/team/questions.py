"""Questions to a team's store, answered with the archive's own value types, so that the same views show them.

Everybody asks with their own role and gets what it may see. What was never pushed is None, and shown as missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, LiteralString, NamedTuple

from msgspec.structs import replace

from reread import billing, errors, loading, records, sources, times, zstd
from reread import rows as row_types
from reread.archive import Machine, StoredSession, ids_called, search_language, shown_names, text_search, usage_report
from reread.archive.filters import Filter
from reread.archive.listing import Listed
from reread.billing import sql as billing_sql
from reread.features import search_text
from reread.foreign_files import write_below

from .payload import NOT_SENT, words
from .store import Store, as_json, database_errors, found_session

TEAM_GROUPINGS = (*usage_report.GROUPINGS, "team", "person")
_SUMS = billing_sql.sum_columns(billing_sql.POSTGRES)
_KEYS: dict[str, LiteralString] = {
    "session": "uuid",
    "project": "project",
    "branch": "nullif(git_branch, '')",  # as versions before this one sent work outside a repository
    "agent": "agent",
    "skill": "skill",
    "tool": "tools",
    "team": "team",
    "person": "person",
    "machine": "machine",
}
_FOLDED: LiteralString = r"regexp_replace(project, '[/\\]\.(claude[/\\])?worktrees[/\\][^/\\].*$', '') = %s"
"""Work in a folder or in one of its worktrees, as `listing.project_of` has it."""
_UNANSWERED = {"file": "--file", "starred": "--starred", "tags": "--tag", "sources": "--source"}


def usage(
    store: Store, by: str = "day", filters: Filter | None = None, timezone: tzinfo | None = None
) -> usage_report.UsageReport:
    """The report of `Archive.usage` over everything that the role may see; also by team and person. Raises BadInput for
    a grouping or filter that a store cannot answer."""
    filters = filters or Filter()
    if by not in TEAM_GROUPINGS:
        raise errors.BadInput(f"usage by {by!r} is not there; try {', '.join(TEAM_GROUPINGS)}")
    condition, values = _condition(store, filters)
    prices = billing.packaged_prices()
    with database_errors():
        cells = list(_cells(store, by, _source(filters), (condition, values), timezone))
        lines = store.rows(
            """SELECT coalesce(sum(lines), 0)::bigint, coalesce(sum(malformed), 0)::bigint
               FROM reread.seen_file AS file JOIN reread.seen_session AS session ON session.id = file.session
               WHERE is_counted"""
        )[0]
        report = usage_report.report_of(by, cells, prices, (lines[0], lines[1]))
        counted_with = store.note("prices") or report.accounting.price_table_date
        report = replace(report, accounting=replace(report.accounting, price_table_date=counted_with))
        return _with_projects(store, report) if by == "session" else report


def _source(filters: Filter) -> tuple[LiteralString, list[Any]]:
    """The responses that the role may see, at least all that a filter keeps."""
    since = times.milliseconds(filters.since)
    return ("reread.seen_response", []) if since is None else ("reread.responses_since(%s)", [since])


def _refuse_unanswered(filters: Filter) -> None:
    for name, option in _UNANSWERED.items():
        if getattr(filters, name):
            raise errors.BadInput(
                f"a team store cannot tell what {option} asks for; leave it out, or ask your own archive"
            )


def _condition(store: Store, filters: Filter) -> tuple[LiteralString, list[Any]]:
    """A filter as SQL over `response`."""
    _refuse_unanswered(filters)
    found: list[tuple[LiteralString, Any]] = []
    if filters.project:
        found.append(("strpos(lower(project), lower(%s)) > 0", filters.project))
    if filters.of_project:
        found.append((_FOLDED, filters.of_project))
    if filters.git_branch:
        found.append(("git_branch = %s", filters.git_branch))
    if filters.model:
        found.append(("strpos(lower(model), lower(%s)) > 0", filters.model))
    if filters.machine:
        found.append(("machine = ANY(%s)", ids_called(machines(store), filters.machine)))
    if filters.since is not None:
        found.append(("time >= %s", times.milliseconds(filters.since)))
    if filters.until is not None:
        found.append(("time < %s", times.milliseconds(filters.until)))
    condition: LiteralString = " AND ".join(part for part, _ in found) or "true"
    values = [value for part, value in found for _ in range(part.count("%s"))]
    if filters.tool:
        tool = filters.tool.lower()
        pattern = re.sub(r"[\\%_]", r"\\\g<0>", tool).replace("*", "%").replace("?", "_")
        condition += " AND EXISTS (SELECT FROM unnest(tools) AS tool WHERE lower(tool) LIKE %s)"
        values.append(pattern)
    return condition, values


def _cells(
    store: Store,
    by: str,
    source: tuple[LiteralString, list[Any]],
    kept: tuple[LiteralString, list[Any]],
    timezone: tzinfo | None,
) -> Iterator[usage_report.UsageCell]:
    responses, condition, values = source[0], kept[0], [*source[1], *kept[1]]
    if by in (*usage_report.PERIODS, "model", "block"):
        rows = store.rows(
            f"""SELECT {billing_sql.quarter_of(billing_sql.POSTGRES)}, coalesce(model, ''), {_SUMS} FROM {responses}
                WHERE {condition} GROUP BY 1, 2""",  # noqa: S608  our own text
            values,
        )
        rows.sort(
            key=lambda row: (row[0] is not None, row[0], row[1])
        )  # in SQL, sorting all responses would take a third of the time
        yield from usage_report.cells_ahead(rows, usage_report.UsageQuestion(by=by, zone=timezone), ())
        return
    key, labels = _KEYS[by], shown_names(machines(store)) if by == "machine" else {}
    # Shares of several tools are divided once per circumstance, not per response, as the archive does it.
    group_by: LiteralString = ", circumstance, place, is_sidechain, files > 1" if by == "tool" else ""
    rows = store.rows(
        f"""SELECT {key}, model, is_agent OR is_sidechain, is_abandoned, {_SUMS} FROM {responses}
            WHERE {condition} GROUP BY 1, 2, 3, 4{group_by}""",  # noqa: S608  our own text
        values,
    )
    for name, model, is_agent, is_abandoned, *sums in rows:
        if by == "tool":
            yield from usage_report.tool_cells(name, model, billing.Sums(*sums))
        elif by == "session":
            yield usage_report.UsageCell(name, model, billing.Sums(*sums), is_agent=is_agent, is_abandoned=is_abandoned)
        else:
            called = Filter().moves.today(name) if by == "project" and name else labels.get(name, name)
            yield usage_report.UsageCell(called, model, billing.Sums(*sums))


def machines(store: Store) -> list[Machine]:
    """The machines that the role may see; people who pushed from the same one may each have another label for it."""
    rows = store.rows(
        "SELECT id, min(label), array_agg(label) FROM reread.seen_machine AS machine GROUP BY id ORDER BY 2, 1"
    )
    return [Machine(number, label, tuple(labels)) for number, label, labels in rows]


def _with_projects(store: Store, report: usage_report.UsageReport) -> usage_report.UsageReport:
    named = f"SELECT uuid, title, project FROM {_TITLED} ORDER BY is_counted, project IS NOT NULL, key"  # noqa: S608
    return usage_report.titled(report, {uuid: about for uuid, *about in store.rows(named)})


# -- sessions

_SHORTEST_ID = 4
_TITLED: LiteralString = (
    "reread.seen_session AS session LEFT JOIN reread.seen_title AS title ON title.session = session.id"
)
_SESSION: LiteralString = f"""session.id, uuid, project, title, numbers, person, team, has_text, content_digest, machine
    FROM {_TITLED}"""


class TeamSession(NamedTuple):
    """A session in a store as a list shows it, and whose it is."""

    listed: Listed
    person: str
    team: str | None
    pushed: str
    """ledger, text or all."""

    @property
    def about(self) -> dict[str, str | None]:
        return {"person": self.person, "team": self.team, "pushed": self.pushed}


def _team_session(row: Sequence[Any]) -> TeamSession:
    stored = _stored(row)
    pushed = "all" if row[8] is not None else "text" if row[7] else "ledger"
    return TeamSession(Listed(stored, None, stored.row.project or ""), row[5], row[6], pushed)


def _stored(row: Sequence[Any]) -> StoredSession:
    """A session's row, marked as present: whether its transcript still exists is unknown here, and it is not ours to
    keep."""
    number, uuid, project, title, numbers = row[:5]
    about = {"uuid": uuid, "folder": "", "project": project, "title": title or "", "git_branches": []}
    return StoredSession(number, row_types.SessionRow(**{**numbers, **about}), [], present=True, mtime_ns=None)


def listed(store: Store, filters: Filter) -> list[TeamSession]:
    """Sessions that the role may see, the one that ended last first; the title is empty if no text was pushed."""
    return _all_copies(store, filters, "is_counted")[: filters.limit]


def session_rows(store: Store) -> Iterator[tuple[int, str, row_types.SessionRow]]:
    """The sessions that count and that the role may see: number, machine and row; the person is its folder."""
    rows = store.rows(f"SELECT {_SESSION} WHERE is_counted")
    for row in rows:
        yield row[0], row[9], _stored(row).row._replace(folder=f"{row[5]}/{row[0]}")


def state(store: Store) -> tuple[Any, ...]:
    """Differs as soon as what a list or a report shows may differ."""
    [found] = store.rows("SELECT count(*), max(pushed), count(DISTINCT team) FROM reread.seen_session AS session")
    return (*found, store.note("prices"))


def _all_copies(store: Store, filters: Filter, which: LiteralString = "true") -> list[TeamSession]:
    """Sessions including copies that do not count, because their text may be the only one that was pushed."""
    _refuse_unanswered(filters)
    condition, values = _response_condition(store, filters)
    rows = store.rows(
        f"""SELECT {_SESSION} WHERE {which} AND {condition}
            ORDER BY (numbers->>'ended')::bigint DESC NULLS LAST, uuid""",
        values,
    )
    return [each for each in map(_team_session, rows) if _passes(each.listed.stored, filters)]


def _response_condition(store: Store, filters: Filter) -> tuple[LiteralString, list[Any]]:
    """The conditions of a filter that a session's numbers cannot answer: machine, branch and tool."""
    condition, values = _condition(store, Filter(git_branch=filters.git_branch, tool=filters.tool))
    machine, more = _condition(store, Filter(machine=filters.machine))
    told: LiteralString = """EXISTS (
        SELECT FROM reread.seen_told AS told JOIN reread.seen_file AS file ON file.id = told.file
        WHERE file.session = session.id"""
    return (f"{machine} AND {told} AND {condition})" if values else machine), [*more, *values]


def _passes(stored: StoredSession, filters: Filter) -> bool:
    row = stored.row
    since, until = times.milliseconds(filters.since), times.milliseconds(filters.until)
    return (
        filters.keeps_project(row.project)
        and (since is None or (row.ended is not None and row.ended >= since))
        and (until is None or (row.started is not None and row.started < until))
        and (filters.model is None or any(filters.model.lower() in model.lower() for model in row.models))
    )


def session(store: Store, name: str) -> tuple[loading.LoadedSession, TeamSession]:
    """A conversation as it was pushed: complete, or its text without tool results. Raises BadInput if no text was
    pushed, or the role may not read it."""
    named = _named(store, name)
    rows = store.rows(
        f"""SELECT {_SESSION} WHERE uuid = %s
            ORDER BY content_digest IS NULL, NOT has_text, is_counted DESC, id""",
        (named,),
    )
    number, project, person = rows[0][0], rows[0][2], rows[0][5]
    about = _team_session(rows[0])
    content = list(_contents(store, number, named, project))
    if not content:
        why = (
            "its text is no longer kept, or not for your role to read"
            if rows[0][7]
            else f"{person} pushed its ledger alone (`reread push --what text` would send it)"
        )
        raise errors.BadInput(f"there is no text of {named} in the store: {why}")
    return loading.session_of(named, content), about


def _contents(
    store: Store, number: int, uuid: str, project: str | None
) -> Iterator[tuple[str, str, str | None, str | None, bytes]]:
    """The files of a session as they were pushed, or made of its lines: name, kind, agent, workflow and bytes."""
    ticket = _ticket(store, {"session": number})
    files = store.rows("SELECT * FROM reread.content_of(%s, %s)", (number, ticket))
    yield from ((*about, zstd.decompress_all(body)) for *about, body in files)  # one that grew has several parts
    parts: dict[str | None, list[str]] = {}
    for agent, line in [] if files else store.rows("SELECT agent, line FROM reread.lines_of(%s, %s)", (number, ticket)):
        parts.setdefault(agent, []).append(f"{_with_project(line, project)}\n")
    for agent, lines in parts.items():
        name = re.sub(r"[^\w.-]", "_", agent or "")
        path, kind = (f"{uuid}.jsonl", "transcript") if agent is None else (_AGENT.format(uuid, name), "subagent")
        yield path, kind, agent, None, "".join(lines).encode()


def _ticket(store: Store, wanted: dict[str, Any]) -> int | None:
    """For text of others, committed before anything is read; None where none is needed, or would help."""
    [(ticket,)] = store.rows("SELECT reread.ask(%s)", (as_json(wanted),))
    return None if ticket is None else int(ticket)


def _named(store: Store, name: str) -> str:
    if not name.startswith("@"):
        return found_session(store, name)
    position = "1" if name == "@last" else name[1:]
    known = listed(store, Filter())
    if not position.isdecimal() or len(position) > 9 or not 1 <= int(position) <= len(known):
        raise errors.BadInput(f"no session {errors.printable(name)!r} in {store.address}; there are {len(known)}")
    return known[int(position) - 1].listed.stored.row.uuid


def named_session(store: Store, word: str) -> list[str]:
    """The ids that a word may mean: `@2`, an id, or a prefix of at least four letters."""
    if word.startswith("@"):
        return [_named(store, word)]
    rows = store.rows("SELECT DISTINCT uuid FROM reread.seen_session AS session WHERE starts_with(uuid, %s)", (word,))
    return [uuid for (uuid,) in rows] if len(word) >= _SHORTEST_ID else []


# -- search

_PART = re.compile(
    r"""\{(?P<fields>[^}]*)\}\s*:\s* | "(?P<phrase>(?:[^"]|"")*)"(?P<star>\s\*)? | (?P<sign>[()]|AND|OR|NOT) | \s+""",
    re.VERBOSE,
)
_WEIGHT = {"prompt": "A", "title": "A", "text": "B", "thinking": "C", "tool": "D"}
_ALL_WEIGHTS = "ABCD"
_NOTHING = "'nothing is found by this'"
_MOST_LINES = 400
"""How many of the newest matching lines the store ranks; with 300 MB of text, every hundred of them take 2 ms."""
_MORE_LINES = 40
"""How many more lines than hits to fetch, because the store's best lines are ranked again here by their text."""


def as_tsquery(match: str) -> str:
    """An FTS5 expression from `search_language.parse` as a tsquery for PostgreSQL."""
    found: list[str] = []
    weights, is_behind_term = _ALL_WEIGHTS, False  # all weights means none: with weights the index alone cannot answer
    for part in _PART.finditer(match):
        if part["fields"] is not None:
            weights = "".join(sorted({_WEIGHT[name] for name in part["fields"].split() if name in _WEIGHT}))
        elif part["phrase"] is not None or part["sign"] == "(":
            found += ["&"] * is_behind_term  # terms next to each other are joined by AND
            is_behind_term = part["sign"] is None
            found.append(_phrase(part["phrase"], weights, is_open=bool(part["star"])) if is_behind_term else "(")
            weights = _ALL_WEIGHTS if is_behind_term else weights
        elif part["sign"] is not None:
            found.append({"AND": "&", "OR": "|", "NOT": "& !"}.get(part["sign"], part["sign"]))
            is_behind_term = part["sign"] == ")"
    return " ".join(found)


def _phrase(text: str, weights: str, *, is_open: bool) -> str:
    """A phrase as a tsquery; matches nothing if its fields are not in the store."""
    parts = words(text.replace('""', '"')) if weights else []
    if not parts:
        return _NOTHING
    last = len(parts) - 1
    marks = [
        f"{'*' if is_open and place == last else ''}{'' if weights == _ALL_WEIGHTS else weights}"
        for place in range(len(parts))
    ]
    terms = [f"'{word}'{mark and ':'}{mark}" for word, mark in zip(parts, marks, strict=True)]
    return f"({' <-> '.join(terms)})"


def search(
    store: Store, query: str, fields: frozenset[search_text.Field], filters: Filter, limit: int, now: datetime
) -> text_search.SearchAnswer:
    """Ranked hits in the text that the role may see; a store never has tool results."""
    _refuse_unanswered(filters)
    terms = search_language.parse(query, fields)
    since, until = times.milliseconds(filters.since), times.milliseconds(filters.until)
    among = None
    if filters.project or filters.model or filters.machine or filters.git_branch or filters.tool:
        among = [each.listed.stored.id for each in _all_copies(store, filters._replace(since=None, until=None))]
    wanted = {"query": as_tsquery(terms.match), "since": since, "until": until, "among": among}
    wanted |= {"most": _MOST_LINES, "best": limit + _MORE_LINES, "now_ms": times.milliseconds(now)}
    ticket = _ticket(store, wanted)
    rows = store.rows("SELECT * FROM reread.search(%s, %s)", (ticket, as_json(wanted)))
    known = _by_number(store, {row[0] for row in rows})
    beyond = rows[0][-1] - len(rows) if rows else 0
    hits: list[tuple[float, text_search.Hit]] = []
    for number, _, uuid, time, line, _ in rows:
        stored, at = known.get(number), times.moment(time)
        if stored is None:
            continue
        for field, text, told in _matching_texts(line, terms):
            score = search_language.Candidate(number, at, field, told, len(text)).score(now)
            hits.append(
                (score, text_search.Hit(session=stored, uuid=uuid, field=field, time=at, text=text, score=score))
            )
    hits.sort(key=lambda each: (each[0], each[1].time.timestamp() if each[1].time else 0.0), reverse=True)
    return text_search.SearchAnswer(
        query=query, terms=terms.terms, total=len(hits) + beyond, hits=[hit for _, hit in hits[:limit]], suggestions=[]
    )


def _matching_texts(
    line: str, terms: search_language.SearchQuery
) -> Iterator[tuple[search_text.Field, str, search_language.Hits]]:
    """The texts of a line that match a query."""
    for field, text in search_text.texts_of(records.decode(line.encode())):
        if field in terms.fields and text != NOT_SENT:
            told = search_language.query_hits(terms.terms, text)
            if told.occurrences:
                yield field, text, told


def _by_number(store: Store, numbers: Collection[int]) -> dict[int, StoredSession]:
    rows = store.rows(f"SELECT {_SESSION} WHERE id = ANY (%s)", (list(numbers),))
    return {stored.id: stored for stored in map(_stored, rows)}


def without_text(store: Store) -> int:
    """How many sessions were pushed without text, so that they cannot be searched or shown."""
    [(number,)] = store.rows("SELECT count(*) FROM reread.seen_session AS session WHERE is_counted AND NOT has_text")
    return int(number)


# -- as files, for every other command

_PLAIN = re.compile(r"[\w.-]{1,120}")
_AGENT = "{}/subagents/agent-{}.jsonl"


def sessions_with_response(store: Store, name: str) -> list[str]:
    """Ids of the sessions with a response whose id begins with `name`."""
    rows = store.rows(
        """SELECT DISTINCT uuid FROM reread.seen_session AS session
               JOIN reread.seen_file AS file ON file.session = session.id
               JOIN reread.seen_told AS told ON told.file = file.id WHERE starts_with(told.key, %s)""",
        (name,),
    )
    return [uuid for (uuid,) in rows]


def write_sources(store: Store, folder: Path, only: Sequence[str] | None = None) -> int:
    """Writes the sessions whose text the role may read, or some of them, to a folder laid out as the client does it;
    gives how many. Of several copies of a session it writes the fullest that was pushed."""
    rows = store.rows(
        f"""SELECT {_SESSION}
            WHERE has_text AND (%s::text[] IS NULL OR uuid = ANY (%s))
            ORDER BY uuid, content_digest IS NULL, is_counted DESC, id""",
        (only, only),
    )
    written: set[str] = set()
    for row in rows:
        if row[1] not in written and _PLAIN.fullmatch(row[1]) and _write_session(store, folder, row):
            written.add(row[1])
    return len(written)


def _write_session(store: Store, folder: Path, row: Sequence[Any]) -> bool:
    number, uuid, project = row[:3]
    place, is_there = folder / "projects" / (sources.project_folder_name(project or "unknown") or "unknown"), False
    for name, *_, body in _contents(store, number, uuid, project):
        is_there = True
        with suppress(errors.BadInput):  # a name that leads elsewhere
            write_below(place, name, body, is_private=False)
    return is_there


def _with_project(line: str, project: str | None) -> str:
    """A line with the session's folder put back, which lines are sent without."""
    return line if project is None else f'{{"cwd": {json.dumps(project)}, {line[1:]}'
