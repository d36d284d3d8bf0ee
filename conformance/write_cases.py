"""Writes the cases: small Claude Code configuration folders with what a correct reader says of them. Python 3.9+, no dependencies.

    python write_cases.py          writes ./cases/GROUP-NAME/{projects/..., stream.jsonl, case.json}

Every expected answer follows from a sentence of its case (`why`), never from what some tool prints.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
        self.torn = ""
        """The beginning of a last line that was cut off."""
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

    def talk(self, prompt: str, message: str, *reply: Any) -> str:
        """A prompt and the reply to it."""
        self.prompt(prompt)
        return self.reply(message, *reply)

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
    sums = (sum(each[name] for each in responses) for name in names)
    return {"tokens": dict(zip(("input", "output", "cache_read", "cache_write"), sums))}


def call(name: str, key: str, **given: Any) -> Json:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


class Case(NamedTuple):
    """What a correct reader says of some transcripts, by their paths below the project's folder, or of a stream."""

    expect: Json
    files: Mapping[str, File] = {}
    frames: Sequence[Json] = ()
    asked: Mapping[str, str] = {}
    """What is asked for besides the session."""


Maker = Callable[[], Case]
MAKERS: list[tuple[str, Maker]] = []


def case_of(group: str) -> Callable[[Maker], Maker]:
    """A case is a function: its name is that of the case, and its docstring says why the answer is right."""

    def noted(make: Maker) -> Maker:
        MAKERS.append((group, make))
        return make

    return noted


