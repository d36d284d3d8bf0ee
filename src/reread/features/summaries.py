"""What a session was about and what came of it, worked out from its own records, without a model.

The goal is about the beginning of the session: a title, the heading of a plan, the model's restatement, or the first
prompt that says something; of a long one, which is often a page of pasted output, the sentence whose words occur most
elsewhere: in other prompts, commits, changed files and the last reply.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from reread.features.edits.net import FileDiff, SessionEdits
from reread.records import AiTitle, CustomTitle
from reread.records.json_parts import objects_in
from reread.records.state import PrLink
from reread.sessions import CallStatus, Prompt, Said, Session, Speaker, Thought, ToolCall, Turn
from reread.sessions.titles import NO_TITLE

from .friction.call_results import tests_of
from .friction.command_lines import commands_in, is_commit, prefix_of
from .friction.detection import EDITS, SHELLS, DetectedCall, file_name
from .friction.prompt_text import LONGEST_PROSE, prose_of, words_of
from .friction.refusals import refused_by, why_refused
from .tool_use import Decision, ToolCount, count_tools, decisions_of, twin_of

_LONGEST = 240
_SHORT = 100
"""A prompt of so few letters is a goal as it stands."""
_FEWEST = 3
"""A sentence with fewer words is not worth choosing."""
_RESTATED = re.compile(
    r"\b[Tt]he user (?:now )?(?:wants|would like|is asking|asks|asked|needs|has asked|wanted)(?: for)?(?: me)? to "
    r"([^\n]{3,300}?)(?:[.:;](?:\s|$)|\n|$)"
)
_UNFINISHED = re.compile(r"\b(?:that|which|to|the|a|an|with|and|or|of|for|in|on|by|as)$")
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_OWN = 0.6
"""The least part of a sentence that must be the person's own words, not quoted ones."""
_NO_SENTENCE = re.compile(r"[\w.-]+@[\w.-]+[: ]|[@~./]*/\S|\S+:\d+|/|<|\w+: |[\"“]")
"""The beginnings of a shell's prompt, a path, a command, a line of a transcript, and a quotation."""
_ROLE = re.compile(r"(?:you are|you're|act as|your (?:role|task|job) is) ", re.IGNORECASE)
_POLITE = (
    "please |can you |could you |let'?s |now |we (?:need|want|should) (?:to )?"
    "|i (?:want|need|'?d like) (?:you )?(?:to )?"
)
_VERBS = """
    add allow analyse analyze build change check clean commit convert create debug delete design document drop explain
    find fix implement improve install investigate make merge migrate move open optimise optimize port publish push
    rebase refactor release remove rename replace review rewrite run set simplify split support test update upgrade use
    write"""
_DIRECTS = re.compile(rf"^(?:{_POLITE})?(?:{'|'.join(_VERBS.split())})\b", re.IGNORECASE)
_BONUS = {"title": 1.3, "thinking": 1.25, "prompt": 1.0}
_DIRECTED = 1.3
_PLAN = re.compile(r"implement the following plan:?\s*\n+#+ *(?:plan *:? *)?([^\n]{4,})", re.IGNORECASE)
_COMMAND = re.compile(r"^/[\w:-]+(?:\s+[-–—]\s|\s|$)")
"""The name of a slash command before what is asked of it."""


class Goal(Struct, frozen=True):
    """What a session was for, and where that is written."""

    text: str = ""
    source: str = ""
    """`title`, `thinking` (the model's restatement in its own words) or `prompt`; empty if the goal is not known."""
    uuid: str | None = None
    is_by_person: bool = False
    """A title that a person gave."""


def goal_of(session: Session, parts: Sequence[str] = ()) -> Goal:
    """The sentence that best states what a session was for; `parts` are commits, changed files and the outcome.

    What is asked later is a small task more often than another course: only a person's own title speaks of all of it.
    """
    candidates = list(_candidates(session))
    if not candidates:
        is_told = session.title != NO_TITLE and not _ANNOUNCES.search(session.title)
        return Goal(_finished(session.title), "title") if is_told else Goal()
    weights = _weights([*(prompt.text for prompt in session.prompts), *parts])
    best = max(candidates, key=lambda each: _score(each, weights))
    return Goal(_finished(best.text), best.source, best.uuid)


