"""`reread lake`: an organisation's transcripts as Delta tables, on this machine or on Spark."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput, printable
from reread.views.numbers import count, size

from . import options
from .archive import EXIT_DAMAGE
from .options import is_agreed
from .query import table_lines
from .session_source import ProgressBar
from .streams import tell

if TYPE_CHECKING:
    from reread import billing
    from reread.config import Config
    from reread.lake import build, delta, plan, query, share, storage, tables, upkeep
else:
    billing = lazy.module("reread.billing")
    build = lazy.module("reread.lake.build")
    delta = lazy.module("reread.lake.delta")
    upkeep = lazy.module("reread.lake.upkeep")
    plan = lazy.module("reread.lake.plan")
    query = lazy.module("reread.lake.query")
    share = lazy.module("reread.lake.share")
    storage = lazy.module("reread.lake.storage")
    tables = lazy.module("reread.lake.tables")

LAKE_EXAMPLES = """\
  reread lake build ~/.claude --lake ~/lake
  reread lake build s3://transcripts/2026 --lake s3://lake --engine spark --master spark://head:7077
  reread lake query --lake ~/lake usage month --json
  reread lake query --lake ~/lake sql "SELECT project, sum(nanodollars) / 1e9 FROM usage_day GROUP BY 1"
  reread lake plan ~/.claude --lake ~/lake"""
ABOUT = {
    "build": "read what is new in the sources and write it to the lake, all of it or nothing",
    "query": "answer `usage GROUPING` like `reread usage`, `friction` by week, `search`, or one SELECT with `sql`",
    "plan": "show what a build would read, without writing anything",
    "verify": "check every file of the lake and count its usage again; exit with 1 on damage",
    "people": "say whose the sources are, by a CSV file, for `usage person` and `usage team`; without one, show it",
    "forget": "remove a session, a person's or old sessions from every table and the disk, for good; asks first",
    "vacuum": "join small files and remove those that are no longer needed",
}


def lake_parser() -> options.Parser:
    about = "Write many people's transcripts to Delta tables and query them. Needs `pip install 'reread[lake]'`."
    return options.make_group_parser("lake", about, LAKE_EXAMPLES, ABOUT, syncs=False)


def run_lake(arguments: list[str]) -> int:
    named = options.chosen_action(arguments, ABOUT, lake_parser)
    if named is None:
        return 0
    action, rest = named
    return _ACTIONS[action](rest)


def _parser(action: str, examples: str) -> options.Parser:
    about = ABOUT[action]
    made = options.make_parser(f"lake {action}", about[0].upper() + about[1:] + ".", examples, syncs=False)
    made.add_argument("--lake", metavar="PLACE", required=True, help="a folder, or s3://BUCKET/FOLDER and the like")
    options.add_prices(made)
    return made


def _add_sources(made: options.Parser) -> None:
    made.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="folders or object storage; by default Claude Code's"
    )
    made.add_argument(
        "--what",
        choices=("ledger", "text", "all"),
        help="ledger: tokens, cost and tool calls, no words; text: words alone; all (default)",
    )
    made.add_argument(
        "--redact",
        choices=("secrets", "all", "none"),
        help="take secrets (default), or also names and addresses, out of words before they are written",
    )


def _opened(place: str, extra: str = "lake") -> delta.DeltaLake:
    """A lake; a package of the extra that is missing is told in a sentence."""
    try:
        opened, _ = delta.DeltaLake, query.LakeAnswers  # all that may be missing
    except ImportError as missing:
        needed = f"a lake needs {missing.name}, which is not installed"
        raise BadInput(f"{needed}: pip install 'reread[{extra}]'") from missing
    return opened(storage.lake_uri(place))


def _kept(place: str) -> delta.DeltaLake:
    """The same, and it must be there."""
    lake = _opened(place)
    lake.require()
    return lake


def _share_options(given: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> share.ShareOptions:
    """What was asked for, else what the lake holds already."""
    what = given.what or lake.last.get("what") or "all"
    redact = given.redact or lake.last.get("redact") or "secrets"
    return share.ShareOptions(what=what, redact=redact, prices=config.prices)


def _sources(given: argparse.Namespace, config: Config) -> list[str]:
    if given.sources:
        return list(given.sources)
    options.refuse_no_sources(config)
    return [str(source) for source in config.sources]


def _build(arguments: list[str]) -> int:
    made = _parser(
        "build",
        "  reread lake build ~/.claude --lake ~/lake\n  reread lake build ~/.claude --lake ~/lake --what ledger --json",
    )
    _add_sources(made)
    made.add_argument(
        "--engine", default="local", metavar="NAME", help="local (default): processes of this machine; spark"
    )
    made.add_argument("--master", metavar="URL", help="the Spark master, as local[2] or spark://host:7077")
    given = made.parse_args(arguments)
    config = options.make_config(given)
    if given.master is not None and given.engine != "spark":
        raise BadInput("--master is for Spark; add --engine spark")
    lake = _opened(given.lake, extra="spark" if given.engine == "spark" else "lake")
    what = _share_options(given, config, lake)
    with closing(ProgressBar()) as progress:
        done = build.build(lake, _sources(given, config), what, given.engine, given.master, progress)
    for problem in done.problems:
        tell(problem)
    options.show_answer(given, config, lambda: _build_document(done), lambda _: _build_lines(done))
    return 0


def _build_document(done: build.LakeBuilt) -> dict[str, object]:
    return {
        "schema": "reread.lake_build/1",
        "engine": done.engine,
        "sessions": {
            "read": done.sessions,
            "unchanged": done.unchanged,
            "failed": done.failed,
            "too_old": done.too_old,
        },
        "bytes_read": done.bytes_read,
        "rows": done.rows,
        "problems": done.problems,
    }


def _build_lines(done: build.LakeBuilt) -> list[str]:
    failed = f"; {count(done.failed, 'session')} left to the next build" if done.failed else ""
    failed += f"; {count(done.too_old, 'session')} too old by `forget --older-than`, not taken" if done.too_old else ""
    return [
        f"{count(done.sessions, 'session')} read, {size(done.bytes_read)}; {done.unchanged:,} unchanged{failed}",
        "the lake has " + ", ".join(f"{rows:,} rows of {name}" for name, rows in done.rows.items()),
    ]


def _plan(arguments: list[str]) -> int:
    made = _parser("plan", "  reread lake plan ~/.claude --lake ~/lake --json")
    _add_sources(made)
    given = made.parse_args(arguments)
    config = options.make_config(given)
    lake = _opened(given.lake)
    found = build.plan_build(lake, _sources(given, config), _share_options(given, config, lake))
    cost = lake.cpu_seconds_per_byte()
    for problem in found.problems:
        tell(problem)
    seconds = None if cost is None else round(found.size * cost, 1)
    document = {
        "schema": "reread.lake_plan/1",
        "sessions": {"to_read": len(found.jobs), "unchanged": found.unchanged},
        "bytes_to_read": found.size,
        "shares": len(plan.shares_of(found.jobs)),
        "cpu_seconds": seconds,
        "problems": found.problems,
    }
    about = "" if seconds is None else f", about {seconds:,.0f} s of processor time by the builds before"
    line = f"{count(len(found.jobs), 'session')} to read, {size(found.size)}{about}; {found.unchanged:,} unchanged"
    options.show_answer(given, config, lambda: document, lambda _: [line])
    return 0


QUERY_EXAMPLES = """\
  reread lake query --lake ~/lake usage day --json
  reread lake query --lake ~/lake usage project --since 30d
  reread lake query --lake ~/lake friction --since 90d --json
  reread lake query --lake ~/lake search "connection refused" --since 30d
  reread lake query --lake ~/lake sql "SELECT model, sum(output) FROM response GROUP BY model"
  reread lake query --lake ~/lake schema"""


def _query(arguments: list[str]) -> int:
    made = _parser("query", QUERY_EXAMPLES)
    made.add_argument(
        "question", metavar="QUESTION", help="usage GROUPING, friction, search WORD..., sql SELECT, schema"
    )
    made.add_argument(
        "about",
        nargs="*",
        metavar="GROUPING|WORD|SELECT",
        help="day (default), week, project, person, team, ...; or the SELECT",
    )
    group = made.add_argument_group(
        "filters of usage; of friction and search, the first three (of search --limit, too)"
    )
    group.add_argument("--project", "-p", metavar="TEXT", help="part of the working directory")
    group.add_argument("--since", metavar="WHEN", help="2026-10-02, 7d, 24h, yesterday, monday")
    group.add_argument("--until", metavar="WHEN", help="the same; a day is included")
    group.add_argument("--model", metavar="TEXT", help="part of the model's name")
    group.add_argument("--branch", metavar="NAME", help="git branch")
    group.add_argument("--tool", metavar="NAME", help="tool name; * stands for anything")
    group.add_argument(
        "--limit", "-n", type=options.positive, metavar="N", help=f"show N rows of usage, or hits of a search ({_HITS})"
    )
    group = made.add_argument_group("options of search")
    group.add_argument(
        "--in", dest="fields", metavar="FIELDS", default="all", help="prompt,text,thinking,tool,result,title"
    )
    group.add_argument("--yes", action="store_true", help="do not ask before a large amount of text is read")
    made.set_defaults(file=None, machine=None, starred=False, tagged=None)
    given = made.parse_args(arguments)
    if given.question not in (*_QUESTIONS, "schema"):
        raise BadInput(f"a lake is asked for {', '.join(_QUESTIONS)} or schema, not {given.question!r}")
    config = options.make_config(given)
    lake = _opened(given.lake)
    if given.question == "schema":
        options.print_lines(tables.described())
        return 0
    lake.require()
    if given.question != "search":
        given.about = _one(given.about)
    _QUESTIONS[given.question](given, config, lake)
    return 0


def _one(said: list[str]) -> str | None:
    if len(said) > 1:
        raise BadInput(f"{printable(said[1])!r} is too much; quote what belongs together")
    return said[0] if said else None


_FILTERS = ("project", "since", "until", "model", "branch", "tool", "limit")


def _narrowed(given: argparse.Namespace, *filters: str) -> bool:
    """Whether one of these filters was given: a question that has no use for it says so."""
    return any(getattr(given, name) is not None for name in filters)


_ALIASES = {"teams": "team", "people": "person", "persons": "person"}


_LACKS = {"text": "there are no numbers in it", "ledger": "there is no text to search"}


def _refuse_built_with(lake: delta.DeltaLake, what: str) -> None:
    if lake.last.get("what") == what:
        raise BadInput(f"{printable(lake.uri)} was built with --what {what}; {_LACKS[what]}")


def _usage(given: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    by = _ALIASES.get(given.about, archives.usage_report.ALIASES.get(given.about or "day", given.about or "day"))
    wanted = options.make_filter(given, config)._replace(sources=())
    _refuse_built_with(lake, "text")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        report = answers.usage(archives.usage_report.UsageQuestion(by=by, wanted=wanted, zone=config.timezone))
    report = views.usage_table.limited(report, given.limit)
    zone = options.zone_name(given.timezone)
    options.show_answer(
        given,
        config,
        lambda: views.usage_table.usage_document(report, zone, config.now),
        lambda view: views.usage_table.usage_lines(report, view, config.now, breakdown=False),
    )


def _sql(given: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if given.about is None:
        raise BadInput("a SELECT is missing; `reread lake query --lake PLACE schema` shows what can be asked")
    if _narrowed(given, *_FILTERS):
        raise BadInput("a SELECT says itself what it asks for; filters go into its WHERE and LIMIT")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        columns, rows = answers.sql(given.about)
    options.show_answer(
        given,
        config,
        lambda: views.session_list.rows_document(columns, rows),
        lambda view: table_lines(columns, rows, view),
    )


def _friction(given: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if given.about is not None or _narrowed(given, "model", "branch", "tool", "limit"):
        raise BadInput("friction is counted by project and week; it takes --project, --since and --until alone")
    wanted = options.make_filter(given, config)._replace(sources=())
    _refuse_built_with(lake, "text")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        weeks = answers.friction(wanted, config.timezone)
    rows = [
        {"project": each.project, "week": each.week, **views.retro_report.rate_document(each.rate), "kinds": each.kinds}
        for each in weeks
    ]
    shown = [
        (each.project, each.week, each.rate.exposure, each.rate.count, views.retro_report.rate_text(each.rate))
        for each in weeks
    ]
    zone = options.zone_name(given.timezone)
    options.show_answer(
        given,
        config,
        lambda: {"schema": "reread.lake_friction/1", "timezone": zone, "rows": rows},
        lambda view: table_lines(("project", "week", "prompts", "moments", "per 100 prompts"), shown, view),
    )


_HITS = 20
"""Hits of a search that are shown unless said otherwise."""
_MUCH = 1_000_000_000
"""Bytes of text that are not read without asking: some minutes, and in object storage some money."""


def _search(given: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if not any(word.strip() for word in given.about):
        raise BadInput("a word to search for is missing; quote words that stand together")
    _refuse_built_with(lake, "ledger")
    if _narrowed(given, "model", "branch", "tool"):
        raise BadInput("a search of a lake takes --project, --since, --until and --limit alone")
    wanted = options.make_filter(given, config)._replace(sources=())
    fields = sorted(archives.search_language.fields_of(given.fields, "--in"))
    ask = query.TextQuestion(
        words=given.about, fields=fields, since=wanted.since, until=wanted.until, limit=given.limit or _HITS
    )
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        sessions = answers.sessions_about(wanted)
        costs = query.scan_costs(lake, set(sessions.values()))
        total_bytes = sum(each.bytes for each in costs)
        files = count(sum(each.files for each in costs), "file")
        tell(f"reads {files}, {size(total_bytes)} of text of {count(len(costs), 'month')}: {_by_month(costs)}")
        is_asked = total_bytes > _MUCH and not given.yes and sys.stdin.isatty()
        if is_asked and not is_agreed("read all of it?", "nothing was read:"):
            return
        total, found = answers.search(ask, sessions)
    document = {
        "schema": "reread.lake_search/1",
        "words": given.about,
        "cost": [{"month": each.month, "files": each.files, "bytes": each.bytes} for each in costs],
        "total": total,
        "hits": [views.hits.found_text_document(each, given.about) for each in found],
    }
    options.show_answer(
        given, config, lambda: document, lambda view: views.hits.found_text_lines(found, total, given.about, view)
    )


def _by_month(costs: Sequence[query.ScanCost]) -> str:
    """The newest months, and the rest of them together."""
    last = [f"{each.month} {size(each.bytes)}" for each in costs[-_MOST_MONTHS:]]
    rest = sum(each.bytes for each in costs[:-_MOST_MONTHS])
    return ", ".join([f"before {size(rest)}", *last] if rest else last) or "nothing"


_MOST_MONTHS = 6
_QUESTIONS = {"usage": _usage, "friction": _friction, "search": _search, "sql": _sql}


def _verify(arguments: list[str]) -> int:
    made = _parser("verify", "  reread lake verify --lake ~/lake --sources")
    made.add_argument("--sources", action="store_true", help="hold the source files against what was read of them, too")
    given = made.parse_args(arguments)
    config = options.make_config(given)
    lake = _kept(given.lake)
    proof = upkeep.verify(lake, billing.load_prices(config.prices), with_sources=given.sources)
    document = {
        "schema": "reread.lake_verify/1",
        "ok": proof.ok,
        "rows": proof.rows,
        "files": proof.files,
        "sources": proof.sources,
        "damaged": proof.damaged,
    }
    verdict = "everything is proved" if proof.ok else "damaged:"
    lines = [f"{proof.files:,} files, {sum(proof.rows.values()):,} rows: {verdict}"]
    lines += [f"  {printable(each)}" for each in proof.damaged]
    options.show_answer(given, config, lambda: document, lambda _: lines)
    return 0 if proof.ok else EXIT_DAMAGE


def _people(arguments: list[str]) -> int:
    made = _parser(
        "people", "  reread lake people staff.csv --lake s3://lake\n  reread lake people --lake s3://lake --json"
    )
    made.add_argument("file", nargs="?", metavar="FILE", help="CSV with the columns prefix, person and team")
    given = made.parse_args(arguments)
    config = options.make_config(given)
    lake = _kept(given.lake)
    if given.file is not None:
        told = delta.read_people(Path(given.file))
        lake.begin()
        delta.put_people(lake, told)
        lake.commit({"action": "people"})
    held = delta.people_of(lake)
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        sessions = answers.sessions_by_person()
    document = {
        "schema": "reread.lake_people/1",
        "people": [each._asdict() for each in held],
        "sessions": [{"person": person, "team": team, "sessions": number} for person, team, number in sessions],
    }
    rows = [(person or delta.UNASSIGNED, team or delta.UNASSIGNED, number) for person, team, number in sessions]
    options.show_answer(
        given, config, lambda: document, lambda view: table_lines(("person", "team", "sessions"), rows, view)
    )
    return 0


def _forget(arguments: list[str]) -> int:
    made = _parser(
        "forget",
        "  reread lake forget 3f2a --lake ~/lake\n  reread lake forget --person ann --lake ~/lake\n"
        "  reread lake forget --older-than 180d --lake ~/lake --yes",
    )
    made.add_argument("session", nargs="?", metavar="SESSION", help="an id or the start of one")
    made.add_argument("--person", metavar="NAME", help="everything of a person, and the name; no build takes it again")
    made.add_argument("--older-than", metavar="AGE", help="sessions that ended before: 180d, 2026-01-01")
    made.add_argument("--yes", action="store_true", help="do not ask")
    given = made.parse_args(arguments)
    if sum(each is not None for each in (given.session, given.person, given.older_than)) != 1:
        raise BadInput("name what to forget: a SESSION, --person NAME or --older-than AGE, one of them")
    config = options.make_config(given)
    lake = _kept(given.lake)
    prices = billing.load_prices(config.prices)
    chosen, about = _chosen(given, config, lake, prices)
    question = f"remove {about} from {printable(lake.uri)} for good?"
    if not given.yes and not is_agreed(question, "forgetting cannot be undone, and"):
        return 1
    done = upkeep.forget(lake, chosen, prices)
    document = {
        "schema": "reread.lake_forget/1",
        "session": chosen.ids[0] if given.session is not None else None,
        "person": chosen.person,
        "before": views.values.utc(chosen.before),
        "sessions": done.sessions,
        "files": done.files,
        "rows": done.rows,
        "files_removed": done.files_removed,
    }
    line = f"{about}: {done.rows:,} rows removed, {done.files_removed:,} files of the lake deleted"
    options.show_answer(given, config, lambda: document, lambda _: [line])
    return 0


def _chosen(
    given: argparse.Namespace, config: Config, lake: delta.DeltaLake, prices: billing.Prices
) -> tuple[upkeep.Chosen, str]:
    """What is to be forgotten, and in words."""
    if given.session is not None:
        chosen = upkeep.by_session(lake, given.session)
        return chosen, f"session {printable(chosen.ids[0])}"
    if given.person is not None:
        chosen = upkeep.by_person(lake, given.person, prices)
        return chosen, f"{count(len(chosen.ids), 'session')} of {printable(given.person)}"
    before = archives.filters.parse_time(given.older_than, config.now, config.timezone, "--older-than")
    if before > config.now:
        raise BadInput(f"--older-than {printable(given.older_than)} lies in the future")
    chosen = upkeep.by_age(lake, before)
    return chosen, f"{count(len(chosen.ids), 'session')} that ended before {views.values.utc(before)}"


def _vacuum(arguments: list[str]) -> int:
    made = _parser("vacuum", "  reread lake vacuum --lake ~/lake --hours 24")
    about = "keep what was needed in the last N (168); 0 keeps nothing but what holds now"
    made.add_argument("--hours", type=options.whole, default=168, metavar="N", help=about)
    given = made.parse_args(arguments)
    config = options.make_config(given)
    lake = _kept(given.lake)
    removed = upkeep.vacuum(lake, hours=given.hours)
    document = {"schema": "reread.lake_vacuum/1", "files_removed": removed}
    options.show_answer(given, config, lambda: document, lambda _: [f"{removed:,} files removed"])
    return 0


_ACTIONS: dict[str, Callable[[list[str]], int]] = {
    "build": _build,
    "query": _query,
    "plan": _plan,
    "verify": _verify,
    "people": _people,
    "forget": _forget,
    "vacuum": _vacuum,
}
