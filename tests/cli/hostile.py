"""Sessions that try to take over the terminal: every field that carries text holds what a terminal would obey."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reread.testing import (
    Agent,
    ContentBlock,
    Entry,
    Transcript,
    a_command,
    a_compaction,
    a_line,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_summary,
    a_system_line,
    a_task_notification,
    a_thought,
    a_title,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_attachment,
    an_ending,
)

PROSE = (
    "EVIL\x1b[0mEVIL \x1b]0;owned\x07 \x1b[2J\x1b[8m \x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\"
    " \x1bP1$r\x1b\\ \x1b_G\x1b\\ \x1bc \x9b2J \x9d0;owned\x9c \x90q\x9c \x98\x9e\x9f \x84\x85\x8d"
    " over\rwritten rub\x08\x08out\x7f bell\x07 nul\x00 \x0b\x0c\x0e"
    " \u202egpj.exe\u202c \u2066\u2067\u2068\u2069 \u200e\u200f\u061c a\u2028b\u2029c"
    " z\u200be\ufeffr\u2060o \U000e0041\U000e007f \ud800 tab\tbed"
)
"""A terminal's own sequences, in seven bits and in eight; what overwrites, reorders, ends or hides text."""
FORGED = "FORGED"
NAME = f"{PROSE}\n{FORGED}\r\n{FORGED}\x0b{FORGED}\x85{FORGED}"
"""The same for what is shown on one line: it may not begin a line of its own."""
TYPED = NAME.replace("\ud800", "\udcff").replace("\0", "")
"""As an argument: the system hands over bytes that are not UTF-8 as halves of pairs, and no NUL."""
FILE = "\u202eknil\u2066" if sys.platform == "win32" else "\x1b[2J\x1b]0;owned\x07\x9b2J\r\x08\u202eknil\u2066\nFORGED"
"""As much of it as a file system takes."""


class Hostile(NamedTuple):
    """Where everything lies, and names to ask for."""

    claude: Path
    home: Path
    trunk: Path
    prices: Path
    damaged: Path
    """An archive of the same with a byte of its safe turned over."""
    plain: str
    """The id of a session that can be typed."""


def write_hostile(folder: Path) -> Hostile:
    claude = folder / f"claude {FILE}"
    projects = claude / "projects"
    trunk = _everything(FILE).write(projects)
    for name in ("twin-1", "twin-2", "plain-1"):
        _everything(name + FILE if name.startswith("twin") else name).write(projects)
    with trunk.open("ab") as file:
        file.write(b"\n".join(_damaged_lines()) + b"\n")
    (claude / "settings.json").write_text(json.dumps({"cleanupPeriodDays": 40, NAME: NAME}))
    unreadable = projects / "folder" / f"{FILE}.jsonl"
    unreadable.mkdir(parents=True)
    prices = folder / f"{FILE}.json"
    own = {"input": "1", "output": "2", "cache_read": "0.1"}
    prices.write_text(json.dumps({"models": {NAME.replace("\ud800", "\ufffd"): own, f"model {FILE}": own}}))
    for age, path in enumerate(sorted(projects.rglob("*.jsonl"), key=lambda path: path != trunk)):
        os.utime(path, (1_790_000_000 - age, 1_790_000_000 - age))
    return Hostile(claude, folder / f"home {FILE}", trunk, prices, folder / f"damaged {FILE}", "plain-1")


def _everything(name: str) -> Transcript:
    """A session with a line of every kind, all of them hostile."""
    return a_session(
        *_talk(name),
        *_notices(name),
        *_agents(),
        *_rewound(name),
        id=name,
        cwd=f"/home/ann/{NAME}",
        version=f"2.1.{NAME}",
        outputs={f"toolu{FILE}.txt": PROSE.replace("\ud800", "")},
    )


def _told(name: str, number: int, **fields: Any) -> dict[str, Any]:
    return {"uuid": f"{number} {name} {NAME}", "gitBranch": NAME, "slug": NAME, "agentName": NAME, **fields}


def _reply(name: str, number: int, *parts: str | ContentBlock, model: str = NAME, **fields: Any) -> Entry:
    used = a_usage(
        cache_write=5000, service_tier=NAME, inference_geo=NAME, speed=NAME, iterations=[{"type": NAME, "model": NAME}]
    )
    return a_reply(
        *parts,
        id=f"msg_{number}_{name}_{NAME}",
        model=model,
        usage=used,
        requestId=f"req_{number}_{name}_{NAME}",
        attributionSkill=NAME,
        attributionAgent=NAME,
        effort=NAME,
        **_told(name, number, **fields),
    )