def _candidates(session: Session) -> Iterator[Goal]:
    """Titles, and the sentences of the first prompt that has any or that the model restated."""
    titles = list(_titles(session))
    yield from titles
    if any(goal.is_by_person for goal in titles):
        return
    spoken = next(filter(None, map(_spoken, session.turns)), [])
    yield from spoken
    if not titles and not spoken:
        yield from (Goal(prompt.text, "prompt", prompt.uuid) for prompt in session.prompts if prompt.text.strip())


def _spoken(turn: Turn) -> list[Goal]:
    """The sentences of a turn's prompt, behind how the model restated it; of a plan, its heading."""
    prompt = turn.prompt
    if prompt is None or prompt.kind not in (Speaker.PROMPT, Speaker.COMMAND):
        return []
    if plan := _PLAN.match(prompt.text.lstrip()):
        return [Goal(plan[1].strip(), "prompt", prompt.uuid)]
    asked = _COMMAND.sub("", prompt.text.strip())
    if not asked:
        return []
    restated = [goal for step in turn.steps[:4] if isinstance(step, Thought | Said) for goal in _restated(step)]
    return [*restated[:1], *(Goal(each, "prompt", prompt.uuid) for each in _goals_in(asked)[:12])]


def _goals_in(asked: str) -> list[str]:
    """A short prompt as it stands, or the sentences of a longer one."""
    is_whole = len(asked) <= _SHORT and not _ROLE.match(asked)
    texts = [" ".join(asked.split())] if is_whole else _sentences(asked)
    return [each for each in texts if len(words_of(prose_of(each))) >= _FEWEST and not _ROLE.match(each)]


def _titles(session: Session) -> Iterator[Goal]:
    for kind, field in ((CustomTitle, "custom_title"), (AiTitle, "ai_title")):
        given = (getattr(record, field, None) for record in reversed(session.beside_of(kind)))
        title = next(filter(None, given), None)
        if title is not None:
            yield Goal(title, "title", is_by_person=kind is CustomTitle)


def _restated(step: Thought | Said) -> Iterator[Goal]:
    found = _RESTATED.search(step.text[:1500])
    if found and len(words_of(found[1])) >= _FEWEST and not _UNFINISHED.search(found[1].rstrip()):
        yield Goal(found[1].strip(), "thinking", step.uuid)


def _sentences(text: str) -> Iterator[str]:
    """Sentences in the person's own words; they may contain quoted names and words in code."""
    for sentence in _SENTENCES.split(_FENCED.sub("\n", text[:LONGEST_PROSE])):
        clean = " ".join(sentence.split()).strip(" -*#>•")
        is_typed = len(prose_of(clean)) >= _OWN * len(clean)
        if clean and is_typed and " | " not in clean and not _NO_SENTENCE.match(clean):
            yield clean


def _weights(texts: Iterable[str]) -> Counter[str]:
    """For each word, the number of texts it occurs in."""
    return Counter(word for text in texts for word in set(_content_words(text)))


def _content_words(text: str) -> Iterator[str]:
    return (word for word in words_of(text) if len(word) > 2)


def _score(goal: Goal, weights: Counter[str]) -> float:
    words = set(_content_words(goal.text))
    own = goal.source == "prompt"  # its own prompt is one of the texts that contain the word
    known = sum(1 + max(0, min(weights[word] - own, 3)) for word in words)
    score = known / (len(words) + 3) * _BONUS[goal.source]
    if goal.source == "thinking" or _DIRECTS.match(goal.text):
        score *= _DIRECTED
    return score if len(words) >= 2 else score / 4


def _finished(text: str) -> str:
    """The text as one line with a capital first letter, cut between words."""
    line = " ".join(text.split()).rstrip(" .:;,")
    if len(line) > _LONGEST:
        line = line[:_LONGEST].rsplit(" ", 1)[0] + " …"
    return line[:1].upper() + line[1:]


