"""What the mock API says: a scenario is a list of turns, and a turn is one scripted reply.

In any string `{arg}` is the directive's argument, `{cwd}` the work folder, `{images}` how many images the
request holds and `{agent}` the name under which the client offers its subagent tool (`Task` up to 2.1.51,
`Agent` after).
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
class Break:
    """The first attempt's stream ends after so many events: by an `error` event, or cut where there is none."""

    after: int
    error: str | None = None


@dataclass(frozen=True)
class Turn:
    """One reply of the model."""

    blocks: tuple[Block, ...]
    stop_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    delay: float = 0.0
    failure: Failure | None = None
    broken: Break | None = None
    chunk: int = 40
    """Characters in one streamed delta."""


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


def half_a_call() -> Block:
    """A call whose input breaks off in the middle of its JSON."""
    return {**calls("Bash"), "streamed_json": '{"command": "ec'}


def delegates(prompt: str, **options: object) -> Block:
    """A call of the subagent tool."""
    return calls("{agent}", description="Helper", prompt=prompt, subagent_type="general-purpose", **options)


def turn(*blocks: Block) -> Turn:
    """A reply of these blocks."""
    return Turn(blocks)


def fails(status: int, kind: str, message: str, times: int = 1 << 30) -> Turn:
    """A reply that is refused first."""
    return Turn((says(f"Recovered after HTTP {status}."),), failure=Failure(status, kind, message, times))


# Overwrites what the terminal shows, sets its title, rings and moves the cursor, in 7-bit and in 8-bit form.
LINK = "\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\"
ESCAPES = f"\x1b[2J\x1b[31mred\x1b[0m \x1b]0;owned\x07 {LINK} \x9b1A\x9d0;t\x9c \r over"
SHELL_ESCAPES = r"printf '\033[31mred\033[0m \033]0;owned\007 \r over\n'"
UNUSUAL = 'h\u00e9\u4e16\U0001f600\u2028\u2029\x85\u05e9\u05dce\u0301 "q" \\ \tt\nn'
LONG_LINE = "A line of the very long text that no reader may cut. "
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cool"}],
}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_mock", "name": "web_search", "input": {"query": "mock"}}
FOUND = {"type": "web_search_result", "title": "Mock", "url": "https://example.invalid/", "encrypted_content": "AAAA"}

CONTENT: dict[str, list[Turn]] = {
    "text": [turn(says("Hello from the mock. You said: {arg}"))],
    "two-texts": [turn(says("The first block. "), says("The second block."))],
    "unicode": [Turn((thinks(UNUSUAL[:7]), says(UNUSUAL)), chunk=1)],
    "escapes": [turn(thinks(ESCAPES), says(ESCAPES), runs(SHELL_ESCAPES)), turn(says("The bell was rung."))],
    "long-text": [Turn((says(LONG_LINE * 25_000),), chunk=1 << 16)],
    "image": [turn(says("I can see {images} image(s)."))],
    "thinking": [
        turn(
            thinks("Let me think about {arg}. First, the premise. Then, the conclusion."),
            says("After some thought: done."),
        )
    ],
    "thinking-empty": [turn(thinks(""), says("The thinking was withheld."))],
    "thinking-only": [turn(thinks("I thought and said nothing."))],
    "redacted": [turn({"type": "redacted_thinking"}, says("The thinking was redacted."))],
    "empty": [turn()],
    "max-tokens": [Turn((says("This reply is cut off in the middle of a"),), stop_reason="max_tokens")],
    "refusal": [Turn((says("I can not help with that."),), stop_reason="refusal")],
    "slow": [Turn((thinks("Thinking slowly. " * 40), says("Talking slowly. " * 40)), delay=0.15, chunk=12)],
    "slow-text": [Turn((says("Talking slowly. " * 40),), delay=0.15, chunk=12)],
    "web-search": [
        turn(
            SEARCH,
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_mock", "content": [FOUND]},
            says("Searched."),
        )
    ],
}

