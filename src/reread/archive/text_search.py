"""Full-text search, counts of its hits, and finding plain text letter by letter as a browser does."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from functools import cache, cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.errors import BadInput, SafeDamaged, printable
from reread.features.search_text import Field
from reread.index import meta
from reread.index import read as reading
from reread.index.database import snapshot
from reread.index.moved_folders import moves
from reread.index.read import FileBlocks, Match
from reread.index.safe_reader import SafeReader, piece_with
from reread.index.sessions import StoredSession, projects_and_models, sessions
from reread.index.text_index import BlockText, HeldTexts, TextName, folded, text_at
from reread.index.user_data import Noted, matching, noted_words
from reread.rows.groups import grouped
from reread.times import in_zone, milliseconds, moment

from .answer import Answer
from .filters import Filter, ScopeOptions, Zone, make_filter, positive, texts_of
from .listing import passing_ids, project_of
from .nearest import NearestSessions, is_described, is_filler
from .regex import BoundedPattern, ReadText, TextsOfFile, TextSums, needs_terms, possible, shares, try_shares
from .search_language import (
    ALL_FIELDS,
    DEFAULT_FIELDS,
    FIELDS,
    Candidate,
    Hits,
    SearchQuery,
    Term,
    fields_of,
    is_correctable,
    parse,
    query_hits,
    suggest,
)

if TYPE_CHECKING:
    from typing import Unpack

    from reread.index import words
    from reread.ingest import Report, second_phase

    from .inner import InnerArchive
    from .listing import SessionName
else:
    lazy.bind(globals())

_MARKS = re.compile("[\u0300-\u036f]+")
_MARKUP = re.compile(r"\*+|`+|(?<!\w)_+|(?<!_)_++(?!\w)|~~|\[([^][\n]{1,300}+)\]\([^()\s]{1,2000}+\)")
"""Markdown characters that a page does not show, and links. A run of characters is tried only once: trying again at
each of its characters would take minutes on a reply of 20,000 underscores."""


def readied(text: str) -> str:
    """A text prepared for searching: without case, accents, and marks on letters."""
    plain = folded(text)
    return plain if plain.isascii() else _MARKS.sub("", plain)


def as_read(text: str) -> str:
    """Markdown roughly as a page shows it."""
    return _MARKUP.sub(r"\1", text)


class Letters:
    """Text to find as it was typed; any run of spaces matches any other."""

    def __init__(self, typed: str) -> None:
        self.pieces = tuple(readied(typed).split())
        """The parts between spaces."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(r"\s+".join(map(re.escape, self.pieces)))

    def count(self, text: str) -> int:
        """How often it occurs in a text that `readied` prepared."""
        if len(self.pieces) < 2:
            return text.count(self.pieces[0]) if self.pieces else 0
        # Most texts lack one of the words, and checking for that is ten times as fast.
        if not all(piece in text for piece in self.pieces):
            return 0
        return sum(1 for _ in self._pattern.finditer(text))


MOST = 100_000
"""How many matches are counted, newest first; counting this many takes a fifth of a second."""


class FacetCell(Struct, frozen=True):
    """How many hits one session has in one field within one hour."""

    session: int
    field: Field
    hour: int | None
    """Hours since 1970; None if the line has no time."""
    hits: int


class Cells(Struct, frozen=True):
    """The counts of hits, in every field that the query does not rule out."""

    cells: tuple[FacetCell, ...]
    fields: frozenset[Field]
    """The fields that the search covers."""
    is_bounded: bool
    """Whether there are more hits than were counted."""


class Facets(Struct, frozen=True):
    """Counts of hits, each list from most hits to fewest; fields in their fixed order, months newest first."""

    total: int
    sessions: int
    is_bounded: bool
    fields: tuple[tuple[Field, int], ...]
    """Includes fields that the search did not cover."""
    projects: tuple[tuple[str, int], ...]
    months: tuple[tuple[str, int], ...]
    models: tuple[tuple[str, int], ...]
    """Models of the sessions with hits; a session with two models counts for both."""