_COMMITTED = re.compile(r"^\[([^\s\]]+)(?: \([a-z-]+\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_MESSAGE = re.compile(
    r"""-m\s+(?:"\$\(cat <<'?EOF'?\n(?P<here>[^\n]+)|"(?P<double>[^"\n]*)|'(?P<single>[^'\n]*))"""
    r"""|(?:--stdin|-F -|--file[= ]-)\s*<<-?\s*['"]?\w+['"]?\n(?P<stdin>[^\n]+)"""
)
_COUNTED = re.compile(r"\b(\d+) (passed|failed|passing|failing|failures?|errors?|skipped|tests?)\b")
_RESULTS = re.compile(r"^test result: .*$", re.MULTILINE)
"""Lines of cargo, which runs several test programs."""
_LEFT = re.compile(
    r"^\W*(?:next steps?|remaining(?: work)?|still (?:open|to do|missing|failing)|not (?:yet )?done|"
    r"(?:noted )?for later|left (?:open|to do)|follow-?ups?|to-?do|known issues?|"
    r"open (?:points|questions|issues))\b[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(.+)$")
_MOST_COMMANDS = 12
_MOST_LEFT = 8
_MOST_EXCHANGES = 6
_ANNOUNCES = re.compile(
    r"\A(?:[^.!?\n]{0,60}[—–:,.] )?(?:let me(?! know)|i'll|i will|(?:i )?need to|now (?:i'll|let me|i need)|next,? i)"
    r"\b[^\n]*\Z|(?:\A|[.!?:]\s+)(?:(?:now )?let me(?! know)|(?:retrying|running|checking|reading|trying|creating"
    r"|spawning|starting|launching|looking|searching|writing)\b)[^.!?\n]*[.:…]*\Z",
    re.IGNORECASE,
)
"""A single line, or the end of a reply, that says what is done next: the session ended before it was."""
_ENDING = 3
"""Among so many last sentences a question is looked for: what an answer would bring may stand behind it."""
_FAREWELL = 8
"""Fewer words, said in a turn without a call, are none about the work."""
_COURTESY = re.compile(
    r"\bwhat(?:'s| is) next\b|\b(?:what|anything|something) else\b"
    r"|\b(?:would|'d) (?:you )?like (?:me )?to (?:do|work on)\b"
)
"""A question that leaves nothing open."""
_MAY_COMMIT = re.compile(r"\b(?:push|commit|finali[sz]e|squash|release|publish)\b")
"""Commands of other programs that may commit what was changed."""


class SummaryStep(Struct, frozen=True, kw_only=True):
    """One turn of the session's journey."""

    turn: int
    uuid: str | None
    time: datetime | None
    prompt: str
    answer: str
    """The last text of the model in this turn."""
    calls: int
    errors: int
    files: tuple[str, ...]
    """The files it changed."""


class Failure(Struct, frozen=True, kw_only=True):
    turn: int
    uuid: str | None
    tool: str
    status: str
    text: str
    """The output of the call; for a refusal the reason, never the client's own sentences about it."""
    refused_by: str | None = None
    """`person`, `rule` or `hook`."""
    target: str = ""
    """The command or the file of the call."""


class RunCommand(Struct, frozen=True):
    """How often a program was run, by the program's name and its first subcommand."""

    name: str
    runs: int
    failed: int


class Commit(Struct, frozen=True, kw_only=True):
    message: str
    hash: str = ""
    branch: str = ""
    turn: int
    uuid: str | None


class RanTests(Struct, frozen=True, kw_only=True):
    """A test run, as the test runner reported it."""

    command: str
    outcome: str
    """`passed` or `failed`."""
    counts: str
    """`12 passed, 1 failed`, where the runner printed it."""
    turn: int
    uuid: str | None


class OpenPoint(Struct, frozen=True):
    """Something a session left undone, and the evidence for it."""

    text: str
    source: str
    """`todo`, `tests`, `uncommitted`, `question`, `interrupted`, `unanswered` or `reply`."""


