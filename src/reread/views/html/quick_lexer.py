"""Coloured code: Pygments' rules, with one search for each token instead of one for each rule.

Pygments tries one rule after the other at every position, about fifteen for a token of recorded code. An alternation
tries them in the same order inside the regular expression engine. The colours are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby, takewhile
from types import new_class
from typing import Any, NamedTuple

from pygments.lexer import Lexer, RegexLexer
from pygments.token import STANDARD_TYPES, Error, Token, _TokenType

ENOUGH = 4
"""A language's patterns are compiled into alternations once its texts have this many characters for each character of
the patterns. Compiling takes 3 µs for a character of a pattern, from 1 ms for Markdown to 35 ms for TypeScript, and
saves 0.8 µs for a character of text."""


def html_of(lexer: Lexer, text: str) -> str:
    """The text as HTML, with a span around each token that has a colour."""
    return "".join([_spans(kind)[value] for kind, value in lexer.get_tokens(text)])


@cache
def quickened(kind: type[Lexer]) -> type[Lexer]:
    """The same lexer, faster if it works by rules alone. It gives a whole text as one token that is already HTML; so
    does a rule's callback that runs its own lexer."""
    if not issubclass(kind, RegexLexer) or kind.get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return kind
    if getattr(kind, "token_variants", False):  # C#: rules are chosen by instance, not by class
        return kind
    seen = 0

    def tokens(lexer: RegexLexer, text: str, stack: Sequence[str] = ("root",)) -> Iterator[_Token]:
        nonlocal seen
        seen += len(text)
        yield 0, _HTML, _by_rules(lexer, text, stack, is_joined=seen > ENOUGH * _length(type(lexer)))

    made: type[Lexer] = new_class(
        kind.__name__, (kind,), exec_body=lambda names: names.update(get_tokens_unprocessed=tokens)
    )
    return made


@cache
def _length(kind: type[RegexLexer]) -> int:
    """The length of the patterns of its largest state; most texts need few of the other states."""
    states: dict[str, list[_Rule]] = kind._tokens  # type: ignore[attr-defined]
    return max(sum(len(_pattern(rule).pattern) for rule in rules) for rules in states.values())


def _by_rules(lexer: RegexLexer, text: str, stack: Sequence[str], *, is_joined: bool) -> str:
    """Does the same as `RegexLexer.get_tokens_unprocessed`, without an object for each token."""
    kind, states = type(lexer), list(stack)
    stretches = _stretches(kind, states[-1], is_joined)
    made: list[str] = []
    position = plain_from = 0  # two of three tokens have no colour: a run of them is escaped at once
    while True:
        for match, steps in stretches:
            found = match(text, position)
            if found is not None:
                spans, tokens, group, following = steps[found.lastindex or 0]
                break
        else:
            if position >= len(text):
                made.append(_PLAIN[text[plain_from:]])
                return "".join(made)
            if text[position] == "\n":
                states = ["root"]
                stretches = _stretches(kind, "root", is_joined)
            else:
                made += _PLAIN[text[plain_from:position]], _spans(Error)[text[position]]
                plain_from = position + 1
            position += 1
            continue
        if spans is not _PLAIN:
            if plain_from < position:
                made.append(_PLAIN[text[plain_from:position]])
            plain_from = found.end(group)
            if spans is not None:
                made.append(spans[text[position:plain_from]])
            else:
                made += [_spans(token)[value] for _, token, value in tokens(lexer, text, position)]
        position = found.end()
        if following is not None:
            _move(states, following)
            stretches = _stretches(kind, states[-1], is_joined)


def _move(states: list[str], following: Any) -> None:
    if isinstance(following, int):  # pops that many states, but never the first
        del states[1 if abs(following) >= len(states) else following :]
        return
    for state in (following,) if isinstance(following, str) else following:
        if state == "#push":
            states.append(states[-1])
        elif state != "#pop":
            states.append(state)
        elif len(states) > 1:
            states.pop()


class _Spans(dict[str, str]):
    """Caches the HTML of tokens of one class, with a span in each line: names and signs occur again and again."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, value: str) -> str:
        shown = escaped(value)
        if self.name:
            shown = "\n".join(f'<span class="{self.name}">{part}</span>' if part else "" for part in shown.split("\n"))
        if len(value) < LONGEST_KEPT:
            if len(self) >= MOST_KEPT:
                self.clear()
            self[value] = shown
        return shown


LONGEST_KEPT, MOST_KEPT = 40, 4_000
"""Limits of the cache: characters of a token, because sentences are not repeated, and tokens of one class."""
_PLAIN = _Spans("")


def escaped(text: str) -> str:
    """Like `markupsafe.escape`, without a `Markup` object for each of a hundred thousand tokens."""
    if text.isalnum() or not text:
        return text
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("'", "&#39;").replace('"', "&#34;")


class _Made(_Spans):
    """Passes on tokens that are already HTML."""

    def __missing__(self, value: str) -> str:
        return value


_HTML = Token.Html


@cache
def _spans(kind: _TokenType) -> _Spans:
    if kind is _HTML:
        return _Made("")
    name = _css_class(kind)
    return _Spans(name) if name else _PLAIN


def _css_class(kind: _TokenType) -> str:
    """The CSS class, `c-k` or `c-s1`, from Pygments' short names; the style sheet selects by the first letter."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in ("", "w", "p", "n") else f"c-{name[:2]}"


