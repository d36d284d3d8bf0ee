"""What the mock API says: a scenario is a list of turns, and a turn is one scripted reply.

In any string `{arg}` is the directive's argument, `{cwd}` the work folder and `{agent}` the name under
which the client offers its subagent tool (`Task` up to 2.1.51, `Agent` after).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """An HTTP error in place of a reply, for the first `times` attempts."""

    status: int
    kind: str
    message: str
    times: int = 1 << 30


@dataclass(frozen=True)
class Turn:
    """One reply of the model."""

    blocks: tuple[Block, ...]
    stop_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    delay: float = 0.0
    failure: Failure | None = None


def says(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def thinks(text: str) -> Block:
    """A thinking block."""
    return {"type": "thinking", "thinking": text}


def calls(name: str, **arguments: object) -> Block:
    """A tool_use block."""
    return {"type": "tool_use", "name": name, "input": arguments}


def runs(command: str) -> Block:
    """A call of the shell tool."""
    return calls("Bash", command=command, description="Run the command")


def delegates(prompt: str, **options: object) -> Block:
    """A call of the subagent tool."""
    return calls("{agent}", description="Helper", prompt=prompt, subagent_type="general-purpose", **options)


def turn(*blocks: Block) -> Turn:
    """A reply of these blocks."""
    return Turn(blocks)


def fails(status: int, kind: str, message: str, times: int = 1 << 30) -> Turn:
    """A reply that is refused first."""
    return Turn((says(f"Recovered after HTTP {status}."),), failure=Failure(status, kind, message, times))


SCENARIOS: dict[str, list[Turn]] = {
    "text": [turn(says("Hello from the mock. You said: {arg}"))],
    "thinking": [
        turn(
            thinks("Let me think about {arg}. First, the premise. Then, the conclusion."),
            says("After some thought: done."),
        )
    ],
    "redacted": [turn({"type": "redacted_thinking"}, says("The thinking was redacted."))],
    "slow": [Turn((thinks("Thinking slowly. " * 40), says("Talking slowly. " * 40)), delay=0.15)],
    "slow-text": [Turn((says("Talking slowly. " * 40),), delay=0.15)],
    "bash": [turn(says("Running a command."), runs("{arg}")), turn(says("The command finished."))],
    "think-bash": [
        turn(thinks("I should look at the directory."), says("Let me look."), runs("ls")),
        turn(thinks("Now I have the listing."), says("Here is what I found.")),
    ],
    "parallel": [
        turn(
            thinks("Three independent checks can run at once."),
            runs("sleep 1.2; echo slow"),
            runs("echo quick"),
            calls("Read", file_path="{cwd}/notes.txt"),
        ),
        turn(thinks("All three checks came back."), says("Everything is in order.")),
    ],
    "edit": [
        turn(calls("Write", file_path="{cwd}/{arg}", content="alpha\nbeta\ngamma\n")),
        turn(calls("Read", file_path="{cwd}/{arg}")),
        turn(calls("Edit", file_path="{cwd}/{arg}", old_string="beta", new_string="BETA")),
        turn(says("I edited the file.")),
    ],
    "steps": [turn(thinks(f"Step number {n}."), runs(f"sleep 0.5; echo {n}")) for n in range(1, 7)]
    + [turn(says("Six steps done."))],
    "task": [
        turn(says("Delegating."), delegates("Explore, please. mock:think-bash", run_in_background=False)),
        turn(says("The subagent reported back.")),
    ],
    "task-background": [
        turn(delegates("mock:think-bash background", run_in_background=True)),
        turn(says("The background agent was started.")),
    ],
    "task-nested": [
        turn(says("Delegating twice."), delegates("Outer helper: mock:task", run_in_background=False)),
        turn(says("The outer helper reported back.")),
    ],
    "error-400": [fails(400, "invalid_request_error", "mock: the request was invalid")],
    "error-529": [fails(529, "overloaded_error", "Overloaded", times=2)],
}