class SessionSummary(Struct, frozen=True, kw_only=True):
    """What a session was for, what was done, decided, refused and left open, and how it went turn by turn."""

    id: str
    title: str
    project: str | None
    started: datetime | None
    ended: datetime | None
    git_branches: tuple[str, ...]
    models: tuple[str, ...]
    cost: Decimal | None
    unpriced_tokens: int
    output_tokens: int
    goal: str
    """One sentence; `journey` has every prompt."""
    goal_source: str
    """Where the goal is from: `title`, `thinking` or `prompt`, as in `Goal`; empty if there is no goal."""
    journey: tuple[SummaryStep, ...]
    """The turns of the active branch."""
    prompts: int
    """The number of prompts a person typed, on every branch, as `reread list` counts them."""
    exchanges: tuple[SummaryStep, ...]
    """The turns in which most happened."""
    files: tuple[FileDiff, ...]
    files_read: tuple[str, ...]
    """Files that were read but not changed."""
    tools: tuple[ToolCount, ...]
    errors: tuple[Failure, ...]
    decisions: tuple[Decision, ...]
    subagents: int
    abandoned: int
    """The number of abandoned branches."""
    compactions: int
    outcome: str
    commands: tuple[RunCommand, ...]
    """The most used ones."""
    commits: tuple[Commit, ...]
    test_runs: tuple[RanTests, ...]
    plans: tuple[str, ...]
    """First lines of the plans that were approved."""
    open: tuple[OpenPoint, ...]
    """What was left undone."""
    pull_requests: tuple[str, ...]
    todos_done: int
    todos: int
    is_interrupted: bool
    """Whether it ends with an interrupt."""

    @property
    def tests(self) -> str | None:
        """The outcome of the last test run; None if there was none."""
        return self.test_runs[-1].outcome if self.test_runs else None

    @property
    def refusals(self) -> tuple[Failure, ...]:
        return tuple(failure for failure in self.errors if failure.refused_by is not None)


def summary_of(session: Session, edits: SessionEdits | None = None) -> SessionSummary:
    """Journey, failures and outcome are those of the active branch; files, tools and usage those of the whole
    session."""
    changed = (edits if edits is not None else SessionEdits(session)).on_disk()
    steps = tuple(_step(turn, turn.prompt) for turn in session.turns if turn.prompt is not None)
    calls = list(session.every_call)
    todos = _todos(session)
    files = tuple(diff for diff in changed if diff.is_change)
    commits, runs = tuple(_commits(session)), tuple(test_runs_of(session))
    outcome = _outcome(session.turns)
    parts = [*(commit.message for commit in commits), *(diff.path for diff in files), outcome]
    goal = goal_of(session, parts)
    return SessionSummary(
        id=session.id,
        title=session.title,
        project=session.project,
        started=session.started,
        ended=session.ended,
        git_branches=_distinct(record.git_branch for record in session.records),
        models=_distinct(request.model for request in session.requests),
        cost=session.total_usage.cost,
        unpriced_tokens=session.total_usage.unpriced_tokens,
        output_tokens=session.total_usage.output_tokens,
        goal=goal.text,
        goal_source=goal.source,
        journey=steps,
        prompts=len(session.prompts),
        exchanges=tuple(sorted(sorted(steps, key=_weight, reverse=True)[:_MOST_EXCHANGES], key=_turn)),
        files=files,
        files_read=tuple(_only_read(calls, changed)),
        tools=tuple(count_tools(calls)),
        errors=tuple(failure for turn in session.turns for failure in _failures(turn)),
        decisions=tuple(decisions_of(session, session.id)),
        subagents=len(session.working_agents),
        abandoned=len(session.branches) - 1,
        compactions=len(session.compactions),
        outcome=outcome,
        commands=tuple(_commands(calls)),
        commits=commits,
        test_runs=runs,
        plans=tuple(_plans(session)),
        open=tuple(_open(session, todos, runs)),
        pull_requests=_distinct(_pull_requests(session)),
        todos_done=sum(todo.get("status") == "completed" for todo in todos),
        todos=len(todos),
        is_interrupted=bool(session.turns) and _is_interrupted(session.turns[-1]),
    )


def _outcome(turns: Sequence[Turn]) -> str:
    """The last words of the model that are more than what it does next, or than a farewell after no work."""
    told = [turn for turn in turns if (answer := _answer(turn)) and not _ANNOUNCES.search(answer)]
    worked = (turn for turn in reversed(told) if _calls(turn) or len(words_of(_answer(turn))) >= _FAREWELL)
    return _answer(next(worked, told[-1])) if told else ""


def _calls(turn: Turn) -> list[DetectedCall]:
    return [DetectedCall(call) for call in turn.calls]


def _answer(turn: Turn) -> str:
    """The last text of the model in a turn."""
    return next(
        (step.text.strip() for step in reversed(turn.steps) if isinstance(step, Said) and step.text.strip()), ""
    )


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name))


