"""`reread run`: what a person sees, the keys they press, and what the client is answered."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.running import PROGRAM, Ran, environment, without_colour
from cli.terminals import Terminal
from reread.testing import a_prompt, a_reply, a_session

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="types at a pseudo-terminal")

SESSION = "11111111-2222-4333-8444-555555555555"


class Place:
    """A client that acts by its prompt, and an archive of its own."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "archive"
        self.claude = folder / "claude"
        actor = Path(__file__).with_name("acting_client.py")
        self.claude.write_text(
            f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(actor)!r}, run_name='__main__')\n"
        )
        self.claude.chmod(0o755)
        self.changes = {"HOME": str(folder), "CLAUDECODE": "1"}
        self.options = ["--claude", str(self.claude), "--home", str(self.home)]

    def __call__(self, *arguments: str, stdin: str = "") -> Ran:
        """Without a terminal."""
        done = subprocess.run(
            [*PROGRAM, "run", *self.options, *arguments],
            input=stdin.encode(),
            capture_output=True,
            env=environment(**self.changes),
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def events(self, *arguments: str, stdin: str = "") -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(*arguments, "--jsonl", stdin=stdin).out.splitlines()]

    @contextmanager
    def terminal(self, *arguments: str, shell: str | None = None, **changes: str) -> Iterator[Terminal]:
        with Terminal("run", *self.options, *arguments, changes={**self.changes, **changes}, shell=shell) as terminal:
            yield terminal

    @property
    def captured(self) -> str:
        [path] = self.home.rglob("*.wire")
        return path.read_text("utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def sent(place: Place) -> list[Any]:
    """The answers that went to the client, as they were captured."""
    frames = [json.loads(line[30:]) for line in place.captured.splitlines() if line[28] == ">"]
    return [frame["response"]["response"] for frame in frames if frame["type"] == "control_response"]


# Without a terminal


def test_thinking_words_and_the_end_are_shown_and_everything_is_kept(place: Place) -> None:
    ran = place("hello")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "You ▸ hello",
        f"session {SESSION} · claude-opus-4-8 · Claude Code",
        "2.1 · /tmp",
        "",
        "  ✻ Let me think.",
        "",
        "Claude ▸ Hello there.",
        "",
        "✓ 1.2s · 1 request · 17 in · 63 out · $0.0125",
        f"reread show {SESSION}",
    ]
    assert '"thinking_delta"' in place.captured
    assert place.home.stat().st_mode & 0o777 == 0o700


def test_the_prompt_may_come_by_a_pipe(place: Place) -> None:
    for arguments in ([], ["-"]):
        assert "Claude ▸ You said what is here?" in place(*arguments, stdin="what is here?\n").out


@pytest.mark.parametrize(("prompt", "code"), [("hello", 0), ("fail", 1), ("die", 2)])
def test_the_exit_code_tells_the_outcome(place: Place, prompt: str, code: int) -> None:
    assert place(prompt).code == code


def test_a_client_that_dies_is_told_in_one_sentence_and_what_it_said_is_kept(place: Place) -> None:
    ran = place("die")
    assert "ended in the middle of a turn (exit code 3)" in ran.err
    assert "something broke" in ran.err
    assert "Traceback" not in ran.err
    assert "something broke" in place.captured


def test_a_client_that_is_not_there_says_how_to_get_it(place: Place) -> None:
    ran = place("hello", "--claude", "/nowhere/claude")
    assert (ran.code, ran.out) == (2, "")
    assert "npm install -g @anthropic-ai/claude-code" in ran.err


@pytest.mark.parametrize(
    "arguments", [["x", "--fork"], ["x", "--resume", "a", "--continue"], ["-i"], ["x", "--cwd", "/nowhere"]]
)
def test_what_makes_no_sense_is_refused(place: Place, arguments: list[str]) -> None:
    assert place(*arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "stdin"), [([""], ""), (["  \n"], ""), ([], ""), (["-"], " \n"), (["-", "--jsonl"], "")]
)
def test_an_empty_prompt_spends_nothing(place: Place, arguments: list[str], stdin: str) -> None:
    ran = place(*arguments, stdin=stdin)
    assert (ran.code, ran.out) == (2, "")
    assert "no prompt" in ran.err
    assert not place.home.exists(), "the client was not started"


