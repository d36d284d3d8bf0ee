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
  reread lake build s3://transcripts/2026 --lake s3://lake \\
      --engine spark --master spark://head:7077
  reread lake query --lake ~/lake usage month --json
  reread lake query --lake ~/lake sql \\
      "SELECT project, sum(nanodollars) / 1e9 FROM usage_day GROUP BY 1"
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
    """The lake at a place. Raises BadInput, naming the extra, if one of its packages is missing."""
    try:
        opened, _ = delta.DeltaLake, query.LakeAnswers  # imports every package that may be missing
    except ImportError as missing:
        needed = f"a lake needs {missing.name}, which is not installed"
        raise BadInput(f"{needed}: pip install 'reread[{extra}]'") from missing
    return opened(storage.lake_uri(place))


def _kept(place: str) -> delta.DeltaLake:
    """The lake at a place, which must exist."""
    lake = _opened(place)
    lake.require()
    return lake


def _share_options(args: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> share.ShareOptions:
    """The options as given, else as the lake was built before."""
    what = args.what or lake.last.get("what") or "all"
    redact = args.redact or lake.last.get("redact") or "secrets"
    return share.ShareOptions(what=what, redact=redact, prices=config.prices)


def _sources(args: argparse.Namespace, config: Config) -> list[str]:
    if args.sources:
        return list(args.sources)
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
    args = made.parse_args(arguments)
    config = options.make_config(args)
    if args.master is not None and args.engine != "spark":
        raise BadInput("--master is for Spark; add --engine spark")
    lake = _opened(args.lake, extra="spark" if args.engine == "spark" else "lake")
    what = _share_options(args, config, lake)
    with closing(ProgressBar()) as progress:
        report = archives.Progress.in_phase(progress, "reading")
        done = build.build(lake, _sources(args, config), what, args.engine, args.master, report)
    for problem in done.problems:
        tell(problem)
    options.show_answer(args, config, lambda: _build_document(done), lambda _: _build_lines(done))
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
    args = made.parse_args(arguments)
    config = options.make_config(args)
    lake = _opened(args.lake)
    found = build.plan_build(lake, _sources(args, config), _share_options(args, config, lake))
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
    options.show_answer(args, config, lambda: document, lambda _: [line])
    return 0


QUERY_EXAMPLES = """\
  reread lake query --lake ~/lake usage day --json
  reread lake query --lake ~/lake usage project --since 30d
  reread lake query --lake ~/lake friction --since 90d --json
  reread lake query --lake ~/lake search "connection refused" --since 30d
  reread lake query --lake ~/lake sql \\
      "SELECT model, sum(output) FROM response GROUP BY model"
  reread lake query --lake ~/lake schema"""


def _query_parser() -> options.Parser:
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
    group = made.add_argument_group("filters (friction and search: the first three; search: --limit, too)")
    group.add_argument("--project", "-p", metavar="TEXT", help="part of the working directory")
    group.add_argument("--since", metavar="WHEN", help="2026-10-02, 2026-10, 7d, 2mo, yesterday, thu")
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
    return made


def _query(arguments: list[str]) -> int:
    args = _query_parser().parse_args(arguments)
    if args.question not in (*_QUESTIONS, "schema"):
        raise BadInput(f"a lake is asked for {', '.join(_QUESTIONS)} or schema, not {args.question!r}")
    config = options.make_config(args)
    lake = _opened(args.lake)
    if args.question == "schema":
        options.print_lines(tables.described())
        return 0
    lake.require()
    if args.question != "search":
        args.about = _one(args.about)
    _QUESTIONS[args.question](args, config, lake)
    return 0


def _one(words: list[str]) -> str | None:
    if len(words) > 1:
        raise BadInput(f"{printable(words[1])!r} is too much; quote what belongs together")
    return words[0] if words else None


_FILTERS = ("project", "since", "until", "model", "branch", "tool", "limit")


def _narrowed(args: argparse.Namespace, *filters: str) -> bool:
    """Whether one of these filters was given."""
    return any(getattr(args, name) is not None for name in filters)


_ALIASES = {"teams": "team", "people": "person", "persons": "person"}


_LACKS = {"text": "there are no numbers in it", "ledger": "there is no text to search"}


def _refuse_built_with(lake: delta.DeltaLake, what: str) -> None:
    if lake.last.get("what") == what:
        raise BadInput(f"{printable(lake.uri)} was built with --what {what}; {_LACKS[what]}")


def _usage(args: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    by = _ALIASES.get(args.about, archives.usage_report.ALIASES.get(args.about or "day", args.about or "day"))
    filters = options.make_filter(args, config)._replace(sources=())
    _refuse_built_with(lake, "text")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        report = answers.usage(archives.usage_report.UsageQuestion(by=by, filters=filters, zone=config.timezone))
    report = views.usage_table.limited(report, args.limit)
    zone = options.zone_name(args.timezone)
    options.show_answer(
        args,
        config,
        lambda: views.usage_table.usage_document(report, zone, config.now),
        lambda view: views.usage_table.usage_lines(report, view, config.now, breakdown=False),
    )


def _sql(args: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if args.about is None:
        raise BadInput("a SELECT is missing; `reread lake query --lake PLACE schema` shows what can be asked")
    if _narrowed(args, *_FILTERS):
        raise BadInput("a SELECT says itself what it asks for; filters go into its WHERE and LIMIT")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        columns, rows = answers.sql(args.about)
    options.show_answer(
        args,
        config,
        lambda: views.session_list.rows_document(columns, rows),
        lambda view: table_lines(columns, rows, view),
    )


def _friction(args: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if args.about is not None or _narrowed(args, "model", "branch", "tool", "limit"):
        raise BadInput("friction is counted by project and week; it takes --project, --since and --until alone")
    filters = options.make_filter(args, config)._replace(sources=())
    _refuse_built_with(lake, "text")
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        weeks = answers.friction(filters, config.timezone)
    rows = [
        {"project": each.project, "week": each.week, **views.rates.rate_document(each.rate), "kinds": each.kinds}
        for each in weeks
    ]
    shown = [
        (each.project, each.week, each.rate.exposure, each.rate.count, views.rates.rate_text(each.rate))
        for each in weeks
    ]
    zone = options.zone_name(args.timezone)
    options.show_answer(
        args,
        config,
        lambda: {"schema": "reread.lake_friction/1", "timezone": zone, "rows": rows},
        lambda view: table_lines(("project", "week", "prompts", "moments", "per 100 prompts"), shown, view),
    )


_HITS = 20
"""How many hits a search shows without `--limit`."""
_MUCH = 1_000_000_000
"""A search of more bytes than this asks first: it takes minutes and, in object storage, costs money."""


def _search(args: argparse.Namespace, config: Config, lake: delta.DeltaLake) -> None:
    if not any(word.strip() for word in args.about):
        raise BadInput("a word to search for is missing; quote words that stand together")
    _refuse_built_with(lake, "ledger")
    if _narrowed(args, "model", "branch", "tool"):
        raise BadInput("a search of a lake takes --project, --since, --until and --limit alone")
    filters = options.make_filter(args, config)._replace(sources=())
    fields = sorted(archives.search_language.fields_of(args.fields, "--in"))
    ask = query.TextQuestion(
        words=args.about, fields=fields, since=filters.since, until=filters.until, limit=args.limit or _HITS
    )
    with query.LakeAnswers.of(lake, billing.load_prices(config.prices)) as answers:
        sessions = answers.sessions_about(filters)
        costs = query.scan_costs(lake, set(sessions.values()))
        total_bytes = sum(each.bytes for each in costs)
        files = count(sum(each.files for each in costs), "file")
        tell(f"reads {files}, {size(total_bytes)} of text of {count(len(costs), 'month')}: {_by_month(costs)}")
        is_asked = total_bytes > _MUCH and not args.yes and sys.stdin.isatty()
        if is_asked and not is_agreed("read all of it?", "nothing was read:"):
            return
        total, found = answers.search(ask, sessions)
    document = {
        "schema": "reread.lake_search/1",
        "words": args.about,
        "cost": [{"month": each.month, "files": each.files, "bytes": each.bytes} for each in costs],
        "total": total,
        "hits": [views.hits.found_text_document(each, args.about) for each in found],
    }
    options.show_answer(
        args, config, lambda: document, lambda view: views.hits.found_text_lines(found, total, args.about, view)
    )


def _by_month(costs: Sequence[query.ScanCost]) -> str:
    """The newest months, and all earlier ones together."""
    last = [f"{each.month} {size(each.bytes)}" for each in costs[-_MOST_MONTHS:]]
    rest = sum(each.bytes for each in costs[:-_MOST_MONTHS])
    return ", ".join([f"before {size(rest)}", *last] if rest else last) or "nothing"


_MOST_MONTHS = 6
_QUESTIONS = {"usage": _usage, "friction": _friction, "search": _search, "sql": _sql}


def _verify(arguments: list[str]) -> int:
    made = _parser("verify", "  reread lake verify --lake ~/lake --sources")
    made.add_argument("--sources", action="store_true", help="hold the source files against what was read of them, too")
    args = made.parse_args(arguments)
    config = options.make_config(args)
    lake = _kept(args.lake)
    proof = upkeep.verify(lake, billing.load_prices(config.prices), with_sources=args.sources)
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
    options.show_answer(args, config, lambda: document, lambda _: lines)
    return 0 if proof.ok else EXIT_DAMAGE


def _people(arguments: list[str]) -> int:
    made = _parser(
        "people", "  reread lake people staff.csv --lake s3://lake\n  reread lake people --lake s3://lake --json"
    )
    made.add_argument("file", nargs="?", metavar="FILE", help="CSV with the columns prefix, person and team")
    args = made.parse_args(arguments)
    config = options.make_config(args)
    lake = _kept(args.lake)
    if args.file is not None:
        people = delta.read_people(Path(args.file))
        lake.begin()
        delta.put_people(lake, people)
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
        args, config, lambda: document, lambda view: table_lines(("person", "team", "sessions"), rows, view)
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
    args = made.parse_args(arguments)
    if sum(each is not None for each in (args.session, args.person, args.older_than)) != 1:
        raise BadInput("name what to forget: a SESSION, --person NAME or --older-than AGE, one of them")
    config = options.make_config(args)
    lake = _kept(args.lake)
    prices = billing.load_prices(config.prices)
    chosen, about = _chosen(args, config, lake, prices)
    question = f"remove {about} from {printable(lake.uri)} for good?"
    if not args.yes and not is_agreed(question, "forgetting cannot be undone, and"):
        return 1
    done = upkeep.forget(lake, chosen, prices)
    document = {
        "schema": "reread.lake_forget/1",
        "session": chosen.ids[0] if args.session is not None else None,
        "person": chosen.person,
        "before": views.values.utc(chosen.before),
        "sessions": done.sessions,
        "files": done.files,
        "rows": done.rows,
        "files_removed": done.files_removed,
    }
    line = f"{about}: {done.rows:,} rows removed, {done.files_removed:,} files of the lake deleted"
    options.show_answer(args, config, lambda: document, lambda _: [line])
    return 0


def _chosen(
    args: argparse.Namespace, config: Config, lake: delta.DeltaLake, prices: billing.Prices
) -> tuple[upkeep.Chosen, str]:
    """What to forget, and its description for the person."""
    if args.session is not None:
        chosen = upkeep.by_session(lake, args.session)
        return chosen, f"session {printable(chosen.ids[0])}"
    if args.person is not None:
        chosen = upkeep.by_person(lake, args.person, prices)
        return chosen, f"{count(len(chosen.ids), 'session')} of {printable(args.person)}"
    before = archives.filters.parse_time(args.older_than, config.now, config.timezone, "--older-than")
    if before > config.now:
        raise BadInput(f"--older-than {printable(args.older_than)} lies in the future")
    chosen = upkeep.by_age(lake, before)
    return chosen, f"{count(len(chosen.ids), 'session')} that ended before {views.values.utc(before)}"


def _vacuum(arguments: list[str]) -> int:
    made = _parser("vacuum", "  reread lake vacuum --lake ~/lake --hours 24")
    about = "keep what was needed in the last N (168); 0 keeps nothing but what holds now"
    made.add_argument("--hours", type=options.whole, default=168, metavar="N", help=about)
    args = made.parse_args(arguments)
    config = options.make_config(args)
    lake = _kept(args.lake)
    removed = upkeep.vacuum(lake, hours=args.hours)
    document = {"schema": "reread.lake_vacuum/1", "files_removed": removed}
    options.show_answer(args, config, lambda: document, lambda _: [f"{removed:,} files removed"])
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
