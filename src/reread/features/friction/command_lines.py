"""The command lines that a shell call ran: their programs, and each line as a person would type it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from reread import lazy
from reread.features.edits.shell import without_heredocs
from reread.features.word_tables import table

_BEFORE_PROGRAM = lazy.pattern(
    r"""\s*(?:(?:cd|pushd)\s+(?:"[^"]*"|'[^']*'|\S+)\s*(?:&&|;|\n)\s*   # cd somewhere &&
    | echo\s+(?:"[^"]*"|'[^']*'|[^\s"'|>&;])+\s*(?:&&|;|\n)\s*(?=\S)   # a heading
    | [A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|(?:\$\([^()]*\)|[^\s;&])*)(?:\s*(?:&&|;)\s*|\s+)   # NAME=value
    | \#[^\n]*\n | \\\n
    | (?:sudo|time|nohup|command|exec|env)\s+(?=[\w./])
    | timeout\s+(?:-\S+\s+)*\S+\s+
    | (?:for\s[^;\n]*|while\s+(?:read|true|:)\b[^;\n]*)[;\n]\s*do\s+   # what a loop does
    | \(\s*)""",
    re.VERBOSE,
)
_WORD = lazy.pattern(r"[\w./@:+-]+")
_SCRIPTED = frozenset({"python", "python3", "node", "ruby", "php"})
_SCRIPTS = (".py", ".js", ".ts", ".rb", ".php")
_LISTS = table("friction/words", "lists")
_WITH_SUBCOMMAND = _SCRIPTED | frozenset(_LISTS["with_subcommand"].words)
LOOKS = frozenset(_LISTS["look_around"].words) | {
    f"{program} {look}"
    for program in ("git", "jj")
    for look in ("status", "st", "diff", "log", "show", "branch", "fetch")
}
"""Commands that look around or prepare."""
_AT_ONCE = LOOKS - {*_LISTS["takes_time"].words, "git fetch", "jj fetch"}
_TWO_DEEP = frozenset({"gh", "glab", "aws", "gcloud", "az"})
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "uv", "poetry", "mise"})
_WITH_VALUE = frozenset({"-C", "-R", "--prefix", "--cwd", "--filter", "--directory", "--manifest-path"})
"""Options before a subcommand whose value is the next word."""


@lru_cache(maxsize=8192)
def prefix_of(command: str) -> str:
    """`git commit` for `cd app && git commit -m "..."`: the part that a permission rule or an alias would name."""
    line = command[:300].lstrip()
    while line and (found := _BEFORE_PROGRAM.match(line)):
        line = line[found.end() :]
    words: list[str] = _WORD.findall(line[:120])
    program = words[0].rpartition("/")[2] or words[0] if words else ""
    if program not in _WITH_SUBCOMMAND:
        return program
    if len(words) > 2 and words[1] in _WITH_VALUE:
        del words[1:3]
    rest = [word for word in words[1:5] if not word.startswith("-")]
    return " ".join([program, *_subcommand_words(program, words, rest)])


def _subcommand_words(program: str, words: Sequence[str], rest: Sequence[str]) -> Sequence[str]:
    """The words that say what a program with many uses does; `rest` are those behind it that are no options."""
    if program in _SCRIPTED:
        if len(words) > 2 and words[1] == "-m":
            return words[1:3]
        return rest[:1] if rest and rest[0].endswith(_SCRIPTS) else ()
    is_deep = program in _TWO_DEEP or (rest[:1] == ["run"] and program in _RUNNERS)
    return rest[: 2 if is_deep else 1]


_COMMIT = lazy.pattern(
    r"\b(?:git(?:\s+-[cC]\s+\S+|\s+--?\S+)*\s+commit|jj\s(?:-\S+\s+\S+\s+)*(?:commit|describe))(?![\w./-])"
)
_PUSH = lazy.pattern(r"\bgit(?:\s+-[cC]\s+\S+|\s+--?\S+)*\s+push(?![\w./-])")
_PULL_REQUEST = lazy.pattern(r"\bgh pr create\b|\bglab mr create\b")
# In these each alternative begins with a letter of its own, so that `re` can jump to one of them.
_TEXT = lazy.pattern(
    r"\"(?<!sh -c \")(?<!sh -lc \")[^\"\\]*(?:\\.[^\"\\]*)*\"|'(?<!sh -c ')(?<!sh -lc ')[^']*'", re.DOTALL
)
"""A quoted argument, except a script that a shell is given."""
_BETWEEN = lazy.pattern(r"&&|\|\||;|\||\n")
_HIDES = lazy.pattern(r"\|(?<!\|\|)(?!\|)|\|\|\s*(?:true|:)(?:\s|$)|;\s*(?:echo|true)\b|&\s*echo\b")
_LONGEST_COMMAND = 4000
_REMEMBERED = 1024
"""Commands: those of a session, which several detectors ask about one after the other."""


@lru_cache(maxsize=_REMEMBERED)
def commands_in(command: str) -> tuple[str, ...]:
    """The commands of a shell line, without its quoted texts and here-documents: a message may name any program."""
    return tuple(part for part in _BETWEEN.split(_bare(command)[1]) if part.strip())


def is_at_once(command: str) -> bool:
    """Whether a shell line only looks around: what took longer than a moment waited for somebody."""
    return all(prefix_of(part) in _AT_ONCE for part in commands_in(command))


def is_push(command: str) -> bool:
    return "push" in command and any(map(_PUSH.search, commands_in(command)))


def is_pull_request(command: str) -> bool:
    return "create" in command and any(map(_PULL_REQUEST.search, commands_in(command)))


def hides_its_end(command: str) -> bool:
    """Whether the client was told another exit code than that of the command: of a pipe's last program, of `echo`."""
    return any(map(command.__contains__, ("|", "echo", "true"))) and _HIDES.search(_bare(command)[1]) is not None


@lru_cache(maxsize=_REMEMBERED)
def _bare(command: str) -> tuple[str, str]:
    """The command without here-documents, and the same with a line of the same length for each quoted text."""
    bare = without_heredocs(command[:_LONGEST_COMMAND]).replace("\\\n", " ")
    return bare, _TEXT.sub(lambda text: "_" * len(text[0]), bare) if '"' in bare or "'" in bare else bare


def is_commit(command: str) -> bool:
    """Whether a shell line commits; `jj describe` names a commit."""
    if "commit" not in command and "describe" not in command:
        return False
    return any(_COMMIT.search(part) is not None and "--dry-run" not in part for part in commands_in(command))


_MESSAGE = lazy.pattern(r"(\s-a?m|\s--message|\s--title|\s--body)[ =](?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\S+)")
_OUTPUT = lazy.pattern(r"[\d&]?>|\||<")
"""What is done with an output is not part of the command."""
_OF_A_SCRIPT = lazy.pattern(
    r"\s*(?:for|while|until|if|then|else|elif|fi|case|esac|do|done|function|\[|\{|\}|!)(?:\s|$)"
)
_BETWEEN_LINES = lazy.pattern(r"&&|;|\n")
_UNSURE = ('"', "'", "$(", "`", "||", "<<")
"""Outside of quoted texts: what a shell puts in the place of other text, runs only sometimes, or does not close."""
_LONGEST_LINE = 160


@lru_cache(maxsize=_REMEMBERED)
def lines_in(command: str) -> tuple[str, ...]:
    """The lines a command ran one after the other, each whole, with `<message>` for what was said of a change; none
    where the command is a script or its quotes do not match."""
    bare, covered = _bare(command)
    if any(map(covered.__contains__, _UNSURE)):
        return ()
    found: list[str] = []
    begins = 0
    for end in [*(match.span() for match in _BETWEEN_LINES.finditer(covered)), (len(covered), len(covered))]:
        part, begins, hidden = bare[begins : end[0]], end[1], covered[begins : end[0]]
        if _OF_A_SCRIPT.match(part):
            return ()
        output = _OUTPUT.search(hidden) if any(map(hidden.__contains__, "><|")) else None
        line = part[: output.start()] if output is not None else part
        line = _MESSAGE.sub(r"\1 <message>", line.strip()) if " -" in line else line.strip()
        if line and not line.startswith("#") and len(line) <= _LONGEST_LINE and "\n" not in line:
            found.append(line)
    return tuple(found)