TOOLS: dict[str, list[Turn]] = {
    "bash": [turn(says("Running a command."), runs("{arg}")), turn(says("The command finished."))],
    # A bare `sleep 30` is refused by the tool itself (2.1.325).
    "bash-slow": [turn(says("Waiting."), runs("for n in $(seq 30); do sleep 1; done")), turn(says("Slept."))],
    "think-bash": [
        turn(thinks("I should look at the directory."), says("Let me look."), runs("ls")),
        turn(thinks("Now I have the listing."), says("Here is what I found.")),
    ],
    "interleaved": [
        turn(thinks("The year comes first."), says("Checking the year."), runs("echo 2026")),
        turn(thinks("Then the month."), runs("echo 11"), thinks("And the day, in the same breath."), runs("echo 15")),
        turn(thinks("Now the date is known."), says("It is known.")),
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
    "fetches": [
        turn(*(calls("WebFetch", url=f"http://127.0.0.1:9/{n}", prompt="Read it") for n in (1, 2, 3))),
        turn(says("Three pages were fetched.")),
    ],
    "write": [
        turn(calls("Write", file_path="{cwd}/{arg}", content="line one\nline two\n")),
        turn(says("I wrote the file.")),
    ],
    "edit": [
        turn(calls("Write", file_path="{cwd}/{arg}", content="alpha\nbeta\ngamma\n")),
        turn(calls("Read", file_path="{cwd}/{arg}")),
        turn(calls("Edit", file_path="{cwd}/{arg}", old_string="beta", new_string="BETA")),
        turn(says("I edited the file.")),
    ],
    "edit-huge": [
        turn(runs("seq -f 'line %.0f of a huge file' 60000 > huge.txt")),
        turn(calls("Read", file_path="{cwd}/huge.txt", limit=3)),
        turn(
            calls(
                "Edit",
                file_path="{cwd}/huge.txt",
                old_string="line 2 of a huge file\n",
                new_string="line two of a huge file\n",
            )
        ),
        turn(says("I edited the huge file.")),
    ],
    "question": [turn(calls("AskUserQuestion", questions=[QUESTION])), turn(says("Thanks for choosing."))],
    "plan": [
        turn(thinks("A plan is needed."), calls("ExitPlanMode", plan="# Plan\n\n1. Do it\n2. Check it\n")),
        turn(says("The plan was handled.")),
    ],
    "unknown-tool": [turn(calls("NoSuchTool", x=1)), turn(says("That tool does not exist."))],
    "bad-json": [turn(half_a_call()), turn(says("The input was not JSON."))],
    "steps": [turn(thinks(f"Step number {n}."), runs(f"sleep 0.5; echo {n}")) for n in range(1, 7)]
    + [turn(says("Six steps done."))],
    "many-turns": [turn(thinks(f"Step {n}."), runs(f"echo {n}")) for n in range(1, 5)]
    + [turn(says("Four steps done."))],
}

MEMORY: dict[str, list[Turn]] = {
    "recall": [turn(calls("mcp__reread__search", query="{arg}")), turn(says("I looked it up."))],
    "recall-whole": [turn(calls("mcp__reread__read", session="{arg}", turns="1-")), turn(says("I read it."))],
}

AGENTS: dict[str, list[Turn]] = {
    "task": [
        turn(says("Delegating."), delegates("Explore, please. mock:think-bash", run_in_background=False)),
        turn(says("The subagent reported back.")),
    ],
    "task-background": [
        turn(delegates("mock:think-bash background", run_in_background=True)),
        turn(says("The background agent was started.")),
    ],
    "task-permission": [
        turn(delegates("mock:bash(touch from-the-agent.txt)", run_in_background=False)),
        turn(says("The subagent was let through.")),
    ],
    "task-several": [
        turn(*(delegates(f"mock:bash(touch agent-{n}.txt)", run_in_background=False) for n in (1, 2))),
        turn(says("Both reported back.")),
    ],
    "task-nested": [
        turn(says("Delegating twice."), delegates("Outer helper: mock:task", run_in_background=False)),
        turn(says("The outer helper reported back.")),
    ],
}

BROKEN_THINKING = (thinks("This thought will not be finished the first time."), says("Said at the second attempt."))
BROKEN_TEXT = (
    thinks("This thought is whole."),
    says("The connection fails before the end of this sentence, but only once."),
)
BROKEN_CALL = (says("A call follows."), runs("echo called once"))

FAILURES: dict[str, list[Turn]] = {
    "error-400": [fails(400, "invalid_request_error", "mock: the request was invalid")],
    "error-401": [fails(401, "authentication_error", "mock: invalid x-api-key")],
    "error-404": [fails(404, "not_found_error", "model: no-such-model")],
    "error-413": [fails(413, "request_too_large", "mock: the request is too large")],
    "error-429": [fails(429, "rate_limit_error", "mock: rate limited", times=1)],
    "error-429-forever": [fails(429, "rate_limit_error", "mock: rate limited")],
    "error-500": [fails(500, "api_error", "mock: internal server error", times=2)],
    "error-500-forever": [fails(500, "api_error", "mock: internal server error")],
    "error-529": [fails(529, "overloaded_error", "Overloaded", times=2)],
    "error-529-forever": [fails(529, "overloaded_error", "Overloaded")],
    "tool-then-500": [turn(runs("echo before")), fails(500, "api_error", "mock: failing after a tool", times=1)],
    "sse-error-thinking": [Turn(BROKEN_THINKING, broken=Break(3, "overloaded_error"))],
    "sse-error-text": [Turn(BROKEN_TEXT, broken=Break(7, "overloaded_error"))],
    "sse-error-tool": [Turn(BROKEN_CALL, broken=Break(6, "overloaded_error")), turn(says("The call was made."))],
    "cut-thinking": [Turn(BROKEN_THINKING, broken=Break(3))],
    "cut-text": [Turn(BROKEN_TEXT, broken=Break(7))],
    "cut-tool": [Turn(BROKEN_CALL, broken=Break(6)), turn(says("The call was made."))],
}

SCENARIOS = {**CONTENT, **TOOLS, **MEMORY, **AGENTS, **FAILURES}
