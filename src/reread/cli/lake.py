"""`reread lake`: an organisation's transcripts as Delta tables, on this machine or on Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from reread import archive as archives
from reread import billing, lazy, views
from reread.errors import BadInput, SourceError, printable
from reread.views.numbers import count, size
from reread.views.values import each_picked, picked

from . import options
from .actions import CommandAction, CommandWithActions
from .archive import EXIT_DAMAGE
from .options import is_agreed
from .query import table_lines
from .session_source import ProgressBar
from .streams import tell

if TYPE_CHECKING:
    from reread.lake import build, delta, plan, query, share, storage, tables, upkeep
else:
    lazy.bind(globals())

LAKE_EXAMPLES = """\
  reread lake build ~/.claude --lake ~/lake
  reread lake build s3://transcripts/2026 --lake s3://lake \\
      --engine spark --master spark://head:7077
  reread lake query --lake ~/lake usage month --json
  reread lake query --lake ~/lake sql \\
      "SELECT project, sum(nanodollars) / 1e9 FROM usage_day GROUP BY 1"
  reread lake plan ~/.claude --lake ~/lake"""


def _add_place(made: options.Parser) -> None:
    made.option("--lake PLACE", "a folder, or s3://BUCKET/FOLDER and the like", required=True)
    options.add_prices(made)


def _add_sources(made: options.Parser) -> None:
    made.add_argument(
        "sources", nargs="*", metavar="SOURCE", help="folders or object storage; by default Claude Code's"
    )
    made.option(
        "--what",
        "cost: tokens and exact money; ledger: also tool calls and friction; text: words alone; all (default)",
        choices=("cost", "ledger", "text", "all"),
    )
    made.option(
        "--redact",
        "take secrets (default), or also names and addresses, out of words before they are written",
        choices=("secrets", "all", "none"),
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


def _share_options(args: options.Options, lake: delta.DeltaLake) -> share.ShareOptions:
    """The options as given, else as the lake was built before."""
    what = args.what or lake.last.get("what") or "all"
    redact = args.redact or lake.last.get("redact") or "secrets"
    return share.ShareOptions(what=what, redact=redact, prices=args.config.prices)


def _sources(args: options.Options) -> list[str]:
    if args.sources:
        return list(args.sources)
    options.refuse_no_sources(args.config)
    return [str(source) for source in args.config.sources]


def _build_options(made: options.Parser) -> None:
    _add_sources(made)
    made.option("--engine NAME", "local (default): processes of this machine; spark", default="local")
    made.option("--master URL", "the Spark master, as local[2] or spark://host:7077")


def _build(args: options.Options) -> None:
    if args.master is not None and args.engine != "spark":
        raise BadInput("--master is for Spark; add --engine spark")
    lake = _opened(args.lake, extra="spark" if args.engine == "spark" else "lake")
    what = _share_options(args, lake)
    with closing(ProgressBar()) as progress:
        report = archives.Progress.in_phase(progress, "reading")
        done = build.build(lake, _sources(args), what, args.engine, args.master, report)
    for problem in done.problems:
        tell(problem)
    args.print_answer(lambda: _build_document(done), lambda _: _build_lines(done))


def _build_document(done: build.LakeBuilt) -> dict[str, object]:
    return {
        "schema": "reread.lake_build/1",
        "engine": done.engine,
        "sessions": picked(done, "read=sessions unchanged failed too_old"),
        **picked(done, "bytes_read rows problems"),
    }


def _build_lines(done: build.LakeBuilt) -> list[str]:
    failed = f"; {count(done.failed, 'session')} left to the next build" if done.failed else ""
    failed += f"; {count(done.too_old, 'session')} too old by `forget --older-than`, not taken" if done.too_old else ""
    return [
        f"{count(done.sessions, 'session')} read, {size(done.bytes_read)}; {done.unchanged:,} unchanged{failed}",
        "the lake has " + ", ".join(f"{rows:,} rows of {name}" for name, rows in done.rows.items()),
    ]


def _plan(args: options.Options) -> None:
    lake = _opened(args.lake)
    found = build.plan_build(lake, _sources(args), _share_options(args, lake))
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
    args.print_answer(lambda: document, lambda _: [line])


QUERY_EXAMPLES = """\
  reread lake query --lake ~/lake usage day --json
  reread lake query --lake ~/lake usage project --since 30d
  reread lake query --lake ~/lake friction --since 90d --json
  reread lake query --lake ~/lake search "connection refused" --since 30d
  reread lake query --lake ~/lake sql \\
      "SELECT model, sum(output) FROM response GROUP BY model"
  reread lake query --lake ~/lake coverage telemetry.jsonl
  reread lake query --lake ~/lake schema"""


def _query_options(made: options.Parser) -> None:
    made.word("QUESTION", "usage GROUPING, friction, search WORD..., coverage FILE..., sql SELECT, schema")
    about = "day (default), week, project, person, team, ...; or the SELECT"
    made.add_argument("about", nargs="*", metavar="GROUPING|WORD|SELECT", help=about)
    filters = {
        "--project -p TEXT": "part of the working directory",
        "--since WHEN": "2026-10-02, 2026-10, 7d, 2mo, yesterday, thu",
        "--until WHEN": "the same; a day is included",
        "--model TEXT": "part of the model's name",
        "--branch NAME": "git branch",
        "--tool NAME": "tool name; * stands for anything",
    }
    section = made.take_section("filters (friction and search: the first three; search: --limit, too)", filters)
    about = f"show N rows of usage, or hits of a search ({_HITS})"
    made.option("--limit -n N", about, section, type=options.positive)
    section = made.take_section("options of search", {})
    made.option("--in FIELDS", "prompt,text,thinking,tool,result,title", section, dest="fields", default="all")
    made.flag("--yes", "do not ask before a large amount of text is read", section)
    made.set_defaults(file=None, machine=None, starred=False, tagged=None)


def _query(args: options.Options) -> None:
    if args.question not in (*_QUESTIONS, "schema"):
        raise BadInput(f"a lake is asked for {', '.join(_QUESTIONS)} or schema, not {args.question!r}")
    lake = _opened(args.lake)
    if args.question == "schema":
        options.print_lines(tables.described())
        return
    lake.require()
    if args.question not in ("search", "coverage"):
        args.about = _one(args.about)
    with query.LakeAnswers.of(lake, billing.load_prices(args.config.prices)) as answers:
        _QUESTIONS[args.question](args, lake, answers)


def _one(words: list[str]) -> str | None:
    if len(words) > 1:
        raise BadInput(f"{printable(words[1])!r} is too much; quote what belongs together")
    return words[0] if words else None


_FILTERS = ("project", "since", "until", "model", "branch", "tool", "limit")


def _narrowed(args: options.Options, *filters: str) -> bool:
    """Whether one of these filters was given."""
    return any(getattr(args, name) is not None for name in filters)


_ALIASES = {"teams": "team", "people": "person", "persons": "person"}


_HAS = {"numbers": ("cost", "ledger", "all"), "friction": ("ledger", "all"), "text to search": ("text", "all")}


def _require(lake: delta.DeltaLake, part: str) -> None:
    what = lake.last.get("what")
    if what not in _HAS[part]:
        raise BadInput(f"{printable(lake.uri)} was built with --what {what}; it has no {part}")


def _usage(args: options.Options, lake: delta.DeltaLake, answers: query.LakeAnswers) -> None:
    by = _ALIASES.get(args.about, archives.usage_report.ALIASES.get(args.about or "day", args.about or "day"))
    filters = options.make_filter(args)._replace(sources=())
    _require(lake, "numbers")
    report = answers.usage(archives.usage_report.UsageQuestion(by=by, filters=filters, zone=args.config.timezone))
    report = views.usage_table.limited(report, args.limit)
    zone = options.zone_name(args.timezone)
    args.print_answer(
        lambda: views.usage_table.usage_document(report, zone, args.config.now),
        lambda view: views.usage_table.usage_lines(report, view, args.config.now, breakdown=False),
    )


def _sql(args: options.Options, _: delta.DeltaLake, answers: query.LakeAnswers) -> None:
    if args.about is None:
        raise BadInput("a SELECT is missing; `reread lake query --lake PLACE schema` shows what can be asked")
    if _narrowed(args, *_FILTERS):
        raise BadInput("a SELECT says itself what it asks for; filters go into its WHERE and LIMIT")
    columns, rows = answers.sql(args.about)
    args.print_answer(
        lambda: views.session_list.rows_document(columns, rows), lambda view: table_lines(columns, rows, view)
    )


def _friction(args: options.Options, lake: delta.DeltaLake, answers: query.LakeAnswers) -> None:
    if args.about is not None or _narrowed(args, "model", "branch", "tool", "limit"):
        raise BadInput("friction is counted by project and week; it takes --project, --since and --until alone")
    filters = options.make_filter(args)._replace(sources=())
    _require(lake, "friction")
    weeks = answers.friction(filters, args.config.timezone)
    rows = [
        {"project": each.project, "week": each.week, **views.rates.rate_document(each.rate), "kinds": each.kinds}
        for each in weeks
    ]
    shown = [
        (each.project, each.week, each.rate.exposure, each.rate.count, views.rates.rate_text(each.rate))
        for each in weeks
    ]
    zone = options.zone_name(args.timezone)
    args.print_answer(
        lambda: {"schema": "reread.lake_friction/1", "timezone": zone, "rows": rows},
        lambda view: table_lines(("project", "week", "prompts", "moments", "per 100 prompts"), shown, view),
    )


_HITS = 20
"""How many hits a search shows without `--limit`."""
_MUCH = 1_000_000_000
"""A search of more bytes than this asks first: it takes minutes and, in object storage, costs money."""


def _search(args: options.Options, lake: delta.DeltaLake, answers: query.LakeAnswers) -> None:
    if not any(word.strip() for word in args.about):
        raise BadInput("a word to search for is missing; quote words that stand together")
    _require(lake, "text to search")
    if _narrowed(args, "model", "branch", "tool"):
        raise BadInput("a search of a lake takes --project, --since, --until and --limit alone")
    filters = options.make_filter(args)._replace(sources=())
    fields = sorted(archives.search_language.fields_of(args.fields, "--in"))
    ask = query.TextQuestion(
        words=args.about, fields=fields, since=filters.since, until=filters.until, limit=args.limit or _HITS
    )
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
        "cost": each_picked(costs, "month files bytes"),
        "total": total,
        "hits": [views.hits.found_text_document(each, args.about) for each in found],
    }
    args.print_answer(lambda: document, lambda view: views.hits.found_text_lines(found, total, args.about, view))


def _told_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(path, getattr(error, "strerror", None) or "is no text in UTF-8") from error


def _coverage(args: options.Options, _: delta.DeltaLake, answers: query.LakeAnswers) -> None:
    if not args.about or _narrowed(args, *_FILTERS):
        raise BadInput("name the files that a collector wrote, and no filters: `coverage telemetry.jsonl`")
    found = answers.seen_elsewhere([line for name in args.about for line in _told_lines(Path(name))])
    missing = [each for each in found if not each.is_here]
    exact = views.price_table.exact
    rows = [picked(each, "session first last requests") | {"cost_usd": exact(each.nanodollars)} for each in missing]
    seen = {"seen": len(found), "here": len(found) - len(missing)}
    cost = exact(sum(each.nanodollars for each in missing))
    line = f"{count(len(found), 'session')} seen by the collector, {len(missing):,} of them not in the lake: ${cost}"
    table = [list(row.values()) for row in rows]
    args.print_answer(
        lambda: {"schema": "reread.lake_coverage/1", **seen, "missing": rows},
        lambda view: [line, *(table_lines(list(rows[0]), table, view) if rows else ())],
    )


def _by_month(costs: Sequence[query.ScanCost]) -> str:
    """The newest months, and all earlier ones together."""
    last = [f"{each.month} {size(each.bytes)}" for each in costs[-_MOST_MONTHS:]]
    rest = sum(each.bytes for each in costs[:-_MOST_MONTHS])
    return ", ".join([f"before {size(rest)}", *last] if rest else last) or "nothing"


_MOST_MONTHS = 6
_QUESTIONS = {"usage": _usage, "friction": _friction, "search": _search, "sql": _sql, "coverage": _coverage}


def _verify(args: options.Options) -> int:
    lake = _kept(args.lake)
    proof = upkeep.verify(lake, billing.load_prices(args.config.prices), with_sources=args.sources)
    document = {"schema": "reread.lake_verify/1", "ok": proof.ok, **asdict(proof)}
    verdict = "everything is proved" if proof.ok else "damaged:"
    lines = [f"{proof.files:,} files, {sum(proof.rows.values()):,} rows: {verdict}"]
    lines += [f"  {printable(each)}" for each in proof.damaged]
    args.print_answer(lambda: document, lambda _: lines)
    return 0 if proof.ok else EXIT_DAMAGE


def _people(args: options.Options) -> None:
    lake = _kept(args.lake)
    if args.file is not None:
        people = delta.read_people(Path(args.file))
        lake.begin()
        delta.put_people(lake, people)
        lake.commit({"action": "people"})
    held = delta.people_of(lake)
    with query.LakeAnswers.of(lake, billing.load_prices(args.config.prices)) as answers:
        sessions = answers.sessions_by_person()
    document = {
        "schema": "reread.lake_people/1",
        "people": [each._asdict() for each in held],
        "sessions": [{"person": person, "team": team, "sessions": number} for person, team, number in sessions],
    }
    rows = [(person or delta.UNASSIGNED, team or delta.UNASSIGNED, number) for person, team, number in sessions]
    args.print_answer(lambda: document, lambda view: table_lines(("person", "team", "sessions"), rows, view))


def _forget(args: options.Options) -> int:
    if sum(each is not None for each in (args.session, args.person, args.older_than)) != 1:
        raise BadInput("name what to forget: a SESSION, --person NAME or --older-than AGE, one of them")
    lake = _kept(args.lake)
    prices = billing.load_prices(args.config.prices)
    chosen, about = _chosen(args, lake, prices)
    question = f"remove {about} from {printable(lake.uri)} for good?"
    if not args.yes and not is_agreed(question, "forgetting cannot be undone, and"):
        return 1
    done = upkeep.forget(lake, chosen, prices)
    document = {
        "schema": "reread.lake_forget/1",
        "session": chosen.ids[0] if args.session is not None else None,
        "person": chosen.person,
        "before": views.values.utc(chosen.before),
        **asdict(done),
    }
    line = f"{about}: {done.rows:,} rows removed, {done.files_removed:,} files of the lake deleted"
    args.print_answer(lambda: document, lambda _: [line])
    return 0


def _chosen(args: options.Options, lake: delta.DeltaLake, prices: billing.Prices) -> tuple[upkeep.Chosen, str]:
    """What to forget, and its description for the person."""
    if args.session is not None:
        chosen = upkeep.by_session(lake, args.session)
        return chosen, f"session {printable(chosen.ids[0])}"
    if args.person is not None:
        chosen = upkeep.by_person(lake, args.person, prices)
        return chosen, f"{count(len(chosen.ids), 'session')} of {printable(args.person)}"
    before = archives.filters.parse_time(args.older_than, args.config.now, args.config.timezone, "--older-than")
    if before > args.config.now:
        raise BadInput(f"--older-than {printable(args.older_than)} lies in the future")
    chosen = upkeep.by_age(lake, before)
    return chosen, f"{count(len(chosen.ids), 'session')} that ended before {views.values.utc(before)}"


def _vacuum_options(made: options.Parser) -> None:
    about = "keep what was needed in the last N (168); 0 keeps nothing but what holds now"
    made.option("--hours N", about, type=options.whole, default=168)


def _vacuum(args: options.Options) -> None:
    lake = _kept(args.lake)
    removed = upkeep.vacuum(lake, hours=args.hours)
    document = {"schema": "reread.lake_vacuum/1", "files_removed": removed}
    args.print_answer(lambda: document, lambda _: [f"{removed:,} files removed"])


_BUILD_EXAMPLES = """\
  reread lake build ~/.claude --lake ~/lake
  reread lake build ~/.claude --lake ~/lake --what ledger --json"""
_PEOPLE_EXAMPLES = """\
  reread lake people staff.csv --lake s3://lake
  reread lake people --lake s3://lake --json"""
