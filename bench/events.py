"""The structures of synthetic sessions, each a row of `EVENTS`: rewinds, agents, replays, odd usage."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from conversation import GATEWAY, Conversation, Play
from textpool import length
from tools import Call, bash, tool_call
from transcript import ERAS, Block, Message, iso, new_id, new_uuid, numbers
from truth import Usage

__all__ = ["EVENTS", "Deck", "play", "play_event"]


class Deck:
    """Deals structures in a shuffled order, so that even a small tree has every one of them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.cards = list(EVENTS)
        rng.shuffle(self.cards)

    def deal(self, talk: Conversation) -> str:
        """The next structure the conversation can have; the others wait for a later client."""
        for name in self.cards:
            if talk.t.since(*EVENTS[name].since) and EVENTS[name].fits(talk):
                self.cards.remove(name)
                return name
        fresh = [name for name, event in EVENTS.items() for _ in range(event.weight)]
        self.rng.shuffle(fresh)
        # One waiting card of a kind is enough: a newer client must not start with hundreds of them.
        self.cards = [*dict.fromkeys(self.cards), *fresh]
        return self.deal(talk)


def play(talk: Conversation, deck: Deck, budget: int) -> None:
    """Writes turns until the files of the session have reached the budget."""
    while talk.spent + talk.t.tally.bytes < budget:
        play_event(talk, deck.deal(talk))


def play_event(talk: Conversation, name: str) -> None:
    """Plays one turn with the structure of that name."""
    event, dealt = EVENTS[name], talk.tree.truth.dealt
    dealt[name] = dealt.get(name, 0) + 1
    if event.before:
        event.before(talk)
    talk.spice, talk.change = name, event.usage
    talk.turn(event.during)
    if event.after:
        event.after(talk)


def subagent(talk: Conversation) -> None:
    """A Task or Agent call with its own file, and in older clients its lines repeated in the trunk."""
    t, task = talk.t, talk.pool.prose(talk.rng, 400)
    name = f"{talk.rng.getrandbits(32):08x}" if not t.since(2, 1, 0) else f"a{talk.rng.getrandbits(64):016x}"
    agent = talk.agent(name)
    agent.t.node("user", {"message": {"role": "user", "content": task}})
    for _ in range(length(talk.rng, 4, 0.7, 20)):
        agent.step([tool_call(agent.desk)])
    answer = agent.step([]).blocks[-1]
    talk.finish_agent(agent)
    talk.tree.truth.tool_agents += 1
    tool = "Agent" if t.since(2, 1, 63) else "Task"
    given = {"description": "Look into it", "prompt": task, "subagent_type": "Explore"}
    twin = {"status": "completed", "prompt": task, "agentId": name, "content": [answer], "totalTokens": 9_000}
    call = Call(new_id(talk.rng, "toolu"), tool, given, [answer], twin)
    message = talk.begin("tool_use")
    asked = t.row(message, call.block, last=True)
    talk.tree.truth.book(message.day, message.model, message.usage)
    for line in agent.t.echo if t.era.progress else ():
        copy = {key: line[key] for key in ("type", "message", "uuid", "timestamp", "requestId") if key in line}
        data = {"type": "agent_progress", "agentId": name, "prompt": "", "message": copy}
        t.node("progress", {"data": data, "parentToolUseID": call.id, "toolUseID": f"agent_{message.id}"})
    t.clock = max(t.clock, agent.t.clock)
    t.parent = asked
    talk.result(call, asked)
    agent_meta(talk, agent.t.path, call)


def agent_meta(talk: Conversation, path: Path, call: Call) -> None:
    """The side file that links an agent to its call."""
    if talk.t.since(2, 1, 73):
        meta = {"agentType": "Explore", "description": call.input["description"]}
        if talk.t.since(2, 1, 197):
            meta |= {"toolUseId": call.id, "spawnDepth": 1}
        talk.tree.side_file(path.with_suffix(".meta.json"), json.dumps(meta))


def side_question(talk: Conversation) -> None:
    """An agent that replays the last messages under other request ids and cache figures."""
    said = [message for message in talk.said if not message.opening]
    agent = talk.agent(f"aside_question-{talk.rng.getrandbits(64):016x}", parent=talk.t.parent)
    agent.t.tick(60_000, 36_000_000)
    for message in said:
        replay(talk, agent, message)
    talk.said = []
    agent.t.node("user", {"message": {"role": "user", "content": talk.pool.prose(talk.rng, 90)}})
    agent.step([])
    talk.finish_agent(agent)


def replay(talk: Conversation, agent: Conversation, message: Message) -> None:
    """Writes a message again; where the trunk has only a stub the replay tells the final output."""
    known = message.usage
    shown = replace(known, read=known.read + 50_000, write=7, split=(0, 7), searches=0, advisor=None)
    if known.output <= 8 and not known.advisor:
        shown = replace(shown, output=known.output + 300)
        truth = talk.tree.truth
        truth.book(message.day, message.model, known, sign=-1)
        truth.book(message.day, message.model, replace(shown, searches=known.searches))
    copy = Message(message.id, new_id(talk.rng, "req"), message.model, shown, message.stop)
    for index, block in enumerate(message.blocks):
        agent.t.row(copy, block, last=index == len(message.blocks) - 1, copy=True)


def rewind(talk: Conversation) -> None:
    """Goes back to an earlier prompt: the next one hangs from the same line."""
    index = talk.rng.randrange(max(0, len(talk.prompt_parents) - 4), len(talk.prompt_parents))
    talk.t.parent = talk.prompt_parents[index]
    del talk.prompt_parents[index:]
    talk.t.tally.rewinds += talk.t.parent not in talk.forks
    talk.forks.add(talk.t.parent)


