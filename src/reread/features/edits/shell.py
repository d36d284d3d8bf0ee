"""Files that shell commands name, guessed from the words of the command; and comparison of paths of any system."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise

from msgspec import Struct

from reread.marks import spelled

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\\\", "~")) or _DRIVE.match(path) is not None


def absolute(path: str, folder: str | None) -> str:
    """A path as seen from the folder a line was written in; absolute paths stay as they are."""
    if is_absolute(path) or not folder:
        return path
    separator = "\\" if "\\" in folder and "/" not in folder else "/"
    return _without_dots(f"{folder.rstrip('/').rstrip(chr(92))}{separator}{path}", separator)


def _without_dots(path: str, separator: str) -> str:
    parts: list[str] = []
    for part in path.split(separator):
        if part == ".." and len(parts) > 1:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return separator.join(parts)


def key_of(path: str) -> str:
    """The same key for all spellings of a path, with either kind of slash."""
    return spelled(path).replace("\\", "/")


def parts_of(path: str) -> list[str]:
    return [part for part in key_of(path).split("/") if part not in ("", ".")]


def fits(path: str, glob: str) -> bool:
    """Whether a glob matches a path, as a whole or at its end."""
    key, pattern = key_of(path), key_of(glob)
    return fnmatchcase(key, pattern) or fnmatchcase(key, f"*/{pattern}")


def common_end(one: str, other: str) -> int:
    """How many parts two paths share at their ends."""
    count = 0
    for left, right in zip(reversed(parts_of(one)), reversed(parts_of(other)), strict=False):
        if left != right:
            break
        count += 1
    return count


_ENOUGH = 2
"""How many last parts an absolute path must share with another to be taken for the same file in another place."""


def best_matches(name: str, here: str, known: Iterable[str]) -> list[str]:
    """The known paths a name may mean: the path it has in the folder `here`, else those with the same end.

    All parts of a typed relative path must match. The paths that share the longest end with the full path win, so a
    file of a moved project or another worktree is found by its place in it.
    """
    by_key = {key_of(path): path for path in known}
    full = absolute(name, here)
    if key_of(full) in by_key:
        return [by_key[key_of(full)]]
    least = _ENOUGH if is_absolute(name) else len([part for part in parts_of(name) if part != ".."])
    shared = {path: common_end(full, path) for path in by_key.values()}
    most = max(shared.values(), default=0)
    return sorted(path for path, count in shared.items() if count == most) if most >= max(1, least) else []


class Action(StrEnum):
    """What is done to a file."""

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    SEARCH = "search"


class NamedFile(Struct, frozen=True):
    path: str
    action: Action
    program: str
    """The word of the command that handles the file: `sed`, `>`."""


class _Program(Struct, frozen=True):
    """What a program does to its arguments."""

    action: Action
    skips: int = 0
    """How many arguments come before the files: a pattern, a script."""
    in_place: str = ""
    """The option that makes it an edit of the file."""
    last: Action | None = None
    """What it does to its last argument, if that is something else."""


_READER, _WRITER = _Program(Action.READ), _Program(Action.WRITE)
_SCRIPTED = _Program(Action.READ, skips=1, in_place="-i")
_SEARCHER = _Program(Action.SEARCH, skips=1)
_PROGRAMS: dict[str, _Program] = {
    **dict.fromkeys(
        ("cat", "head", "tail", "less", "more", "wc", "nl", "bat", "stat", "file", "sort", "uniq"), _READER
    ),
    **dict.fromkeys(("diff", "cmp", "md5sum", "sha256sum", "source", ".", "xxd", "hexdump"), _READER),
    **dict.fromkeys(("python", "python3", "node", "bash", "sh", "zsh", "ruby", "perl", "deno", "bun", "tsx"), _READER),
    **dict.fromkeys(("rm", "touch", "unlink", "truncate", "mv", "tee"), _WRITER),
    **dict.fromkeys(("sed", "gsed", "awk", "jq"), _SCRIPTED),
    **dict.fromkeys(("grep", "egrep", "rg", "ag"), _SEARCHER),
    "cp": _Program(Action.READ, last=Action.WRITE),
    "install": _Program(Action.READ, last=Action.WRITE),
    "patch": _Program(Action.EDIT),
    "chmod": _Program(Action.EDIT, skips=1),
    "chown": _Program(Action.EDIT, skips=1),
}
_ONE_FILE = frozenset({"python", "python3", "node", "bash", "sh", "zsh", "ruby", "perl", "deno", "bun", "tsx"})
"""Programs that run one script; the arguments after it belong to the script."""
_GIT = {"checkout": Action.WRITE, "restore": Action.WRITE, "mv": Action.WRITE, "rm": Action.WRITE}
_REDIRECTIONS = {
    ">": Action.WRITE,
    ">|": Action.WRITE,
    "&>": Action.WRITE,
    ">>": Action.EDIT,
    "&>>": Action.EDIT,
    "<": Action.READ,
}
_BEFORE_A_COMMAND = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "xargs", "then", "do", "else", "!"})
_SCRIPT_OPTIONS = ("-e", "-f", "--expression", "--file", "--regexp")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_OPERATOR = re.compile(r"[();<>|&\n]+")
_NO_PATH = re.compile(r"[$`*?{}\n]|^\d+$|^-|^&|://")
_LONGEST = 50_000
"""The rest of a longer command is ignored: it is data, not names."""


def files_in(command: str, folder: str | None) -> list[NamedFile]:
    """The files a command names, seen from the folder it runs in; each once per action and program."""
    found: list[NamedFile] = []
    for words in _commands(command[:_LONGEST]):
        if words[0] == "cd":
            folder = absolute(words[1], folder) if len(words) > 1 and not _NO_PATH.search(words[1]) else folder
            continue
        named = [*_redirected(words), *_named(_without_redirections(words))]
        found += [NamedFile(absolute(path, folder), action, program) for path, action, program in named]
    return list(dict.fromkeys(found))


def _commands(command: str) -> Iterator[list[str]]:
    """The simple commands of a line, without assignments and words such as `sudo` in front."""
    words: list[str] = []
    for word in [*_words(without_heredocs(command)), ";"]:
        if _OPERATOR.fullmatch(word) and word.strip("\n") not in _REDIRECTIONS:
            while words and (_ASSIGNMENT.match(words[0]) or words[0] in _BEFORE_A_COMMAND):
                words = words[1:]
            if words:
                yield words
            words = []
        else:
            words.append(word)


def without_heredocs(command: str) -> str:
    """The command without its here-documents. Each line is looked at once: source code is full of `<<`."""
    if "<<" not in command:
        return command
    lines = command.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    kept: list[str] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        for found in _HEREDOC.finditer(line):
            end = found[2]
            if last.get(end, 0) < number:  # never closed: a shift, or a stream of C++
                continue
            line = line.replace(found[0], "", 1)
            number = next(at for at in range(number, len(lines)) if lines[at].strip() == end) + 1
        kept.append(line)
    return "\n".join(kept)


def _words(command: str) -> list[str]:
    """The words as a shell would see them; split at spaces if quotes do not match."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return command.split()