_FORGET_EXAMPLES = """\
  reread lake forget 3f2a --lake ~/lake
  reread lake forget --person ann --lake ~/lake
  reread lake forget --older-than 180d --lake ~/lake --yes"""
_ACTIONS = {
    "build": CommandAction(
        "read what is new in the sources and write it to the lake, all of it or nothing",
        _BUILD_EXAMPLES,
        _build,
        add=_build_options,
    ),
    "query": CommandAction(
        "answer `usage GROUPING` like `reread usage`, `friction` by week, `search`, or one SELECT with `sql`",
        QUERY_EXAMPLES,
        _query,
        add=_query_options,
    ),
    "plan": CommandAction(
        "show what a build would read, without writing anything",
        "  reread lake plan ~/.claude --lake ~/lake --json",
        _plan,
        add=_add_sources,
    ),
    "verify": CommandAction(
        "check every file of the lake and count its usage again; exit with 1 on damage",
        "  reread lake verify --lake ~/lake --sources",
        _verify,
        {"--sources": "hold the source files against what was read of them, too"},
    ),
    "people": CommandAction(
        "say whose the sources are, by a CSV file, for `usage person` and `usage team`; without one, show it",
        _PEOPLE_EXAMPLES,
        _people,
        {"[FILE]": "CSV with the columns prefix, person and team"},
    ),
    "forget": CommandAction(
        "remove a session, a person's or old sessions from every table and the disk, for good; asks first",
        _FORGET_EXAMPLES,
        _forget,
        {
            "[SESSION]": "an id or the start of one",
            "--person NAME": "everything of a person, and the name; no build takes it again",
            "--older-than AGE": "sessions that ended before: 180d, 2026-01-01",
            "--yes": "do not ask",
        },
    ),
    "vacuum": CommandAction(
        "join small files and remove those that are no longer needed",
        "  reread lake vacuum --lake ~/lake --hours 24",
        _vacuum,
        add=_vacuum_options,
    ),
}
_ABOUT = "Write many people's transcripts to Delta tables and query them. Needs `pip install 'reread[lake]'`."
ACTIONS = CommandWithActions("lake", _ABOUT, LAKE_EXAMPLES, _ACTIONS, _add_place)
lake_parser, run_lake = ACTIONS.parser, ACTIONS.run
