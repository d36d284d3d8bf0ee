"""The language of `reread search`: turns what a person types into an FTS5 expression, suggestions and a ranking.

Any input gives a valid expression: every word is passed to FTS5 as a quoted string, which FTS5 splits with the
tokenizer of the index. One row of the index is one block in one field, so all words of a query must be in one block.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from reread.errors import BadInput, NoWords, printable
from reread.features.search_text import Field
from reread.index.text_index import (
    Occurrence,
    counted,
    folded,
    has_token,
    indexable,
    is_unspaced,
    occurrences,
    pieces_of,
    query_tokens,
)

FIELDS = tuple(Field)
"""The position of a field is its number in the index."""
ALL_FIELDS = frozenset(Field)
DEFAULT_FIELDS = ALL_FIELDS - {Field.RESULT}


_WORD = re.compile(r"[^\W_]+")


def folded_words(text: str) -> list[str]:
    """The words by which a text is found, as the index splits and folds them."""
    return _WORD.findall(folded(indexable(text)))


class Term(Struct, frozen=True):
    """A word or phrase of a query."""

    text: str
    is_prefix: bool = False
    is_phrase: bool = False
    negated: bool = False

    def found_in(self, text: str) -> Iterator[Occurrence]:
        return occurrences(text, self.text, is_prefix=self.is_prefix)

    @property
    def pieces(self) -> tuple[str, ...]:
        """Its words as `found_in` looks for them, for callers that search something else."""
        return pieces_of(self.text)


_LEAST_BEGUN = 3
"""A prefix with fewer letters than this may match thousands of words."""


class SearchQuery(Struct, frozen=True):
    """A parsed query."""

    match: str
    """The expression for `MATCH`, including its columns."""
    terms: tuple[Term, ...]
    fields: frozenset[Field]
    """The fields in which a hit may be."""

    @property
    def is_hardly_begun(self) -> bool:
        """Whether one of its words may match thousands of others, which the index takes long to count."""
        return any(term.is_prefix and len(term.text) < _LEAST_BEGUN for term in self.terms)

    @property
    def positive(self) -> list[Term]:
        return _positive(self.terms)

    @property
    def in_order(self) -> str:
        """Another expression for `MATCH`: the wanted words as one phrase, in the order typed."""
        typed = _in_order(self.positive)
        return parse(f'"{typed.text}"{"*" if typed.is_prefix else ""}', self.fields).match


def _positive(terms: Iterable[Term]) -> list[Term]:
    return [term for term in terms if not term.negated]


def _in_order(terms: Sequence[Term]) -> Term:
    """The words as one phrase."""
    return Term(" ".join(term.text for term in terms), terms[-1].is_prefix, is_phrase=True)


def parse(text: str, fields: Iterable[Field] = DEFAULT_FIELDS) -> SearchQuery:
    """Words (all must occur), `"a phrase"`, `word*`, `AND`, `OR`, `NOT`, `-word`, `( )`, `field:word`.

    A field in the query overrides `fields`. Raises BadInput if nothing is left to search for.
    """
    if not text.strip():
        raise BadInput("an empty query has nothing to search for")
    parser = _Parser(list(_lexemes(text)))
    root = parser.alternatives(frozenset(fields), negated=False)
    shown = printable(" ".join(text.split())[:80])
    if root is None and parser.terms:
        raise BadInput(f"{shown!r} only says what to leave out; add a word to search for")
    if root is None:
        raise NoWords(f"{shown!r} has nothing to search for; words need a letter or digit")
    if not root.fields:
        raise BadInput(f"{shown!r} asks one hit to lie in several fields; search for one of them, or join them with OR")
    return SearchQuery(root.match, tuple(dict.fromkeys(parser.terms)), root.fields)


def plain_words(text: str) -> list[str]:
    """The words of a query that has nothing but words and phrases; none if it has operators, fields or brackets."""
    lexemes = list(_lexemes(text))
    if any(each.kind not in ("word", "phrase") for each in lexemes):
        return []
    return [word for each in lexemes for word in each.text.rstrip("*").split()]


def fields_of(names: str | None, named: str = "in") -> frozenset[Field]:
    """Parses `prompt,thinking` or `all`; None is the usual ones. `named` is the name of the option in an error. Raises
    BadInput."""
    if names is None:
        return DEFAULT_FIELDS
    wanted = [name.strip().lower() for name in names.split(",") if name.strip()]
    if wanted == ["all"]:
        return ALL_FIELDS
    unknown = [name for name in wanted if name not in ALL_FIELDS]
    if unknown or not wanted:
        known = ", ".join(Field)
        raise BadInput(f"{named} {printable(names)!r} names no field; known are {known} and all")
    return frozenset(Field(name) for name in wanted)


def regex(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern for `--regex`: case matters unless it has `(?i)`; `^` and `$` match at every line. Raises
    BadInput."""
    if not pattern:
        raise BadInput("an empty pattern has nothing to search for")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadInput(f"{printable(pattern)!r} is not a regular expression: {error}") from error


