"""`reread completion`: a shell script, made from the parsers, that completes commands, options and their values.

Fixed words are in the script; ids, projects, tags and the like are looked up when the key is pressed.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput, RereadError, printable
from reread.home import archive_home

from . import main, options

if TYPE_CHECKING:
    from reread.features import search_text
    from reread.features.friction import detection
else:
    search_text = lazy.module("reread.features.search_text")
    detection = lazy.module("reread.features.friction.detection")

USAGE = """\
usage: reread completion bash|zsh|fish
       reread completion --values KIND [BEGINNING]

Prints a script that completes commands, options and their values: ids of
sessions, projects, tags, models, tools. With --values it prints what the
archive knows of a KIND, which is what the scripts ask for.

examples:
  eval "$(reread completion bash)"                     in ~/.bashrc
  reread completion zsh > "${fpath[1]}/_reread"
  reread completion fish > ~/.config/fish/completions/reread.fish
  reread completion --values projects
"""
_ASIDE = ["--help", "--version"]
"""Options that are used without a command."""
_NO_PARSER = ("demo", "completion")
"""Commands without a parser: they take another command or a word."""
_KINDS = {
    **dict.fromkeys(("session", "sessions", "resume", "id"), "sessions"),
    **dict.fromkeys(("tag", "tagged", "untag"), "tags"),
    "project": "projects",
    "model": "models",
    "tool": "tools",
    "machine": "machines",
    "git_branch": "branches",
}
"""Names of arguments, and the kind of value that the archive completes for each."""
_BEFORE_COMMAND = (*main.WITH_VALUE, main.STORE)
"""Options that may come before a command, with their value in the next word."""
_NEWEST = ("@last", "@2", "@3")
_WITH_ACTIONS = "archive"
"""The command whose actions have their own options and arguments; scripts call them `archive_restore` etc."""


class Completed(NamedTuple):
    """The words that may follow a command."""

    words: list[str]
    """Options and fixed words."""
    values: dict[str, list[str]]
    """All possible values, by option."""
    asked: dict[str, str]
    """The kind of value that the archive completes, by option."""
    free: list[str]
    """Options with any value: the shell completes file names."""
    takes_sessions: bool


def run_completion(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
        return 0
    home, rest = _home(arguments)
    if rest and rest[0] == "--values":
        return _print_values(rest[1:], home)
    if len(rest) != 1 or rest[0] not in SHELLS:
        raise BadInput(f"name a shell: {', '.join(SHELLS)}; see `reread completion --help`")
    options.print_text(SHELLS[rest[0]](completed()))
    return 0


def _home(arguments: list[str]) -> tuple[str | None, list[str]]:
    """The `--home` option and the other arguments. No parser: importing one would delay each key press."""
    for at, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option == "--home" and (equals or arguments[at + 1 :]):
            end = at + 1 if equals else at + 2
            return _unquoted_path(value if equals else arguments[at + 1]), arguments[:at] + arguments[end:]
    return None, arguments


def _print_values(arguments: list[str], home: str | None) -> int:
    kinds = sorted(set(_KINDS.values()))
    if not arguments or arguments[0] not in kinds or len(arguments) > 2:
        raise BadInput(f"--values needs one of {', '.join(kinds)}")
    kind, beginning = arguments[0], _unquoted(arguments[1]) if len(arguments) == 2 else ""
    try:
        found = _known_values(kind, beginning, home)
    except RereadError:  # completion cannot show it; the command itself will
        return 0
    parts = [[views.text.one_line(printable(part)) for part in pair if part] for pair in found]
    options.print_lines(["\t".join(each) for each in parts])
    return 0


def _known_values(kind: str, beginning: str, home: str | None) -> Sequence[tuple[str, str]]:
    """The values of a kind that the archive knows, and what is said of each; for sessions the newest come first."""
    environ = {"REREAD_HOME": home} if home else os.environ
    archive = archives.Archive(Path(archive_home(environ, sys.platform, str(Path.home()))))
    is_newest = kind == "sessions" and beginning.startswith("@")
    found = archive.inner.known_values(kind, "" if is_newest else beginning)
    newest = [(name, "") for name in _NEWEST if kind == "sessions" and name.startswith(beginning) and found]
    return [*newest, *([] if is_newest else found)]


def _unquoted(word: str) -> str:
    """An unfinished word as the shell passes it: `my\\ pro` or `'my pro`."""
    return re.sub(r"\\(.)", r"\1", word.lstrip("'\""))


def _unquoted_path(word: str) -> str:
    """A whole word as the shell passes it. Within quotes a backslash is a part of a path on Windows."""
    return word.strip(word[0]) if word.startswith(("'", '"')) else _unquoted(word)


def completed() -> dict[str, Completed]:
    """What may follow each command or action."""
    found = {name: _completed(getattr(main.module_of(name), f"{name}_parser")()) for name in _with_parser()}
    actions: dict[str, Callable[[], options.Parser]] = main.module_of(_WITH_ACTIONS).PARSERS
    found |= {f"{_WITH_ACTIONS}_{action}": _completed(make()) for action, make in actions.items()}
    found["completion"] = Completed(
        [*sorted(SHELLS), "--values"], {"--values": sorted(set(_KINDS.values()))}, {}, [], False
    )
    found["demo"] = Completed([name for name in main.COMMANDS if name not in (*_NO_PARSER, "run")], {}, {}, [], False)
    return found


def _with_parser() -> list[str]:
    return [name for name in main.COMMANDS if name not in _NO_PARSER]


def _completed(parser: argparse.ArgumentParser) -> Completed:
    words: list[str] = []
    values: dict[str, list[str]] = {}
    asked: dict[str, str] = {}
    free: list[str] = []
    takes_sessions = False
    for action in parser._actions:
        if action.help is not argparse.SUPPRESS:
            words += [option for option in action.option_strings if option.startswith("--")]
        kind = _kind(action)
        choices = _choices(action, parser.prog)
        if not action.option_strings:
            words += choices
            takes_sessions = takes_sessions or kind == "sessions"
        elif action.nargs != 0:
            for option in action.option_strings:
                if choices:
                    values[option] = choices
                elif kind is not None:
                    asked[option] = kind
                else:
                    free.append(option)
    return Completed(sorted(words), values, asked, free, takes_sessions)


def _kind(action: argparse.Action) -> str | None:
    name = "git_branch" if action.dest == "branch" and action.metavar == "NAME" else action.dest
    return _KINDS.get(name)


def _choices(action: argparse.Action, program: str) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    command = program.rpartition(" ")[2]
    known: dict[tuple[str, str], Callable[[], Iterable[str]]] = {
        ("retro", "kind"): lambda: map(str, detection.FrictionKind),
        ("retro", "by"): lambda: archives.friction_report.ORDERS,
        ("search", "fields"): lambda: [*map(str, search_text.Field), "all"],
        ("usage", "by"): lambda: archives.usage_report.GROUPINGS,
        ("cache", "by"): lambda: archives.cache_report.GROUPINGS,
    }
    return list(known.get((command, action.dest), tuple)())


def _first_words() -> str:
    """The words that may come before a command."""
    return " ".join([*main.WITH_VALUE, *main.FLAGS, *_ASIDE])


def _of_options(found: dict[str, Completed], answer: Callable[[str, str], str]) -> Iterator[tuple[str, str]]:
    """Branches of a `case`: commands and options with the same answer, and that answer."""
    by_answer: dict[str, list[str]] = {}
    for name, each in found.items():
        for option, values in each.values.items():
            by_answer.setdefault(answer("words", " ".join(values)), []).append(f"{name}:{option}")
        for option, kind in each.asked.items():
            by_answer.setdefault(answer("asked", kind), []).append(f"{name}:{option}")
        for option in each.free:
            by_answer.setdefault(answer("free", ""), []).append(f"{name}:{option}")
    return (("|".join(places), told) for told, places in by_answer.items())


def _with_sessions(found: dict[str, Completed]) -> str:
    return "|".join(name for name, each in found.items() if each.takes_sessions)


def _filled(script: str, **parts: str) -> str:
    """A script with its gaps («name») filled."""
    parts |= {"before": "|".join(_BEFORE_COMMAND), "actions": _WITH_ACTIONS}
    for name, text in parts.items():
        script = script.replace(f"«{name}»", text)
    return script


def _values(found: dict[str, Completed], answers: Mapping[str, str]) -> str:
    """The branches of the `case` that says what may follow an option."""
    branches = _of_options(found, lambda how, what: answers[how].format(what))
    return "\n".join(f"        {places}) {answer} ;;" for places, answer in branches)


def _bash(found: dict[str, Completed]) -> str:
    cases = (f"        {name}) words='{' '.join(each.words)}' ;;" for name, each in found.items())
    return _filled(
        _BASH,
        first=f"{' '.join(_commands(found))} {_first_words()}",
        cases="\n".join(cases),
        with_sessions=_with_sessions(found).replace("|", "|*:"),
        values=_values(
            found, {"words": "asked='' words='{0}'", "asked": "asked={0} words=''", "free": "asked='' words=''"}
        ),
    )


_BASH = """\
# bash completion for reread
_reread() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local words name='' asked='' home='' option i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            --home=*) home=${COMP_WORDS[i]#*=} ;;
            :) i=$((i + 1)) ;;
            «before»)
                option=${COMP_WORDS[i]}
                [ "${COMP_WORDS[i + 1]}" != = ] || i=$((i + 1))
                i=$((i + 1))
                [ "$option" != --home ] || home=${COMP_WORDS[i]} ;;
            -*) ;;
            *)
                case $name in
                    ''|demo) name=${COMP_WORDS[i]} ;;
                    «actions») name=«actions»_${COMP_WORDS[i]} ;;
                esac ;;
        esac
    done
    case $before:$current in  # bash breaks words at an @ and an =
        @:*|=@:*) current=@$current before=${COMP_WORDS[COMP_CWORD-2]} ;;
        *:=@) current=@ ;;
        *:=) current='' ;;
        =:*) before=${COMP_WORDS[COMP_CWORD-2]} ;;
    esac
    case $current in @*) compopt +o filenames 2>/dev/null ;; esac  # which would be quoted
    case $name in
        '') words='«first»' ;;
