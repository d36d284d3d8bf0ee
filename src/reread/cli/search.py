"""`reread search`: what was said, thought and done, found by its words."""

from __future__ import annotations

from itertools import chain

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput, NoWords
from reread.views.numbers import results_waiting

from . import options
from .session_source import SyncProgress, open_archive
from .stderr import tell, tell_hidden

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import team
else:
    team = lazy.module("reread.cli.team")

SEARCH_EXAMPLES = """\
  reread search flaky retry                    both words, anywhere in one text
  reread search '"exit code 137" OR oom*'      a phrase, a beginning
  reread search deadlock --in thinking --since 30d
  reread search 'title:release NOT draft' --json
  reread search --regex 'error E\\d+' --in result"""
LIMIT = 20


def search_parser() -> options.Parser:
    about = "Search prompts, replies, thinking, tool calls and titles, best matches first; tool results only with --in."
    made = options.make_parser("search", about, SEARCH_EXAMPLES)
    made.add_argument("query", nargs="+", metavar="QUERY", help='words, "phrases", word*, AND, OR, NOT, field:word')
    made.add_argument(
        "--in", dest="fields", metavar="FIELDS", help="fields to search: prompt,text,thinking,tool,result,title or all"
    )
    made.add_argument(
        "--regex", action="store_true", help="treat QUERY as a regular expression; slower, reads every text"
    )
    options.add_filters(made, limit=LIMIT)
    return made


def run_search(arguments: list[str]) -> int:
    given = search_parser().parse_args(arguments)
    config = options.make_config(given)
    store = options.store_of(given)
    if store is not None:
        team.search_store(store, given, config, options.make_filter(given, config)._replace(limit=None))
        return 0
    fields = (
        archives.search_language.DEFAULT_FIELDS
        if given.fields is None
        else archives.search_language.fields_of(given.fields, "--in")
    )
    wanted = options.make_filter(given, config)._replace(limit=None)
    query = " ".join(given.query)
    with open_archive(given, config, only_reads=True) as archive:
        progress = SyncProgress()
        try:
            answer = archive.search(
                query, fields, wanted, given.limit, is_regex=given.regex, now=config.now, report=progress
            )
        except NoWords as error:
            raise BadInput(f"{error}, --regex finds anything") from error
        finally:
            progress.close()
        lost = archive.lost(wanted, query, fields, is_regex=given.regex)[: given.limit]
        options.show_answer(
            given,
            config,
            lambda: {
                **views.hits.search_document(answer, answer.terms),
                "lost": [views.archive_json.lost_row(each) for each in lost],
            },
            lambda view: chain(
                views.hits.search_lines(answer, answer.terms, view), views.session_list.lost_lines(lost, view)
            ),
        )
        tell_hidden(answer.hidden)
        if answer.waiting:
            tell(f"{results_waiting(answer.waiting)}: hits may be missing")
    return 0
