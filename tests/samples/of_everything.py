"""A day of everything: one session with what a person may meet, one with a server's tools, one in other scripts."""

from __future__ import annotations

from editing import patch
from reread.testing import (
    Entry,
    Json,
    Transcript,
    a_command,
    a_compaction,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_interrupt,
)

RETRY = "/home/ann/lantern/src/lantern/retry.py"
TEST = "/home/ann/lantern/tests/test_retry.py"
HTTP_TEST = "/home/ann/lantern/tests/test_http.py"
RETRY_CODE = """\
import random


class Backoff:
    def __init__(self, first=1.0, jitter=0.5):
        self.first = first
        self.jitter = jitter

    def delay(self, attempt):
        cap = 30
        delay = self.first * 2**attempt
        jitter = random.uniform(0, self.jitter)
        delay = min(delay, cap) + jitter
        return delay
"""
TEST_CODE = """\
from lantern.retry import Backoff


def test_backoff_doubles():
    waits = [Backoff().delay(attempt) for attempt in range(8)]
    assert max(waits) <= 30
"""
HTTP_TEST_CODE = """\
from lantern.http import fetch


def test_slow_server(clock, slow_server):
    fetch(slow_server)
    waited = clock.waited
    assert waited <= 30
"""


def read(path: str, content: str, call: str) -> Entry:
    """What Read told of a whole file."""
    lines = content.split("\n")
    file: Json = {
        "filePath": path,
        "content": content,
        "startLine": 1,
        "numLines": len(lines),
        "totalLines": len(lines),
    }
    shown = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    return a_tool_result(shown, of=call, twin={"type": "text", "file": file})


def edited(path: str, before: str, old: str, new: str, call: str) -> Entry:
    twin: Json = {"filePath": path, "oldString": old, "newString": new, "originalFile": before}
    twin |= {"structuredPatch": patch(before, before.replace(old, new)), "userModified": False, "replaceAll": False}
    return a_tool_result("The file has been updated.", of=call, twin=twin)


def retry_session() -> Transcript:
    """A bug hunt: parallel reads, a subagent, a refused edit, a failing test, a rewind, a compaction."""
    heavy = a_usage(input=900, output=640, cache_read=41_000, cache_write=6_200, cache_write_1h=6_200)
    light = a_usage(input=120, output=210, cache_read=48_000, cache_write=900, cache_write_1h=900)
    return a_session(
        a_title("Fix the flaky retry test"),
        a_prompt("test_retry fails about one run in twenty. Can you find out why?"),
        a_reply(
            a_thought(
                "One in twenty smells like time. The test probably asserts on a delay that depends on the clock "
                "or on random jitter. I should read the test and the implementation together before guessing."
            ),
            "I'll look at the test and the code it covers.",
            a_tool_call("Read", {"file_path": TEST}, id="toolu_read_test"),
            a_tool_call("Read", {"file_path": RETRY}, id="toolu_read_retry"),
            a_tool_call("Grep", {"pattern": "random\\.", "path": "src"}, id="toolu_grep"),
            usage=heavy,
        ),
        a_tool_result("src/lantern/retry.py:12:        jitter = random.uniform(0, self.jitter)", of="toolu_grep"),
        read(TEST, TEST_CODE, "toolu_read_test"),
        read(RETRY, RETRY_CODE, "toolu_read_retry"),
        a_reply(
            a_thought(
                "The cap is applied first and the jitter comes on top, so a delay can exceed the limit by chance."
            ),
            "The jitter is added after the cap is computed, so now and then a delay is larger than the limit the "
            "test allows. Let me check who else relies on that order.",
            a_tool_call(
                "Agent",
                {
                    "description": "Find callers of Backoff",
                    "subagent_type": "Explore",
                    "prompt": "List every caller of Backoff and whether it depends on the cap.",
                },
                id="toolu_agent",
            ),
            usage=light,
        ),
        a_subagent(
            a_prompt("List every caller of Backoff and whether it depends on the cap."),
            a_reply(
                a_thought("A text search is enough: the class has one constructor and three call sites."),
                a_tool_call("Grep", {"pattern": "Backoff\\(", "path": "src"}, id="toolu_agent_grep"),
                model="claude-haiku-5-5",
                usage=a_usage(input=2_000, output=90),
            ),
            a_tool_result(
                "src/lantern/queue.py:12\nsrc/lantern/http.py:40\nsrc/lantern/cli.py:77", of="toolu_agent_grep"
            ),
            a_reply(
                "Three callers: queue, http and cli. Only http depends on the cap.",
                model="claude-haiku-5-5",
                usage=a_usage(input=2_300, output=60),
            ),
            id="a7c1e09b",
            of="toolu_agent",
            meta={"agentType": "Explore", "description": "Find callers of Backoff", "spawnDepth": 1},
        ),
        a_tool_result(
            [{"type": "text", "text": "Three callers: queue, http and cli. Only http depends on the cap."}],
            of="toolu_agent",
            twin={"status": "completed", "agentId": "a7c1e09b", "totalTokens": 4450, "totalToolUseCount": 1},
        ),
        a_reply("Only `http` depends on the cap. I'll clamp after the jitter.", usage=light, uuid="plan"),
        a_prompt(
            "Make the limit a constructor argument while you are at it.",
            uuid="b1d0e3f4-77a2-4c19-8e55-9f0a6c3d2e18",
            to="plan",
        ),
        a_reply(
            "That changes the public signature.",
            a_tool_call("Edit", {"file_path": RETRY, "old_string": "cap = 30", "new_string": "self.cap"}),
            usage=light,
        ),
        a_tool_result(
            "The user doesn't want to proceed with this tool use. The tool use was rejected.",
            is_error=True,
            twin="User rejected tool use",
            toolDenialKind="user-rejected",
        ),
        an_interrupt(for_tool=True),
        a_prompt("No, keep the signature. Only fix the order.", to="plan"),
        a_reply(
            a_thought("Smallest change: compute, jitter, then min with the cap."),
            a_tool_call(
                "Edit",
                {
                    "file_path": RETRY,
                    "old_string": "min(delay, cap) + jitter",
                    "new_string": "min(delay + jitter, cap)",
                },
                id="toolu_edit",
            ),
            usage=light,
        ),
        edited(RETRY, RETRY_CODE, "min(delay, cap) + jitter", "min(delay + jitter, cap)", "toolu_edit"),
        a_queued_prompt("and run the whole suite, not just that test"),
        a_reply(a_tool_call("Bash", {"command": "pytest -q"}, id="toolu_pytest"), usage=light),
        a_tool_result(
            "Exit code 1\nFAILED tests/test_http.py::test_slow_server - assert 31 <= 30",
            of="toolu_pytest",
            is_error=True,
            twin="Error: Exit code 1",
        ),
        a_reply(
            "One more test relied on the old order; its expectation was off by one.",
            a_tool_call(
                "Edit",
                {"file_path": HTTP_TEST, "old_string": "assert waited <= 30", "new_string": "assert waited <= 31"},
                id="toolu_edit_test",
            ),
            usage=light,
        ),
        edited(HTTP_TEST, HTTP_TEST_CODE, "assert waited <= 30", "assert waited <= 31", "toolu_edit_test"),
        a_reply(a_tool_call("Bash", {"command": "pytest -q --count 200"}), usage=light),
        a_tool_result("214 passed in 9.81s"),
        a_reply("All 214 tests pass, and the flaky one passed 200 times in a row.", usage=light),
        a_system_line("turn_duration", durationMs=182_400),
        a_command("/compact", "keep the decision about the cap"),
        a_compaction("The jitter is now applied before the cap; the signature stays.", pre_tokens=58_300),
        a_prompt("Write the changelog line."),
        a_reply(
            a_thought(""),
            "> Retry delays never exceed the configured limit; jitter used to be added on top of it.",
            usage=a_usage(input=300, output=60, cache_write=3_000, cache_write_1h=3_000),
        ),
        id="3f2a9c10-5b7e-4d61-9a34-0c8f1e2d7b65",
        cwd="/home/ann/lantern",
    )