«cases»
        *) words='' ;;
    esac
    case $current:$name in
        -*) ;;
        *:«with_sessions») asked=sessions ;;
    esac
    case $name:$before in
«values»
    esac
    [ "$i" -le "$COMP_CWORD" ] || { words='' asked=''; }
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    if [ -n "$asked" ]; then
        local IFS=$'\\n' where=()
        [ -z "$home" ] || where=(--home "$home")
        COMPREPLY+=($(reread completion --values "$asked" "$current" "${where[@]}" 2>/dev/null | cut -f1))
    fi
    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -o filenames -F _reread reread
"""


def _zsh(found: dict[str, Completed]) -> str:
    about = {name: _quoted(main.COMMANDS[name]).replace(":", "\\:") for name in _commands(found)}
    cases = (f"        {name}) compadd -- {' '.join(each.words)} ;;" for name, each in found.items())
    answers = {"words": "compadd -- {0}; return", "asked": "_reread_asked {0}; return", "free": "_files; return"}
    return _filled(
        _ZSH,
        commands="\n".join(f"        '{name}:{text}'" for name, text in about.items()),
        first=_first_words(),
        values=_values(found, answers),
        cases="\n".join(cases),
        with_sessions=_with_sessions(found),
    )


_ZSH = """\
#compdef reread
_reread_asked() {
    local -a found
    found=("${(@f)$(reread completion --values $1 "$PREFIX" ${home:+--home} $home 2>/dev/null | cut -f1)}")
    compadd -a found
}
_reread() {
    local -a commands
    local name='' home='' i
    commands=(
«commands»
    )
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
            --home=*) home=${words[i]#*=} ;;
            «before»)
                [ "$words[i]" != --home ] || home=$words[i+1]
                i=$((i + 1)) ;;
            -*) ;;
            *)
                case $name in
                    ''|demo) name=$words[i] ;;
                    «actions») name=«actions»_$words[i] ;;
                esac ;;
        esac
    done
    local before=$words[CURRENT-1]
    if [[ $PREFIX = --*=* ]]; then
        before=${PREFIX%%=*}
        compset -P 1 '*='
    fi
    if (( i > CURRENT )); then
        _files
        return
    fi
    if [ -z "$name" ]; then
        _describe command commands
        compadd -- «first»
        return
    fi
    case $name:$before in
