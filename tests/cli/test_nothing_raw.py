"""Whatever a session, a name or an argument holds, the terminal gets letters: of no command, in no form, anything else.

A new command has to be listed in `ARGUMENTS`: a command that is not there fails.
"""

from __future__ import annotations

import gc
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.hostile import FILE, FORGED, PROSE, TYPED, Hostile, status_line_input, write_hostile
from cli.running import environment, on_terminal, read_until, start
from reread.cli import session_source
from reread.cli.main import COMMANDS, OVERVIEW, main
from reread.views.text import Style
from reread.views.values import encoded

GROUPINGS = ("day", "week", "month", "session", "model", "project", "branch", "tool", "block", "agent", "skill")

ARGUMENTS: dict[str, Sequence[Sequence[str]]] = {
    OVERVIEW: [["HERE"], ["ONLY"], ["NAME"], ["--NAME"]],
    "sync": [["HERE"], ["HERE", "--full"], ["--source", "NAME"], ["--NAME"]],
    "machine": [[], ["--label", "NAME"], ["--NAME"]],
    "open": [["NAME"], ["--NAME"]],
    "approvals": [[], ["NAME"], ["NAME", "--deny", "NAME"], ["--log"], ["--NAME"]],
    "push": [["NAME", "HERE", "--dry-run"], ["--NAME"]],
    "pull": [["NAME", "HERE"], ["--NAME"]],
    "team": [["NAME"], ["grant", "NAME", "NAME"], ["status", "--store", "NAME"], ["--NAME"]],
    "lake": [
        ["NAME"],
        ["build", "NAME", "--lake", "NAME"],
        ["plan", "HERE", "--lake", "NAME"],
        ["query", "--lake", "NAME", "usage", "NAME"],
        ["query", "--lake", "NAME", "schema"],
        ["people", "NAME", "--lake", "NAME"],
        ["forget", "--person", "NAME", "--lake", "NAME"],
        ["verify", "--lake", "NAME"],
        ["build", "--lake", "x", "--engine", "NAME", "HERE"],
    ],
    "budget": [["HERE"], ["month", "NAME", "HERE"], ["NAME"], ["--NAME"]],
    "secrets": [["HERE"], ["HERE", "--project", "NAME"], ["--NAME"]],
    "list": [
        ["HERE"],
        ["HERE", "--machine", "NAME"],
        ["HERE", "--limit", "1"],
        ["HERE", "--project", "NAME"],
        ["HERE", "--since", "NAME"],
    ],
    "mark": [
        ["@last", "HERE"],
        ["HERE"],
        ["HERE", "--tags"],
        ["plain-1", "HERE", "--star", "--tag", "granite"],
        ["--tagged", "granite", "HERE", "--note", "EVIL \x1b[2J", "--title", "EVIL \x1b]0;owned\x07", "--yes"],
        ["--starred", "HERE", "--hide"],
        ["@last", "HERE", "--tag", "NAME"],
        ["@last", "HERE", "--note", "NAME"],
        ["@last", "HERE", "--title", "NAME"],
        ["NAME", "HERE", "--star"],
        ["HERE", "--tagged", "NAME"],
    ],
    "projects": [
        ["HERE"],
        ["HERE", "--project", "NAME"],
        ["move", "EVIL \x1b[2J", "NAME", "HERE"],
        ["HERE"],
        ["move", "NAME", "NAME", "HERE"],
        ["move", "NAME", "HERE"],
        ["unmove", "NAME", "HERE"],
        ["unmove", "EVIL \x1b[2J", "HERE"],
        ["NAME", "HERE"],
    ],
    "show": [
        ["@last", "HERE"],
        ["@last", "HERE", "--tools", "full"],
        ["@last", "HERE", "--tools", "none", "--no-thinking"],
        ["@last", "HERE", "--branch", "all"],
        ["@last", "HERE", "--turns", "1"],
        ["@last", "HERE", "--around", "way"],
        ["TRUNK", "--tools", "full", "--branch", "all"],
        ["@last", "ONLY"],
        ["PROSE"],
        ["NAME", "HERE"],
        ["NAME", "ONLY"],
        ["/no/PROSE"],
        ["twin", "HERE"],
        ["@last", "HERE", "--branch", "NAME"],
        ["@last", "HERE", "--turns", "NAME"],
        ["@last", "HERE", "--around", "NAME"],
        ["@last", "HERE", "--tools", "NAME"],
        ["@last", "HERE", "--timezone", "NAME"],
        ["@last", "HERE", "NAME", "--NAME"],
    ],
    "thinking": [["HERE"], ["@last", "HERE"], ["TRUNK"], ["ONLY"], ["HERE", "--min-length", "NAME"]],
    "prompts": [["HERE"], ["HERE", "--raw"], ["TRUNK", "--raw"], ["ONLY"], ["HERE", "--limit", "NAME"]],
    "search": [
        ["granite", "HERE"],
        ["granite", "HERE", "--in", "all"],
        ["granite", "ONLY"],
        ["--regex", "granite.*", "HERE"],
        ["--regex", ".", "HERE", "--in", "all"],
        ["NAME", "HERE"],
        ["--regex", "(NAME", "HERE"],
        ["granite", "HERE", "--in", "NAME"],
        ["NOT NAME", "HERE"],
    ],
    "usage": [
        *([by, "HERE"] for by in GROUPINGS),
        *([by, "HERE", "--breakdown"] for by in GROUPINGS),
        *([by, "HERE", "--csv", "--breakdown"] for by in GROUPINGS),
        *([by, "HERE", "--plot", "-"] for by in GROUPINGS),
        ["session", "HERE", "--reconcile"],
        ["model", "HERE", "--prices", "PRICES"],
        ["NAME", "HERE"],
        ["HERE", "--plot", "NAME"],
        ["HERE", "--plot", "BELOW.svg"],
        ["HERE", "--plot", "/no/NAME.svg"],
        ["HERE", "--prices", "NAME"],
        ["HERE", "--prices", "TRUNK"],
    ],
    "context": [["@last", "HERE"], ["HERE", "--unused", "--since", "2020-01-01"], ["NAME", "HERE"], ["--days", "NAME"]],
    "commit": [["HERE"], ["HERE", "NAME"], ["HERE", "--lines"], ["--NAME"]],
    "pr": [["HERE", "HEAD"], ["HERE", "NAME"], ["--NAME"]],
    "cache": [
        *(["HERE", "--by", by] for by in ("day", "week", "month", "model", "project", "session")),
        ["HERE", "--by", "NAME"],
        ["@last", "HERE"],
        ["TRUNK"],
        ["NAME", "HERE"],
    ],
    "explain": [
        ["msg_2", "HERE"],
        ["msg_8_plain", "HERE"],
        ["req_8_plain", "HERE"],
        ["msg_8_plain", "HERE", "--prices", "PRICES"],
        ["@last", "HERE"],
        ["TRUNK"],
        ["NAME", "HERE"],
    ],
    "statusline": [
        ["--home", "HOME"],
        ["--home", "HOME", "--format", "{model} {session} {today} {five_hour}"],
        ["--NAME"],
    ],
    "live": [["-"], ["NAME", "HERE"], ["NAME.jsonl"]],
    "run": [["PROSE", "HERE", "--claude", "NAME"], ["x", "--resume", "NAME", "HERE"], ["x", "HERE", "--cwd", "NAME"]],
    "mcp": [["HERE"], ["HERE", "--redact", "NAME"], ["HERE", "NAME"], ["HERE", "--timezone", "NAME"]],
    "tools": [["HERE"], ["@last", "HERE"], ["ONLY"], ["HERE", "--tool", "NAME"]],
    "serve": [["HERE", "--host", "NAME"], ["HERE", "--port", "NAME"], ["--source", "NAME"], ["NAME", "HERE"]],
    "prices": [["HERE"], ["HERE", "--all", "--prices", "PRICES"], ["HERE", "--model", "NAME"]],
    "doctor": [["ONLY"], ["ONLY", "--strict"], ["ONLY", "--fields"], ["--source", "NAME"], ["--source", "EMPTY"]],
    "files": [["HERE"], ["HERE", "*NAME*"], ["HERE", "--shell"], ["HERE", "--since", "NAME"]],
    "blame": [["HERE", "TRUNK"], ["HERE", "NAME"], ["HERE", "notes.txt", "--at", "NAME"]],
    "restore": [["HERE", "TRUNK"], ["HERE", "NAME"], ["HERE", "notes.txt", "--to", "BELOW"]],
    "diff": [["@last", "HERE"], ["@last", "HERE", "--stat"], ["NAME", "HERE"], ["@last", "HERE", "NAME"]],
    "decisions": [["HERE"], ["HERE", "--topic", "NAME"], ["HERE", "--since", "NAME"]],
    "retro": [
        ["HERE"],
        ["HERE", "--agents", "--min-confidence", "0", "--limit", "99"],
        ["HERE", "--format", "markdown", "--limit", "99"],
        ["HERE", "--suggestions"],
        ["@last", "HERE"],
        ["TRUNK"],
        ["ONLY"],
        ["NAME", "HERE"],
        ["HERE", "--kind", "NAME"],
        ["HERE", "--by", "NAME"],
        ["HERE", "--wrong", "NAME"],
        ["HERE", "--right", "NAME"],
        ["HERE", "--min-confidence", "NAME"],
    ],
    "summary": [
        ["@last", "HERE"],
        ["@last", "HERE", "--format", "markdown"],
        ["@last", "HERE", "--format", "obsidian"],
        ["NAME", "HERE"],
    ],
    "export": [
        *(["@last", "HERE", "--format", form] for form in ("html", "markdown", "obsidian", "json")),
        *(["@last", "HERE", "--format", form, "--redact"] for form in ("html", "markdown", "obsidian", "json")),
        ["@last", "HERE", "--format", "html", "--raw", "--check"],
        ["@last", "HERE", "--format", "jsonl", "--output", "RESTORED"],
        ["TRUNK", "--format", "markdown", "--no-thinking", "--no-tools", "--no-subagents"],
        ["HERE", "--output", "EMPTY"],
        ["HERE", "--output", "EMPTY", "--project", "NAME"],
        ["@last", "HERE", "--output", "BELOW"],
        ["@last", "HERE", "--output", "/no/NAME.html"],
        ["NAME", "HERE"],
    ],
    "hook": [
        ["HERE", "--settings", "TRUNK"],
        ["install", "HERE", "--settings", "TRUNK"],
        ["install", "HERE", "--settings", "RESTORED"],
        ["install", "HERE", "--settings", "RESTORED", "--statusline", "--yes"],
        ["status", "HERE", "--settings", "RESTORED"],
        ["remove", "HERE", "--settings", "RESTORED", "--yes"],
        ["NAME"],
    ],
    "archive": [
        ["status", "HERE"],
        ["verify", "HERE"],
        ["verify", "--home", "DAMAGED"],
        ["restore", "@last", "HERE", "--to", "RESTORED"],
        ["restore", "@last", "HERE", "--to", "RESTORED"],
        ["restore", "@last", "HERE", "--to", "BELOW"],
        ["restore", "NAME", "HERE", "--to", "RESTORED"],
        ["restore", "@last", "HERE", "--to", "TRUNK"],
        ["forget", "twin", "HERE", "--yes"],
        ["forget", "@last", "HERE"],
        ["forget", "@last", "HERE", "--yes"],
        ["forget", "--damaged", "--home", "DAMAGED", "--yes"],
        ["forget", "--damaged", "HERE"],
        ["forget", "NAME", "--damaged", "HERE"],
        ["rebuild", "HERE"],
        ["NAME"],
    ],
    "sql": [
        ["SELECT * FROM session", "HERE"],
        ["SELECT * FROM session", "HERE", "--csv"],
        ["SELECT * FROM tool_call", "HERE"],
        ["SELECT * FROM file", "HERE"],
        ["SELECT 'NAME' AS \"NAME\"", "HERE"],
        ["SELECT 'NAME' AS \"NAME\"", "HERE", "--csv"],
        ["SELECT NAME", "HERE"],
        ["--schema"],
    ],
    "demo": [[], ["list"], ["show", "NAME"], ["NAME"]],
    "format": [["NAME"], ["--NAME"]],
    "schema": [["NAME"], ["--NAME"]],
    "completion": [["bash"], ["zsh"], ["fish"], ["NAME"]],
}
"""By command, with words that stand for what cannot be written here; each is run as text and as JSON."""
TABLES = frozenset({"list", "tools", "usage", "prices", "sql"})
"""Whose names stand in columns: none may begin a line, as a break in prose may."""
STREAMS = frozenset({"live", "run"})
"""They print a document per event."""
WITHOUT_JSON = frozenset({"statusline", "completion", "demo", "mcp", "open", "serve"})

