"""What some readers answer, brought into the form of the cases. Each claims only what its own documentation offers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Json = dict[str, Any]
NAMES = ("input", "output", "cache_read", "cache_write")


class Failed(Exception):
    """The tool ended with an error."""


def run(*command: str, stdin: bytes = b"", **environment: str) -> str:
    env = {**os.environ, **environment}
    done = subprocess.run(command, input=stdin, env=env, capture_output=True, check=False, timeout=120)
    if done.returncode:
        raise Failed(done.stderr.decode("utf-8", "replace").strip()[-200:])
    return done.stdout.decode("utf-8", "replace")


def transcript(folder: Path, case: Json) -> Path:
    return next((folder / "projects").glob(f"*/{case['session']}.jsonl"))


# reread


def reread(folder: Path, case: Json, scratch: Path) -> Json:
    home = ("--home", str(scratch / "archive"))
    if case["group"] == "counting":
        totals = json.loads(run("reread", "usage", "day", "--json", "--source", str(folder), *home))["totals"]
        write = totals["cache_write_5m_tokens"] + totals["cache_write_1h_tokens"]
        return {
            "tokens": dict(
                zip(NAMES, (totals["input_tokens"], totals["output_tokens"], totals["cache_read_tokens"], write))
            )
        }
    if case["group"] == "stream":
        said = run("reread", "live", "-", "--jsonl", *home, stdin=(folder / "stream.jsonl").read_bytes())
        events = [json.loads(line) for line in said.splitlines()]
        return {kind: [each["text"] for each in events if each["event"] == kind] for kind in ("text", "thinking")}
    if case["group"] == "time":
        at = ("--at", case["at"]) if "at" in case else ()
        return {"content": run("reread", "restore", case["file"], *at, "--source", str(folder), *home)}
    shown = json.loads(run("reread", "show", str(transcript(folder, case)), "--json", *home))
    turns = [turn for turn in shown["turns"] if turn["branch"] == "main"]
    steps = [step for turn in turns for step in turn["steps"]]
    return {
        "prompts": [turn["prompt"]["text"] for turn in turns if turn["prompt"]],
        "replies": [step["text"] for step in steps if step["kind"] == "text"],
        "results": [step["result"]["text"] for step in steps if step["kind"] == "tool"],
    }


# ccusage: "Analyze your Claude Code token usage and costs from local JSONL files"


def ccusage(folder: Path, case: Json, scratch: Path) -> Json:
    if case["group"] != "counting":
        return {}
    said = run("ccusage", "daily", "--json", "--offline", CLAUDE_CONFIG_DIR=str(folder), HOME=str(scratch))
    return {"tokens": totals_of(json.loads(said)["totals"])}


def totals_of(totals: Json) -> Json:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens")
    return dict(zip(NAMES, (totals[name] for name in names)))


# agentsview: token cost tracking; its other answers are pages in a browser


def agentsview(folder: Path, case: Json, scratch: Path) -> Json:
    if case["group"] != "counting":
        return {}
    projects = str(folder / "projects")
    env = {
        "AGENTSVIEW_NO_DAEMON": "1",
        "HOME": str(scratch),
        "AGENTSVIEW_DATA_DIR": str(scratch / "data"),
        "CLAUDE_PROJECTS_DIR": projects,
    }
    run("agentsview", "sync", **env)
    said = run("agentsview", "usage", "daily", "--json", "--all", "--offline", "--no-sync", **env)
    return {"tokens": totals_of(json.loads(said)["totals"])}


# codeburn: "tracks AI coding token usage and cost"


def codeburn(folder: Path, case: Json, scratch: Path) -> Json:
    if case["group"] != "counting":
        return {}
    period = ("--from", "2025-01-01", "--to", "2026-12-31")
    command = ("codeburn", "report", "--format", "json", "--provider", "claude", *period)
    said = json.loads(run(*command, CLAUDE_CONFIG_DIR=str(folder), HOME=str(scratch)))["overview"]["tokens"]
    return {"tokens": dict(zip(NAMES, (said[name] for name in ("input", "output", "cacheRead", "cacheWrite"))))}


# claude-code-log: converts transcripts to pages; shows every branch on purpose, so which one counts is not its question;
# its token figures are those of each session by itself; it marks an agent's words, which counts as telling them apart


def claude_code_log(folder: Path, case: Json, scratch: Path) -> Json:
    if case["group"] not in ("tree", "visible") or case["name"] == "rewind":
        return {}
    source = scratch / "project" / transcript(folder, case).name
    source.parent.mkdir()
    source.write_bytes(transcript(folder, case).read_bytes())
    run("claude-code-log", str(source), "-o", str(scratch / "out.json"), HOME=str(scratch))
    made = json.loads((scratch / "out.json").read_text("utf-8"))
    found = list(flat(made["messages"]))
    return {
        name: [
            text for each in found if each["type"] == kind and not each.get("is_sidechain") and (text := shown(each))
        ]
        for name, kind in (("prompts", "user"), ("replies", "assistant"))
    }


def flat(messages: list[Json]) -> Iterator[Json]:
    for message in messages:
        yield message
        yield from flat(message.get("children") or [])


def shown(message: Json) -> str:
    return "\n".join(item["text"] for item in message["content"].get("items") or [] if item.get("type") == "text")


# The official SDK's get_session_messages: the messages of a session in the order of its chain

_SDK = """
import json, sys
from claude_agent_sdk import get_session_messages
print(json.dumps([[m.type, m.message] for m in get_session_messages(sys.argv[1])]))
"""


def sdk(folder: Path, case: Json, scratch: Path) -> Json:
    if case["group"] not in ("tree", "visible"):
        return {}
    python = os.environ.get("SDK_PYTHON", sys.executable)
    found = json.loads(run(python, "-c", _SDK, case["session"], CLAUDE_CONFIG_DIR=str(folder), HOME=str(scratch)))
    said: Json = {"prompts": [], "replies": [], "results": []}
    for kind, message in found:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            if block["type"] == "tool_result":
                said["results"].append(block["content"])
            elif block["type"] == "text":
                said["prompts" if kind == "user" else "replies"].append(block["text"])
    return said


class Adapter(NamedTuple):
    answer: Callable[[Path, Json, Path], Json]
    version_command: tuple[str, ...]

    def version(self) -> str:
        words = run(*self.version_command).split()
        return next((word.strip("v,") for word in words if word.strip("v,")[:1].isdigit()), "")


_SDK_VERSION = (
    os.environ.get("SDK_PYTHON", sys.executable),
    "-c",
    "import claude_agent_sdk as s; print(s.__version__)",
)
ADAPTERS = {
    "reread": Adapter(reread, ("reread", "--version")),
    "ccusage": Adapter(ccusage, ("ccusage", "--version")),
    "agentsview": Adapter(agentsview, ("agentsview", "--version")),
    "codeburn": Adapter(codeburn, ("codeburn", "--version")),
    "claude-code-log": Adapter(claude_code_log, ("claude-code-log", "--version")),
    "claude-agent-sdk": Adapter(sdk, _SDK_VERSION),
}
