"""`reread team`: a team's store on PostgreSQL, and the commands that query it instead of the archive."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from reread import archive as archives
from reread import billing, exchange, lazy, views
from reread.errors import BadInput, UnknownSession, printable
from reread.team import store as stores
from reread.team.managed import managed
from reread.views.numbers import count, size

from . import options
from .actions import CommandAction, CommandWithActions
from .streams import tell

if TYPE_CHECKING:
    from reread.archive.filters import Filter
    from reread.archive.usage_report import UsageReport
    from reread.live import transport
    from reread.team import questions
    from reread.team.store import Push, Store, StoreStatus

    from . import retro
else:
    lazy.bind(globals())

REMOVAL_SECONDS = 10
"""Seconds to retry removing a folder; long enough for a running sync to end."""
TEAM_EXAMPLES = """\
  reread team init postgresql://owner@db.example/team
  reread team grant ann builders
  reread team assign '*/shop*' builders
  reread push postgresql://ann@db.example/team          what each person does
  reread --store postgresql://ann@db.example/team usage person
  reread team retain 180d"""
EXIT_DIFFERENCE = 1
_STORES = ("postgresql://", "postgres://")


def run_team(arguments: list[str]) -> int | None:
    """The address of a store may also stand alone, anywhere."""
    urls = [
        word
        for before, word in zip(["", *arguments], arguments, strict=False)
        if word.startswith(_STORES) and before != "--store"
    ]
    if len(urls) + sum(word.partition("=")[0] == "--store" for word in arguments) > 1:
        raise BadInput("name one store, not several")
    rest = [word for word in arguments if word not in urls]
    return ACTIONS.run([*rest, *(f"--store={url}" for url in urls)])


def _url(args: options.Options) -> str:
    """The store: the named one, else the environment's, else that of the last `team init`, of this machine's
    management, or of the last push."""
    home = args.config.home
    found = options.store_of(args) or exchange.own_store(home) or managed().store or exchange.last_store(home)
    if found is None:
        raise BadInput("say which store: `--store postgresql://host/database`, or REREAD_STORE")
    return found


def _init(args: options.Options) -> None:
    if args.url is not None:
        raise BadInput(f"{args.url!r} is not the address of a database; write postgresql://user@host/database")
    prices, url = billing.load_prices(args.config.prices), _url(args)
    question = (
        "make or update the schema `reread` and the role `reread_member`, and close the schema `public`, in"
        f" {printable(stores.without_password(url))}?"
    )
    if not (args.yes or args.dry_run or args.print_sql) and not options.is_agreed(question):
        return
    with stores.Store(url, is_new=True, tell=tell) as store:
        if args.print_sql:
            options.print_lines(stores.script(store, prices)[1].splitlines())
            return
        needed = stores.initialise(store, prices, is_dry=args.dry_run)
        document = {"schema": "reread.team_init/1", "target": store.address, "price_table_date": f"{prices.as_of}"}
    lines = [f"{printable(document['target'])}: migrated to version {each.number}: {each.about}" for each in needed]
    if args.dry_run:
        lines.append("all of it works, and was undone")
    else:
        exchange.remember_own_store(args.config.home, document["target"])
        lines.append(f"{printable(document['target'])} is ready; next: `reread team grant ROLE TEAM`")
    args.print_answer(lambda: document, lambda _: lines)


def _status(args: options.Options) -> int:
    late = None if args.late is None else _days(args.late)
    with stores.Store(_url(args)) as store:
        found = stores.status(store)
    behind = [] if late is None else [each for each in found.pushes if each.is_late(args.config.now, late)]
    if args.prometheus:
        options.print_lines(_prometheus_lines(found))
    else:
        pushes = [asdict(each) | {"pushed": views.values.utc(each.pushed)} for each in found.pushes]
        document = {"schema": "reread.team_status/1", **asdict(found), "pushes": pushes}
        args.print_answer(lambda: document, lambda _: [*_status_lines(found), *_push_lines(found)])
    for each in behind:
        tell(f"{printable(each.person)} is late: {_last_push(each)}")
    return EXIT_DIFFERENCE if behind else 0


def _status_lines(found: StoreStatus) -> list[str]:
    kept = "for ever" if found.retain_days is None else f"for {count(found.retain_days, 'day')}"
    people = "1 person" if found.people == 1 else f"{found.people:,} people"
    return [
        f"{printable(found.address)}, as {found.role} ({', '.join(found.teams) or 'in no team'})",
        f"{count(found.sessions, 'session')} of {people}, {count(found.responses, 'response')}",
        f"text of {found.with_text:,}, whole files of {found.with_content:,}; kept {kept}",
        f"prices of {found.price_table_date}; {size(found.bytes)} in the database",
    ]


def _push_lines(found: StoreStatus) -> list[str]:
    return [f"{printable(each.person)}: {_last_push(each)}" for each in found.pushes]


def _last_push(each: Push) -> str:
    if each.pushed is None:
        return "has never pushed"
    failed = f", {count(each.failures, 'session')} failed" if each.failures else ""
    return f"last push {each.pushed:%Y-%m-%d %H:%M} UTC, with reread {printable(each.client or '?')}{failed}"


def _prometheus_lines(found: StoreStatus) -> list[str]:
    numbers = {"sessions": found.sessions, "responses": found.responses, "bytes": found.bytes}
    lines = [
        line for name, value in numbers.items() for line in (f"# TYPE reread_{name} gauge", f"reread_{name} {value}")
    ]
    lines += ["# TYPE reread_last_push_timestamp_seconds gauge", "# TYPE reread_push_failures gauge"]
    for each in found.pushes:
        labels = f'person="{_label(each.person)}",client="{_label(each.client or "")}"'
        at = each.pushed.timestamp() if each.pushed else 0
        lines += [f"reread_last_push_timestamp_seconds{{{labels}}} {at:.0f}"]
        lines += [f"reread_push_failures{{{labels}}} {each.failures}"]
    return lines


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _person(args: options.Options) -> None:
    change, name, other = args.change, args.name, args.other
    if change not in ("rename", "transfer", "remove", "export") or (other is None) == (
        change in ("rename", "transfer")
    ):
        raise BadInput("say `rename NAME NEW`, `transfer NAME ROLE`, `remove NAME` or `export NAME`")
    with stores.Store(_url(args), tell=tell) as store:
        if change == "export":
            for row in stores.person_rows(store, name):
                options.print_json_line(row)
            return
        question = f"remove {printable(name)} and what they pushed from {printable(store.address)} for good?"
        if change == "remove" and not args.yes and not options.is_agreed(question):
            return
        moved = stores.change_person(store, change, *((args.forget, name) if change == "remove" else (name, other)))
    done = {"rename": f"is called {other} now", "transfer": f"is {other} now: {count(moved, 'session')}"}
    gone = f"is gone from the store, with {count(moved, 'session')}"
    sentence = f"{name} {done.get(change, gone)}"
    _show_change(args, sentence, change=change, person=name, other=other, sessions=moved)


def _members(args: options.Options) -> None:
    with stores.Store(_url(args)) as store:
        found = stores.members(store)
    rows = [{"role": role, "team": team, "sees_text": sees} for role, team, sees in found]
    lines = [f"{team}: {role}{'' if sees else ' (numbers alone)'}" for role, team, sees in found] or ["no members yet"]
    args.print_answer(lambda: {"schema": "reread.team_members/1", "members": rows}, lambda _: lines)


def _grant(args: options.Options) -> None:
    with stores.Store(_url(args), tell=tell) as store:
        is_new = stores.grant(store, args.role, args.team, sees_text=not args.numbers)
    made = "; the role was made, without a password: `ALTER ROLE ... PASSWORD` gives it one" if is_new else ""
    sentence = f"{args.role} is in {args.team}{made}"
    _show_change(args, sentence, role=args.role, team=args.team, made_role=is_new)


def _revoke(args: options.Options) -> None:
    with stores.Store(_url(args), tell=tell) as store:
        stores.revoke(store, args.role, args.team)
    sentence = f"{args.role} is no longer in {args.team}; what was pushed stays there"
    _show_change(args, sentence, role=args.role, team=args.team)


def _assign(args: options.Options) -> None:
    with stores.Store(_url(args), tell=tell) as store:
        moved = stores.assign(store, args.pattern, args.team)
    sentence = f"{args.pattern} belongs to {args.team}; {count(moved, 'session')} moved there"
    _show_change(args, sentence, pattern=args.pattern, team=args.team, moved=moved)


def _retain(args: options.Options) -> None:
    days = None if args.days == "forever" else _days(args.days)
    with stores.Store(_url(args), tell=tell) as store:
        gone = stores.retain(store, days, of_ledger=args.ledger)
    kept = "for ever" if days is None else f"for {count(days, 'day')}"
    stays = "" if args.ledger else "; the ledger stays"
    sentence = f"{'ledger' if args.ledger else 'text'} is kept {kept}; {count(gone, 'month')} of text went{stays}"
    _show_change(args, sentence, days=days, months_dropped=gone)


def _days(text: str) -> int:
    word = text.lower().removesuffix("d")
    if not (word.isdecimal() and 1 <= int(word) <= 36_500):
        raise BadInput(f"{text!r} is no number of days; try 180d, or for `retain` forever")
    return int(word)


def _budget(args: options.Options) -> int:
    if args.name is not None and (args.period not in archives.status.PERIODS or args.dollars is None):
        raise BadInput("say how much in which period, as in `reread team budget builders month 2000`, or `none`")
    with stores.Store(_url(args), tell=tell) as store:
        if args.name is not None:
            kind = "project" if args.project else "team"
            limit = None if args.dollars == "none" else archives.status.dollars_to_nano(args.dollars)
            stores.set_budget(store, kind, args.name, args.period, limit)
        found = stores.budgets(store)
    budgets = [archives.status.Budget(each.period, each.limit, each.spent) for each in found]
    shown = views.price_table
    rows = [
        {**asdict(each), "limit": shown.exact(each.limit), "spent": shown.exact(each.spent), "state": budget.state}
        for each, budget in zip(found, budgets, strict=True)
    ]
    lines = [
        f"{printable(each.name)}: {shown.dollars(each.spent)}, {shown.budget_words(budget)}"
        for each, budget in zip(found, budgets, strict=True)
    ]
    args.print_answer(lambda: {"schema": "reread.team_budget/1", "budgets": rows}, lambda _: lines or ["no budgets"])
    return EXIT_DIFFERENCE if any(each.state == "over" for each in budgets) else 0


def _forget(args: options.Options) -> None:
    with stores.Store(_url(args), tell=tell) as store:
        named = stores.found_session(store, args.session)
        question = (
            f"remove every copy of {printable(named)} from {printable(store.address)}, ledger and text, for good?"
        )
        if not args.yes and not options.is_agreed(question):
            return
        stores.forget(store, named)
    _show_change(args, f"{named} is gone from the store, and no push brings it back", session=named)


def _verify(args: options.Options) -> int:
    with stores.Store(_url(args)) as store:
        number, wrong = stores.verify(store, billing.load_prices(args.config.prices))
    sentence = (
        f"{count(number, 'response')} settled and priced again: {'all the same' if not wrong else 'these differ:'}"
    )
    document = {"schema": "reread.team_verify/1", "ok": not wrong, "responses": number, "different": wrong}
    args.print_answer(lambda: document, lambda _: [sentence, *(f"  {key}" for key in wrong)])
    return EXIT_DIFFERENCE if wrong else 0


def _audit(args: options.Options) -> None:
    with stores.Store(_url(args)) as store:
        rows = [
            {"at": views.values.utc(at), "reader": reader, "person": person, "how": how, "session": session}
            for at, reader, person, how, session in stores.audit(store, 1_000)
        ]
    unnoted = "others, and undid the note of whose it was"
    lines = [f"{row['at']}  {row['reader']} read text of {row['person'] or unnoted} ({row['how']})" for row in rows]
    document = {"schema": "reread.team_audit/1", "readings": rows}
    args.print_answer(lambda: document, lambda _: lines or ["nobody has read text of others"])


def _show_change(args: options.Options, sentence: str, **fields: Any) -> None:
    args.print_answer(lambda: {"schema": "reread.team_change/1", **fields}, lambda _: [sentence])


_ACTIONS = {
    "init": CommandAction(
        "create or update tables, roles and prices in a database; asks first",
        "  reread team init postgresql://owner@db.example/team --yes",
        _init,
        {
            "[URL]": "the database, as postgresql://user@host/database (default: REREAD_STORE, or the last one used)",
            "--yes": "do not ask",
            "--dry-run": "do it, undo it, and say what it did",
            "--print-sql": "print the statements, to run in one transaction as the owner; change nothing",
        },
        add=options.add_prices,
    ),
    "status": CommandAction(
        "show what the store holds, who pushed when, and which teams you are in",
        "  reread team status --json\n  reread team status --late 7d --prometheus",
        _status,
        {
            "--prometheus": "print it as Prometheus reads it",
            "--late DAYS": "exit with 1 if somebody has not pushed for so long, or failed",
        },
    ),
    "members": CommandAction("list who is in which team and who sees its text", "  reread team members", _members),
    "grant": CommandAction(
        "add a database role to a team; creates the role if needed",
        "  reread team grant ann builders\n  reread team grant finance '*' --numbers",
        _grant,
        {
            "ROLE": "a role of the database",
            "TEAM": "a name; * is every team",
            "--numbers": "sees the team's ledger, and no text of others",
        },
    ),
    "revoke": CommandAction(
        "remove a role from a team",
        "  reread team revoke ann builders",
        _revoke,
        {"ROLE": "a role of the database", "TEAM": "the team it leaves"},
    ),
    "assign": CommandAction(
        "assign projects that match a pattern to a team",
        "  reread team assign '*/shop*' builders",
        _assign,
        {"PATTERN": "part of a project's path, or a pattern with *", "TEAM": "the team they belong to"},
    ),
    "person": CommandAction(
        "rename, transfer, remove or export a person",
        "  reread team person rename ann anna\n  reread team person remove ann --forget",
        _person,
        {
            "CHANGE": "rename, transfer, remove, or export to standard output as JSON lines",
            "NAME": "the person, as `usage person` shows them",
            "[OTHER]": "the new name; for transfer, the role that has everything from now on",
            "--forget": "with remove: every copy, whoever pushed it, and for good",
            "--yes": "do not ask",
        },
    ),
    "retain": CommandAction(
        "set how many days text, or the ledger, is kept",
        "  reread team retain 180d",
        _retain,
        {"DAYS": "such as 180d, or forever", "--ledger": "the ledger as well, from before that day"},
    ),
    "budget": CommandAction(
        "show or set what teams and projects may cost; exit with 1 if one is used up",
        "  reread team budget builders month 2000\n  reread team budget '*/shop*' week 300 --project",
        _budget,
        {
            "[NAME]": "a team; with --project, part of a project's path or a pattern with *",
            "[PERIOD]": "day, week or month, in UTC",
            "[DOLLARS]": "the limit, or `none` to remove it",
            "--project": "NAME is of projects",
        },
    ),
    "forget": CommandAction(
        "remove a session for good; no later push brings it back",
        "  reread team forget 3f2a",
        _forget,
        {"SESSION": "its id, or the beginning of it", "--yes": "do not ask"},
    ),
    "verify": CommandAction(
        "recount and reprice everything and compare; exit with 1 on a difference", "  reread team verify", _verify
    ),
    "audit": CommandAction("list who read whose text", "  reread team audit --json", _audit),
}
ACTIONS = CommandWithActions(
    "team", "Set up and manage a team store on PostgreSQL; see docs/team.md.", TEAM_EXAMPLES, _ACTIONS
)
team_parser = ACTIONS.parser


# -- the archive's commands on the store


def usage_of_store(url: str, args: options.Options, filters: Filter) -> UsageReport:
    if args.reconcile or args.fold_worktrees or args.cost == "recorded":
        raise BadInput("a team store knows computed costs alone: leave out --reconcile, --fold-worktrees and --cost")
    by = {**archives.usage_report.ALIASES, "teams": "team", "people": "person", "persons": "person"}.get(
        args.by, args.by
    )
    with stores.Store(url) as store:
        return questions.usage(store, by, filters, args.config.timezone)


def list_store(url: str, args: options.Options, filters: Filter) -> None:
    with stores.Store(url) as store:
        found = questions.listed(store, filters._replace(limit=None))
        report_without_text(store)
    shown = found[: filters.limit]
    if args.json:
        head: dict[str, object] = {"schema": "reread.sessions/1", "total": len(found), "lost": []}
        rows = ({**views.session_list.listed_row(each.listed), **each.about} for each in shown)
        options.print_json_list(head, "sessions", rows)
    else:
        view = options.make_view(args.config)
        options.print_lines(
            views.session_list.list_lines((each.listed for each in shown), view, args.config.now, len(found))
        )


def search_store(url: str, args: options.Options, filters: Filter) -> None:
    if args.regex:
        raise BadInput("a team store is searched by words, not by --regex")
    fields = (
        archives.search_language.DEFAULT_FIELDS
        if args.fields is None
        else archives.search_language.fields_of(args.fields, "--in")
    )
    with stores.Store(url) as store:
        answer = questions.search(store, " ".join(args.query), fields, filters, args.limit, args.config.now)
        report_without_text(store)
    args.print_answer(
        lambda: {**views.hits.search_document(answer, answer.terms), "lost": []},
        lambda view: views.hits.search_lines(answer, answer.terms, view),
    )


def run_over_copies(
    command: Callable[[list[str]], int | None], name: str, arguments: list[str], url: str
) -> int | None:
    """Runs any other command on temporary files made of the pushed text that this user may read."""
    if "-h" in arguments or "--help" in arguments:
        return command(arguments)
    with passing_folder() as folder:
        with stores.Store(url) as store:
            arguments, only = _meant(store, name, arguments)
            if name == "retro" and only is None:
                arguments, only = _narrowed(store, arguments)
            if not questions.write_sources(store, folder / "claude", only):
                raise BadInput(
                    f"{store.address} holds no text that your role may read; `reread push --what text` sends it"
                )
            if only is None:
                report_without_text(store)
        try:
            return command([*arguments, "--source", str(folder / "claude"), "--home", str(folder / "archive")])
        except UnknownSession as error:
            raise BadInput(f"{printable(error.name)!r} is no session in {store.address} that you see") from None


@contextmanager
def passing_folder() -> Iterator[Path]:
    """A temporary folder, removed however the command ends, because it has other people's texts.

    A thread of the web server may still be writing into it, so removing it may fail at first and is retried.
    """
    ends = transport.ending_signals()
    before = {number: signal.signal(number, signal.default_int_handler) for number in ends}
    folder = Path(tempfile.mkdtemp(prefix="reread-store-"))
    try:
        yield folder
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_IGN)
        give_up = time.monotonic() + REMOVAL_SECONDS
        while folder.exists() and time.monotonic() < give_up:
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.05 if folder.exists() else 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        if folder.exists():
            tell(f"{folder}: could not be removed; it holds texts of the team's store, so remove it yourself")


def _meant(store: Store, name: str, arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """The arguments, and the sessions that a word in them names, which are enough; None if all may be needed."""
    for place, word in enumerate(arguments):
        found = [] if word.startswith("-") else questions.named_session(store, word)
        if len(found) == 1:
            return [*arguments[:place], found[0], *arguments[place + 1 :]], found
        if not found and name == "explain" and not word.startswith("-"):
            found = questions.sessions_with_response(store, word)
        if found:
            return arguments, found
    return arguments, None


def _narrowed(store: Store, arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """The arguments, and the only sessions to copy for a retrospective of a project or a machine. `--machine` is
    removed: only the store knows machines. Times do not narrow them, because a period is compared with the past."""
    args = retro.retro_parser().parse_args(arguments)
    if args.project is None and args.machine is None:
        return arguments, None
    filters = archives.filters.Filter(project=args.project, machine=args.machine)
    found = [each.listed.stored.row.uuid for each in questions.listed(store, filters)]
    if not found:
        named = " and ".join(printable(repr(name)) for name in (args.project, args.machine) if name is not None)
        raise BadInput(
            f"{store.address} has no session of {named} that you see; try `reread --store URL usage project`"
        )
    kept = [word for word in arguments if not word.startswith("--machine=")]
    if "--machine" in kept:
        place = kept.index("--machine")
        kept[place : place + 2] = []
    return kept, found


def report_without_text(store: Store) -> None:
    number = questions.without_text(store)
    if number:
        tell(f"of {count(number, 'session')} the ledger alone was pushed: their titles and words are not in the store")
