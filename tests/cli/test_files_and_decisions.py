"""`files`, `decisions` and `summary`: what was touched, what was asked, what came of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.files import APP, FIRST, SECOND, change, fill
from cli.kept import Kept
from cli.running import Run
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result

LANTERN = f"{APP}/src/lantern.py"


@pytest.fixture
def travel(run: Run, tmp_path: Path) -> Kept:
    claude = tmp_path / ".claude"
    fill(claude)
    return Kept(run, claude, tmp_path / "archive")


def files(travel: Kept, *arguments: str) -> dict[str, list[dict[str, Any]]]:
    document = travel.json("files", *arguments)
    assert document["schema"] == "reread.files/1"
    return {file["path"]: file["operations"] for file in document["files"]}


def test_files_have_their_operations_the_newest_first(travel: Kept) -> None:
    found = files(travel)
    assert list(found) == [LANTERN, f"{APP}/crlf.txt"]
    told = [(each["session"], each["uuid"], each["tool"], each["action"], each["status"]) for each in found[LANTERN]]
    assert told == [
        (SECOND, "e3", "Edit", "edit", "ok"),
        (SECOND, "e2", "Edit", "edit", "ok"),
        (SECOND, "e1", "Edit", "edit", "ok"),
        (FIRST, "w1", "Write", "write", "ok"),
    ]
    assert found[LANTERN][0]["timestamp"] == "2026-11-12T10:00:07.000Z"


def test_a_glob_finds_shell_commands_too_with_low_confidence(travel: Kept) -> None:
    [shell] = [each for each in files(travel, "lantern.py")[LANTERN] if each["tool"] == "Bash"]
    assert (shell["action"], shell["confidence"], shell["program"], shell["uuid"]) == ("read", "low", "cat", "b1")
    [copy] = files(travel, "copy.txt").values()
    assert [(each["action"], each["confidence"]) for each in copy] == [("write", "low")]
    assert {each["confidence"] for each in files(travel, "lantern.py", "--no-shell")[LANTERN]} == {"high"}
    assert f"{APP}/copy.txt" in files(travel, "--shell")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("*.py",), {LANTERN}),
        (("src/*",), {LANTERN}),
        (("nothing.py",), set()),
        (("--tool", "Write"), {LANTERN, f"{APP}/crlf.txt"}),
        (("--tool", "edit"), {LANTERN}),
        (("--since", "2026-11-11"), {LANTERN}),
        (("--until", "2026-11-10", "--limit", "1"), {f"{APP}/crlf.txt"}),
        (("--since", "2027-01-01"), set()),
        (("--project", "elsewhere"), set()),
        (("--file", "crlf.*"), {f"{APP}/crlf.txt"}),
    ],
)
def test_files_by_glob_and_filter(travel: Kept, arguments: tuple[str, ...], expected: set[str]) -> None:
    assert set(files(travel, *arguments)) == expected


def test_a_question_of_our_own_tools_about_a_file_does_not_touch_it(run: Run, tmp_path: Path) -> None:
    asked = a_tool_call("mcp__reread__file_history", {"path": LANTERN})
    session = a_session(a_prompt("who wrote it?"), a_reply(asked), a_tool_result("Ann"), cwd=APP)
    session.write(tmp_path / "claude" / "projects")
    assert files(Kept(run, tmp_path / "claude", tmp_path / "archive")) == {}


def test_a_refused_edit_is_told_as_refused(travel: Kept) -> None:
    refused = "The user doesn't want to proceed with this tool use."
    a_session(
        a_prompt("go"),
        a_reply(a_tool_call("Edit", {"file_path": "/x/no.txt", "old_string": "a", "new_string": "b"})),
        a_tool_result(refused, is_error=True),
        a_reply(a_tool_call("Grep", {"pattern": "x", "path": "/x/no.txt"})),
        a_tool_result("found"),
    ).write(travel.claude / "projects")
    [found] = files(travel, "no.txt").values()
    assert [(each["action"], each["status"]) for each in found] == [("search", "ok"), ("edit", "rejected")]


def test_a_copied_session_counts_once_and_agents_count(travel: Kept) -> None:
    def session(name: str, *more: Any) -> None:
        a_session(
            a_prompt("go", uuid="shared-p"),
            *change("Write", "/x/shared.txt", None, "shared", "2026-11-10T10:00:01.000Z", content="x"),
            *more,
            id=name,
        ).write(travel.claude / "projects")

    agent = a_subagent(a_prompt("do"), a_reply(a_tool_call("Read", {"file_path": "/x/shared.txt"})), of="toolu_task")
    task = a_reply(a_tool_call("Task", {"prompt": "do"}, id="toolu_task"))
    session("aaaa0000-0000-4000-8000-000000000001")
    session("bbbb0000-0000-4000-8000-000000000002", task, agent, a_tool_result("ok", of="toolu_task"))
    [found] = files(travel, "shared.txt").values()
    assert sorted(each["tool"] for each in found) == ["Read", "Write"]


def test_files_as_a_table_and_one_file_with_its_history(travel: Kept) -> None:
    ran = travel("files", "--timezone", "UTC")
    assert re.search(r"2026-11-12 10:00 +w1 e3 +f2000000 \+1 +/home/ann/app/src/lantern\.py\n", ran.out)
    assert "\n2 files: r read, w written" in ran.out
    assert "--shell adds" in ran.out
    ran = travel("files", "lantern.py", "--timezone", "UTC")
    assert re.search(r"f1000000  ~cat +read", ran.out)
    assert "guessed from shell commands" in ran.out
    assert travel("files", "nothing").out == "no files\n"


def test_decisions_have_questions_options_and_answers(travel: Kept) -> None:
    [decision] = travel.json("decisions")["decisions"]
    assert {name: decision[name] for name in ("session", "uuid", "question", "header", "options", "answer")} == {
        "session": SECOND,
        "uuid": "q1",
        "question": "Which lamp?",
        "header": "Lamp",
        "options": ["Oil", "Gas"],
        "answer": "neither, a candle",
    }
    assert decision["free_text"] is True
    ran = travel("decisions")
    assert "  ○ Oil\n  ○ Gas\n  → neither, a candle\n" in ran.out
    assert ran.out.endswith("1 decision\n")


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (("--topic", "lamp"), 1),
        (("--topic", "candle lamp"), 1),
        (("--topic", "database"), 0),
        (("--tool", "AskUser*"), 1),
        (("--tool", "NotebookEdit"), 0),
        (("--since", "2027-01-01"), 0),
        (("--project", "nowhere"), 0),
        ((SECOND,), 1),
        ((FIRST,), 0),
        ((SECOND, "--project", "nowhere"), 0),
        ((SECOND, "--model", "nothing"), 0),
        ((SECOND, "--starred"), 0),
        (("--limit", "1"), 1),
    ],
)
def test_decisions_by_topic_and_filter(travel: Kept, arguments: tuple[str, ...], count: int) -> None:
    assert len(travel.json("decisions", *arguments)["decisions"]) == count


def test_a_limit_says_how_many_decisions_there_are(run: Run, tmp_path: Path) -> None:
    asked = {"questions": [{"question": "Which mast?", "header": "Mast", "options": [{"label": "Oak"}]}]}
    calls = (a_reply(a_tool_call("AskUserQuestion", asked)), a_tool_result("User has answered"))
    a_session(a_prompt("ask"), *calls, *calls, *calls).write(tmp_path / ".claude" / "projects")
    kept = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    for session in ((), ("@last",)):
        assert kept("decisions", *session, "--limit", "2").out.splitlines()[-1] == "2 of 3 decisions"
        document = kept.json("decisions", *session, "--limit", "2")
        assert (len(document["decisions"]), document["total"]) == (2, 3)


def test_no_decisions_are_no_error(travel: Kept) -> None:
    ran = travel("decisions", "--topic", "nothing of the kind")
    assert (ran.code, ran.out) == (0, "no decisions\n")
    ran = travel("decisions", "nobody")
    assert (ran.code, ran.out) == (2, "")


ASKED = {"questions": [{"question": "Which store?", "header": "Store", "options": [{"label": "SQLite"}]}]}
CLARIFY = """The user wants to clarify these questions.
    This means they may have additional information, context or questions for you.
    Start by asking them what they would like to clarify.

    Questions asked:
