"""Subagents as every version of the client recorded them, and the call that started each of them.

1.0.x    lines of the trunk itself, `isSidechain`, no id
    2.0.x    `agent-<id>.jsonl` in the trunk's folder
    2.1.x    `<session>/subagents/agent-<id>.jsonl`, flat at any depth, later with a `.meta.json`
             `agent_progress` lines of the trunk up to 2.1.81 repeat what such an agent said: where its file is
             gone, or was never kept, they are all that is left of it

Seven kinds of evidence link an agent to its call; the first that gives a known call wins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec.structs import replace

from reread import lazy
from reread.billing import Prices
from reread.records import AgentMeta, ProgressLine, Record, Spoken, User
from reread.records.json_parts import text_or_none

from .calls import ToolCall
from .captured import ToolPermission
from .conversation import Conversation
from .progress_lines import agent_of
from .speaker import Speaker, prompt_text, tag
from .values import Branch, Notice

AGENT_TOOLS = frozenset({"Task", "Agent"})
"""The tool was renamed between 2.1.51 and 2.1.63."""


class AgentKind(StrEnum):
    """Why an agent ran. Only task and workflow agents did work that was asked for."""

    TASK = "task"
    WORKFLOW = "workflow"
    WARMUP = "warmup"
    PROMPT_SUGGESTION = "prompt_suggestion"
    COMPACTION = "compaction"
    SIDE_QUESTION = "side_question"


_KIND_BY_ID = (
    (lazy.pattern(r"^a?prompt_suggestion"), AgentKind.PROMPT_SUGGESTION),
    (lazy.pattern(r"^a?compact"), AgentKind.COMPACTION),
    (lazy.pattern(r"^a?side_question"), AgentKind.SIDE_QUESTION),
)
_AGENT_ID_IN_TEXT = lazy.pattern(r"agentId:(?<=\bagentId:)\s*([\w-]+)")
"""The literal in front is for speed: the engine looks for it, where a leading `\\b` would stop it at every word."""
_task_id = tag("task-id")
_tool_use_id = tag("tool-use-id")


class Subagent(Conversation):
    """An agent's own conversation."""

    def __init__(
        self,
        records: Sequence[Record],
        *,
        id: str,  # noqa: A002
        meta: AgentMeta | None = None,
        workflow: str | None = None,
        is_recorded_inline: bool = False,
        is_from_progress: bool = False,
        prices: Prices | None = None,
        permissions: Mapping[str, ToolPermission] | None = None,
    ) -> None:
        super().__init__(records, id=id, prices=prices, permissions=permissions)
        self.meta = meta
        self.workflow = workflow
        self.is_recorded_inline = is_recorded_inline or is_from_progress
        """True when its lines are in the trunk's file: their calls and usage are counted there."""
        self.is_from_progress = is_from_progress
        """True when only progress lines of the trunk have it: its calls count, its tokens are in no sum."""
        self.call: ToolCall | None = None
        self.parent: str | None = None
        """The agent that started it; None when the session itself did."""

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The branches; those of an agent that was put together from progress lines begin with a notice of that."""
        return _marked(super().branches) if self.is_from_progress else super().branches

    @property
    def kind(self) -> AgentKind:
        if self.workflow is not None:
            return AgentKind.WORKFLOW
        named = next((kind for pattern, kind in _KIND_BY_ID if pattern.match(self.id)), None)
        if named is not None:
            return named
        is_warmup = self.call is None and self.task.strip() == "Warmup"
        return AgentKind.WARMUP if is_warmup else AgentKind.TASK

    @property
    def task(self) -> str:
        """What it was asked to do."""
        asked = (i for i, kind in self.kinds.items() if kind in (Speaker.AGENT_PROMPT, Speaker.PROMPT))
        first = next(asked, None)
        record = self.line[first] if first is not None else None
        return prompt_text(record) if isinstance(record, User) else ""

    @property
    def type(self) -> str | None:
        """The agent type it ran as, where something names it."""
        if self.meta is not None and self.meta.agent_type:
            return self.meta.agent_type
        return text_or_none(self.call.fields.get("subagent_type")) if self.call is not None else None


def link(agents: Sequence[Subagent], trunk: Conversation) -> None:
    """Finds for every agent the call that started it, where the records name one."""
    if not agents:
        return
    owners = _owners(agents, trunk)
    evidence = _Evidence([trunk, *agents])
    claimed: set[str] = set()
    for agent in agents:
        call_id = next((found for found in evidence.calls_for(agent, claimed) if found in owners), None)
        if call_id is not None:
            claimed.add(call_id)
            agent.call, agent.parent = owners[call_id]


def _owners(agents: Sequence[Subagent], trunk: Conversation) -> dict[str, tuple[ToolCall, str | None]]:
    """Every call by its id, with the agent that made it; None for the trunk."""
    # Calls of agents in the trunk's file are also among the trunk's calls. Calls that a file copied are not its own.
    inside = [(agent.id, agent) for agent in agents if agent.is_recorded_inline]
    files = [(agent.id, agent) for agent in agents if not agent.is_recorded_inline]
    every = ((call, owner) for owner, part in (*inside, (None, trunk), *files) for call in part.tool_calls)
    owners: dict[str, tuple[ToolCall, str | None]] = {}
    for call, owner in every:
        if call.id is not None:
            owners.setdefault(call.id, (call, owner))
    return owners


class _Evidence:
    """What all conversations of a session hold about which call started which agent."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self.by_result: dict[str, str] = {}
        self.by_text: dict[str, str] = {}
        self.by_progress: dict[str, str] = {}
        self.by_prompt: dict[str, list[str]] = {}
        self.repeated: set[str | None] = set()
        """Ids that a gateway gave to several calls: as such they name none of them."""
        for conversation in conversations:
            self._read_calls(conversation)
        for conversation in conversations:
            self._read_lines(conversation)

    def calls_for(self, agent: Subagent, claimed: set[str]) -> list[str]:
        """Candidate calls, strongest evidence first."""
        in_meta = agent.meta.tool_use_id if agent.meta is not None else None
        found = [
            in_meta if in_meta not in self.repeated else None,
            agent.id,  # in a stream, an agent is named by its call
            self.by_result.get(agent.id),
            self.by_text.get(agent.id),
            self.by_progress.get(agent.id),
        ]
        same_prompt = self.by_prompt.get(_normal(agent.task), ()) if agent.task else ()
        found += [call for call in same_prompt if call not in claimed]
        return [call for call in found if call is not None]

    def _read_calls(self, conversation: Conversation) -> None:
        for call in conversation.tool_calls:
            if call.name not in AGENT_TOOLS or call.id is None:
                continue
            if call.id != call.block.id:
                self.repeated.add(call.block.id)
            asked = call.fields.get("prompt")
            if isinstance(asked, str):
                self.by_prompt.setdefault(_normal(asked), []).append(call.id)
            if call.output is None:
                continue
            agent = call.output.twin.agent_id
            if agent is not None:
                self.by_result.setdefault(agent, call.id)
            for agent_id in _AGENT_ID_IN_TEXT.findall(call.output.text):
                self.by_text.setdefault(agent_id, call.id)

    def _read_lines(self, conversation: Conversation) -> None:
        for record in conversation.beside_of(ProgressLine):
            call_id, agent = record.parent_tool_use_id, agent_of(record)
            if call_id and call_id not in self.repeated and agent:
                self.by_progress.setdefault(agent, call_id)
        for i, kind in conversation.kinds.items():
            if kind is Speaker.TASK_NOTIFICATION:
                text = conversation.line[i].text
                task, call = _task_id(text), _tool_use_id(text)
                if task and call and call not in self.repeated:
                    self.by_text.setdefault(task, call)


