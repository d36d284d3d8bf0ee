"""The real client writes, reread reads: what both say about one session must agree."""

from __future__ import annotations

from pathlib import Path

import pytest

import reread
from client.run import Scratch, Screen, has_tmux

pytestmark = pytest.mark.e2e

needs_tmux = pytest.mark.skipif(not has_tmux(), reason="tmux drives the interactive client; install tmux")


def asked(session: reread.Session) -> list[list[str]]:
    return [[turn.prompt.text for turn in branch.turns if turn.prompt] for branch in session.branches]


def texts(session: reread.Session) -> list[str]:
    return [thought.text for thought in session.thinking()]


def ask(screen: Screen, prompt: str, answer: str) -> None:
    screen.submit(prompt)
    screen.wait_for(answer)
    # The answer is shown before its turn is over; Esc would interrupt what is left of it.
    screen.settle()


def test_an_ordinary_turn_keeps_its_prompt_thinking_and_tool(scratch: Scratch) -> None:
    run = scratch.run("mock:think-bash")
    session = reread.load(scratch.transcript(run.session))
    assert session.id == run.session
    assert [prompt.text for prompt in session.prompts] == ["mock:think-bash"]
    assert texts(session) == ["I should look at the directory.", "Now I have the listing."]
    assert [(call.name, call.status) for call in session.tool_calls] == [("Bash", "ok")]
    assert len(session.turns) == 1


def test_every_line_the_client_wrote_is_read(scratch: Scratch) -> None:
    path = scratch.transcript(scratch.run("mock:think-bash").session)
    assert len(list(reread.read(path))) == len(path.read_bytes().splitlines())


def test_parallel_tools_make_one_branch(scratch: Scratch) -> None:
    run = scratch.run("mock:parallel")
    session = reread.load(scratch.transcript(run.session))
    assert len(session.branches) == 1
    assert [(call.name, call.status) for call in session.tool_calls] == [("Bash", "ok"), ("Bash", "ok"), ("Read", "ok")]


@needs_tmux
@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("back_to", "active", "abandoned"),
    [
        ("mock:text(two)", ["mock:thinking(one)", "mock:text(three)"], ["mock:text(two)"]),
        ("mock:thinking(one)", ["mock:text(three)"], ["mock:thinking(one)", "mock:text(two)"]),
    ],
    ids=["to the second prompt", "to the first prompt"],
)
def test_a_rewind_shows_two_branches_with_the_active_one_first(
    scratch: Scratch, back_to: str, active: list[str], abandoned: list[str]
) -> None:
    with scratch.screen() as screen:
        screen.wait_for("❯")
        ask(screen, "mock:thinking(one)", "After some thought")
        ask(screen, "mock:text(two)", "You said: two")
        screen.rewind(back_to)
        ask(screen, "mock:text(three)", "You said: three")
        screen.leave()
    session = reread.load(scratch.transcripts()[-1])
    assert [branch.active for branch in session.branches] == [True, False]
    assert asked(session) == [active, abandoned]
    assert session.branches[0].leaf != session.branches[1].leaf


@needs_tmux
def test_a_prompt_taken_back_is_kept_beside_the_conversation(scratch: Scratch) -> None:
    with scratch.screen() as screen:
        screen.wait_for("❯")
        ask(screen, "mock:thinking(kept)", "After some thought")
        screen.submit("mock:slow")
        screen.wait_for("esc to interrupt|…")
        screen.keys("Escape")
        screen.settle()
        screen.clear()
        ask(screen, "mock:text(instead)", "You said: instead")
        screen.leave()
    session = reread.load(scratch.transcripts()[-1])
    assert asked(session) == [["mock:thinking(kept)", "mock:text(instead)"], ["mock:slow"]]


def test_a_subagent_is_linked_to_its_call(scratch: Scratch) -> None:
    run = scratch.run("mock:task")
    session = reread.load(scratch.transcript(run.session))
    assert len(session.subagents) == 1
    call = session.subagents[0].call
    assert call is not None
    assert [call.id] == [call.id for call in session.tool_calls if call.name in {"Agent", "Task"}]


USED = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("prompt", ["mock:text(hello)", "mock:think-bash", "mock:parallel", "mock:steps"])
def test_tokens_equal_what_the_client_reports(scratch: Scratch, tmp_path: Path, prompt: str) -> None:
    """The client's `result.usage` is one turn of the main thread: the library and the ledger say the same."""
    run = scratch.run(prompt)
    told = {name: run.result["usage"][theirs] for name, theirs in USED.items()}
    assert told["output_tokens"] > 0
    session = reread.load(scratch.transcript(run.session))
    assert {name: getattr(session.usage, name) for name in USED} == told
    with reread.open(home=tmp_path / "archive", sources=[scratch.projects]) as archive:
        archive.sync()
        totals = archive.usage("session").totals
    assert {name: getattr(totals, name) for name in USED} == told


def test_several_turns_add_up_and_an_agent_comes_on_top(scratch: Scratch, tmp_path: Path) -> None:
    first = scratch.run("mock:think-bash")
    runs = [
        first,
        scratch.run("mock:text(again)", resume=first.session),
        scratch.run("mock:task", resume=first.session),
    ]
    told = {name: sum(run.result["usage"][theirs] for run in runs) for name, theirs in USED.items()}
    with reread.open(home=tmp_path / "archive", sources=[scratch.projects]) as archive:
        archive.sync()
        [row] = archive.usage("session").rows
    assert row.key == first.session
    assert row.agents is not None
    assert row.agents.output_tokens > 0
    assert {name: getattr(row.tokens, name) - getattr(row.agents, name) for name in USED} == told


def test_a_compaction_joins_both_halves(scratch: Scratch) -> None:
    run = scratch.run("mock:think-bash")
    scratch.run("/compact", resume=run.session)
    scratch.run("mock:thinking(after)", resume=run.session)
    session = reread.load(scratch.transcript(run.session))
    assert asked(session) == [["mock:think-bash", "mock:thinking(after)"]]
    assert len(texts(session)) == 3


def test_a_stream_capture_agrees_with_the_transcript(scratch: Scratch, tmp_path: Path) -> None:
    run = scratch.run("mock:think-bash")
    capture = tmp_path / "stream.jsonl"
    capture.write_bytes(run.stdout)
    streamed, written = reread.load(capture), reread.load(scratch.transcript(run.session))
    assert streamed.id == written.id
    assert texts(streamed) == texts(written)
    assert [call.id for call in streamed.tool_calls] == [call.id for call in written.tool_calls]
