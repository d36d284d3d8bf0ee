"""`reread completion`: a script that lets the shell finish commands and options, made from the parsers themselves."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from reread.errors import BadInput

from . import common, main, options

USAGE = """\
usage: reread completion bash|zsh|fish

Prints a script that completes commands and options.

examples:
  reread completion bash > ~/.local/share/bash-completion/completions/reread
  reread completion zsh > "${fpath[1]}/_reread"
  reread completion fish > ~/.config/fish/completions/reread.fish
"""
_ASIDE = ["--help", "--version"]
"""What stands alone."""
_NO_PARSER = ("demo", "completion")
"""Commands that take other commands or a word."""


def run_completion(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
        return 0
    if len(arguments) != 1 or arguments[0] not in SHELLS:
        raise BadInput(f"name a shell: {', '.join(SHELLS)}; see `reread completion --help`")
    options.print_text(SHELLS[arguments[0]](words()))
    return 0


def words() -> dict[str, list[str]]:
    """What may follow each command: its options, and the words that are no free text."""
    found = {name: _words_of(getattr(main.module_of(name), f"{name}_parser")()) for name in _with_parser()}
    found["completion"] = sorted(SHELLS)
    found["demo"] = [name for name in main.COMMANDS if name not in (*_NO_PARSER, "run")]
    return found


def _first_words() -> str:
    """What may stand before a command."""
    return " ".join([*common.WITH_VALUE, *common.FLAGS, *_ASIDE])


def _with_parser() -> list[str]:
    return [name for name in main.COMMANDS if name not in _NO_PARSER]


def _words_of(parser: argparse.ArgumentParser) -> list[str]:
    found: list[str] = []
    for action in parser._actions:
        found += [option for option in action.option_strings if option.startswith("--")]
        if not action.option_strings and action.choices is not None:
            found += [str(choice) for choice in action.choices]
    return sorted(found)


def _bash(words: dict[str, list[str]]) -> str:
    cases = "\n".join(f"        {name}) words='{' '.join(found)}' ;;" for name, found in words.items())
    return f"""\
# bash completion for reread
_reread() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words name='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            {"|".join(common.WITH_VALUE)})
                [ "${{COMP_WORDS[i + 1]}}" != = ] || i=$((i + 1))
                i=$((i + 1)) ;;
            -*) ;;
            *) name=${{COMP_WORDS[i]}}; break ;;
        esac
    done
    case $name in
        '') words='{" ".join(words)} {_first_words()}' ;;
{cases}
        *) words='' ;;
    esac
    [ "$i" -le "$COMP_CWORD" ] || words=''
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -o filenames -F _reread reread
"""


def _zsh(words: dict[str, list[str]]) -> str:
    commands = "\n".join(f"        '{name}:{_quoted(main.COMMANDS[name])}'" for name in words)
    cases = "\n".join(f"        {name}) compadd -- {' '.join(found)} ;;" for name, found in words.items())
    return f"""\
#compdef reread
_reread() {{
    local -a commands
    local name='' i
    commands=(
{commands}
    )
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
            {"|".join(common.WITH_VALUE)}) i=$((i + 1)) ;;
            -*) ;;
            *) name=$words[i]; break ;;
        esac
    done
    if (( i > CURRENT )); then
        _files
        return
    fi
    if [ -z "$name" ]; then
        _describe command commands
        compadd -- {_first_words()}
        return
    fi
    case $name in
{cases}
    esac
    _files
}}
if [ "$funcstack[1]" = _reread ]; then _reread "$@"; else compdef _reread reread; fi
"""


def _fish(words: dict[str, list[str]]) -> str:
    lines = ["# fish completion for reread"]
    first = dict.fromkeys(common.WITH_VALUE, "-r") | dict.fromkeys([*common.FLAGS, *_ASIDE], "-f")
    for option, kind in first.items():
        lines.append(f"complete -c reread -n __fish_use_subcommand {kind} -l {option[2:]}")
    for name, found in words.items():
        about = _quoted(main.COMMANDS[name])
        lines.append(f"complete -c reread -n __fish_use_subcommand -a {name} -d '{about}'")
        for word in found:
            given = f"-l {word[2:]}" if word.startswith("--") else f"-a {word}"
            lines.append(f"complete -c reread -n '__fish_seen_subcommand_from {name}' {given}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("'", "'\\''").replace(":", "\\:")


SHELLS: dict[str, Callable[[dict[str, list[str]]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