LOOKS = ("bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan")
CODE = f"(?:{'|'.join(Style(True).paint('x', look)[2:].partition('m')[0] for look in LOOKS)})"
STYLED = re.compile(rf"\x1b\[(?:0|{CODE}(?:;{CODE})*)m")
PROGRESS = re.compile(r"\rread [\d,]+ of [\d,]+ sessions\r(?:\x1b\[K)?")
"""What the doctor draws while a person waits; nothing of it comes from a session."""
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


class Written(NamedTuple):
    code: int
    out: str
    err: str


class Screen(io.TextIOWrapper):
    """A stream as the process would have it, a terminal or a pipe; what was written to it is kept as bytes."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode("utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """Written and taken in once."""
    folder = tmp_path_factory.mktemp("hostile")
    made = write_hostile(folder)
    written = _run(["sync", "--source", str(made.claude), "--home", str(made.home)], is_terminal=False)
    assert written.code == 0, written
    noted = PROSE.replace("\ud800", "")
    marking = ["mark", "--limit", "9", "--star", "--tag", "EVIL tag", "--note", noted, "--title", noted, "--yes"]
    written = _run([*marking, "--home", str(made.home), "--source", str(made.claude)], is_terminal=False)
    assert written.code == 0, written
    shutil.copytree(made.home, made.damaged)
    pack = max((made.damaged / "safe").rglob("*"), key=lambda path: path.stat().st_size if path.is_file() else 0)
    raw = bytearray(pack.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    pack.write_bytes(raw)
    return made


def _run(arguments: Sequence[str], *, is_terminal: bool) -> Written:
    """The program in this process, with streams of our own and far from the home of whoever runs the tests."""
    out, err = Screen(is_terminal=is_terminal), Screen(is_terminal=is_terminal)
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryFile() as typed,
        tempfile.TemporaryDirectory() as home,
    ):
        typed.write(status_line_input())
        typed.seek(0)
        for name in (
            "CLAUDE_CONFIG_DIR",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "NO_COLOR",
            "REREAD_HOME",
            "REREAD_PRICES",
        ):
            patch.delenv(name, raising=False)
        for name in ("HOME", "USERPROFILE", "LOCALAPPDATA"):
            patch.setenv(name, home)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "160" if is_terminal else "60")
        patch.setattr(session_source, "QUICK", 3600)  # how far a sync has come is not drawn, however slow the machine
        patch.setattr(sys, "stdin", io.TextIOWrapper(typed))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        threshold = gc.get_threshold()
        try:
            code = main(list(arguments))
        finally:
            gc.set_threshold(*threshold)
    return Written(code, out.written(), err.written())


def _arguments(given: Sequence[str], made: Hostile, home: Path, folder: Path) -> Iterator[str]:
    places = {"HERE": ["--source", str(made.claude), "--home", str(home)], "ONLY": ["--source", str(made.claude)]}
    words = {
        "PROSE": TYPED.partition("\n")[0],
        "NAME": TYPED,
        "TRUNK": str(made.trunk),
        "PRICES": str(made.prices),
        "DAMAGED": str(made.damaged),
        "BELOW": str(made.claude / "projects" / FILE),
        "RESTORED": str(folder / f"restored {FILE}"),
        "EMPTY": str(folder / f"empty {FILE}"),
        "HOME": str(home),
    }
    for argument in given:
        if argument in places:
            yield from places[argument]
        else:
            yield re.sub("|".join(words), lambda found: words[found[0]], argument)


def _home_of(command: str, made: Hostile, folder: Path) -> Path:
    """An archive of its own for what changes one."""
    if command not in ("archive", "mark"):
        return made.home
    home = folder / f"home {FILE}"
    shutil.copytree(made.home, home)
    return home


def _faults(written: Written, *, is_terminal: bool) -> list[str]:
    """Characters that a terminal obeys; on a terminal our own colours are none."""
    texts = [
        STYLED.sub("", written.out) if is_terminal else written.out,
        PROGRESS.sub("", written.err) if is_terminal else written.err,
    ]
    found = [(text, OBEYED.search(text)) for text in texts]
    return [text[max(0, place.start() - 60) : place.end() + 20] for text, place in found if place is not None]


def test_every_command_is_run_here() -> None:
    assert set(ARGUMENTS) == {*COMMANDS, OVERVIEW}, "list how a command is called in ARGUMENTS"


@pytest.mark.sampled(1, over="form is_terminal")
@pytest.mark.parametrize("is_terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", ARGUMENTS)
def test_no_command_lets_a_session_speak_to_the_terminal(
    command: str, form: str, is_terminal: bool, original: Hostile, tmp_path: Path
) -> None:
    (tmp_path / f"empty {FILE}").mkdir()
    home = _home_of(command, original, tmp_path)
    everything = ""
    for words in ARGUMENTS[command]:
        as_json = form == "json" and command not in WITHOUT_JSON and not {"--csv", "-", "--schema"} & set(words)
        flag = "--jsonl" if command in STREAMS else "--json"
        arguments = [*_arguments(words, original, home, tmp_path), *([flag] if as_json else [])]
        written = _run(arguments if command == OVERVIEW else [command, *arguments], is_terminal=is_terminal)
        assert not _faults(written, is_terminal=is_terminal), words
        assert "EVIL\x1b[0mEVIL" not in written.out, f"{words} shows a colour of the session's own"
        assert written.code or written.out, words
        if as_json and written.out:
            json.loads(written.out)
        elif command in TABLES and "--csv" not in words:
            assert not [line for line in written.out.split("\n") if line.startswith(FORGED)], words
        if written.code == 2:
            assert written.err.count("\n") == written.err.count("reread: "), words
        everything += written.out + written.err
    shows_none = ("completion", "commit", "pr")  # no commit is made of this session
    assert command in shows_none or "EVIL" in everything, "nothing of the session was shown, so nothing was proved"


def test_json_tells_the_text_exactly(original: Hostile) -> None:
    found = _run(["prompts", str(original.trunk), "--json"], is_terminal=True)
    texts = [prompt["text"] for prompt in json.loads(found.out)["prompts"]]
    assert f"granite {PROSE}".replace("\ud800", "\ufffd" * 3) in texts  # its bytes are no UTF-8


@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(sorted(set(PROSE) - {"\ud800"})))))
def test_json_is_harmless_and_reads_as_the_same_value(text: str) -> None:
    written = encoded({"text": text, text: [text]})
    assert json.loads(written) == {"text": text, text: [text]}
    assert not OBEYED.search(written.decode())


def test_what_is_restored_is_the_same_bytes(original: Hostile, tmp_path: Path) -> None:
    arguments = ["archive", "restore", original.plain, "--to", str(tmp_path), "--home", str(original.home), "--json"]
    files = json.loads(_run(arguments, is_terminal=False).out)["files"]
    restored = [Path(file).read_bytes() for file in files if file.endswith(f"{original.plain}.jsonl")]
    assert restored == [next(original.claude.rglob(f"{original.plain}.jsonl")).read_bytes()]


def test_a_chart_in_a_file_holds_letters_only(original: Hostile, tmp_path: Path) -> None:
    chart = tmp_path / "chart.svg"
    places = ["--source", str(original.claude), "--home", str(original.home)]
    assert _run(["usage", "project", *places, "--plot", str(chart)], is_terminal=True).code == 0
    assert "EVIL" in chart.read_text("utf-8")
    assert not OBEYED.search(chart.read_text("utf-8"))


def test_the_question_before_forgetting_cannot_be_forged(
    original: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = _home_of("archive", original, tmp_path)
    asked, answer = Screen(is_terminal=True), Screen(is_terminal=True)
    monkeypatch.setattr(sys, "stdin", answer)
    monkeypatch.setattr(sys, "stderr", asked)
    assert main(["archive", "forget", "@last", "--home", str(home), "--source", str(original.claude)]) == 0
    assert "EVIL" in asked.written()
    assert not OBEYED.search(asked.written())
    assert not [line for line in asked.written().split("\n") if line.startswith(FORGED)]


def test_what_was_noted_is_told_exactly_and_shown_harmlessly(original: Hostile) -> None:
    places = ["--source", str(original.claude), "--home", str(original.home)]
    noted = json.loads(_run(["list", *places, "--json"], is_terminal=True).out)["sessions"][0]
    assert noted["note"] == PROSE.replace("\ud800", "").strip()
    shown = _run(["show", "@last", *places], is_terminal=False).out
    assert "tags: EVIL tag" in shown
    assert not OBEYED.search(shown)


def test_a_fault_of_ours_cannot_speak_either() -> None:
    script = (
        "import sys\n"
        "from reread.cli import main, query\n"
        "def run(args): raise ValueError(args.project)\n"
        "query.run_list = run\n"
        "sys.exit(main.main())\n"
    )
    typed = "EVIL \x1b[2J\x1b]0;owned\x07 \u202e"
    done = subprocess.run(
        [sys.executable, "-c", script, "list", "--project", typed], capture_output=True, env=environment(), check=False
    )
    said = done.stderr.decode().replace("\r\n", "\n")
    assert said.startswith("Traceback ")
    assert said.endswith("ValueError: EVIL \\x1b[2J\\x1b]0;owned\\x07 \\u202e\n")
    assert done.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    "command", [["show", "TRUNK", "--tools", "full"], ["prompts", "TRUNK", "--raw"], ["show", "TRUNK", "--json"]]
)
def test_a_real_terminal_gets_nothing_raw(command: Sequence[str], original: Hostile, tmp_path: Path) -> None:
    shown = on_terminal(*_arguments(command, original, original.home, tmp_path))
    assert "EVIL" in shown
    assert not OBEYED.search(STYLED.sub("", shown))


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe cannot be waited for")
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("command", ["show", "thinking"])
def test_what_is_followed_is_harmless(command: str, form: list[str], original: Hostile) -> None:
    process = start(command, original.trunk, "--follow", *form)
    try:
        shown = read_until(process, "the end" if command == "show" else "granite")
    finally:
        process.kill()
        process.communicate()
    assert not OBEYED.search(shown)