_Match = Callable[[str, int], "re.Match[str] | None"]
_Rule = tuple[_Match, Any, Any]
"""A rule as Pygments compiles it: the match function, the kind of token or a callback, and the next state."""
_Token = tuple[int, _TokenType, str]
_Tokens = Callable[[RegexLexer, str, int], Iterable[_Token]]


class _Step(NamedTuple):
    """What follows from a match."""

    spans: _Spans | None
    """None if a callback gives the tokens."""
    tokens: _Tokens
    group: int
    """The number of the group that ends where the token ends."""
    following: Any

    @property
    def is_plain(self) -> bool:
        """Whether the token has no colour and the state stays."""
        return self.spans is _PLAIN and self.following is None


class _Stretch(NamedTuple):
    """Consecutive rules that are tried in one search."""

    match: _Match
    steps: Sequence[_Step]
    """One step for each rule, by the number of the group that closes last."""


_FLAGS_FOR_ALL = re.compile(r"\(\?([is]+)\)")
"""Flags at the beginning of a pattern; inside a larger pattern they must be written for a part of it."""
_ALONE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux-]+\)")
"""Syntax that would change its meaning in a larger pattern: backreferences, named groups, flags for the whole."""
_GROUP = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\((?!\?)", re.DOTALL)
"""The beginning of a group; or, in its own group, what only looks like one: an escaped character or a set."""


@cache
def _stretches(kind: type[RegexLexer], state: str, is_joined: bool) -> list[_Stretch]:
    rules: list[_Rule] = kind._tokens[state]  # type: ignore[attr-defined]
    if not is_joined:
        return list(map(_alone, rules))
    found: list[_Stretch] = []
    for is_alone, group in groupby(rules, lambda rule: _ALONE.search(_local(rule)) is not None):
        some = list(group)
        found += map(_alone, some) if is_alone else _joined(some, kind.flags, r"\s*+" if _skips_white(rules) else "")
    return found


def _skips_white(rules: Sequence[_Rule]) -> bool:
    """Whether a state first matches plain white space. A token can then be matched together with the space after it,
    which saves two of five searches in Go and Rust."""
    first = takewhile(lambda rule: _pattern(rule).pattern in (r"\n", r"\s+") and _step(rule).is_plain, rules)
    return any(_pattern(rule).pattern == r"\s+" for rule in first)


def _joined(rules: Sequence[_Rule], flags: int, behind: str) -> list[_Stretch]:
    """Joins rules into one alternation. Groups inside a rule are dropped, which takes a quarter off a search: only
    its callback needs them, and that searches by the rule itself. An empty group at the end of each rule says which one
    matched; at the beginning it would hide the rule's first character from the engine."""
    if len(rules) < 2 or flags & re.VERBOSE:
        return list(map(_alone, rules))
    parts = [_GROUP.sub(lambda found: found[1] or "(?:", _local(rule)) for rule in rules]
    ends = [behind if following is None else "" for _, _, following in rules]
    pattern = re.compile("|".join([f"(?:{part})(){end}" for part, end in zip(parts, ends, strict=True)]), flags)
    if pattern.groups != len(rules):
        return list(map(_alone, rules))
    return [_Stretch(pattern.match, [_step(rules[0]), *(_step(rule, group) for group, rule in enumerate(rules, 1))])]


def _alone(rule: _Rule) -> _Stretch:
    return _Stretch(rule[0], [_step(rule)] * (_pattern(rule).groups + 1))


def _step(rule: _Rule, group: int = 0) -> _Step:
    match, action, following = rule
    if type(action) is _TokenType:
        return _Step(_spans(action), _no_tokens, group, following)
    if action is None:
        return _Step(None, _no_tokens, group, following)
    return _Step(None, lambda lexer, text, position: action(lexer, match(text, position)), group, following)


def _no_tokens(_lexer: RegexLexer, _text: str, _position: int) -> Iterable[_Token]:
    return ()


def _local(rule: _Rule) -> str:
    """Its pattern, with flags for the whole pattern rewritten as flags for a part."""
    pattern = _pattern(rule).pattern
    found = _FLAGS_FOR_ALL.match(pattern)
    return pattern if found is None else f"(?{found[1]}:{pattern[found.end() :]})"


def _pattern(rule: _Rule) -> re.Pattern[str]:
    found: re.Pattern[str] = rule[0].__self__  # type: ignore[attr-defined]  # a bound method of it
    return found