def facets(connection: sqlite3.Connection, found: Cells, zone: tzinfo | None) -> Facets:
    """Adds up cells; months are in the time zone."""
    fields: Counter[Field] = Counter()
    by_session: Counter[int] = Counter()
    by_hour: Counter[int | None] = Counter()
    for cell in found.cells:
        fields[cell.field] += cell.hits
        if cell.field in found.fields:
            by_session[cell.session] += cell.hits
            by_hour[cell.hour] += cell.hits
    projects: Counter[str] = Counter()
    models: Counter[str] = Counter()
    moved = moves(connection)
    for session, project, used in projects_and_models(connection, list(by_session)):
        projects[project_of(project, moved)] += by_session[session]
        models.update(dict.fromkeys(used, by_session[session]))
    return Facets(
        total=sum(by_session.values()),
        sessions=len(by_session),
        is_bounded=found.is_bounded,
        fields=tuple((field, fields[field]) for field in Field),
        projects=tuple(projects.most_common()),
        months=tuple(_months(by_hour.items(), zone)),
        models=tuple(models.most_common()),
    )


def _months(hours: Iterable[tuple[int | None, int]], zone: tzinfo | None) -> list[tuple[str, int]]:
    """Hits by month. Hours outside the calendar of the zone are left out, since a line can carry any time."""
    months: Counter[str] = Counter()
    for hour, hits in hours:
        with suppress(OverflowError):
            if (began := moment(None if hour is None else hour * 3_600_000)) is not None:
                months[in_zone(began, zone).date().isoformat()[:7]] += hits
    return sorted(months.items(), reverse=True)


WINDOW = 4_000
"""How many matches, the newest, are ranked together. For 20 frequent words the twenty shown had .60 of the best scores
with 120 (a filter by age), .998 with 3,000; a search took 23 ms instead of 9."""
_LEAST_READ = 20
"""At least this many are read even if fewer are shown, so that the order does not depend on the limit."""
_AROUND_TEXT = 700
"""How many bytes of a typical line are not its text."""


class Hit(Struct, frozen=True, kw_only=True):
    session: StoredSession
    uuid: str | None
    field: Field
    time: datetime | None
    text: str
    """The whole text; the renderer decides how much of it to show."""
    score: float
    spans: tuple[tuple[int, int], ...] = ()
    """Where in the text a regular expression matched."""

    def __repr__(self) -> str:
        return f"<Hit {self.field} {self.text[:80]!r} in {self.session!r}>"


class SearchAnswer(Answer[Hit], frozen=True, kw_only=True):
    _rows_in = "hits"
    query: str
    terms: tuple[Term, ...]
    total: int
    hits: list[Hit]
    suggestions: list[str]
    """Words that occur and are spelled like those of the query that do not."""
    hidden: int = 0
    """Matches whose text cannot be read because the safe is damaged; they are not among the hits."""
    skipped: int = 0
    """Texts on which a regular expression took too long."""
    is_cut_short: bool = False
    """Whether so many did that the remaining texts were not tried."""
    waiting: int = 0
    """How many sessions' tool results the search covers that are not indexed yet."""
    nearest: tuple[Hit, ...] = ()
    """Where no text has all words, or the query is a sentence: the nearest other sessions, each with its best text."""

    @property
    def telling(self) -> list[Term]:
        """The terms that say what is looked for, to be marked in the nearest sessions."""
        return [term for term in self.terms if not is_filler(term.text)] or list(self.terms)

    def __repr__(self) -> str:
        return f"<SearchAnswer {self.query[:80]!r}, {len(self.hits)} of {self.total} hits>"

    def _plain(self, row: Hit) -> dict[str, object]:
        where = {"session": row.session.row.uuid, "uuid": row.uuid, "field": str(row.field), "time": row.time}
        return {**where, "text": row.text, "score": row.score}