def _step(turn: Turn, prompt: Prompt) -> SummaryStep:
    calls = _calls(turn)
    changed = (call.path for call in calls if call.name in EDITS and call.status is CallStatus.OK)
    return SummaryStep(
        turn=turn.index,
        uuid=prompt.uuid,
        time=prompt.time,
        prompt=prompt.text,
        answer=_answer(turn),
        calls=len(calls),
        errors=sum(call.status is CallStatus.ERROR for call in calls),
        files=tuple(dict.fromkeys(path for path in changed if path)),
    )


def _weight(step: SummaryStep) -> int:
    """How much happened in a turn: changed files weigh most, then text."""
    return 400 * len(step.files) + len(step.prompt) + len(step.answer) + 20 * step.calls


def _turn(step: SummaryStep) -> int:
    return step.turn


def _only_read(calls: list[ToolCall], changed: list[FileDiff]) -> Iterator[str]:
    known = {diff.path for diff in changed}
    read = (DetectedCall(call).path for call in calls if call.name == "Read" and call.status is CallStatus.OK)
    return (path for path in dict.fromkeys(read) if path and path not in known)


def _failures(turn: Turn) -> Iterator[Failure]:
    for call in _calls(turn):
        if call.status in (CallStatus.ERROR, CallStatus.REJECTED, CallStatus.INTERRUPTED):
            by = refused_by(call)
            text = why_refused(call) if by is not None else re.sub(r"</?tool_use_error>", "", call.text).strip()
            yield Failure(
                turn=turn.index,
                uuid=call.call.uuid,
                tool=call.name,
                status=call.status.value,
                text=text,
                refused_by=by,
                target=call.command or call.path,
            )


def _shell_calls(session: Session) -> Iterator[tuple[Turn, DetectedCall]]:
    for turn in session.turns:
        yield from ((turn, call) for call in _calls(turn) if call.name in SHELLS)


def _commands(calls: list[ToolCall]) -> list[RunCommand]:
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for call in calls:
        detected = DetectedCall(call)
        name = prefix_of(detected.command) if detected.command else ""
        if name:
            runs[name] += 1
            failed[name] += not detected.worked
    return [RunCommand(name, count, failed[name]) for name, count in runs.most_common(_MOST_COMMANDS)]


def _commits(session: Session) -> Iterator[Commit]:
    """Commits as git reported them; without a report, as the command has them."""
    for turn, call in _shell_calls(session):
        if not call.worked or not is_commit(call.command):
            continue
        committed = _COMMITTED.findall(call.text)
        for branch, number, message in committed:
            yield Commit(message=message.strip(), hash=number, branch=branch, turn=turn.index, uuid=call.record.uuid)
        found = _MESSAGE.search(call.command)
        message = next(filter(None, found.groups()), "") if found else ""
        if not committed and (message or not found):  # an empty message takes one away
            yield Commit(message=message.strip(), turn=turn.index, uuid=call.record.uuid)


def test_runs_of(session: Session) -> Iterator[RanTests]:
    for turn, call in _shell_calls(session):
        outcome = tests_of(call.command, call.call) if call.status in (CallStatus.OK, CallStatus.ERROR) else None
        if outcome is not None:
            command = call.command.strip().partition("\n")[0]
            counts = _counts_in(call.text)
            yield RanTests(command=command, outcome=outcome, counts=counts, turn=turn.index, uuid=call.record.uuid)


def _counts_in(output: str) -> str:
    """`12 passed, 1 failed`: as printed, or added up where a runner reports each test program on a line of its own."""
    results = _RESULTS.findall(output)
    found = _COUNTED.findall("\n".join(results) or output[-1500:])
    if len(results) > 1:
        sums: Counter[str] = Counter()
        for number, name in found:
            sums[name] += int(number)
        found = [(str(number), name) for name, number in sums.items()]
    return ", ".join(dict.fromkeys(" ".join(pair) for pair in found))


def _plans(session: Session) -> Iterator[str]:
    for call in session.tool_calls:
        plan = call.fields.get("plan") if call.name == "ExitPlanMode" else None
        if isinstance(plan, str) and plan.strip() and call.status is CallStatus.OK:
            yield plan.strip().partition("\n")[0].strip("#* ")


