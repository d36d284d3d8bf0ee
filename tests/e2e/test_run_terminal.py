"""`reread run -i` at a terminal, with the real client: the line, what Tab knows, the queue, plans."""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest

from cli.running import PROGRAM, without_colour
from cli.terminals import Terminal
from client.install import VERSIONS, claude_binary
from client.run import Scratch, has_tmux
from client.scenarios import SCENARIOS, Turn, runs, says, thinks, turn

pytestmark = pytest.mark.e2e
SCENARIOS["think-bash2"] = [
    Turn((thinks("Slowly. " * 4), runs("touch asked.txt")), delay=0.3, chunk=6),
    turn(says("Touched.")),
]
SCENARIOS["words"] = [Turn((says(" ".join(f"word{number}" for number in range(300))),), delay=0.05, chunk=12)]


@pytest.fixture(params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Path:
    return claude_binary(request.param)


def at_terminal(scratch: Scratch, *arguments: str, **changes: str) -> Terminal:
    own = {"REREAD_HOME": str(scratch.home / "archive"), "PYTHONPATH": os.pathsep.join(sys.path), **changes}
    options = ("--claude", str(scratch.client), "--cwd", str(scratch.work))
    return Terminal("run", *options, *arguments, changes={**scratch.environment, "TERM": "xterm-256color", **own})


def test_a_conversation_at_the_terminal(scratch: Scratch) -> None:
    with at_terminal(scratch, "-i", "--max-cost", "5") as terminal:
        terminal.wait_for("\n> ")
        terminal.press("mock:think-bash\r")
        terminal.wait_for("✻ I should look at the directory.")
        terminal.wait_for("Here is what I found.")
        terminal.wait_for("\n> ")
        terminal.press("/output\r")
        terminal.wait_for("notes.txt")
        terminal.wait_for("\n> ")
        terminal.press("/compa\t")
        terminal.wait_for("/compact ")
        time.sleep(0.3)  # a signal between two awaits is seen with the next key
        terminal.press("\x03")
        time.sleep(0.3)
        terminal.press("mock:steps\r")
        terminal.wait_for("Step number 2.")
        terminal.press("mock:text(queued)\rand more")
        terminal.wait_for("Step number 4.")
        assert "1 queued" in without_colour(terminal.written)
        terminal.press("\x03")
        terminal.wait_for("> mock:text(queued)\n  and more")
        terminal.press("\x15\x7f\r")
        terminal.wait_for("queued")
        terminal.wait_for("\n> ")
        terminal.press("\x04")
        assert terminal.end() == 0


@pytest.mark.skipif(not has_tmux(), reason="tmux is the terminal that changes its size; install tmux")
def test_a_terminal_that_changes_its_size_loses_no_word(scratch: Scratch) -> None:
    own = {"REREAD_HOME": str(scratch.home / "archive"), "PYTHONPATH": os.pathsep.join(sys.path)}
    own["TERM"] = "screen-256color"
    program = [*PROGRAM, "run", "--claude", str(scratch.client), "-i"]
    with scratch.screen_of(*program, size=(80, 24), **own) as screen:
        screen.wait_for("(?m)^>")
        screen.submit("mock:words")
        for number, size in enumerate([("50", "20"), ("100", "30"), ("40", "14"), ("80", "24")]):
            screen.wait_for(f"word{number * 60 + 40}")
            screen.tmux("resize-window", "-x", size[0], "-y", size[1])
        screen.wait_for("(?m)^✓")
        screen.wait_for("(?m)^>$")
        written = screen.tmux("capture-pane", "-p", "-J", "-S", "-500", "-t", "s")
    assert re.findall(r"word(\d+)", written.partition("Claude ▸")[2]) == [str(number) for number in range(300)]
    assert "context" not in written.partition("Claude ▸")[2], "the status is gone with the turn"


def test_a_question_waits_for_whoever_is_typing(scratch: Scratch) -> None:
    with at_terminal(scratch, "-i") as terminal:
        terminal.wait_for("\n> ")
        terminal.press("mock:think-bash2\r")
        for letter in "yes, why not mock:text(typed)":
            terminal.press(letter)
            time.sleep(0.1)
        terminal.wait_for("[y]es")
        assert not (scratch.work / "asked.txt").exists()
        terminal.press("y")
        terminal.wait_for("Touched.")
        assert (scratch.work / "asked.txt").exists()
        terminal.wait_for("> yes, why not mock:text(typed)")
        terminal.press("\x15\x04")
        assert terminal.end() == 0


def test_an_edited_plan_is_the_plan(scratch: Scratch) -> None:
    editor = scratch.home / "editor"
    editor.write_text("#!/bin/sh\necho '3. And tell' >> \"$1\"\n")
    editor.chmod(0o755)
    with at_terminal(scratch, "mock:plan", "--permission-mode", "plan", EDITOR=str(editor)) as terminal:
        terminal.wait_for("[e]dit the plan")
        terminal.wait_for("> ")
        terminal.press("e")
        assert terminal.end() == 0
    told = [str(body.get("messages")) for body in scratch.mock.requests]
    assert any("Approved Plan (edited by user)" in each and "3. And tell" in each for each in told)