class Searcher:
    """Queries the index, and reads the lines found from the safe."""

    def __init__(self, connection: sqlite3.Connection, files: SafeReader, now: datetime, held: HeldTexts) -> None:
        self._connection = connection
        self._files = files
        self._now = now
        self._held = held
        self._hidden = 0

    def search(
        self, text: str, fields: frozenset[Field], filters: Filter, limit: int, *, suggests: bool
    ) -> SearchAnswer:
        query = parse(text, fields)
        chosen = self._chosen(filters)
        found: list[tuple[float, ReadText]] = []
        seen = _Seen()
        passed = 0
        for window in self._windows(query, chosen):
            inside = [match for match in window if filters.keeps_time(_time(match))]
            passed += len(inside)
            found += self._best(inside, query, limit, seen)
            if len(found) >= limit:
                is_last = len(window) < WINDOW  # counting them takes as long as finding them
                times = _bounds(filters)
                total = passed if is_last else reading.count_matches(self._connection, query.match, chosen, times)
                break
        else:
            total = len(found)
        found.sort(key=lambda pair: (-pair[0], -pair[1].match.id))
        own = list(self._own(matching(noted_words(self._connection), query.match), query.terms, filters, chosen))
        hits = sorted([*own, *self._hits(found[:limit], seen)], key=lambda hit: -hit.score)
        is_wanted = not self._hidden and (not hits or is_described(text))
        return SearchAnswer(
            query=text,
            terms=query.terms,
            nearest=self._nearest(text, query.fields, filters, chosen, hits[:limit], limit) if is_wanted else (),
            total=max(total, len(found)) + len(own),
            hits=hits[:limit],
            suggestions=[] if hits or self._hidden or not suggests else self._suggestions(query),
            hidden=self._hidden,
        )

    def _nearest(
        self,
        text: str,
        fields: frozenset[Field],
        filters: Filter,
        chosen: list[int] | None,
        hits: list[Hit],
        limit: int,
    ) -> tuple[Hit, ...]:
        """The sessions nearest to a description that are not among the hits, each once whatever copies it has."""
        known = {hit.session.id for hit in hits}
        seen, found = _Seen(), []
        for near in NearestSessions(self._connection, fields, chosen, _bounds(filters)).of(text):
            if near.session not in known:
                found += [(near.score, read) for read in self._reads([near.best]) if seen.is_first(read)]
        return tuple(self._hits(found[:limit], seen))

    def scan(self, bounded: BoundedPattern, fields: frozenset[Field], filters: Filter, limit: int) -> SearchAnswer:
        """Tries a regular expression on every text of the fields: the newest matches are shown, all are counted."""
        found: list[ReadText] = []
        seen = _Seen()
        numbers = [FIELDS.index(field) for field in fields]
        chosen = self._chosen(filters)
        beyond: set[tuple[str, TextSums]] = set()
        total = 0
        for read in self._matching(bounded, numbers, chosen, filters, limit):
            if len(found) < limit or seen.has(read):
                is_new = seen.is_first(read)
                found += [read] if is_new else []
            else:  # count it without keeping it: a pattern may match every text there is
                name = (read.uuid or str(read.match.id), read.sums)
                is_new = name not in beyond
                beyond.add(name)
            total += is_new
        own = self._own_matching(bounded, filters, chosen) if Field.TITLE in fields else []
        hits = [*own, *self._hits([(1.0, read) for read in found], seen)]
        return SearchAnswer(
            query=bounded.pattern,
            terms=(),
            total=total + len(own),
            hits=hits[:limit],
            suggestions=[],
            hidden=self._hidden,
            skipped=bounded.skipped,
            is_cut_short=bounded.has_given_up,
        )

    def _own_matching(self, bounded: BoundedPattern, filters: Filter, chosen: list[int] | None) -> list[Hit]:
        """Hits of a pattern in a person's own titles, tags and notes."""
        noted = noted_words(self._connection)
        tried = zip(noted, bounded.try_each(each.text for each in noted), strict=False)
        spans = {each.text: answer.spans for each, answer in tried if answer.is_found}
        noted = [each for each in noted if each.text in spans]
        return [replace(hit, spans=spans[hit.text]) for hit in self._own(noted, (), filters, chosen)]

    def _matching(
        self, bounded: BoundedPattern, fields: list[int], chosen: list[int] | None, filters: Filter, limit: int
    ) -> Iterator[ReadText]:
        """The texts that a pattern matches, newest first."""
        terms = words.term_list(self._connection) if needs_terms(bounded.words) else None
        asked = possible(bounded.words, terms)
        blocks = reading.blocks(self._connection, fields, chosen, asked)
        if filters.since is not None or filters.until is not None:
            blocks = (_within(each, filters) for each in blocks)
        every = (TextsOfFile(self._pieces_of(each), each) for each in blocks if each.rows)
        for answer in try_shares(
            shares(every, bounded.pattern, self._files.folder, limit, are_possible=asked is not None), bounded
        ):
            self._hidden += answer.unreadable
            yield from answer.found

    def _pieces_of(self, blocks: FileBlocks) -> list[reading.StoredPiece]:
        return reading.every_piece(self._connection, blocks.rows[0][1], blocks.generation)

    def _with_pieces(self, matches: Iterable[Match]) -> Iterator[tuple[Match, list[reading.StoredPiece]]]:
        held: tuple[int, int] | None = None
        pieces: list[reading.StoredPiece] = []
        for match in matches:
            if held != (match.file, match.generation):
                held = match.file, match.generation
                pieces = reading.every_piece(self._connection, *held)
            yield match, pieces

    def cells(self, text: str, fields: frozenset[Field], filters: Filter) -> Cells:
        """How many hits each session, field and hour has, without reading any text."""
        query = parse(text, fields)
        everywhere = parse(text, ALL_FIELDS)
        chosen = self._chosen(filters)
        rows = reading.match_cells(self._connection, everywhere.match, chosen, _bounds(filters), MOST + 1)
        cells = [FacetCell(session, FIELDS[field], hour, hits) for session, field, hour, hits in rows]
        own = self._own(matching(noted_words(self._connection), everywhere.match), query.terms, filters, chosen)
        cells += [FacetCell(hit.session.id, hit.field, _hour(hit.time), 1) for hit in own]
        return Cells(tuple(cells), query.fields, sum(cell.hits for cell in cells) > MOST)

    def lines_in(self, text: str, fields: frozenset[Field], session: int, limit: int) -> set[str]:
        """The uuids of the matching lines of one session, at most `limit` of the newest."""
        query = parse(text, fields)
        found = reading.matches(self._connection, query.match, below=None, limit=limit, sessions=[session])
        return {read.uuid for read in self._reads(found) if read.uuid}

    def _own(
        self, noted: Iterable[Noted], terms: tuple[Term, ...], filters: Filter, chosen: list[int] | None
    ) -> Iterator[Hit]:
        """A person's own words about sessions as hits in titles; each has the time at which its session ended."""
        for each in noted:
            ids = [number for number in each.sessions if chosen is None or number in chosen]
            if not ids:
                continue
            session = _original(sessions(self._connection, ids=ids))
            time = moment(session.row.ended)
            if filters.keeps_time(time):
                found = Candidate(0, time, Field.TITLE, query_hits(terms, each.text), len(each.text))
                score = round(found.score(self._now), 3)
                yield Hit(session=session, uuid=None, field=Field.TITLE, time=time, text=each.text, score=score)

    def _chosen(self, filters: Filter) -> list[int] | None:
        """The sessions that pass a filter; None for all of them."""
        unlimited = filters._replace(limit=None)
        if unlimited == Filter():
            return None
        return passing_ids(self._connection, unlimited)

    def _windows(self, query: SearchQuery, sessions: list[int] | None) -> Iterator[list[Match]]:
        below: int | None = None
        ask = partial(reading.matches, self._connection, query.match, limit=WINDOW, sessions=sessions)
        while window := ask(below=below, counts=not query.is_hardly_begun):
            yield window
            if len(window) < WINDOW:
                return
            below = window[-1].id

    def _best(
        self, window: list[Match], query: SearchQuery, limit: int, seen: _Seen
    ) -> Iterator[tuple[float, ReadText]]:
        """The best of a window with their scores. The index ranks them roughly; only the texts of the likely ones are
        read from the safe and scored exactly."""
        hits_in = cache(partial(query_hits, query.terms))  # many sessions contain the same skill or file
        most = max(limit, _LEAST_READ)
        waiting = self._ranked(window, query) if len(window) > most else window
        found = 0
        while waiting and found < limit:
            likely, waiting = _with_copies(waiting, most)
            for read in self._reads(likely):
                if seen.is_first(read):
                    found += 1
                    yield self._score(read.match, hits_in(read.text), len(read.text)), read

    def _ranked(self, window: list[Match], query: SearchQuery) -> list[Match]:
        """Matches by what the index knows about them, best first."""
        terms = len(query.positive)
        least = min(match.occurrences for match in window) or 1.0
        ids = [match.id for match in window]
        has_order = terms > 1 and not query.is_hardly_begun
        as_typed = reading.which_match(self._connection, query.in_order, ids) if has_order else set()

        def score(match: Match) -> float:
            hits = Hits(terms, terms * match.occurrences / least, has_word=True, has_phrase=match.id in as_typed)
            return self._score(match, hits, max(match.length - _AROUND_TEXT, 0))

        return sorted(window, key=score, reverse=True)

    def _score(self, match: Match, hits: Hits, length: int) -> float:
        return Candidate(match.id, _time(match), FIELDS[match.field], hits, length).score(self._now)

    def _reads(self, window: list[Match]) -> list[ReadText]:
        """The matches that can be read, in the order of the window; read file by file, each from its end."""
        by_place = sorted(window, key=lambda match: (match.file, match.generation, match.offset), reverse=True)
        found = {match.id: self._read(match, pieces) for match, pieces in self._with_pieces(by_place)}
        return [read for match in window if (read := found[match.id]) is not None]

    def _read(self, match: Match, pieces: list[reading.StoredPiece]) -> ReadText | None:
        name = _text_name(match, pieces)
        found = self._held.get(name) if name is not None else None
        if found is None:
            found = self._text(match, pieces)
            if found is not None and name is not None:
                self._held.hold(name, found)
        return ReadText(match, found.uuid, found.text) if found is not None else None

    def _text(self, match: Match, pieces: list[reading.StoredPiece]) -> BlockText | None:
        try:
            line = self._files.line(match.file, match.generation, match.offset, match.length, pieces)
        except SafeDamaged:
            self._hidden += 1
            return None
        return text_at(match.kind, line, match.part)

    def _hits(self, found: list[tuple[float, ReadText]], seen: _Seen) -> list[Hit]:
        ids = sorted({copy.match.session for _, read in found for copy in seen.copies(read)})
        stored = {each.id: each for each in sessions(self._connection, ids=ids)}
        return [
            Hit(
                session=_original(stored[copy.match.session] for copy in seen.copies(read)),
                uuid=read.uuid,
                field=FIELDS[read.match.field],
                time=_time(read.match),
                text=read.text,
                score=round(score, 3),
                spans=read.spans,
            )
            for score, read in found
        ]

    def _suggestions(self, query: SearchQuery) -> list[str]:
        """Words that are spelled like those of the query and occur in the fields searched."""
        found: list[str] = []
        for term in query.terms:
            word = term.text.lower()
            if term.negated or not is_correctable(word):
                continue
            if not reading.vocabulary(self._connection, word, word + "\0"):
                found += suggest(word, reading.vocabulary(self._connection, word[:1], word[:1] + "\U0010ffff"))
        return [word for word in dict.fromkeys(found) if self._occurs(word, query.fields)]

    def _occurs(self, word: str, fields: frozenset[Field]) -> bool:
        return reading.count_matches(self._connection, parse(word, fields).match, None) > 0


