"""The tools: what they say is what the archive says, small, harmless, and with ids that lead on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.files import APP, FIRST, SECOND, written
from cli.files import fill as fill_with_files
from cli.hostile import write_hostile
from cli.kept import HARBOUR, LANTERN, fill
from cli.running import reread
from mcp.asking import Asked, asking
from reread.archive import Archive
from reread.archive.answers import decisions
from reread.archive.filters import Filter
from reread.features.secrets import Redactor
from reread.features.tool_use import ASKING
from reread.ingest import sync as syncing
from reread.safe.safe import lock
from reread.sessions import Turn
from reread.testing import a_compaction, a_prompt, a_reply, a_session, a_thought, a_tool_call, a_tool_result
from reread.views.mcp_text import MOST, RECORD, Recall, short

HIT = re.compile(r'session="([^"]+)" around="([^"]+)"')
LINE = re.compile(r"^(?:>>> )?\[([^\]]+)\]", re.MULTILINE)
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    fill(tmp_path / ".claude")
    return tmp_path / ".claude"


@pytest.fixture
def asked(claude: Path, tmp_path: Path) -> Iterator[Asked]:
    """Asked from the project of one of the two sessions."""
    with asking(*options(claude, tmp_path), CLAUDE_PROJECT_DIR="/home/ann/lantern") as asked:
        yield asked


def options(claude: Path, tmp_path: Path) -> list[str | Path]:
    return ["--source", claude, "--home", tmp_path / "archive", "--timezone", "UTC"]


def archive_of(claude: Path, tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive", [claude])


def sessions_in(text: str) -> list[str]:
    return re.findall(r'session="([^"]+)"', text)


def test_a_search_says_that_results_are_still_being_indexed(
    claude: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(syncing, "RESULTS_LATER", 0)
    with archive_of(claude, tmp_path) as archive:
        archive.sync(is_quick=True)
    with asking(*options(claude, tmp_path), "--no-sync") as asked:
        query = {"query": "seventeen", "in": "result", "project": "all"}
        with lock(tmp_path / "archive" / "safe", timeout=1):
            assert "tool results of 1 session are still being indexed, ask again later" in asked.told("search", **query)
        assert "1 of 1 hit" in asked.told("search", **query)


def test_a_search_finds_what_the_archive_finds(asked: Asked, claude: Path, tmp_path: Path) -> None:
    said = asked.told("search", query="beacon OR capacitor OR oscillation", project="all")
    with archive_of(claude, tmp_path) as archive:
        answer = archive.search("beacon OR capacitor OR oscillation", limit=8)
    assert HIT.findall(said) == [(short(hit.session.row.uuid), short(hit.uuid)) for hit in answer.hits]
    assert len(answer.hits) == 6
    assert said.startswith("6 of 6 hits for 'beacon OR capacitor OR oscillation' in all projects")
    assert RECORD in said.partition("\n")[0]
    assert "the capacitor might be loose" in said


def test_a_question_is_about_the_project_it_is_asked_in(claude: Path, tmp_path: Path) -> None:
    for folder in ("/home/ann/lantern2", "/home/ann/lantern/.claude/worktrees/dim", "/home/ann/lantern/docs"):
        name = folder.replace("/", "-")
        a_session(a_prompt("a beacon", uuid=name), id=name, cwd=folder).write(claude / "projects" / name)
    worktree = "/home/ann/lantern/.claude/worktrees/bright"
    with asking(*options(claude, tmp_path), CLAUDE_PROJECT_DIR=worktree) as asked:
        here = asked.told("search", query="beacon")
        listed = asked.told("sessions")
        named = asked.told("search", query="beacon", project="lantern2")
        everywhere = asked.told("search", query="beacon", project="all")
    assert " in /home/ann/lantern (" in here
    folders = re.compile(r" · (lantern2?|dim|docs|harbour) · ")
    assert sorted(folders.findall(here)) == ["dim", "docs", "lantern"]
    assert sorted(folders.findall(listed)) == ["dim", "docs", "lantern"]
    assert folders.findall(named) == ["lantern2"]
    assert sorted(folders.findall(everywhere)) == ["dim", "docs", "harbour", "lantern", "lantern2"]


def test_without_a_word_of_the_client_the_project_is_the_folder_it_was_started_in(claude: Path, tmp_path: Path) -> None:
    a_session(a_prompt("here is a beacon"), a_reply("yes"), cwd=str(tmp_path)).write(claude / "projects" / "-here")
    with asking(*options(claude, tmp_path), folder=tmp_path) as asked:
        assert "here is a beacon" in asked.told("search", query="beacon")


def test_the_session_that_asks_is_left_out_unless_it_is_asked_for(claude: Path, tmp_path: Path) -> None:
    places = options(claude, tmp_path)
    with asking(*places, CLAUDE_PROJECT_DIR="/home/ann/lantern", CLAUDE_CODE_SESSION_ID=LANTERN) as asked:
        assert asked.told("search", query="capacitor").startswith("no hits")
        assert set(sessions_in(asked.told("search", query="beacon", project="all"))) == {short(HARBOUR)}
        assert asked.told("sessions").startswith("no sessions")
        assert set(sessions_in(asked.told("search", query="capacitor", current=True))) == {short(LANTERN)}


def test_fields_are_chosen_as_on_the_command_line(asked: Asked) -> None:
    assert " · thinking · " in asked.told("search", query="capacitor", **{"in": "thinking"})
    assert asked.told("search", query="volts", **{"in": "prompt,text"}).startswith("no hits")
    assert asked.told("search", query="seventeen").startswith("no hits")
    assert " · result · " in asked.told("search", query="seventeen", **{"in": "all"})


def test_what_happened_since_the_last_question_is_known(asked: Asked, claude: Path) -> None:
    assert asked.told("search", query="kaleidoscope").startswith("no hits")
    a_session(a_prompt("a kaleidoscope"), a_reply("yes"), cwd="/home/ann/lantern").write(claude / "projects" / "-new")
    assert "a kaleidoscope" in asked.told("search", query="kaleidoscope")


def test_a_word_that_was_misspelled_is_corrected(asked: Asked) -> None:
    assert "did you mean capacitor?" in asked.told("search", query="capacitr")


def test_sessions_are_listed_as_the_archive_lists_them(asked: Asked, claude: Path, tmp_path: Path) -> None:
    said = asked.told("sessions", project="all")
    with archive_of(claude, tmp_path) as archive:
        assert sessions_in(said) == [short(each.stored.row.uuid) for each in archive.sessions()]
        archive.marks.set(HARBOUR, hidden=True)
    assert "2026-11-12 10:00 · 1 prompt · harbour · draw the harbour" in said
    assert sessions_in(asked.told("sessions", project="all")) == [short(LANTERN)]
    assert sessions_in(asked.told("sessions", project="all", limit=1)) == [short(LANTERN)]
    assert asked.told("sessions", project="all", since="2026-11-13").startswith("no sessions")


def test_a_session_is_outlined(asked: Asked) -> None:
    said = asked.told("read", session=LANTERN[:6])
    assert said.startswith(f'session="{LANTERN[:8]}" · ')
    assert "1. why does the beacon flicker\n   → It is the capacitor." in said
    assert "4. and goodbye\n   → Goodbye." in said


def test_a_hit_is_read_where_it_stands(asked: Asked, claude: Path) -> None:
    a_session(
        a_prompt("is it loose?"),
        a_reply(a_thought("I had better measure it"), uuid="thought"),
        a_reply(a_tool_call("Bash", {"command": "measure --ohms"}, id="toolu_ohms"), uuid="measuring"),
        a_tool_result("seven ohms", of="toolu_ohms"),
        a_reply("It is."),
        id="ohms",
        cwd="/home/ann/lantern",
    ).write(claude / "projects" / "-ohms")
    [(session, line)] = HIT.findall(asked.told("search", query="ohms", **{"in": "tool"}))
    said = asked.told("read", session=session, around=line)
    [found] = re.findall(r"^>>> .*\n.*\n.*", said, re.MULTILINE)
    command = '{"command": "measure --ohms"}'
    assert found == f">>> [measuring] tool: Bash · measure --ohms\n  in: {command}\n  out: seven ohms"
    assert re.findall(r"(?:user|thought|claude): .*", said) == [
        "user: is it loose?", "thought: I had better measure it", "claude: It is.",
    ]  # fmt: skip


def test_a_line_of_an_agent_is_read_in_its_own_conversation(asked: Asked) -> None:
    [(session, line)] = HIT.findall(asked.told("search", query="found", **{"in": "text"}))
    said = asked.told("read", session=session, around=line)
    assert "\n(subagent " in said
    assert "user: look for oscillation" in said
    assert "claude: found an oscillation" in said
    assert "beacon" not in said.partition("\n")[2]


def test_a_summary_of_a_compaction_is_found_and_read(asked: Asked, claude: Path) -> None:
    a_session(
        *(a_prompt(f"question {number} " + "why " * 300) for number in range(20)),
        a_compaction("The gyroscope was replaced."),
        a_prompt("go on"),
        a_reply("Gladly."),
        id="compacted",
        cwd="/home/ann/lantern",
    ).write(claude / "projects" / "-compacted")
    [(session, line)] = HIT.findall(asked.told("search", query="gyroscope"))
    said = asked.told("read", session=session, around=line)
    assert re.search(r"^>>> \[\S+\] note: compacted.*\nThe gyroscope was replaced\.$", said, re.MULTILINE)
    assert "question 19" in said
    assert "user: go on" in said


def test_turns_are_read_one_after_the_other(asked: Asked) -> None:
    said = asked.told("read", session=LANTERN, turns="3-")
    assert re.findall(r"(?:user|claude): .*", said) == [
        "user: thanks", "claude: You are welcome.", "user: and goodbye", "claude: Goodbye.",
    ]  # fmt: skip
    assert "user: thanks" not in asked.told("read", session=LANTERN, after="thanks")
    assert "claude: You are welcome." in asked.told("read", session=LANTERN, after="thanks")


def test_a_long_session_is_read_to_its_end_each_line_once(claude: Path, tmp_path: Path) -> None:
    entries = [
        entry
        for number in range(60)
        for entry in (
            a_prompt(f"question {number} " + "why " * 100, uuid=f"{number:08}-0000-4000-8000-00000000000a"),
            a_reply(a_thought(f"thought {number} " + "so " * 700), f"answer {number}", uuid=f"{number:08}-b"),
        )
    ]
    a_session(*entries, id="long", cwd="/home/ann/long").write(claude / "projects" / "-long")
    with archive_of(claude, tmp_path) as archive:
        archive.sync()
        names = [piece for turn in archive.session("long").turns for piece in _lines(turn)]
    with asking(*options(claude, tmp_path)) as asked:
        said = asked.told("read", session="long", turns="1-")
        read = LINE.findall(said)
        while more := re.search(r'… \d+ lines? after: after="([^"]+)"$', said):
            assert len(said) <= MOST
            said = asked.told("read", session="long", after=more[1])
            read += LINE.findall(said)
        around = asked.told("read", session="long", around="00000030")
        outline = asked.told("read", session="long")
    assert read == [short(name) for name in names]
    assert len(around) <= MOST
    assert re.search(r'… \d+ lines before: around="', around)
    assert ">>> [00000030] user: question 30 why" in around
    assert len(outline) <= MOST
    assert re.search(r'… \d+ more: turns="\d+-" reads them$', outline) or "60. question 59" in outline


def _lines(turn: Turn) -> list[str | None]:
    assert turn.prompt is not None
    return list(dict.fromkeys([turn.prompt.uuid, *(step.uuid for step in turn.steps)]))


def test_answers_are_bounded_however_much_there_is(claude: Path, tmp_path: Path) -> None:
    for number in range(40):
        call = a_tool_call("AskUserQuestion", {"questions": [{"question": "granite? " * 100, "header": "x", "options": [
            {"label": "granite " * 40}, {"label": "marble"}]}]}, id=f"toolu_ask_{number:010}")  # fmt: skip
        a_session(
            a_prompt("granite " * 2_000),
            a_reply(a_thought("granite " * 500_000 if number == 7 else "granite " * 3_000), "granite\n" * 5_000),
            a_reply(call),
            a_tool_result("answered", of=f"toolu_ask_{number:010}", twin={"answers": {"granite? " * 100: "marble"}}),
            id=f"big-{number:02}",
            cwd="/home/ann/big",
        ).write(claude / "projects" / "-big")
    newest = "2026-12-01T10:00:00.000Z"
    quartz = a_reply("quartz " * 900, uuid="odd" + "y" * 9_000, timestamp=newest)
    odd = a_session(a_prompt("q", timestamp=newest), quartz, id="odd", cwd="/" + "q" * 9_000)
    odd.write(claude / "projects" / "-odd")
    with asking(*options(claude, tmp_path)) as asked:
        for tool, arguments in (
            ("search", {"query": "granite", "limit": 50, "project": "all"}),
            ("sessions", {"limit": 50, "project": "all"}),
            ("decisions", {"limit": 50, "project": "all"}),
            ("read", {"session": "big-07"}),
            ("read", {"session": "big-07", "turns": "1"}),
        ):
            said = asked.told(tool, **arguments)
            assert 500 < len(said) <= MOST + 200, tool
            assert "…" in said
        assert 500 < len(asked.told("read", session="odd", around="odd")) <= MOST, "however long its names are"
        [(session, line), *_] = HIT.findall(asked.told("search", query="granite", project="big"))
        assert "more characters" in asked.told("read", session=session, around=line)


def test_a_file_is_told_with_the_prompts_that_changed_it(tmp_path: Path) -> None:
    fill_with_files(tmp_path / ".claude")
    with asking(*options(tmp_path / ".claude", tmp_path), CLAUDE_PROJECT_DIR=APP) as asked:
        said = asked.told("file", path="src/lantern.py")
        read_only = asked.told("file", path="copy.txt")
    assert said.startswith(f"{APP}/src/lantern.py: ")
    told = re.findall(
        r'- (\S+ \S+) · (\w+) · session="([^"]+)" around="([^"]+)" · (.*) of it left\n  prompt: (.*)', said
    )
    assert told == [
        ("2026-11-12 10:00", "Edit", short(SECOND), "e3", "1 line", "ask me"),
        ("2026-11-12 10:00", "Edit", short(SECOND), "e2", "0 lines", "dim it"),
        ("2026-11-12 10:00", "Edit", short(SECOND), "e1", "1 line", "brighten the lantern"),
        ("2026-11-10 10:00", "Write", short(FIRST), "w1", "1 line", "write the lantern"),
    ]
    assert f"also touched in 1 session: {short(FIRST)}" in read_only


@pytest.mark.parametrize(
    ("cwd", "path", "asked_for"),
    [
        ("C:\\code\\app", "C:\\code\\app\\retry.py", "C:\\code\\app\\retry.py"),
        ("C:\\code\\app", "C:\\code\\app\\retry.py", "app/retry.py"),
        ("/home/ann/app", "/home/ann/app/odd[1]*.py", "odd[1]*.py"),
    ],
)
def test_a_file_of_any_name_is_told(tmp_path: Path, cwd: str, path: str, asked_for: str) -> None:
    a_session(a_prompt("retry less"), *written(path, "once\n", "w1", "2026-11-10T10:00:01.000Z"), cwd=cwd).write(
        tmp_path / ".claude" / "projects" / "-app"
    )
    with asking(*options(tmp_path / ".claude", tmp_path), CLAUDE_PROJECT_DIR=cwd) as asked:
        said = asked.told("file", path=asked_for)
    assert said.startswith(f"{path}: 1 write; last 2026-11-10 10:00")
    assert "1 line of it left\n  prompt: retry less" in said


def test_a_file_that_only_commands_name_is_told(tmp_path: Path) -> None:
    call = a_tool_call("Bash", {"command": "touch a.c"}, id="toolu_touch")
    a_session(a_prompt("make it"), a_reply(call), a_tool_result("", of="toolu_touch"), cwd=APP).write(
        tmp_path / ".claude" / "projects" / "-app"
    )
    with asking(*options(tmp_path / ".claude", tmp_path), CLAUDE_PROJECT_DIR=APP) as asked:
        assert asked.told("file", path="a.c").startswith(f"{APP}/a.c: 1 write;")


def test_a_session_is_told_by_what_came_of_it(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse uv"
    a_session(
        a_prompt("install the lamp package"),
        a_reply(a_tool_call("Bash", {"command": "pip install lamp"}, id="t1")),
        a_tool_result(refused, of="t1", is_error=True),
        a_reply("Installed.\n\n## Next steps\n- light it"),
        id=LANTERN,
        cwd=APP,
    ).write(claude / "projects")
    with asking(*options(claude, tmp_path), CLAUDE_PROJECT_DIR=APP) as asked:
        said = asked.told("read", session=LANTERN, summary=True)
    assert "goal: Install the lamp package" in said
    assert "refused by the user: Bash pip install lamp: use uv" in said
    assert "left open (reply): light it" in said
    assert "doesn't want to proceed" not in said


def test_decisions_are_those_of_the_archive(tmp_path: Path) -> None:
    claude = tmp_path / ".claude"
    fill_with_files(claude)
    with asking(*options(claude, tmp_path), CLAUDE_PROJECT_DIR=APP) as asked:
        said = asked.told("decisions")
        other = asked.told("decisions", topic="database")
    with archive_of(claude, tmp_path) as archive:
        [found] = decisions(archive.read_all(Filter(tool=ASKING)), Filter())
    assert HIT.findall(said) == [(short(found.session), short(found.uuid))]
    assert "asked: Which lamp? [Oil | Gas]\n  answered: neither, a candle" in said
    assert other.startswith("no such questions")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("search", {}, "search: Object missing required field `query`"),
        ("search", {"query": 7}, "search: Expected `str`, got `int` - at `$.query`"),
        ("search", {"query": "x", "colour": "red"}, "search: Object contains unknown field `colour`"),
        ("search", {"query": "x", "limit": 0}, "search: Expected `int` >= 1 - at `$.limit`"),
        ("search", {"query": " "}, "an empty query has nothing to search for"),
        ("search", {"query": "x", "in": "dreams"}, "in 'dreams' names no field; known are"),
        ("search", {"query": "x", "since": "whenever"}, "since 'whenever' is not a date; try"),
        ("search", {"query": "x", "since": "1d", "until": "2d"}, ""),
        ("read", {"session": "nobody"}, "no session 'nobody' in "),
        ("read", {"session": ""}, "no session '' in "),
        ("read", {"session": LANTERN, "around": "nowhere"}, f"no turn of session {LANTERN} holds a line 'nowhere'"),
        ("read", {"session": LANTERN, "turns": "99"}, "turns 99 names no turn of this session (it has 1 to 4)"),
        ("read", {"session": LANTERN, "turns": "9" * 9_999}, "turns '999"),
        ("read", {"session": LANTERN, "turns": "1", "after": "x"}, "around, after, turns and summary each"),
        ("file", {"path": "no/such/file"}, "no session touched a file 'no/such/file'"),
        ("decisions", {"limit": "many"}, "decisions: Expected `int`, got `str` - at `$.limit`"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_told_in_a_sentence(lasting: Asked, tool: str, arguments: object, said: str) -> None:
    result = lasting.ask("tools/call", name=tool, arguments=arguments)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(said)
    assert "\n" not in result["content"][0]["text"]


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("lasting")
    fill(folder / ".claude")
    with asking(*options(folder / ".claude", folder)) as asked:
        yield asked


def test_models_write_numbers_as_text_and_null_for_nothing(lasting: Asked) -> None:
    said = lasting.told("search", query="beacon", limit="1", project="all", since=None)
    assert len(HIT.findall(said)) == 1


def test_a_mistake_is_told_in_the_words_of_the_command_line(asked: Asked, claude: Path, tmp_path: Path) -> None:
    typed = reread("show", "nobody", "--source", claude, "--home", tmp_path / "archive")
    assert typed.err == f"reread: {asked.call('read', session='nobody').text}\n"


def test_where_there_is_nothing_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()
    with asking(
        "--home", tmp_path / "archive", HOME=str(tmp_path / "user"), USERPROFILE=str(tmp_path / "user")
    ) as asked:
        told = asked.call("search", query="beacon")
        assert told.is_error
        assert told.text.startswith("no Claude Code folder found")
        assert asked.end() == (0, b"")


def a_leak(claude: Path) -> None:
    a_session(
        a_prompt(f"the granite key is {KEY}, mail ann.lee@lantern.dev", uuid="leak"),
        a_reply(a_tool_call("Bash", {"command": f"export GITHUB_TOKEN={KEY}"}, id="toolu_1"), uuid="call"),
        a_tool_result(f"set {KEY}", of="toolu_1"),
        a_reply("x " * 140 + KEY + " granite " + "y " * 140, uuid="middle"),
        id="leaky",
        cwd="/home/ann/lantern",
    ).write(claude / "projects" / "-leak")


def test_of_a_secret_behind_many_others_no_half_is_told() -> None:
    chance = random.Random(7)
    tokens = [f"eyJ{chance.randbytes(20).hex()}.eyJ{chance.randbytes(900).hex()}.abcdef" for _ in range(20)]
    recall = Recall(None, Redactor().redact)
    text = "\n".join([*tokens, "granite " * 5_000])
    assert not re.search("[0-9a-f]{9}", recall.prose(text, 5_000))
    assert recall.prose(text, 5_000).endswith(" more characters")
    assert "granite" in recall.line(text, 2_000)


@pytest.mark.parametrize("redaction", ["none", "secrets", "all"])
def test_secrets_are_taken_out_unless_they_are_wanted(claude: Path, tmp_path: Path, redaction: str) -> None:
    a_leak(claude)
    options_of = [*options(claude, tmp_path), *([] if redaction == "secrets" else ["--redact", redaction])]
    with asking(*options_of, CLAUDE_PROJECT_DIR="/home/ann/lantern") as asked:
        said = [
            asked.told("search", query="granite OR export"),
            asked.told("sessions"),
            asked.told("read", session="leaky"),
            asked.told("read", session="leaky", turns="1"),
            asked.told("read", session="leaky", around="call"),
        ]
    pieces = [KEY[start : start + 8] for start in range(len(KEY) - 8)]
    leaks = [any(piece in text for piece in pieces) for text in said]
    assert leaks == [redaction == "none"] * len(said)
    assert ("ann.lee@lantern.dev" in said[0]) is (redaction != "all")
    assert ("/home/ann/lantern" in said[2]) is (redaction != "all")
    assert ("[redacted: GitHub token 1]" in said[0]) is (redaction != "none")


def test_nothing_in_an_answer_is_obeyed_by_a_screen(tmp_path: Path) -> None:
    made = write_hostile(tmp_path)
    with asking("--source", made.claude, "--home", made.home) as asked:
        found = asked.told("search", query="granite", project="all", limit=50, **{"in": "all"})
        said = [
            found,
            asked.told("sessions", project="all"),
            asked.told("decisions", project="all"),
            *(asked.told("read", session=made.plain, **part) for part in ({}, {"turns": "1-"}, {"around": "way"})),
            *(asked.call(tool, **{name: "EVIL \x1b[2J\u202e"}).text for tool, name in (
                ("search", "query"), ("read", "session"), ("file", "path"), ("decisions", "topic"))),
        ]  # fmt: skip
    assert all("EVIL" in text for text in said[:7])
    assert not [text for text in said if OBEYED.search(text)]
    heads = [line for line in found.split("\n") if not line.startswith(("- ", "  "))]
    assert len(heads) <= 2, "a name began a line of its own"


def test_the_first_question_does_not_wait_for_the_first_import(tmp_path: Path) -> None:
    a_session(a_prompt("why does the beacon flicker")).write(tmp_path / "projects")
    options = ("--source", tmp_path / "projects", "--home", tmp_path / "home")
    with Archive(tmp_path / "home") as archive, asking(*options) as asked:
        with archive.inner.locked(5):  # the import has to wait for it, as long as a large one takes
            early = asked.told("search", query="beacon", project="all")
            assert "still being imported" in early
            assert "flicker" not in early
        while "still being imported" in (late := asked.told("search", query="beacon", project="all")):
            pass
        assert "flicker" in late
        assert asked.end()[0] == 0