# --- reading a query ---

_MOST_NESTED = 8
"""FTS5's parser overflows at about thirty parentheses, so deeper ones are read as punctuation."""

_LEXEME = re.compile(
    rf"""\s+
    | (?P<minus>(?<![^\s(]) -) (?=[^\s\-])
    | (?P<field>{"|".join(Field)}) : (?=[^\s:])
    | (?P<open>\()
    | ["“”] (?P<phrase>[^"“”]*) (?:["“”] (?P<star>\*?) | \Z)
    | (?P<word>[^\s"“”]+)""",
    re.VERBOSE | re.IGNORECASE,
)


def remarks(text: str) -> Iterator[str]:
    """What is said of a query that is read otherwise than it looks: a quote or a bracket that is not closed ends with
    the query, and a filter in it is words."""
    lexemes = list(_lexemes(text))
    yield from filter(None, (_unclosed_end(text, lexemes), *map(_filter_as_words, lexemes)))


def _unclosed_end(text: str, lexemes: Sequence[_Lexeme]) -> str | None:
    last = next(iter(deque(_LEXEME.finditer(text), maxlen=1)), None)
    if last is not None and last.lastgroup == "phrase" and (len(last[0]) == 1 or last[0][-1] not in '"“”'):
        return f"the quote before {last['phrase']!r} is not closed; all of that is taken for a phrase"
    kinds = [each.kind for each in lexemes]
    is_open = kinds.count("open") > kinds.count("close")
    return "a bracket is not closed; it is taken to end with the query" if is_open else None


_FILTERS = {name: name for name in ("since", "until", "project", "model", "branch", "file", "machine", "in")}
_FILTERS |= {"before": "until", "after": "since"}
"""What other programs filter by in the query, and the option that does it here."""


def _filter_as_words(lexeme: _Lexeme) -> str | None:
    name, _, value = lexeme.text.partition(":")
    option = _FILTERS.get(name.lower())
    if lexeme.kind != "word" or not option or not value or value.startswith("//"):
        return None
    return f"{lexeme.text!r} is searched as words, since {name!r} is no field; --{option} is the filter"


class _Lexeme(Struct, frozen=True):
    kind: str
    """open, close, field, word, phrase, AND, OR or NOT."""
    text: str = ""
    is_prefix: bool = False


def _lexemes(text: str) -> Iterator[_Lexeme]:
    depth = 0
    for found in _LEXEME.finditer(text):
        kind = found.lastgroup
        if kind == "minus":
            yield _Lexeme("NOT")
        elif kind == "field":
            yield _Lexeme("field", found["field"].lower())
        elif kind == "open" and depth < _MOST_NESTED:
            depth += 1
            yield _Lexeme("open")
        elif kind in ("phrase", "star"):
            yield _Lexeme("phrase", found["phrase"], bool(found["star"]))
        elif kind == "word":
            word, closed = _unclosed(found["word"], depth)
            depth -= closed
            yield _Lexeme(word) if word in ("AND", "OR", "NOT") else _Lexeme("word", word, word.endswith("*"))
            yield from [_Lexeme("close")] * closed


def _unclosed(word: str, depth: int) -> tuple[str, int]:
    """A word without the trailing parentheses that close groups, and their number; those of `foo(bar)` stay."""
    closed = 0
    while closed < depth and word.endswith(")") and word.count(")") > word.count("("):
        word = word[:-1]
        closed += 1
    return word, closed


class _Node(Struct, frozen=True):
    match: str
    fields: frozenset[Field]
    """The fields in which a matching row can be."""
    is_leaf: bool = False

    def grouped(self) -> str:
        return self.match if self.is_leaf else f"({self.match})"