def suggestion(talk: Conversation) -> None:
    """The agent that proposes the next prompt."""
    talk.helper("aprompt_suggestion", "[SUGGESTION MODE] What would the user type next?")


def resume(talk: Conversation) -> None:
    """The same file goes on hours later, with a newer client and perhaps another model."""
    t = talk.t
    t.tick(3_600_000, 32_000_000)
    later = [version for era in ERAS for version in era.versions if numbers(version) > numbers(t.version)]
    t.version = later[0] if later else t.version
    if talk.model != GATEWAY:
        talk.model = talk.rng.choice(t.era.models)


def spill(talk: Conversation) -> None:
    """A command whose output went to a side file, with a preview in the line."""
    t, call = talk.t, tool_call(talk.desk, bash)
    text = talk.pool.log(talk.rng, talk.rng.randint(40_000, 120_000))
    path = t.path.with_suffix("") / "tool-results" / f"{call.id}.txt"
    talk.tree.side_file(path, text)
    # The place a client would name: the real one would make equal seeds differ.
    place = f"/home/ann/.claude/{path.relative_to(talk.tree.root).as_posix()}"
    shown = f"<persisted-output>\nFull output saved to: {place}\n\nPreview:\n{text[:2_000]}\n</persisted-output>"
    kept = {"persistedOutputPath": place, "persistedOutputSize": len(text.encode())}
    talk.step([replace(call, content=shown, twin={**call.twin, "stdout": text[:30_000], **kept})])


def queued(talk: Conversation) -> None:
    """Text sent while the agent is busy: an attachment and no user line."""
    t, text = talk.t, talk.pool.prose(talk.rng, 80, talk.script)
    t.state("queue-operation", {"operation": "enqueue", "content": text, "timestamp": iso(t.clock)})
    talk.step([tool_call(talk.desk)])
    t.state("queue-operation", {"operation": "remove", "timestamp": iso(t.clock)})
    t.node("attachment", {"attachment": {"type": "queued_command", "prompt": text, "commandMode": "prompt"}})
    t.tally.queued_prompts += 1


def synthetic(talk: Conversation) -> None:
    """A local notice in the shape of an answer: no request."""
    zero = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    said = [{"type": "text", "text": "API Error: 529 Overloaded"}]
    body: Block = {"id": new_uuid(talk.rng), "model": "<synthetic>", "role": "assistant", "type": "message"}
    body |= {"content": said, "stop_reason": "stop_sequence", "stop_sequence": "", "usage": zero}
    retry = {"retryInMs": 505.68, "retryAttempt": 1, "maxRetries": 10, "error": {"status": 529}}
    talk.t.node("system", {"subtype": "api_error", "level": "error", **retry})
    talk.t.node("assistant", {"message": body, "isApiErrorMessage": True, "error": "server_error"})


def interrupt(talk: Conversation) -> None:
    """The person pressed Esc, then used a local command: user lines that are no prompts."""
    said = [{"type": "text", "text": "[Request interrupted by user]"}]
    for content in (said, "<command-name>/model</command-name>\n<command-args></command-args>"):
        talk.t.tick(500, 4_000)
        talk.t.node("user", {"message": {"role": "user", "content": content}})
    out = "<local-command-stdout>Set model</local-command-stdout>"
    talk.t.node("user", {"message": {"role": "user", "content": out}})


def advised(usage: Usage) -> Usage:
    """A response that asked an advisor, which is a request of its own."""
    return replace(usage, advisor=("claude-opus-5", Usage(4_000, 300, 0, 900, (900, 0))))


def has_true_ids(talk: Conversation) -> bool:
    """Whether its responses have `msg_` ids, which one row more does not change."""
    return talk.model != GATEWAY


def is_repeatable(talk: Conversation) -> bool:
    """Whether its messages may be replayed."""
    return talk.repeatable and has_true_ids(talk)


@dataclass(frozen=True)
class Event:
    """A structure: how often it is dealt, to whom, and what it does around or inside its turn."""

    weight: int
    since: tuple[int, ...] = (2, 0)
    """The first version that writes it."""
    before: Play | None = None
    during: Play | None = None
    after: Play | None = None
    usage: Callable[[Usage], Usage] | None = None
    """What it does to the usage of the turn's first response."""
    fits: Callable[[Conversation], bool] = lambda talk: True  # noqa: ARG005


EVENTS = {
    "plain": Event(24),
    "parallel": Event(9),
    "tool_error": Event(6),
    "reject": Event(2),
    "image": Event(1),
    "search": Event(1, usage=lambda usage: replace(usage, searches=2)),
    "us": Event(1, (2, 1, 17), usage=lambda usage: replace(usage, geo="us")),
    "fast": Event(1, (2, 1, 41), usage=lambda usage: replace(usage, speed="fast")),
    "advisor": Event(1, (2, 1, 98), usage=advised, fits=has_true_ids),
    "fallback": Event(1, (2, 1, 63), fits=has_true_ids),
    "rewind": Event(3, before=rewind, fits=lambda talk: bool(talk.prompt_parents)),
    "compact": Event(1, before=Conversation.compact, fits=lambda talk: talk.t.parent is not None),
    "resume": Event(1, before=resume),
    "subagent": Event(4, during=subagent),
    "linked_subagent": Event(1, (2, 1, 197), during=subagent),
    "spill": Event(1, (2, 1), during=spill),
    "queued": Event(2, (2, 1, 107), during=queued),
    "side_question": Event(2, (2, 1), after=side_question, fits=is_repeatable),
    "suggestion": Event(3, (2, 1, 32), after=suggestion),
    "synthetic": Event(1, after=synthetic),
    "interrupt": Event(2, after=interrupt),
}
