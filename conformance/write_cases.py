"""Writes the cases: small Claude Code configuration folders with what a correct reader says of them. Python 3.9+, no dependencies.

    python write_cases.py          writes ./cases/GROUP-NAME/{projects/..., stream.jsonl, case.json}

Every expected answer follows from a sentence of its case (`why`), never from what some tool prints.
"""

from __future__ import annotations

import json
import shutil
import uuid
from pathlib import Path
from typing import Any

Json = dict[str, Any]
CASES = Path(__file__).with_name("cases")
FOLDER = "-home-ann-app"
MODEL = "claude-opus-4-8"
SESSION, OTHER = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def written(line: Json) -> str:
    """As the client writes it: some readers look for its bytes."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context. The conversation is"
    " summarized below:\nAnalysis: one thing was done."
)


def uid(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


class File:
    """The lines of one transcript; each is the child of the one before, unless it says otherwise."""

    def __init__(self, session: str = SESSION, **common: Any) -> None:
        self.session, self.common = session, common
        self.lines: list[Json] = []
        self.last: str | None = None
        self.minute = 0

    def add(self, kind: str, name: str, **fields: Any) -> str:
        key = uid(name)
        self.minute += 1
        base = {
            "parentUuid": self.last,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ann/app",
            "sessionId": self.session,
            "version": "2.1.197",
            "gitBranch": "main",
            "type": kind,
            "uuid": key,
            "timestamp": f"2026-10-02T10:{self.minute:02}:00.000Z",
        }
        self.lines.append({**base, **self.common, **fields})
        self.last = key
        return key

    def prompt(self, text: str, **fields: Any) -> str:
        return self.add("user", f"{text} {len(self.lines)}", message={"role": "user", "content": text}, **fields)

    def result(self, call: str, text: str = "done", **fields: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self.add("user", f"result {call}", message={"role": "user", "content": [block]}, **fields)

    def reply(self, message: str, block: Json | str, usage: Json | None = None, **fields: Any) -> str:
        content = {"type": "text", "text": block} if isinstance(block, str) else block
        said = {"id": message, "type": "message", "role": "assistant", "model": fields.pop("model", MODEL)}
        stop = fields.pop("stop", "end_turn")
        said.update(content=[content], stop_reason=stop, stop_sequence=None, usage=usage or used())
        if fields.setdefault("requestId", f"req_{message}") is None:
            del fields["requestId"]
        return self.add("assistant", f"{message} {len(self.lines)}", message=said, **fields)

    def copy(self, lines: list[Json], session: str) -> None:
        """As a fork or a resume writes them: the same lines under another session id."""
        self.lines += [{**line, "sessionId": session} for line in lines]
        self.last = lines[-1]["uuid"]


def used(output: int = 100, *, input_: int = 10, read: int = 1000, write: int = 200, **more: Any) -> Json:
    return {
        "input_tokens": input_,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "cache_creation": {"ephemeral_5m_input_tokens": write, "ephemeral_1h_input_tokens": 0},
        "service_tier": "standard",
        **more,
    }


def tokens(*responses: Json) -> Json:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return dict(zip(("input", "output", "cache_read", "cache_write"), (sum(r[n] for r in responses) for n in names)))


def call(name: str, key: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def write(group: str, name: str, why: str, expect: Json, files: dict[str, File], **more: Any) -> None:
    folder = CASES / f"{group}-{name}"
    for path, file in files.items():
        target = folder / "projects" / FOLDER / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(written(line) + "\n" for line in file.lines), encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    about = {"group": group, "name": name, "why": why, "session": SESSION, "expect": expect, **more}
    (folder / "case.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def counting(name: str, why: str, responses: list[Json], **files: File) -> None:
    paths = {path.replace("__", "/") + ".jsonl": file for path, file in files.items()}
    write("counting", name, why, {"tokens": tokens(*responses)}, paths)


def main_file(**files: File) -> dict[str, File]:
    return {f"{SESSION}.jsonl": next(iter(files.values()))}


def write_counting() -> None:
    one = File()
    one.prompt("a")
    for block in ({"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "b"}):
        one.reply("msg_one", block)
    one.reply("msg_one", call("Bash", "toolu_1", command="ls"), stop="tool_use")
    counting(
        "blocks",
        "One response is written as a line for each block, each with the same usage.",
        [used()],
        **{SESSION: one},
    )

    grows = File()
    grows.prompt("a")
    for output in (2, 2, 112):
        grows.reply("msg_grows", f"part {output}", used(output), stop=None if output == 2 else "end_turn")
    counting(
        "growing",
        "Older clients write growing numbers: the last line has the response's.",
        [used(112)],
        **{SESSION: grows},
    )

    apart = File()
    apart.prompt("a")
    apart.reply("msg_apart", call("Bash", "toolu_1", command="ls"), stop="tool_use")
    apart.result("toolu_1")
    apart.reply("msg_apart", call("Bash", "toolu_2", command="pwd"), stop="tool_use")
    apart.result("toolu_2")
    counting(
        "not-adjacent",
        "Results of tools that run at once stand between the lines of one response.",
        [used()],
        **{SESSION: apart},
    )

    first = File()
    first.prompt("a")
    first.reply("msg_first", "b", used(50))
    copied = File(OTHER)
    copied.copy(first.lines, OTHER)
    copied.minute = 10
    copied.prompt("c")
    copied.reply("msg_second", "d", used(70))
    counting(
        "fork",
        "A fork copies all lines under another session id; each response was paid once.",
        [used(50), used(70)],
        **{SESSION: first, OTHER: copied},
    )

    plain = File()
    plain.prompt("a")
    plain.reply("msg_plain", "b", requestId=None)
    plain.reply("msg_plain", "c", requestId=None)
    counting(
        "no-request-id",
        "Some clients write no requestId; the message id alone names the response.",
        [used()],
        **{SESSION: plain},
    )

    replayed = File()
    replayed.prompt("a")
    replayed.reply("msg_again", "b", requestId="req_1")
    replayed.reply("msg_again", "b", requestId="req_2")
    counting(
        "replay",
        "A replay repeats a response under another requestId; the API gives each response its own message id.",
        [used()],
        **{SESSION: replayed},
    )

    gateway = File()
    gateway.prompt("a")
    for number in (1, 2, 3):
        gateway.reply("ocgo", f"b{number}", used(number), requestId=f"req_{number}")
    counting(
        "gateway",
        "A gateway gives every response one constant id: three requests with their own ids are three.",
        [used(1), used(2), used(3)],
        **{SESSION: gateway},
    )

    trunk, agent = File(), File(isSidechain=True, agentId="abc123")
    trunk.prompt("a")
    trunk.reply("msg_trunk", call("Agent", "toolu_a", prompt="look", description="d"), stop="tool_use")
    agent.prompt("look")
    agent.reply("msg_agent", "found", used(40))
    trunk.result("toolu_a", "found")
    trunk.reply("msg_end", "b", used(60))
    counting(
        "agent",
        "What a subagent used stands in a file of its own below the session, and was paid.",
        [used(), used(40), used(60)],
        **{SESSION: trunk, f"{SESSION}__subagents__agent-abc123": agent},
    )

    split = File()
    split.prompt("a")
    zero = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    split.reply("msg_split", "b", used(write=5000, cache_creation=zero))
    counting(
        "cache-split",
        "A split of all zeros says nothing: the sum of cache writes is what was written.",
        [used(write=5000)],
        **{SESSION: split},
    )

    advised = File()
    advised.prompt("a")
    own, advice = used(30), used(300, input_=4000, read=0, write=0)
    steps = [{"type": "message", **own}, {"type": "advisor_message", "model": "claude-opus-5", **advice}]
    advised.reply("msg_advised", "b", {**own, "iterations": steps})
    counting(
        "advisor",
        "An advisor asked within a response is another model's request; the response's own numbers leave it out.",
        [own, advice],
        **{SESSION: advised},
    )

    stopped = File()
    stopped.prompt("a")
    stopped.reply("msg_stopped", "half a", used(8), stop=None)
    stopped.prompt("[Request interrupted by user]")
    stopped.reply("none", "API Error", used(0, input_=0, read=0, write=0), model="<synthetic>", isApiErrorMessage=True)
    counting(
        "interrupted",
        "A response that was interrupted counts as far as it came; a notice of the client does not.",
        [used(8)],
        **{SESSION: stopped},
    )

    null = File()
    null.prompt("a")
    null.reply("msg_null", call("Bash", "toolu_n", command="x", id=None), used(9), stop="tool_use")
    why = "A null within a tool's input, also one named id, says nothing of the line's own fields."
    counting("null-in-input", why, [used(9)], **{SESSION: null})


def write_trees() -> None:
    rewound = File()
    rewound.prompt("start")
    base = rewound.reply("msg_1", "started")
    rewound.prompt("left behind")
    rewound.reply("msg_2", "wrong way")
    rewound.last = base
    rewound.prompt("instead")
    rewound.reply("msg_3", "right way")
    write(
        "tree",
        "rewind",
        "A prompt that hangs on an earlier line goes back there; what followed is no longer part of the conversation.",
        {"prompts": ["start", "instead"], "replies": ["started", "right way"]},
        main_file(f=rewound),
    )

    rooted = File()
    rooted.prompt("before")
    tip = rooted.reply("msg_1", "one")
    rooted.last = None
    rooted.add(
        "system",
        "boundary",
        subtype="compact_boundary",
        content="Conversation compacted",
        logicalParentUuid=tip,
        compactMetadata={"trigger": "manual", "preTokens": 10},
    )
    rooted.prompt(SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    rooted.prompt("after")
    rooted.reply("msg_2", "two")
    write(
        "tree",
        "second-root",
        "A compaction begins a second root, which goes on from its logical parent; a summary is no prompt of the person.",
        {"prompts": ["before", "after"], "replies": ["one", "two"]},
        main_file(f=rooted),
    )

    twice = File()
    twice.prompt("once")
    twice.reply("msg_1", "only once")
    twice.lines += [dict(line) for line in twice.lines]
    twice.prompt("then")
    twice.reply("msg_2", "so")
    write(
        "tree",
        "replay",
        "A line written twice, with the same uuid, was said once.",
        {"prompts": ["once", "then"], "replies": ["only once", "so"]},
        main_file(f=twice),
    )

    parallel = File()
    parallel.prompt("both")
    parallel.reply("msg_1", call("Bash", "toolu_1", command="a"), stop="tool_use")
    second = parallel.reply("msg_1", call("Bash", "toolu_2", command="b"), stop="tool_use")
    parallel.result("toolu_1", "A", parentUuid=parallel.lines[1]["uuid"])
    parallel.last = second
    parallel.result("toolu_2", "B")
    parallel.reply("msg_2", "both done")
    write(
        "tree",
        "parallel-tools",
        "Calls that run at once give lines that fork; neither side is a rewind.",
        {"prompts": ["both"], "replies": ["both done"], "results": ["A", "B"]},
        main_file(f=parallel),
    )


def write_visible() -> None:
    seen = File()
    seen.prompt("Caveat: the messages below were generated by the user while running local commands.", isMeta=True)
    seen.prompt("typed by a person")
    seen.reply("msg_1", "answered")
    seen.prompt("<system-reminder>files changed</system-reminder>", isMeta=True)
    seen.prompt("typed again")
    seen.reply("msg_2", "answered again")
    write(
        "visible",
        "meta",
        "Lines with isMeta are the client's own notes to the model, never words of the person.",
        {"prompts": ["typed by a person", "typed again"], "replies": ["answered", "answered again"]},
        main_file(f=seen),
    )

    side = File()
    side.prompt("ask an agent")
    side.reply("msg_1", call("Task", "toolu_t", prompt="hidden work", description="d"), stop="tool_use")
    trunk = side.last
    side.last = None
    side.prompt("hidden work", isSidechain=True)
    side.reply("msg_side", "hidden words", isSidechain=True)
    side.last = trunk
    side.result("toolu_t", "done")
    side.reply("msg_2", "the agent is done")
    write(
        "visible",
        "sidechain",
        "Clients up to 1.0 wrote an agent's lines between the others: they are not the person's conversation.",
        {"prompts": ["ask an agent"], "replies": ["the agent is done"]},
        main_file(f=side),
    )

    torn = File()
    torn.prompt("whole")
    torn.reply("msg_1", "fine \u2028 \U0001f600")
    write(
        "visible",
        "torn-line",
        "A last line that was cut off is left out; a line separator within a text ends no line.",
        {"prompts": ["whole"], "replies": ["fine \u2028 \U0001f600"]},
        main_file(f=torn),
    )
    path = CASES / "visible-torn-line" / "projects" / FOLDER / f"{SESSION}.jsonl"
    lines = [written(line) for line in torn.lines]
    path.write_text("\n".join([*lines, lines[0][:80]]), encoding="utf-8")


def stream(name: str, why: str, frames: list[Json], expect: Json) -> None:
    write("stream", name, why, expect, {})
    lines = [written({**frame, "session_id": SESSION}) + "\n" for frame in frames]
    (CASES / f"stream-{name}" / "stream.jsonl").write_text("".join(lines), encoding="utf-8")


def event(**given: Any) -> Json:
    return {"type": "stream_event", "parent_tool_use_id": None, "uuid": uid(json.dumps(given)), "event": given}


def deltas(message: str, kind: str, index: int, *parts: str) -> list[Json]:
    name = {"text": "text_delta", "thinking": "thinking_delta"}[kind]
    return [
        event(type="content_block_start", index=index, content_block={"type": kind, kind: ""}),
        *(
            event(type="content_block_delta", index=index, delta={"type": name, kind: part, "n": f"{message}{n}"})
            for n, part in enumerate(parts)
        ),
        event(type="content_block_stop", index=index),
    ]


def whole(message: str, *blocks: Json) -> list[Json]:
    said = {"id": message, "type": "message", "role": "assistant", "model": MODEL, "stop_reason": None, "usage": used()}
    return [
        {
            "type": "assistant",
            "parent_tool_use_id": None,
            "uuid": uid(f"{message}{n}"),
            "message": {**said, "content": [block]},
        }
        for n, block in enumerate(blocks)
    ]


def begun(message: str) -> Json:
    return event(
        type="message_start",
        message={
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [],
            "usage": used(1),
        },
    )


def write_streams() -> None:
    init = {
        "type": "system",
        "subtype": "init",
        "cwd": "/home/ann/app",
        "model": MODEL,
        "tools": [],
        "uuid": uid("init"),
    }
    end = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Hello there.",
        "num_turns": 1,
        "uuid": uid("end"),
        "usage": used(),
    }
    thought, said = (
        {"type": "thinking", "thinking": "Let me see.", "signature": "x"},
        {"type": "text", "text": "Hello there."},
    )
    both = [
        *deltas("m", "thinking", 0, "Let me ", "see."),
        *whole("msg_1", thought),
        *deltas("m", "text", 1, "Hello ", "there."),
        *whole("msg_1", thought, said)[1:],
    ]
    stream(
        "once",
        "A block comes as fragments and then whole: it was said once.",
        [init, begun("msg_1"), *both, event(type="message_stop"), end],
        {"text": ["Hello there."], "thinking": ["Let me see."]},
    )
    stream(
        "no-fragments",
        "Without partial messages only whole blocks come.",
        [init, *whole("msg_1", thought, said), end],
        {"text": ["Hello there."], "thinking": ["Let me see."]},
    )
    broken = [
        init,
        begun("msg_0"),
        *deltas("a", "text", 0, "Half a sen")[:-1],
        begun("msg_1"),
        *deltas("b", "text", 0, "Hello there."),
        *whole("msg_1", said),
        end,
    ]
    stream(
        "asked-again",
        "A response that broke off and was asked for again is not part of what was said.",
        broken,
        {"text": ["Hello there."]},
    )


def write_files() -> None:
    edited = File()
    path = "/home/ann/app/a.txt"
    edited.prompt("write it")
    edited.reply("msg_1", call("Write", "toolu_1", file_path=path, content="one\ntwo\n"), stop="tool_use")
    edited.result(
        "toolu_1",
        "File created successfully",
        toolUseResult={
            "type": "create",
            "filePath": path,
            "content": "one\ntwo\n",
            "structuredPatch": [],
            "originalFile": None,
        },
    )
    edited.prompt("change it")
    edited.reply("msg_2", call("Edit", "toolu_2", file_path=path, old_string="two", new_string="2"), stop="tool_use")
    patch = {
        "filePath": path,
        "oldString": "two",
        "newString": "2",
        "originalFile": "one\ntwo\n",
        "structuredPatch": [
            {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
        ],
        "userModified": False,
        "replaceAll": False,
    }
    edited.result("toolu_2", "The file has been updated", toolUseResult=patch)
    edited.reply(
        "msg_3", call("Edit", "toolu_3", file_path=path, old_string="nowhere", new_string="x"), stop="tool_use"
    )
    failed = {
        "type": "tool_result",
        "tool_use_id": "toolu_3",
        "content": "String to replace not found",
        "is_error": True,
    }
    edited.add(
        "user",
        "failed",
        message={"role": "user", "content": [failed]},
        toolUseResult="Error: String to replace not found",
    )
    edited.reply("msg_4", "done")
    write(
        "time",
        "edits",
        "A file is what its writes and edits made of it; an edit that failed changed nothing.",
        {"content": "one\n2\n"},
        main_file(f=edited),
        file=path,
    )
    write(
        "time",
        "before",
        "As it was between the two.",
        {"content": "one\ntwo\n"},
        main_file(f=edited),
        file=path,
        at="2026-10-02T10:04:30.000Z",
    )


if __name__ == "__main__":
    shutil.rmtree(CASES, ignore_errors=True)
    write_counting()
    write_trees()
    write_visible()
    write_streams()
    write_files()
    print(f"{len(list(CASES.iterdir()))} cases in {CASES}")