_Named = tuple[str, Action, str]


def _redirected(words: list[str]) -> Iterator[_Named]:
    for operator, path in pairwise(words):
        if operator in _REDIRECTIONS and _may_be_path(path) and not path.startswith("/dev/"):
            yield path, _REDIRECTIONS[operator], operator


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    after = ""
    for word in words:
        if word not in _REDIRECTIONS and after not in _REDIRECTIONS:
            kept.append(word)
        after = word
    return kept


def _named(words: list[str]) -> Iterable[_Named]:
    name = words[0].rpartition("/")[2] if words else ""
    if name == "git":
        return _of_git(words[1:])
    program = _PROGRAMS.get(name)
    return _of_program(name, program, words[1:]) if program is not None else ()


def _of_git(words: list[str]) -> Iterator[_Named]:
    """`git checkout main` names a branch: only words after `--`, or words that look like a file, count."""
    action = _GIT.get(words[0]) if words else None
    if action is None:
        return
    rest = words[words.index("--") + 1 :] if "--" in words else words[1:]
    for word in rest:
        if _may_be_path(word) and ("--" in words or words[0] != "checkout" or "." in word.rpartition("/")[2]):
            yield word, action, f"git {words[0]}"


def _of_program(name: str, program: _Program, words: list[str]) -> Iterator[_Named]:
    options = [word for word in words if word.startswith("-")]
    if name in _ONE_FILE and any(option in ("-c", "-e", "-m", "-p") for option in options):
        return
    is_edit = bool(program.in_place) and any(option.startswith(program.in_place) for option in options)
    plain = _arguments(words, program)
    plain = plain[:1] if name in _ONE_FILE else plain
    for number, word in enumerate(plain, 1):
        action = program.last if program.last is not None and number == len(plain) > 1 else program.action
        if _may_be_path(word):
            yield word, Action.EDIT if is_edit else action, name


def _arguments(words: list[str], program: _Program) -> list[str]:
    """Arguments that are not options, without the script or pattern, wherever that is given."""
    plain: list[str] = []
    has_script = False
    before = ""
    for word in words:
        if program.skips and before in _SCRIPT_OPTIONS:
            has_script = True
        elif not word.startswith("-"):
            plain.append(word)
        before = word
    return plain if has_script else plain[program.skips :]


def _may_be_path(word: str) -> bool:
    return bool(word) and not _NO_PATH.search(word) and len(word) < 500 and word not in (".", "..", "/")