def test_options_and_arguments_reach_the_client(place: Place, tmp_path: Path) -> None:
    ran = place(
        "arguments",
        *("--model", "opus", "--max-thinking-tokens", "0", "--permission-mode", "plan", "--continue", "--fork"),
        *("--cwd", str(tmp_path), "--jsonl", "--", "--max-turns", "3"),
    )
    said = next(event for line in ran.out.splitlines() if (event := json.loads(line))["event"] == "text")
    told = json.loads(said["text"])
    given = " ".join(told["arguments"])
    for wanted in ("--model opus", "--max-thinking-tokens 0", "--permission-mode plan", "--continue", "--fork-session"):
        assert wanted in given
    assert given.endswith("--max-turns 3")
    assert told["cwd"] == str(tmp_path)
    assert told["nested"] is None


def test_a_session_is_resumed_by_the_beginning_of_its_id_in_its_own_folder(place: Place, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    name = "abcdef00-0000-4000-8000-000000000000"
    a_session(a_prompt("hi"), a_reply("ho"), id=name, cwd=str(work)).write(tmp_path / ".claude" / "projects")
    [said] = [event for event in place.events("arguments", "--resume", "abcd") if event["event"] == "text"]
    told = json.loads(said["text"])
    assert f"--resume {name}" in " ".join(told["arguments"])
    assert told["cwd"] == str(work)


def test_a_session_that_the_client_deleted_cannot_be_resumed(place: Place, tmp_path: Path) -> None:
    name = "abcdef00-0000-4000-8000-000000000000"
    path = a_session(a_prompt("hi"), id=name).write(tmp_path / ".claude" / "projects")
    assert place("hello", "--resume", name).code == 0
    path.unlink()
    ran = place("hello", "--resume", name)
    assert ran.code == 2
    assert f"reread archive restore {name}" in ran.err


def test_nobody_there_means_no_and_says_so_once(place: Place) -> None:
    ran = place("two")
    assert ran.code == 0
    assert ran.err.count("was denied, because there was no terminal to ask at") == 1
    assert [answer["behavior"] for answer in sent(place)] == ["deny", "deny"]
    assert "no terminal to ask at" in sent(place)[0]["message"]


@pytest.mark.parametrize("policy", ["allow", "deny"])
def test_a_policy_decides_without_asking(place: Place, policy: str) -> None:
    ran = place("bash", "--permission", policy)
    assert ran.err == ""
    assert [answer["behavior"] for answer in sent(place)] == [policy]


def test_no_capture_keeps_nothing(place: Place) -> None:
    assert place("hello", "--no-capture").code == 0
    assert not (place.home / "wire").exists()


# For programs


def test_every_event_is_a_line_of_json(place: Place) -> None:
    events = place.events("hello")
    assert all(list(event)[:5] == ["event", "session", "agent", "message_id", "index"] for event in events)
    thinking = [event["text"] for event in events if event["event"] == "thinking_delta"]
    assert [event["text"] for event in events if event["event"] == "thinking"] == ["".join(thinking)]
    [ended] = [event for event in events if event["event"] == "result"]
    assert (ended["is_error"], ended["cost_usd"], ended["usage"]["output_tokens"]) == (False, "0.012500000", 63)


def test_a_program_answers_by_lines(place: Place) -> None:
    answers = [
        {"request_id": "r2", "behavior": "deny", "message": "not two"},
        {"request_id": "r1", "behavior": "allow", "updatedInput": {"command": "touch one"}},
    ]
    events = place.events("two", stdin="".join(json.dumps(answer) + "\n" for answer in answers))
    asked = [(event["request_id"], event["tool"], event["input"]) for event in events if event["event"] == "permission"]
    assert asked == [("r1", "Bash", {"command": "touch 1"}), ("r2", "Bash", {"command": "touch 2"})]
    assert sent(place) == [
        {"behavior": "allow", "updatedInput": {"command": "touch one"}},
        {"behavior": "deny", "message": "not two"},
    ]


def test_a_program_that_answers_nonsense_or_nothing_is_a_no(place: Place) -> None:
    odd = ('{"x": NaN}', '"touch b"', '{"x":' * 5000 + "1" + "}" * 5000)
    allowed = "".join(f'{{"request_id": "r1", "behavior": "allow", "updatedInput": {each}}}\n' for each in odd)
    ran = place("bash", "--jsonl", stdin=f'{{"request_id": "r1"}}\nnonsense\n{allowed}')
    assert ran.err.count("not a valid answer") == 5
    assert "Traceback" not in ran.err
    assert [answer["behavior"] for answer in sent(place)] == ["deny"]


# At a terminal


def test_thinking_streams_onto_the_terminal_before_it_is_whole(place: Place) -> None:
    with place.terminal("slow") as terminal:
        terminal.wait_for("Thinking on on on")
        assert "interrupted" not in terminal.written


def test_yes_runs_the_tool_as_it_was_asked(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("[q]uit turn")
        terminal.wait_for("allow Bash(touch:*) in this project")
        terminal.wait_for("> ")
        terminal.press("y")
        assert terminal.end() == 0
    assert sent(place) == [{"behavior": "allow", "updatedInput": {"command": "touch a", "description": "Makes a"}}]


def test_a_text_that_is_typed_at_a_question_does_not_answer_it(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        for letter in "yes":
            terminal.press(letter)
            time.sleep(0.1)
        time.sleep(0.5)
        assert "yes" not in terminal.rows[-1]
        terminal.press("y\n")
        terminal.wait_for("yes")
        assert terminal.end() == 0
    assert [answer["behavior"] for answer in sent(place)] == ["allow"]


def test_keys_that_mean_nothing_are_passed_over(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        terminal.press("x")
        terminal.press("\x1b[A")
        terminal.press("Y")
        assert terminal.end() == 0
    assert sent(place)[0]["behavior"] == "allow"


def test_no_takes_a_reason(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        terminal.press("n")
        terminal.wait_for("because")
        terminal.press("not hear\x7f\x7fre, é\n")
        assert terminal.end() == 0
    assert sent(place) == [{"behavior": "deny", "message": "not here, é"}]


def test_always_remembers_what_was_suggested(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        terminal.press("a")
        assert terminal.end() == 0
    [answer] = sent(place)
    assert answer["updatedPermissions"][0]["rules"] == [{"toolName": "Bash", "ruleContent": "touch:*"}]


def test_always_is_the_narrowest_rule_alone_and_a_number_opens_more(place: Place) -> None:
    with place.terminal("wide") as terminal:
        terminal.wait_for("1 = work in /srv")
        terminal.wait_for("> ")
        terminal.press("a")
        assert terminal.end() == 0
    [answer] = sent(place)
    assert [each["type"] for each in answer["updatedPermissions"]] == ["addRules"]


def test_a_number_opens_what_it_names_and_nothing_else(place: Place) -> None:
    with place.terminal("wide") as terminal:
        terminal.wait_for("2 = accept every edit")
        terminal.wait_for("> ")
        terminal.press("2")
        assert terminal.end() == 0
    [answer] = sent(place)
    assert [each.get("mode") for each in answer["updatedPermissions"]] == ["acceptEdits"]


@pytest.mark.parametrize("key", ["q", "\x04"])
def test_quit_and_control_d_end_the_turn(place: Place, key: str) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        terminal.press(key)
        terminal.end()
    assert sent(place)[0]["interrupt"] is True


def test_edit_opens_the_editor_with_the_input(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i.bak 's/touch a/touch b/' \"$1\"\n")
    editor.chmod(0o755)
    with place.terminal("bash", EDITOR=str(editor)) as terminal:
        terminal.wait_for("> ")
        terminal.press("e")
        assert terminal.end() == 0
    assert sent(place)[0]["updatedInput"]["command"] == "touch b"


@pytest.mark.parametrize(
    ("editor", "told"),
    [
        ("/no/such/editor", "No such file or directory; set EDITOR"),
        ("sh -c 'exit 1'", "the editor ended with 1"),
        ("true", "nothing was changed"),
        ("'vi", "no closing quotation; set EDITOR"),
        ('sh -c \'printf "\\351" > "$0"\'', "what the editor wrote is not UTF-8"),
        ('sh -c \'echo "{\\"x\\": NaN}" > "$0"\'', "cannot be sent as JSON"),
    ],
)
def test_what_was_not_edited_is_asked_again_and_does_not_run(place: Place, editor: str, told: str) -> None:
    with place.terminal("bash", EDITOR=editor) as terminal:
        terminal.wait_for("> ")
        terminal.press("e")
        terminal.wait_for(told)
        terminal.wait_for("> ")
        terminal.press("q")
        terminal.end()
    assert [answer["behavior"] for answer in sent(place)] == ["deny"]


def test_without_an_editor_a_command_is_edited_on_its_line(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("> ")
        terminal.press("e")
        terminal.wait_for("> touch a")
        terminal.press("b\n")
        assert terminal.end() == 0
    assert sent(place)[0]["updatedInput"]["command"] == "touch ab"


def test_an_edit_is_asked_with_its_diff_which_is_shown_once(place: Place) -> None:
    with place.terminal("edit") as terminal:
        terminal.wait_for("> ")
        assert [row for row in terminal.rows if row.strip() in ("- one", "+ two")] == ["    - one", "    + two"]
        terminal.press("y")
        assert terminal.end() == 0


def test_a_question_is_a_menu(place: Place) -> None:
    with place.terminal("ask") as terminal:
        terminal.wait_for("[2] Blue")
        terminal.wait_for("> ")
        terminal.press("7")
        terminal.press("2")
        terminal.wait_for("[3] Friday")
        terminal.wait_for("> ")
        terminal.press("1,3\n")
        assert terminal.end() == 0
    assert sent(place)[0]["updatedInput"]["answers"] == {"Which colour?": "Blue", "Which days?": "Monday, Friday"}


def test_a_question_takes_own_words_from_their_first_letter(place: Place) -> None:
    with place.terminal("ask") as terminal:
        terminal.wait_for("your words or q > ")
        terminal.press("oraNGE\x7f\x7f\x7fnge\n")
        terminal.wait_for("your words or q > ")
        terminal.press("quite soon\n")
        assert terminal.end() == 0
    assert sent(place)[0]["updatedInput"]["answers"] == {"Which colour?": "orange", "Which days?": "quite soon"}


def test_q_alone_leaves_a_question(place: Place) -> None:
    with place.terminal("ask") as terminal:
        terminal.wait_for("your words or q > ")
        terminal.press("q\n")
        assert terminal.end() == 0
    assert sent(place)[0] == {"behavior": "deny", "message": "The user stopped here.", "interrupt": True}


def test_a_reason_that_is_typed_ahead_is_whole_and_seen(place: Place) -> None:
    with place.terminal("bash") as terminal:
        terminal.wait_for("\n  > ")
        terminal.press("nnot today\n")
        terminal.wait_for("not today")
        terminal.end()
    assert sent(place)[0]["message"] == "not today"


def test_a_plan_is_shown_and_judged(place: Place) -> None:
    with place.terminal("plan") as terminal:
        terminal.wait_for("1. Do it")
        terminal.wait_for("> ")
        terminal.press("n")
        terminal.wait_for("because")
        terminal.press("too short\n")
        assert terminal.end() == 0
    assert sent(place) == [{"behavior": "deny", "message": "too short"}]


def test_a_plan_may_be_taken_with_its_edits_accepted(place: Place) -> None:
    with place.terminal("plan") as terminal:
        terminal.wait_for("[y]es [a]ccept: yes, and its edits [e]dit the plan [n]o")
        terminal.wait_for("> ")
        terminal.press("a")
        assert terminal.end() == 0
    (answer,) = sent(place)
    accepted = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    assert (answer["behavior"], answer["updatedPermissions"]) == ("allow", [accepted])


def test_a_plan_may_be_edited(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\necho '2. And this' >> \"$1\"\n")
    editor.chmod(0o755)
    with place.terminal("plan", EDITOR=str(editor)) as terminal:
        terminal.wait_for("> ")
        terminal.press("e")
        assert terminal.end() == 0
    assert sent(place)[0]["updatedInput"]["plan"] == "# Plan\n\n1. Do it\n2. And this"


def test_a_plan_that_is_asked_about_without_its_text_is_read_from_its_file(place: Place, tmp_path: Path) -> None:
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "calm.md").write_text("# Plan\n\n1. As the file has it by now\n")
    with place.terminal(f"plan-file {plans / 'calm.md'}") as terminal:
        terminal.wait_for("1. As the file has it by now")
        terminal.wait_for("> ")
        terminal.press("y")
        assert terminal.end() == 0
    assert sent(place) == [{"behavior": "allow", "updatedInput": {}}]


def test_a_plan_that_is_in_the_reply_before_is_shown(place: Place) -> None:
    with place.terminal("plan-said") as terminal:
        terminal.wait_for("? a plan")
        terminal.wait_for("> ")
        behind = without_colour(terminal.written.split("? a plan")[-1])
        assert "1. Say it" in behind
        terminal.press("y")
        assert terminal.end() == 0


def test_several_questions_are_asked_one_after_another(place: Place) -> None:
    with place.terminal("two") as terminal:
        terminal.wait_for("> ")
        assert sum(row.startswith("? ") for row in terminal.rows) == 1
        terminal.press("y")
        terminal.wait_for("> ")
        terminal.press("n")
        terminal.wait_for("because")
        terminal.press("\n")
        assert terminal.end() == 0
    assert [answer["behavior"] for answer in sent(place)] == ["allow", "deny"]


def test_a_question_that_is_void_goes_and_the_next_one_comes(place: Place) -> None:
    with place.terminal("void") as terminal:
        terminal.wait_for("> ")
        terminal.wait_for("no longer asked")
        terminal.wait_for("touch 2")
        terminal.wait_for("> ")
        terminal.press("y")
        assert terminal.end() == 0
    assert [answer["updatedInput"]["command"] for answer in sent(place)] == ["touch 2"]


def test_the_first_ctrl_c_interrupts_the_turn(place: Place) -> None:
    with place.terminal("slow") as terminal:
        terminal.wait_for("Thinking on")
        terminal.press("\x03")
        assert terminal.end() == 130, "as the help says: it was the only prompt"
        assert "  ■ interrupted while thinking" in terminal.rows
        assert "^C" not in terminal.written


def test_escape_interrupts_the_turn_and_takes_no_letter_of_what_follows(place: Place) -> None:
    with place.terminal("-i", "slow") as terminal:
        terminal.wait_for("Thinking on")
        terminal.press("\x1b")
        terminal.wait_for("interrupted while thinking")
        terminal.wait_for("\n> ")
        terminal.press("\x1b")
        time.sleep(0.5)
        terminal.press("hey\n")
        terminal.wait_for("You said hey")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_the_second_ctrl_c_ends_the_run_and_keeps_what_came(place: Place) -> None:
    with place.terminal("stuck") as terminal:
        terminal.wait_for("Thinking on")
        terminal.press("\x03")
        time.sleep(0.3)
        terminal.press("\x03")
        assert terminal.end(30) == 130
    assert "Thinking " in place.captured


def test_a_run_that_is_told_to_end_leaves_the_terminal_as_it_was(place: Place) -> None:
    with place.terminal("slow") as terminal:
        terminal.wait_for("Thinking on")
        terminal.process.terminate()
        assert terminal.end(30) == 130
        assert terminal.echoes
    assert "Thinking " in place.captured


def test_a_run_whose_terminal_is_closed_stops_the_turn_and_keeps_what_came(place: Place) -> None:
    with place.terminal("slow") as terminal:
        terminal.wait_for("Thinking on")
        terminal.hang_up()
        terminal.process.wait(30)
    assert "aborted_streaming" in place.captured
    assert '"exit_code": 0' in place.captured


def test_a_run_that_waits_for_a_prompt_can_be_told_to_end(place: Place) -> None:
    with place.terminal("-i") as terminal:
        terminal.wait_for("> ")
        terminal.press("half a li")
        terminal.wait_for("half a li")
        time.sleep(0.5)  # as with Ctrl-C at the prompt
        terminal.process.terminate()
        assert terminal.end(30) == 130
        assert terminal.echoes


JOB = 'set -m; "$@"; stty sane; echo stopped; fg; echo code $?'
"""Bash that is told Ctrl-Z, and goes on with the job at once."""


def resume(terminal: Terminal) -> None:
    time.sleep(0.5)  # as with Ctrl-C at the prompt
    terminal.press("\x1a")
    terminal.wait_for("stopped")
    end = time.monotonic() + 30
    while terminal.echoes and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with jobs")
def test_a_key_still_answers_after_ctrl_z_and_fg(place: Place) -> None:
    with place.terminal("bash", shell=JOB) as terminal:
        terminal.wait_for("\n  > ")
        resume(terminal)
        terminal.press("y")
        terminal.wait_for('answered {"behavior": "allow"', 30)
        assert terminal.end() == 0
        assert any("code 0" in row for row in terminal.rows)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with jobs")
def test_a_prompt_is_edited_on_after_ctrl_z_and_fg(place: Place) -> None:
    with place.terminal("-i", shell=JOB) as terminal:
        terminal.wait_for("> ")
        terminal.press("hal")
        terminal.wait_for("hal")
        resume(terminal)
        terminal.press("\x7fllo\r")
        terminal.wait_for("You said hallo", 30)
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0
        assert any("code 0" in row for row in terminal.rows)


def test_a_conversation_goes_on_until_ctrl_d(place: Place) -> None:
    with place.terminal("-i") as terminal:
        terminal.wait_for("> ")
        terminal.press("first\n")
        terminal.wait_for("Claude ▸ You said first")
        terminal.wait_for("\n> ")
        terminal.press("fail\n")
        terminal.wait_for("Overloaded")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 1


def test_lines_that_are_pasted_are_one_prompt(place: Place) -> None:
    if "libedit" in (pytest.importorskip("readline").__doc__ or ""):
        pytest.skip("libedit knows no marks around what is pasted")
    with place.terminal("-i") as terminal:
        terminal.wait_for("> ")
        time.sleep(0.5)  # marks mean something once readline has the terminal
        terminal.press("\x1b[200~first\rsecond\x1b[201~ third\r")
        terminal.wait_for("You said first\n         second third")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_model_mode_and_thinking_are_steered_by_commands(place: Place) -> None:
    with place.terminal("-i", "steer") as terminal:
        for typed in ("/model haiku", "/thinking 2000", "/mode plan", "/thinking much"):
            terminal.wait_for("\n> ")
            terminal.press(f"{typed}\n")
        terminal.wait_for("not a number of tokens")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        terminal.end()
    asked = [
        json.loads(line[30:])["request"]
        for line in place.captured.splitlines()
        if "> {" in line[:32] and '"control_request"' in line and '"set_' in line
    ]
    assert asked[:3] == [
        {"subtype": "set_model", "model": "haiku"},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 2000},
        {"subtype": "set_permission_mode", "mode": "plan"},
    ]


def test_what_can_be_typed_between_prompts_is_told_and_exit_ends_it(place: Place) -> None:
    with place.terminal("-i", "steer") as terminal:
        terminal.wait_for("\n> ")
        terminal.press("/help\n")
        terminal.wait_for("/model NAME")
        terminal.wait_for("Ctrl-D or /exit ends the session")
        terminal.wait_for("\n> ")
        terminal.press("/mode\n")
        terminal.wait_for("/mode MODE: another permission mode")
        terminal.wait_for("\n> ")
        terminal.press("/exit\n")
        assert terminal.end() == 0
    assert "/help" not in place.captured and "/exit" not in place.captured


def test_ctrl_c_at_the_prompt_clears_the_line_and_asks_before_it_leaves(place: Place) -> None:
    with place.terminal("-i") as terminal:
        terminal.wait_for("> ")
        terminal.press("half a line")
        terminal.wait_for("half a line")
        time.sleep(0.3)  # a signal between two awaits is seen with the next key
        terminal.press("\x03")
        time.sleep(0.3)
        terminal.press("whole\n")
        terminal.wait_for("You said whole")
        terminal.wait_for("\n> ")
        time.sleep(0.3)
        terminal.press("\x03")
        terminal.wait_for("Ctrl-C again or Ctrl-D to leave")
        terminal.press("\x03")
        assert terminal.end() == 130
    assert "half a line" not in place.captured


def test_what_is_entered_while_the_client_works_is_queued_and_seen(place: Place) -> None:
    with place.terminal("-i", "slow") as terminal:
        terminal.wait_for("Thinking on")
        terminal.press("then this\nand th")
        end = time.monotonic() + 30
        while "⏎ then this  > and th" not in without_colour(terminal.written) and time.monotonic() < end:
            terminal.wait_for("on ")
        assert "1 queued" in terminal.written
        terminal.press("\x03")
        terminal.wait_for("interrupted while thinking")
        terminal.wait_for("> then this\n  and th")
        time.sleep(0.3)
        terminal.press("at\n")
        terminal.wait_for("You said then this\n         and that")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_what_is_typed_behind_enter_is_the_next_prompt(place: Place) -> None:
    with place.terminal("-i", "two") as terminal:
        terminal.wait_for("\n  > ")
        terminal.press("y")
        terminal.wait_for("\n  > ")
        terminal.press("y")
        terminal.wait_for("\n> ")
        terminal.press("one\nsecond\n")
        terminal.wait_for("You said one")
        terminal.wait_for("You said second")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0


def test_the_history_is_kept_over_runs_and_tab_completes(place: Place, tmp_path: Path) -> None:
    (tmp_path / "lantern.py").write_text("")
    with place.terminal("-i", "--cwd", str(tmp_path)) as terminal:
        terminal.wait_for("\n> ")
        terminal.press("look at @lant\t")
        terminal.wait_for("look at @lantern.py")
        terminal.press("now\n")
        terminal.wait_for("You said look at @lantern.py now")
        terminal.wait_for("\n> ")
        terminal.press("/comp\t")
        terminal.wait_for("/compact ")
        terminal.press("\x15\x04")
        assert terminal.end() == 0
    assert (place.home / "run-history").stat().st_mode & 0o777 == 0o600
    with place.terminal("-i") as terminal:
        terminal.wait_for("\n> ")
        terminal.press("\x1b[A")
        terminal.wait_for("look at @lantern.py now")
        terminal.press("\x15/thi\t")
        terminal.wait_for("/thinking ")
        terminal.press("\x15\x04")
        assert terminal.end() == 0


def test_without_colour_nothing_is_coloured(place: Place) -> None:
    with place.terminal("hello", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
        assert "\x1b[2m" not in terminal.written
        assert "  ✻ Let me think." in terminal.rows