class _Parser:
    """A recursive descent parser. It skips what makes no sense, so it never fails."""

    def __init__(self, lexemes: Sequence[_Lexeme]) -> None:
        self._waiting = list(reversed(lexemes))
        self.terms: list[Term] = []

    def alternatives(self, fields: frozenset[Field], *, negated: bool) -> _Node | None:
        """`a b OR c`, up to the end of the group."""
        found = [self._together(fields, negated=negated)]
        while self._next_is("OR"):
            self._waiting.pop()
            found.append(self._together(fields, negated=negated))
        if self._next_is("close"):
            self._waiting.pop()
        return _any_of([node for node in found if node is not None])

    def _together(self, fields: frozenset[Field], *, negated: bool) -> _Node | None:
        """`a b -c`, up to an OR or the end of the group."""
        wanted: list[_Node] = []
        unwanted: list[_Node] = []
        is_not = False
        while self._waiting and not self._next_is("OR", "close"):
            if self._next_is("AND", "NOT"):
                is_not ^= self._waiting.pop().kind == "NOT"
                continue
            node = self._one(fields, negated=negated ^ is_not)
            if node is not None:
                (unwanted if is_not else wanted).append(node)
            is_not = False
        return _all_of(wanted, unwanted)

    def _one(self, fields: frozenset[Field], *, negated: bool) -> _Node | None:
        lexeme = self._waiting.pop()
        if lexeme.kind == "open":
            return self.alternatives(fields, negated=negated)
        if lexeme.kind == "field":
            return self._in_field(Field(lexeme.text), negated=negated)
        return self._term(lexeme, fields, negated=negated)

    def _in_field(self, field: Field, *, negated: bool) -> _Node | None:
        if self._next_is("open", "word", "phrase"):
            return self._one(frozenset({field}), negated=negated)
        return None

    def _term(self, lexeme: _Lexeme, fields: frozenset[Field], *, negated: bool) -> _Node | None:
        text = lexeme.text.rstrip("*") if lexeme.is_prefix else lexeme.text
        tokens = [token for token in query_tokens(text) if has_token(token)]
        if not tokens:
            return None
        self.terms.append(Term(text, lexeme.is_prefix, lexeme.kind == "phrase", negated))
        is_open = lexeme.is_prefix or (len(tokens[-1]) == 1 and is_unspaced(tokens[-1]))
        return _Node(columns(fields) + quoted(tokens, is_open), fields, is_leaf=True)

    def _next_is(self, *kinds: str) -> bool:
        return bool(self._waiting) and self._waiting[-1].kind in kinds


def columns(fields: frozenset[Field]) -> str:
    return "" if fields == ALL_FIELDS else f"{{{' '.join(field for field in Field if field in fields)}}} : "


def quoted(tokens: list[str], is_prefix: bool) -> str:
    phrase = " ".join(tokens).replace('"', '""')
    return f'"{phrase}" *' if is_prefix else f'"{phrase}"'


def _any_of(nodes: list[_Node]) -> _Node | None:
    if len(nodes) < 2:
        return nodes[0] if nodes else None
    return _Node(" OR ".join(node.grouped() for node in nodes), frozenset().union(*(node.fields for node in nodes)))


def _all_of(nodes: list[_Node], unwanted: list[_Node]) -> _Node | None:
    if not nodes:
        return None
    node = nodes[0] if len(nodes) == 1 else _both(nodes)
    if unwanted:
        left_out = " OR ".join(each.grouped() for each in unwanted)
        node = _Node(f"{node.grouped()} NOT ({left_out})", node.fields)
    return node


def _both(nodes: list[_Node]) -> _Node:
    # Without AND between words, FTS5 accepts a word in which its tokenizer finds nothing.
    leaves = " ".join(node.match for node in nodes if node.is_leaf)
    groups = [node.grouped() for node in nodes if not node.is_leaf]
    return _Node(
        " AND ".join([leaves, *groups] if leaves else groups), ALL_FIELDS.intersection(*(n.fields for n in nodes))
    )


# --- did you mean ---

_MOST_SUGGESTED = 3


def suggest(word: str, vocabulary: Iterable[tuple[str, int]]) -> list[str]:
    """The terms that a mistyped word most likely meant; `vocabulary` has (term, number of documents).

    Allows two edits, or one if the word is short or the first letter differs, which typing errors seldom change.
    """
    word = word.lower()
    if not is_correctable(word):
        return []
    near = [
        (distance, term[0] != word[0], -documents, term)
        for term, documents, allowed in _similar(word, vocabulary)
        if (distance := _distance(word, term, allowed)) is not None and term != word
    ]
    return [term for *_, term in sorted(near)[:_MOST_SUGGESTED]]