def write(group: str, make: Maker) -> None:
    name, case = make.__name__.strip("_").replace("_", "-"), make()
    folder = CASES / f"{group}-{name}"
    folder.mkdir(parents=True)
    for path, file in case.files.items():
        target = folder / "projects" / FOLDER / f"{path}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(written(line) + "\n" for line in file.lines) + file.torn, encoding="utf-8")
    if case.frames:
        lines = [written({**frame, "session_id": SESSION}) + "\n" for frame in case.frames]
        (folder / "stream.jsonl").write_text("".join(lines), encoding="utf-8")
    about = {"group": group, "name": name, "why": make.__doc__, "session": SESSION, "expect": case.expect, **case.asked}
    (folder / "case.json").write_text(json.dumps(about, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


# What was used


@case_of("counting")
def blocks() -> Case:
    """One response is written as a line for each block, each with the same usage."""
    file = File()
    file.prompt("a")
    for block in ({"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "text", "text": "b"}):
        file.reply("msg_one", block)
    file.reply("msg_one", call("Bash", "toolu_1", command="ls"), stop="tool_use")
    return Case(tokens(used()), {SESSION: file})


@case_of("counting")
def growing() -> Case:
    """Older clients write growing numbers: the last line has the response's."""
    file = File()
    file.prompt("a")
    for output, stop in ((2, None), (2, None), (112, "end_turn")):
        file.reply("msg_grows", f"part {output}", used(output), stop=stop)
    return Case(tokens(used(112)), {SESSION: file})


@case_of("counting")
def not_adjacent() -> Case:
    """Results of tools that run at once stand between the lines of one response."""
    file = File()
    file.prompt("a")
    file.reply("msg_apart", call("Bash", "toolu_1", command="ls"), stop="tool_use")
    file.result("toolu_1")
    file.reply("msg_apart", call("Bash", "toolu_2", command="pwd"), stop="tool_use")
    file.result("toolu_2")
    return Case(tokens(used()), {SESSION: file})


@case_of("counting")
def fork() -> Case:
    """A fork copies all lines under another session id; each response was paid once."""
    first, copied = File(), File(OTHER)
    first.prompt("a")
    first.reply("msg_first", "b", used(50))
    copied.copy(first.lines, OTHER)
    copied.minute = 10
    copied.prompt("c")
    copied.reply("msg_second", "d", used(70))
    return Case(tokens(used(50), used(70)), {SESSION: first, OTHER: copied})


@case_of("counting")
def no_request_id() -> Case:
    """Some clients write no requestId; the message id alone names the response."""
    file = File()
    file.prompt("a")
    file.reply("msg_plain", "b", requestId=None)
    file.reply("msg_plain", "c", requestId=None)
    return Case(tokens(used()), {SESSION: file})


@case_of("counting")
def replay() -> Case:
    """A replay repeats a response under another requestId; the API gives each response its own message id."""
    file = File()
    file.prompt("a")
    file.reply("msg_again", "b", requestId="req_1")
    file.reply("msg_again", "b", requestId="req_2")
    return Case(tokens(used()), {SESSION: file})


@case_of("counting")
def gateway() -> Case:
    """A gateway gives every response one constant id: three requests with their own ids are three."""
    file = File()
    file.prompt("a")
    for number in (1, 2, 3):
        file.reply("ocgo", f"b{number}", used(number), requestId=f"req_{number}")
    return Case(tokens(used(1), used(2), used(3)), {SESSION: file})


@case_of("counting")
def agent() -> Case:
    """What a subagent used stands in a file of its own below the session, and was paid."""
    trunk, below = File(), File(isSidechain=True, agentId="abc123")
    trunk.prompt("a")
    trunk.reply("msg_trunk", call("Agent", "toolu_a", prompt="look", description="d"), stop="tool_use")
    below.prompt("look")
    below.reply("msg_agent", "found", used(40))
    trunk.result("toolu_a", "found")
    trunk.reply("msg_end", "b", used(60))
    return Case(tokens(used(), used(40), used(60)), {SESSION: trunk, f"{SESSION}/subagents/agent-abc123": below})


@case_of("counting")
def cache_split() -> Case:
    """A split of all zeros says nothing: the sum of cache writes is what was written."""
    file = File()
    file.prompt("a")
    zero = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    file.reply("msg_split", "b", used(write=5000, cache_creation=zero))
    return Case(tokens(used(write=5000)), {SESSION: file})


@case_of("counting")
def advisor() -> Case:
    """An advisor asked within a response is another model's request; the response's own numbers leave it out."""
    file = File()
    file.prompt("a")
    own, advice = used(30), used(300, input_=4000, read=0, write=0)
    steps = [{"type": "message", **own}, {"type": "advisor_message", "model": "claude-opus-5", **advice}]
    file.reply("msg_advised", "b", {**own, "iterations": steps})
    return Case(tokens(own, advice), {SESSION: file})


@case_of("counting")
def interrupted() -> Case:
    """A response that was interrupted counts as far as it came; a notice of the client does not."""
    file = File()
    file.prompt("a")
    file.reply("msg_stopped", "half a", used(8), stop=None)
    file.prompt("[Request interrupted by user]")
    file.reply("none", "API Error", used(0, input_=0, read=0, write=0), model="<synthetic>", isApiErrorMessage=True)
    return Case(tokens(used(8)), {SESSION: file})


@case_of("counting")
def null_in_input() -> Case:
    """A null within a tool's input, also one named id, says nothing of the line's own fields."""
    file = File()
    file.prompt("a")
    file.reply("msg_null", call("Bash", "toolu_n", command="x", id=None), used(9), stop="tool_use")
    return Case(tokens(used(9)), {SESSION: file})


# Which lines are the conversation


@case_of("tree")
def rewind() -> Case:
    """A prompt that hangs on an earlier line goes back there; what followed is no longer part of the conversation."""
    file = File()
    base = file.talk("start", "msg_1", "started")
    file.talk("left behind", "msg_2", "wrong way")
    file.last = base
    file.talk("instead", "msg_3", "right way")
    return Case({"prompts": ["start", "instead"], "replies": ["started", "right way"]}, {SESSION: file})


@case_of("tree")
def second_root() -> Case:
    """A compaction begins a second root, which goes on from its logical parent; a summary is no prompt of the person."""
    file = File()
    tip = file.talk("before", "msg_1", "one")
    file.last = None
    file.add(
        "system",
        "boundary",
        subtype="compact_boundary",
        content="Conversation compacted",
        logicalParentUuid=tip,
        compactMetadata={"trigger": "manual", "preTokens": 10},
    )
    file.prompt(SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)
    file.talk("after", "msg_2", "two")
    return Case({"prompts": ["before", "after"], "replies": ["one", "two"]}, {SESSION: file})


@case_of("tree")
def replay_() -> Case:
    """A line written twice, with the same uuid, was said once."""
    file = File()
    file.talk("once", "msg_1", "only once")
    file.lines += [dict(line) for line in file.lines]
    file.talk("then", "msg_2", "so")
    return Case({"prompts": ["once", "then"], "replies": ["only once", "so"]}, {SESSION: file})


@case_of("tree")
def parallel_tools() -> Case:
    """Calls that run at once give lines that fork; neither side is a rewind."""
    file = File()
    file.prompt("both")
    file.reply("msg_1", call("Bash", "toolu_1", command="a"), stop="tool_use")
    second = file.reply("msg_1", call("Bash", "toolu_2", command="b"), stop="tool_use")
    file.result("toolu_1", "A", parentUuid=file.lines[1]["uuid"])
    file.last = second
    file.result("toolu_2", "B")
    file.reply("msg_2", "both done")
    return Case({"prompts": ["both"], "replies": ["both done"], "results": ["A", "B"]}, {SESSION: file})


@case_of("visible")
def meta() -> Case:
    """Lines with isMeta are the client's own notes to the model, never words of the person."""
    file = File()
    file.prompt("Caveat: the messages below were generated by the user while running local commands.", isMeta=True)
    file.talk("typed by a person", "msg_1", "answered")
    file.prompt("<system-reminder>files changed</system-reminder>", isMeta=True)
    file.talk("typed again", "msg_2", "answered again")
    expect = {"prompts": ["typed by a person", "typed again"], "replies": ["answered", "answered again"]}
    return Case(expect, {SESSION: file})


@case_of("visible")
def sidechain() -> Case:
    """Clients up to 1.0 wrote an agent's lines between the others: they are not the person's conversation."""
    file = File()
    file.prompt("ask an agent")
    file.reply("msg_1", call("Task", "toolu_t", prompt="hidden work", description="d"), stop="tool_use")
    trunk = file.last
    file.last = None
    file.prompt("hidden work", isSidechain=True)
    file.reply("msg_side", "hidden words", isSidechain=True)
    file.last = trunk
    file.result("toolu_t", "done")
    file.reply("msg_2", "the agent is done")
    return Case({"prompts": ["ask an agent"], "replies": ["the agent is done"]}, {SESSION: file})


@case_of("visible")
def torn_line() -> Case:
    """A last line that was cut off is left out; a line separator within a text ends no line."""
    file = File()
    file.talk("whole", "msg_1", "fine \u2028 \U0001f600")
    file.torn = written(file.lines[0])[:80]
    return Case({"prompts": ["whole"], "replies": ["fine \u2028 \U0001f600"]}, {SESSION: file})


# What a stream says


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


INIT = {"type": "system", "subtype": "init", "cwd": "/home/ann/app", "model": MODEL, "tools": [], "uuid": uid("init")}
END = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Hello there.",
    "num_turns": 1,
    "uuid": uid("end"),
    "usage": used(),
}
THOUGHT = {"type": "thinking", "thinking": "Let me see.", "signature": "x"}
SAID = {"type": "text", "text": "Hello there."}


@case_of("stream")
def once() -> Case:
    """A block comes as fragments and then whole: it was said once."""
    both = [
        *deltas("m", "thinking", 0, "Let me ", "see."),
        *whole("msg_1", THOUGHT),
        *deltas("m", "text", 1, "Hello ", "there."),
        *whole("msg_1", THOUGHT, SAID)[1:],
    ]
    frames = [INIT, begun("msg_1"), *both, event(type="message_stop"), END]
    return Case({"text": ["Hello there."], "thinking": ["Let me see."]}, frames=frames)


@case_of("stream")
def no_fragments() -> Case:
    """Without partial messages only whole blocks come."""
    frames = [INIT, *whole("msg_1", THOUGHT, SAID), END]
    return Case({"text": ["Hello there."], "thinking": ["Let me see."]}, frames=frames)


@case_of("stream")
def asked_again() -> Case:
    """A response that broke off and was asked for again is not part of what was said."""
    broken = [begun("msg_0"), *deltas("a", "text", 0, "Half a sen")[:-1]]
    anew = [begun("msg_1"), *deltas("b", "text", 0, "Hello there."), *whole("msg_1", SAID)]
    return Case({"text": ["Hello there."]}, frames=[INIT, *broken, *anew, END])


# What was in a file, and when

PATH = "/home/ann/app/a.txt"


def edited_file() -> File:
    """A file is written, edited, and not changed by an edit that fails."""
    file = File()
    file.prompt("write it")
    file.reply("msg_1", call("Write", "toolu_1", file_path=PATH, content="one\ntwo\n"), stop="tool_use")
    made: Json = {
        "type": "create",
        "filePath": PATH,
        "content": "one\ntwo\n",
        "structuredPatch": [],
        "originalFile": None,
    }
    file.result("toolu_1", "File created successfully", toolUseResult=made)
    file.prompt("change it")
    file.reply("msg_2", call("Edit", "toolu_2", file_path=PATH, old_string="two", new_string="2"), stop="tool_use")
    patch = {
        "filePath": PATH,
        "oldString": "two",
        "newString": "2",
        "originalFile": "one\ntwo\n",
        "structuredPatch": [
            {"oldStart": 1, "oldLines": 2, "newStart": 1, "newLines": 2, "lines": [" one", "-two", "+2"]}
        ],
        "userModified": False,
        "replaceAll": False,
    }
    file.result("toolu_2", "The file has been updated", toolUseResult=patch)
    missed = call("Edit", "toolu_3", file_path=PATH, old_string="nowhere", new_string="x")
    file.reply("msg_3", missed, stop="tool_use")
    why = "String to replace not found"
    failed = {"type": "tool_result", "tool_use_id": "toolu_3", "content": why, "is_error": True}
    file.add("user", "failed", message={"role": "user", "content": [failed]}, toolUseResult=f"Error: {why}")
    file.reply("msg_4", "done")
    return file


@case_of("time")
def edits() -> Case:
    """A file is what its writes and edits made of it; an edit that failed changed nothing."""
    return Case({"content": "one\n2\n"}, {SESSION: edited_file()}, asked={"file": PATH})


@case_of("time")
def before() -> Case:
    """As it was between the two."""
    asked = {"file": PATH, "at": "2026-10-02T10:04:30.000Z"}
    return Case({"content": "one\ntwo\n"}, {SESSION: edited_file()}, asked=asked)


if __name__ == "__main__":
    shutil.rmtree(CASES, ignore_errors=True)
    for group, make in MAKERS:
        write(group, make)
    print(f"{len(list(CASES.iterdir()))} cases in {CASES}")