«values»
    esac
    case $name in
«cases»
    esac
    case $name in
        «with_sessions») _reread_asked sessions ;;
    esac
    _files
}
if [ "$funcstack[1]" = _reread ]; then _reread "$@"; else compdef _reread reread; fi
"""


def _fish(found: dict[str, Completed]) -> str:
    lines = [_FISH_FUNCTIONS]
    first = dict.fromkeys(main.WITH_VALUE, "-r") | dict.fromkeys([*main.FLAGS, *_ASIDE], "-f")
    for option, kind in first.items():
        lines.append(f"complete -c reread -n '__reread_is none' {kind} -l {option[2:]}")
    first_words = {name: _quoted(main.COMMANDS[name]) for name in _commands(found)}
    lines += [
        f"complete -c reread -n '__reread_is none' -f -a {name} -d '{text}'" for name, text in first_words.items()
    ]
    for name, each in found.items():
        seen = f"complete -c reread -n '__reread_is {name}'"
        short = [option for option in (*each.values, *each.asked, *each.free) if not option.startswith("--")]
        lines += [f"{seen} {_fish_word(word, each)}" for word in [*each.words, *short]]
        if each.takes_sessions:
            lines.append(f"{seen} -k -a '(__reread_asked sessions)'")
    return "\n".join(lines) + "\n"


_FISH_FUNCTIONS = f"""\
# fish completion for reread
function __reread_is
    set -l words (commandline -opc)
    set -l name none
    set -l option ''
    for word in $words[2..-1]
        if test -n "$option"
            set option ''
            continue
        end
        switch $word
            case {" ".join(_BEFORE_COMMAND)}
                set option $word
            case '-*'
            case '*'
                switch $name
                    case none demo
                        set name $word
                    case {_WITH_ACTIONS}
                        set name {_WITH_ACTIONS}_$word
                end
        end
    end
    test "$name" = "$argv[1]"
end
function __reread_asked
    set -l words (commandline -opc)
    set -l home
    for i in (seq 2 (math (count $words) - 1))
        test "$words[$i]" = --home; and set home --home $words[(math $i + 1)]
    end
    string match -q -- '--home=*' $words; and set home (string match -- '--home=*' $words)[-1]
    reread completion --values $argv[1] (commandline -ct | string replace -r '^--[^=]*=' '') $home 2>/dev/null
end"""


def _fish_word(word: str, each: Completed) -> str:
    if not word.startswith("-"):
        return f"-a {word}"
    option = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
    if word in each.values:
        return f"{option} -x -a '{' '.join(each.values[word])}'"
    if word in each.asked:
        return f"{option} -x -a '(__reread_asked {each.asked[word]})'"
    return f"{option}{' -r' if word in each.free else ''}"


def _commands(found: dict[str, Completed]) -> list[str]:
    """The commands without actions."""
    return [name for name in found if name in main.COMMANDS]


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''")


SHELLS: dict[str, Callable[[dict[str, Completed]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
