"""Pygments' lexers with one search for a token instead of one for each rule; the tokens are the same.

A rule after the other is tried at every place of a text, fifteen of them for a token of recorded code. An alternation
tries them in the same order inside the regular expression engine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import new_class
from typing import Any, NamedTuple

from pygments.lexer import Lexer, RegexLexer
from pygments.token import Error, Whitespace, _TokenType

_ALONE = re.compile(r"\\[1-9]|\(\?P|\(\?\(|\(\?[aiLmsux-]+\)")
"""What means another thing inside a larger pattern: numbered groups, named ones, flags for all of it."""

ENOUGH = 20_000
"""Characters of a language after which its patterns are worth compiling once more: that takes up to 60 ms (CSS)."""

Match = Callable[[str, int], "re.Match[str] | None"]
Rule = tuple[Match, Any, Any]
"""As Pygments compiles it: what matches, the kind of token or a callback, the state that follows."""


class _Stretch(NamedTuple):
    """Rules that stand behind each other and are tried at once."""

    match: Match
    rules: Sequence[Rule]
    """By the number of the group that closes last."""


@cache
def quickened(kind: type[Lexer]) -> type[Lexer]:
    """The same lexer, quicker where it goes by rules alone."""
    if not issubclass(kind, RegexLexer) or kind.get_tokens_unprocessed is not RegexLexer.get_tokens_unprocessed:
        return kind
    seen = 0

    def tokens(lexer: RegexLexer, text: str, stack: Sequence[str] = ("root",)) -> Iterator[tuple[int, _TokenType, str]]:
        nonlocal seen
        seen += len(text)
        way = _tokens if seen > ENOUGH else RegexLexer.get_tokens_unprocessed
        return way(lexer, text, stack)

    made: type[Lexer] = new_class(
        kind.__name__, (kind,), exec_body=lambda names: names.update(get_tokens_unprocessed=tokens)
    )
    return made


def _tokens(lexer: RegexLexer, text: str, stack: Sequence[str] = ("root",)) -> Iterator[tuple[int, _TokenType, str]]:
    """Step by step what `RegexLexer.get_tokens_unprocessed` does."""
    kind, position, states = type(lexer), 0, list(stack)
    stretches = _stretches(kind, states[-1])
    while True:
        for match, rules in stretches:
            found = match(text, position)
            if found is None:
                continue
            rule, action, following = rules[found.lastindex or 0] if len(rules) > 1 else rules[0]
            end = found.end()
            if type(action) is _TokenType:
                yield position, action, text[position:end]
            elif action is not None:  # it reads groups by their own numbers
                yield from action(lexer, rule(text, position))
            position = end
            if following is not None:
                _move(states, following)
                stretches = _stretches(kind, states[-1])
            break
        else:
            if position >= len(text):
                return
            if text[position] == "\n":
                states = ["root"]
                stretches = _stretches(kind, "root")
                yield position, Whitespace, "\n"
            else:
                yield position, Error, text[position]
            position += 1


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


@cache
def _stretches(kind: type[RegexLexer], state: str) -> list[_Stretch]:
    found: list[_Stretch] = []
    waiting: list[Rule] = []
    for rule in kind._tokens[state]:  # type: ignore[attr-defined]
        if _ALONE.search(_pattern(rule).pattern):
            found += [*_joined(waiting), _Stretch(rule[0], [rule])]
            waiting = []
        else:
            waiting.append(rule)
    return [*found, *_joined(waiting)]


def _joined(rules: Sequence[Rule]) -> list[_Stretch]:
    if len(rules) < 2:
        return [_Stretch(rule[0], [rule]) for rule in rules]
    patterns = list(map(_pattern, rules))
    # The empty group at the end of each tells which it was; before it would hide with what letter the rule begins.
    joined = "|".join(
        f"(?:{each.pattern}\n)()" if each.flags & re.VERBOSE else f"(?:{each.pattern})()" for each in patterns
    )
    flags = patterns[0].flags
    if any(each.flags != flags for each in patterns):
        return [_Stretch(rule[0], [rule]) for rule in rules]
    by_group: list[Rule] = [rules[0]]
    for rule, pattern in zip(rules, patterns, strict=True):
        by_group += [rule] * (pattern.groups + 1)
    return [_Stretch(re.compile(joined, flags).match, by_group)]


def _pattern(rule: Rule) -> re.Pattern[str]:
    found: re.Pattern[str] = rule[0].__self__  # type: ignore[attr-defined]  # a bound method of it
    return found