- "Which store?"
  {}"""


@pytest.mark.parametrize(
    ("said", "answer", "note"),
    [
        ("wait, let us talk", None, "wait, let us talk"),
        (CLARIFY.format("(No answer provided)"), None, ""),
        (CLARIFY.format("Answer: SQLite"), "SQLite", ""),
    ],
)
@pytest.mark.parametrize("is_told_apart", [True, False])
def test_a_refused_question_tells_the_persons_words_and_never_the_clients(
    travel: Kept, said: str, answer: str | None, note: str, is_told_apart: bool
) -> None:
    told = f"The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n{said}"
    a_session(
        a_prompt("build it"),
        a_reply(a_tool_call("AskUserQuestion", ASKED)),
        a_tool_result(told, is_error=True, **({"userFeedback": said} if is_told_apart else {})),
    ).write(travel.claude / "projects")
    [decision] = travel.json("decisions", "--topic", "store?")["decisions"]
    assert (decision["answer"], decision["note"]) == (answer, note)
    assert "The user wants" not in travel("decisions").out


def test_a_summary_as_text_markdown_and_json(travel: Kept) -> None:
    text = travel("summary", SECOND, "--timezone", "UTC").out
    for part in ("Goal\n  Brighten the lantern", "Journey\n  1. 10:00 brighten", "src/lantern.py (modified, +2 -2)",
                 "Which lamp? → neither, a candle", "Outcome\n  A candle then."):  # fmt: skip
        assert part in text
    markdown = travel("summary", SECOND, "--format", "markdown").out
    assert markdown.startswith("# brighten the lantern\n")
    assert "## Journey\n\n- 1. " in markdown
    document = travel.json("summary", SECOND)
    assert (document["schema"], document["goal"]) == ("reread.summary/1", "Brighten the lantern")
    assert document["outcome"]["text"] == "A candle then."
    assert [file["path"] for file in document["files"]] == [LANTERN]


def test_a_note_for_obsidian_has_valid_front_matter_and_links(travel: Kept) -> None:
    title = 'a "quoted": title\nwith [[brackets]] # and a: colon'
    a_session(
        a_prompt(title, timestamp="2026-12-01T10:00:00.000Z"),
        *change("Write", "/x y/a|b.txt", None, "e", "2026-12-01T10:00:01.000Z", content="x\n"),
        id="0b51d1a0-0000-4000-8000-000000000001",
        cwd="/x y",
    ).write(travel.claude / "projects")
    note = travel("summary", "0b51", "--format", "obsidian", "--timezone", "UTC").out
    opening, front, body = note.split("---\n", 2)
    assert opening == ""
    matter = {line.partition(": ")[0]: json.loads(line.partition(": ")[2]) for line in front.splitlines()}
    assert matter["session"] == "0b51d1a0-0000-4000-8000-000000000001"
    assert matter["title"].startswith('a "quoted": title')
    assert (matter["date"], matter["tags"]) == ("2026-12-01", ["claude-code", "x-y"])
    links = re.findall(r"\[\[(.+?)\]\]", body)
    assert links == ["x y", "2026-12-01", "a b.txt"]


def test_a_summary_of_nobody_is_one_sentence(travel: Kept) -> None:
    ran = travel("summary", "nobody")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert travel("summary", SECOND, "--format", "poem").code == 2