class _Seen:
    """Folds copies into one hit: a resume or a fork copies lines with their uuid."""

    def __init__(self) -> None:
        self._copies: dict[str, list[list[ReadText]]] = {}
        """For each uuid, the copies of each of its texts."""

    def is_first(self, read: ReadText) -> bool:
        if read.uuid is None:
            return True
        copies = self._with(read)
        if copies is None:
            self._copies.setdefault(read.uuid, []).append([read])
            return True
        copies.append(read)
        return False

    def has(self, read: ReadText) -> bool:
        return self._with(read) is not None

    def copies(self, read: ReadText) -> list[ReadText]:
        return self._with(read) or [read]

    def _with(self, read: ReadText) -> list[ReadText] | None:
        """A text with its copies; few lines are copied, so texts are rarely compared."""
        texts = self._copies.get(read.uuid, ()) if read.uuid is not None else ()
        return next((copies for copies in texts if copies[0].says_the_same_as(read)), None)


def _with_copies(ranked: list[Match], most: int) -> tuple[list[Match], list[Match]]:
    """The first `most` matches, and the rest. Copies made by a resume or a fork, which keep their time, stay together
    and count as one."""
    by_origin = grouped(ranked, lambda each: each.id if each.time is None else (each.time, each.field, each.part))
    together = list(by_origin.values())
    return list(chain.from_iterable(together[:most])), list(chain.from_iterable(together[most:]))


