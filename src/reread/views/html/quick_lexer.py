"""Code in its colours: Pygments' rules with one search for a token instead of one for each rule.

A rule after the other is tried at every place of a text, fifteen of them for a token of recorded code. An alternation
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
"""Characters of a language for each of its patterns after which they are worth compiling once more: that takes 3 µs for
a character of a pattern, from 1 ms for Markdown to 35 ms for TypeScript, and saves 0.8 µs for each of a text."""


def html_of(lexer: Lexer, text: str) -> str:
    """Each token that has a colour in a span of its own."""
    return "".join([_spans(kind)[value] for kind, value in lexer.get_tokens(text)])


@cache
def quickened(kind: type[Lexer]) -> type[Lexer]:
    """The same lexer, quicker where it goes by rules alone. A text is one token to it, which is HTML already; so what a
    rule asks of its own lexer comes back as that, too."""
    if not issubclass(kind, RegexLexer) or kind.get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return kind
    if getattr(kind, "token_variants", False):  # C#: its rules are chosen for each lexer, not for all of its kind
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
    """Of the patterns of its largest state; of the others most texts need few."""
    states: dict[str, list[_Rule]] = kind._tokens  # type: ignore[attr-defined]
    return max(sum(len(_pattern(rule).pattern) for rule in rules) for rules in states.values())


def _by_rules(lexer: RegexLexer, text: str, stack: Sequence[str], *, is_joined: bool) -> str:
    """Step by step what `RegexLexer.get_tokens_unprocessed` does, without an object for each token."""
    kind, states = type(lexer), list(stack)
    stretches = _stretches(kind, states[-1], is_joined)
    made: list[str] = []
    position = plain_from = 0  # two tokens of three have no colour: a run of them is escaped at once
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
    if isinstance(following, int):  # back by so many, but never beyond the first
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
    """Tokens of one class in its span, in each of their lines: names and signs come again and again."""

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
"""Characters of a token, for sentences do not come again; and tokens of a class."""
_PLAIN = _Spans("")


def escaped(text: str) -> str:
    """As `escape` does it, without an object for each of a hundred thousand tokens."""
    if text.isalnum() or not text:
        return text
    shown = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return shown.replace("'", "&#39;").replace('"', "&#34;")


class _Made(_Spans):
    """What is HTML already."""

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
    """`k`, `s1`: Pygments' own short names; its first letter is what the style sheet goes by."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return "" if name in ("", "w", "p", "n") else f"c-{name[:2]}"


_Match = Callable[[str, int], "re.Match[str] | None"]
_Rule = tuple[_Match, Any, Any]
"""As Pygments compiles it: what matches, the kind of token or a callback, the state that follows."""
_Token = tuple[int, _TokenType, str]
_Tokens = Callable[[RegexLexer, str, int], Iterable[_Token]]


class _Step(NamedTuple):
    """What a match means."""

    spans: _Spans | None
    """None where a callback tells the tokens."""
    tokens: _Tokens
    group: int
    """The one that ends where the token does."""
    following: Any

    @property
    def is_plain(self) -> bool:
        """Whether it has no colour and changes nothing."""
        return self.spans is _PLAIN and self.following is None


class _Stretch(NamedTuple):
    """Rules that stand behind each other and are tried at once."""

    match: _Match
    steps: Sequence[_Step]
    """By the number of the group that closes last."""


_FLAGS_FOR_ALL = re.compile(r"\(\?([is]+)\)")
"""At its beginning; inside a larger pattern they are written for a part of it."""
_ALONE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux-]+\)")
"""What means another thing inside a larger pattern: numbered groups, named ones, flags for all of it."""
_GROUP = re.compile(r"(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\((?!\?)", re.DOTALL)
"""Where a group begins; or what is none, though it may look so: an escaped character, a set."""


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
    """Whether white space is what a state looks for first, and goes on: a token may then be taken together with what
    is behind it, which makes two searches of five needless in Go and Rust."""
    first = takewhile(lambda rule: _pattern(rule).pattern in (r"\n", r"\s+") and _step(rule).is_plain, rules)
    return any(_pattern(rule).pattern == r"\s+" for rule in first)


def _joined(rules: Sequence[_Rule], flags: int, behind: str) -> list[_Stretch]:
    """Groups inside a rule are only for its callback, which searches by the rule itself; without them a search takes a
    quarter less. The empty group at the end of each tells which it was; before it would hide with what letter the rule
    begins."""
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
    """Its pattern, with flags that hold for all of it as those of a part."""
    pattern = _pattern(rule).pattern
    found = _FLAGS_FOR_ALL.match(pattern)
    return pattern if found is None else f"(?{found[1]}:{pattern[found.end() :]})"


def _pattern(rule: _Rule) -> re.Pattern[str]:
    found: re.Pattern[str] = rule[0].__self__  # type: ignore[attr-defined]  # a bound method of it
    return found