def _open(session: Session, todos: list[dict[str, Any]], runs: tuple[RanTests, ...]) -> Iterator[OpenPoint]:
    """What a person would continue with."""
    for todo in todos:  # none of them was deleted
        text = todo.get("content") or todo.get("subject")
        if todo.get("status") != "completed" and isinstance(text, str):
            yield OpenPoint(text, "todo")
    if runs and runs[-1].outcome == "failed":
        counts = f" ({runs[-1].counts})" if runs[-1].counts else ""
        yield OpenPoint(f"the last run of tests failed{counts}: {runs[-1].command}", "tests")
    late = _uncommitted(session)
    if late:
        yield OpenPoint(f"changed after the last commit: {', '.join(late)}", "uncommitted")
    if session.turns:
        yield from (OpenPoint(text, "reply") for text in _next_steps(_answer(session.turns[-1])))
        yield from _last_point(session.turns[-1])


def _last_point(last: Turn) -> Iterator[OpenPoint]:
    """What the session ended with: an interrupt, a call or a prompt without an answer, or a question."""
    ending = last.steps[-1] if last.steps else None
    asked = [each for each in _SENTENCES.split(_answer(last))[-_ENDING:] if each.endswith("?")]
    if _is_interrupted(last):
        yield OpenPoint("it was interrupted", "interrupted")
    elif isinstance(ending, ToolCall) and ending.status is CallStatus.MISSING:
        call = DetectedCall(ending)
        yield OpenPoint(f"no result of the last call: {call.name} {call.command or call.path}".rstrip(), "unanswered")
    elif last.prompt is not None and ending is None:
        yield OpenPoint(f"not answered: {last.prompt.text}", "unanswered")
    elif asked and not _COURTESY.search(asked[-1]):
        yield OpenPoint(asked[-1], "question")


def _uncommitted(session: Session) -> list[str]:
    """Names of files changed after the last commit; empty if nothing was committed."""
    changed: list[str] = []
    has_committed = False
    for call in (call for turn in session.turns for call in _calls(turn) if call.status is CallStatus.OK):
        if is_commit(call.command) or any(map(_MAY_COMMIT.search, commands_in(call.command))):
            has_committed, changed = has_committed or is_commit(call.command), []
        elif call.name in EDITS and call.path and not _is_of_client(call.path, session):
            changed.append(file_name(call.path))
    return list(dict.fromkeys(changed)) if has_committed else []


def _is_of_client(path: str, session: Session) -> bool:
    """Whether a file, such as a plan, is among the client's own and not in the project."""
    return ".claude" in re.split(r"[/\\]", path) and not (session.project and path.startswith(session.project))


def _next_steps(reply: str) -> list[str]:
    """The points under a heading such as "Next steps" in the last reply."""
    found = _LEFT.search(reply)
    if found is None:
        return []
    items = []
    for line in reply[found.end() :].split("\n"):
        item = _ITEM.match(line)
        if item:
            items.append(item[1].strip())
        elif line.strip() and items:
            break
    return items[:_MOST_LEFT]


def _pull_requests(session: Session) -> Iterator[str]:
    return (record.pr_url for record in session.beside_of(PrLink) if record.pr_url)


def _todos(session: Session) -> list[dict[str, Any]]:
    """The list of todos as last written, then the tasks that clients have had instead of it since 2.1."""
    written: list[dict[str, Any]] = []
    tasks: dict[str, dict[str, Any]] = {}
    for call in session.tool_calls:
        if call.name == "TodoWrite" and isinstance(call.fields.get("todos"), list):
            written = objects_in(call.fields["todos"])
        elif call.name == "TaskCreate" and (number := _task_number(call)) is not None:
            tasks[number] = {"subject": call.fields.get("subject"), "status": "pending"}
        elif call.name == "TaskUpdate" and call.status is CallStatus.OK:
            tasks.get(str(call.fields.get("taskId")), {}).update(call.fields)
    return [todo for todo in (*written, *tasks.values()) if todo.get("status") != "deleted"]


_TASK_NUMBER = re.compile(r"Task #(\w+) created")


def _task_number(call: ToolCall) -> str | None:
    """The number that the client gave a new task."""
    task = twin_of(call).get("task")
    if isinstance(task, dict) and isinstance(task.get("id"), str):
        return str(task["id"])
    found = _TASK_NUMBER.match(call.output.text) if call.output is not None else None
    return found[1] if found else None


def _is_interrupted(last: Turn) -> bool:
    return bool(last.steps) and getattr(last.steps[-1], "what", None) == "interrupted"