def _text_name(match: Match, pieces: Iterable[reading.StoredPiece]) -> TextName | None:
    """The name under which a text is kept in memory; None if the text spans several pieces."""
    piece = piece_with(pieces, match.offset, match.length)
    return None if piece is None else (piece.sha256, match.offset - piece.start, match.length, match.part, match.kind)


def _original(copies: Iterable[StoredSession]) -> StoredSession:
    """The session in which a line was written: it ended before the one that continued with a copy."""
    return min(copies, key=lambda each: (each.row.ended or 0, each.mtime_ns or 0, each.id))


def _within(blocks: FileBlocks, filters: Filter) -> FileBlocks:
    """Only the rows within the times of a filter."""
    return blocks._replace(rows=[row for row in blocks.rows if filters.keeps_time(moment(row[-1]))])


def _bounds(filters: Filter) -> tuple[int | None, int | None]:
    return milliseconds(filters.since), milliseconds(filters.until)


def _time(match: Match) -> datetime | None:
    return moment(match.time)


def _hour(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp()) // 3600


MOST_HITS = 3_000
"""The most hits counted in one session, because each is read from the safe."""
FieldNames = str | Iterable[str]
"""`thinking`, `prompt,text`, `all`, or a list of such names."""


def chosen_fields(fields: FieldNames | None) -> frozenset[Field]:
    """The fields named, by default all but tool results. Raises BadInput for an unknown name."""
    return DEFAULT_FIELDS if fields is None else fields_of(",".join(texts_of(fields, "fields")), "fields")