def _talk(name: str) -> Sequence[Entry | ContentBlock]:
    calls = [
        a_tool_call("Bash", {"command": PROSE, NAME: NAME}, id=f"toolu_1{NAME}"),
        a_tool_call(f"mcp__{NAME}__{NAME}", {NAME: {NAME: [NAME]}}, id="toolu_2"),
        a_tool_call(NAME, {"file_path": f"/home/ann/{NAME}/{NAME}"}, id="toolu_3"),
        a_tool_call("TodoWrite", {"todos": [{"content": NAME, "status": "in_progress"}]}, id="toolu_4"),
        a_tool_call("AskUserQuestion", {"questions": [{"question": NAME}]}, id="toolu_5"),
        a_tool_call("Read", {"file_path": NAME}, id="toolu_6"),
    ]
    answers = {"answers": {NAME: NAME}}
    return [
        a_prompt(f"granite {PROSE}", timestamp="2026-11-10T10:00:00.000Z", **_told(name, 1)),
        _reply(name, 2, a_thought(f"granite {PROSE}"), f"granite {PROSE}", *calls, model="claude-opus-4-8"),
        a_tool_result(PROSE, of=f"toolu_1{NAME}", is_error=True, uuid=f"3{name}"),
        a_tool_result(PROSE, of="toolu_2", uuid=f"4{name}"),
        a_tool_result(f"<tool_use_error>{NAME}</tool_use_error>", of="toolu_3", is_error=True, uuid=f"5{name}"),
        a_tool_result([{"type": "text", "text": PROSE}, {"type": NAME, NAME: NAME}], of="toolu_4", uuid=f"6{name}"),
        a_tool_result(NAME, of="toolu_5", twin=answers, uuid=f"7{name}"),
        _reply(name, 8, {"type": NAME, NAME: NAME}, PROSE, **_missed()),  # type: ignore[arg-type]
    ]


def _missed() -> dict[str, Any]:
    return {"timestamp": "2026-11-10T10:00:09.000Z", NAME: NAME, "isApiErrorMessage": False}


def _notices(name: str) -> Sequence[Entry]:
    return [
        a_prompt(f"<local-command-stdout>{PROSE}</local-command-stdout>"),
        a_prompt(f"<bash-input>{PROSE}</bash-input>"),
        a_command(f"/{NAME}", NAME),
        a_queued_prompt(PROSE),
        a_line("queue-operation", operation="enqueue", content=PROSE, reason=NAME),
        a_task_notification(NAME, task=NAME, call=NAME),
        a_system_line("api_error", error={"message": NAME, "status": NAME}, cause={"code": NAME}),
        a_system_line("informational", content=PROSE, level=NAME),
        a_system_line("stop_hook_summary", hookInfos=[{"command": NAME}], hookErrors=[NAME], stopReason=NAME),
        a_system_line("local_command", content=f"<local-command-stdout>{PROSE}</local-command-stdout>"),
        a_system_line(NAME, content=PROSE),
        a_reply(f"API Error: {PROSE}", model="<synthetic>", isApiErrorMessage=True),
        an_attachment(
            "hook_error", hookName=NAME, hookEvent=NAME, content=NAME, stderr=NAME, stdout=NAME, command=NAME
        ),
        an_attachment("hook_blocking_error", hookName=NAME, hookEvent=NAME, blockingError={"blockingError": NAME}),
        an_attachment(NAME, content=NAME),
        a_line("progress", data={"type": NAME, "message": NAME}, toolUseID=NAME),
        a_line(NAME, uuid=f"unknown {name} {NAME}", content=PROSE),
        a_line("mode", mode=NAME),
        a_line("pr-link", prUrl=NAME, prRepository=NAME, prNumber=1),
        a_title(NAME, by="model"),
        a_title(NAME),
        a_line("agent-name", agentName=NAME),
        a_summary(NAME, of=f"granite {PROSE}"),
    ]


def _agents() -> Sequence[Entry | Agent]:
    spoken = a_reply(PROSE, a_thought(f"granite {PROSE}"), model=NAME, id=f"msg_agent_{NAME}")
    return [
        a_reply(a_tool_call("Task", {"description": NAME, "subagent_type": NAME, "prompt": PROSE}, id="toolu_7")),
        a_subagent(a_prompt(PROSE), spoken, id=f"a1{FILE}", of="toolu_7", meta={"agentType": NAME, "name": NAME}),
        a_tool_result(NAME, of="toolu_7", twin={"agentId": f"a1{FILE}"}),
        a_subagent(a_prompt(NAME), a_reply(NAME), id=f"a2{FILE}", workflow=f"wf{FILE}"),
    ]


def _rewound(name: str) -> Sequence[Entry]:
    return [
        a_compaction(PROSE, trigger=NAME),
        a_prompt("the way not taken", uuid=f"left {name} {NAME}"),
        a_reply("answer", uuid=f"left-reply {name} {NAME}"),
        a_prompt(f"the way taken {PROSE}", to=PROSE, uuid=f"way {name}"),
        a_reply(f"the end {NAME}", uuid=f"end {name}"),
        an_ending(f"end {name}", prompt=NAME),
    ]


def _damaged_lines() -> Sequence[bytes]:
    hostile = json.dumps(NAME, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return [
        PROSE.encode("utf-8", "surrogatepass"),
        b'{"type": "user", "message": ' + hostile,
        b'{"type": ' + hostile + b', "timestamp": ' + hostile + b"}",
        b'{"type": "user", "isMeta": ' + hostile + b', "uuid": 3, "message": {"role": 7, "content": ' + hostile + b"}}",
        b'{"no type": ' + hostile + b"}",
        b"[" + hostile + b"]",
        b"\x1b[2J\x9b\x00\xff\xfe",
    ]


def status_line_input() -> bytes:
    said = {
        "session_id": NAME,
        "model": {"display_name": NAME, "id": NAME},
        "cost": {"total_cost_usd": NAME},
        "cwd": NAME,
        "version": NAME,
        "context_window": {"used_percentage": NAME},
        "rate_limits": {NAME: NAME},
    }
    return json.dumps(said).encode()