def _normal(text: str) -> str:
    return " ".join(text.split())


FROM_PROGRESS = "from progress lines: no file of this agent is left"


def _marked(branches: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """The branches, with a notice before the first step."""
    main, *others = branches
    if not main.turns or not main.turns[0].records:
        return branches
    first = main.turns[0]
    notice = Notice(what="task", text=FROM_PROGRESS, record=first.records[0])
    turns = (replace(first, steps=(notice, *first.steps)), *main.turns[1:])
    return (replace(main, turns=turns), *others)


def progress_agents(
    lines: Iterable[Spoken], prices: Prices | None, permissions: Mapping[str, ToolPermission]
) -> list[Subagent]:
    """The agents that these lines belong to."""
    by_agent: dict[str, list[Record]] = {}
    for line in lines:
        by_agent.setdefault(line.agent_id or "", []).append(line)
    return [
        Subagent(records, id=name, is_from_progress=True, prices=prices, permissions=permissions)
        for name, records in by_agent.items()
    ]


def inline_agents(
    records: Iterable[Record], prices: Prices | None, permissions: Mapping[str, ToolPermission]
) -> list[Subagent]:
    """Agents whose lines are in the trunk: one per root (1.0.x), or one per call in a stream."""
    threads: dict[str, list[Record]] = {}
    thread_of: dict[str, str] = {}
    for record in records:
        key = _thread(record, thread_of)
        threads.setdefault(key, []).append(record)
        if record.uuid is not None:
            thread_of[record.uuid] = key
    return [
        Subagent(lines, id=key, is_recorded_inline=True, prices=prices, permissions=permissions)
        for key, lines in threads.items()
    ]


def _thread(record: Record, thread_of: Mapping[str, str]) -> str:
    """Names the agent of a line: its agent id, the call a frame names, or the first line of its chain."""
    if isinstance(record, Spoken) and record.parent_tool_use_id is not None:
        return record.parent_tool_use_id
    if record.agent_id is not None:
        return record.agent_id
    if record.parent_uuid is not None and record.parent_uuid in thread_of:
        return thread_of[record.parent_uuid]
    return (record.uuid or f"line-{record.line}")[:12]