def _checked_query(query: object) -> str:
    if not isinstance(query, str):
        raise BadInput(f"{printable(repr(query))} is not text to search for")
    return query


class ArchiveText:
    """Questions to the full-text index. If one covers tool results that a quick sync left for later, they are indexed
    first; if that is not possible, the answer says for how many sessions they are missing."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<text of {self._archive!r}>"

    def search(
        self,
        query: str,
        fields: FieldNames | None = None,
        base: Filter | None = None,
        limit: int = 20,
        *,
        is_regex: bool = False,
        suggests: bool = True,
        now: datetime | None = None,
        timezone: Zone | None = None,
        report: Report | None = None,
        **filters: Unpack[ScopeOptions],
    ) -> SearchAnswer:
        """The best of the newest matches in all fields but tool results, or in those named.

        With `is_regex` a pattern is tried on every text. A caller that searches at every key press and shows no
        suggestions should pass `suggests=False`, because suggesting goes through all words with the same first letter.
        """
        chosen, scope, most = chosen_fields(fields), make_filter(base, filters, timezone), positive(limit, "limit")
        if is_regex:  # this reads the texts themselves
            bounded = BoundedPattern(_checked_query(query))
            if needs_terms(bounded.words):
                self._list_terms()
            searcher = self._searcher(now)
            with snapshot(self._archive.connection):
                return searcher.scan(bounded, chosen, scope, most)
        is_about_results = Field.RESULT in parse(_checked_query(query), chosen).fields
        if is_about_results:
            self.index_waiting(self._waiting(scope), report)
        searcher = self._searcher(now)
        with snapshot(self._archive.connection):
            answer = searcher.search(query, chosen, scope, most, suggests=suggests)
            return replace(answer, waiting=self.count_waiting(scope)) if is_about_results else answer

    def count_waiting(self, filters: Filter | None = None) -> int:
        """How many sessions that pass a filter have tool results that are not indexed yet."""
        return len(self._waiting(filters or Filter()))

    def _waiting(self, filters: Filter) -> set[int]:
        connection, unlimited = self._archive.connection, filters._replace(limit=None)
        waiting = set(meta.waiting_for_results(connection))
        if not waiting or unlimited == Filter():
            return waiting
        return waiting.intersection(passing_ids(connection, unlimited))

    def index_waiting(self, sessions: Collection[int] | None = None, report: Report | None = None) -> None:
        """Indexes the tool results that a quick sync left for later, of some sessions or of all. Does nothing if the
        archive cannot be written or a sync is writing."""
        archive = self._archive
        waiting = set(meta.waiting_for_results(archive.connection))
        asked = waiting if sessions is None else waiting.intersection(sessions)
        if asked:
            index = second_phase.index_results
            archive.if_free(lambda: index(archive.connection, archive.packs, report, asked))

    def _list_terms(self) -> None:
        """Lists the words of the index, to find those that contain certain letters. Does nothing if the archive cannot
        be written or a sync is writing; then all texts are read."""
        archive = self._archive
        if not words.has_terms(archive.connection):
            archive.if_free(lambda: words.list_terms(archive.connection))

    def count_hits(self, query: str, fields: FieldNames | None = None, filters: Filter | None = None) -> Cells:
        """How many hits a search has in each session, field and hour, as far as they are indexed; for `facets`."""
        with snapshot(self._archive.connection):
            return self._searcher().cells(_checked_query(query), chosen_fields(fields), make_filter(filters, {}))

    def hits_in(self, session: SessionName, query: str, fields: FieldNames | None = None) -> set[str]:
        """The uuids of the lines of one session that a search finds, at most `MOST_HITS`."""
        stored = self._archive.find(session)
        if Field.RESULT in parse(_checked_query(query), chosen_fields(fields)).fields:
            self.index_waiting([stored.id])
        with snapshot(self._archive.connection):
            return self._searcher().lines_in(_checked_query(query), chosen_fields(fields), stored.id, MOST_HITS)

    def _searcher(self, now: datetime | None = None) -> Searcher:
        archive, held = self._archive, self._archive.held_texts
        held.forget(reading.forgotten(archive.connection))
        return Searcher(archive.connection, archive.line_reader(is_backwards=True), now or datetime.now(UTC), held)