def search_session() -> Transcript:
    """An MCP server, an API error and retries, an unknown record type."""
    return a_session(
        a_prompt("Which open issues mention the scheduler?"),
        a_reply(
            a_thought("The issue tracker is connected over MCP; a single search should do."),
            a_tool_call("mcp__tracker__search_issues", {"query": "scheduler state:open"}),
            model="claude-sonnet-5",
            usage=a_usage(input=3_100, output=130),
        ),
        a_tool_result([{"type": "text", "text": "#41 Scheduler drifts after suspend\n#57 Cron lines with seconds"}]),
        a_system_line("api_error", retryAttempt=1, maxRetries=10, retryInMs=512.5, error={"status": 529}),
        a_reply(
            "Two: **#41** (drift after suspend) and **#57** (cron lines with seconds).",
            model="claude-sonnet-5",
            usage=a_usage(input=180, output=70, cache_read=3_000),
        ),
        a_title("Open scheduler issues", by="model"),
        id="8d01b7aa-61f3-4c52-b0de-77a5c92e4f10",
        cwd="/home/ann/lantern",
        version="2.1.233",
    )


def translation_session() -> Transcript:
    """Other scripts, and an interrupted answer."""
    return a_session(
        a_prompt("把 README 的安装部分翻译成中文，保留命令不变。"),
        a_reply(
            a_thought("需要保留代码块，只翻译说明文字。"),
            a_tool_call("Read", {"file_path": "/home/ann/站点/README.md"}),
            usage=a_usage(input=1_500, output=90),
        ),
        a_tool_result("# Lantern\n\n## Install\n\n    pip install lantern"),
        a_reply("安装：在终端运行 `pip install lantern`。", usage=a_usage(input=90, output=400, cache_read=1_500)),
        an_interrupt(),
        a_prompt("Спасибо, этого достаточно."),
        a_reply("Пожалуйста!", usage=a_usage(input=40, output=12, cache_read=1_900)),
        id="c4e7710f-2a9d-4b1c-8f66-5d30a1b9e284",
        cwd="/home/ann/站点",
        version="2.1.81",
    )