def is_correctable(word: str) -> bool:
    """Whether a word is long enough to suggest another spelling."""
    return len(word) >= 3 and word.isalnum() and not is_unspaced(word[0])


def _similar(word: str, vocabulary: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, int]]:
    """Similar terms, each with its documents and the edits allowed. Comparing length and letters rules out nearly all
    terms far more cheaply than computing a distance."""
    first, shortest, longest, letters = word[0], len(word) - 2, len(word) + 2, frozenset(word)
    as_long = [pair for pair in vocabulary if shortest <= len(pair[0]) <= longest]
    missing = letters.difference
    alike = [(pair, 2) for pair in as_long if pair[0][0] == first and len(missing(pair[0])) <= 2]
    others = [(pair, 1) for pair in as_long if pair[0][0] != first and len(missing(pair[0])) <= 1]
    for (term, documents), allowed in alike + others:
        if len(set(term) - letters) <= allowed:
            yield term, documents, 1 if len(word) < 5 else allowed


def _distance(word: str, term: str, allowed: int) -> int | None:
    """The number of edits, 1 or 2, a swap of neighbours counting as one; None if more than `allowed`."""
    return next((edits for edits in range(1, allowed + 1) if _is_within(edits, word, term)), None)


def _is_within(edits: int, one: str, other: str) -> bool:
    if one == other:
        return True
    if edits == 0 or abs(len(one) - len(other)) > edits:
        return False
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    one, other = one[same:], other[same:]
    if one[:2] == other[1::-1] and _is_within(edits - 1, one[2:], other[2:]):
        return True
    tails = ((one[1:], other[1:]), (one[1:], other), (one, other[1:]))
    return any(_is_within(edits - 1, *pair) for pair in tails)


# --- ranking ---


class Hits(Struct, frozen=True):
    """How well a text matches the terms of a query."""

    terms: int
    """How many different terms occur."""
    occurrences: float
    """Approximate if it comes from the index alone."""
    has_word: bool
    """Whether one of them occurs as a whole word, not as part of a longer one."""
    has_phrase: bool
    """Whether a quoted phrase occurs, or all words next to each other in the order typed."""


class Candidate(Struct, frozen=True):
    """A match to be ranked."""

    key: int
    """An id of the caller's choice."""
    time: datetime | None
    field: Field
    hits: Hits
    length: int

    def score(self, now: datetime) -> float:
        """weight x terms x (10 x occurrences + 5 for a whole word), times 1.5 for the phrase, damped, aged.

        Damping divides by 1 + log10(1 + length / 500), because a long text contains any word sooner or later.
        Age halves the score every 60 days, down to a factor of 0.3. A text without a time counts as old.
        """
        points = 10 * self.hits.occurrences + (5 if self.hits.has_word else 0)
        phrase = 1.5 if self.hits.has_phrase else 1.0
        damping = 1 + math.log10(1 + self.length / 500)
        return _WEIGHTS[self.field] * self.hits.terms * points * phrase / damping * _freshness(self.time, now)


_WEIGHTS = {
    Field.TITLE: 3.0,
    Field.PROMPT: 2.0,
    Field.TEXT: 1.5,
    Field.THINKING: 1.2,
    Field.TOOL: 1.0,
    Field.RESULT: 0.7,
}
_HALF_LIFE = timedelta(days=60)
_STALEST = 0.3
_MOST_COUNTED = 200
"""How many occurrences of one term are counted; more add nothing and cost time in a text of megabytes."""


def query_hits(terms: Sequence[Term], text: str) -> Hits:
    """How a text matches a query's terms; negated terms do not count."""
    wanted = _positive(terms)
    found = [counted(text, term.text, is_prefix=term.is_prefix, most=_MOST_COUNTED) for term in wanted]
    in_order = _in_order(wanted) if len(wanted) > 1 else None
    return Hits(
        terms=sum(1 for number, _ in found if number),
        occurrences=sum(number for number, _ in found),
        has_word=any(is_word for _, is_word in found),
        has_phrase=any(term.is_phrase and number for term, (number, _) in zip(wanted, found, strict=True))
        or (in_order is not None and next(in_order.found_in(text), None) is not None),
    )


def _freshness(time: datetime | None, now: datetime) -> float:
    if time is None:
        return _STALEST
    return max(_STALEST, math.exp2(min(0.0, (time - now) / _HALF_LIFE)))
