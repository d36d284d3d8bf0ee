"""Whatever a person points at becomes the session it holds: a file, a folder, an agent's file, an array, a stream."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import threading
from pathlib import Path

import pytest

import reread
from reread.loading import SourceTree
from reread.records import User
from reread.sources import Reset
from reread.testing import Transcript, a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result

ERAS = Path(__file__).parent / "eras"
ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "0a1b9999-1111-4222-8333-444455556666"


def delegating(where: str = "below") -> Transcript:
    return a_session(
        a_prompt("delegate"),
        a_reply(a_tool_call("Task", {"prompt": "the task"}, id="toolu_task")),
        a_subagent(
            a_prompt("the task"),
            a_reply("done by the agent", thinking="the agent's own thought"),
            id="abc",
            of="toolu_task" if where == "below" else None,
            where="below" if where == "below" else "beside",
        ),
        a_tool_result("done", of="toolu_task", twin={"agentId": "abc", "status": "completed"}),
        a_reply("all done"),
        id=ID,
        outputs={"toolu_9.txt": "x"} if where == "below" else None,
    )


def test_an_agent_file_beside_it_that_cannot_be_read_does_not_keep_a_session_out(tmp_path: Path) -> None:
    trunk = delegating("beside").write(tmp_path)
    broken = trunk.with_name("agent-broken.jsonl")
    broken.write_bytes(b"\0\1\2")
    session = reread.load(trunk)
    assert [agent.id for agent in session.subagents] == ["abc"]
    assert session.problems == (f"{broken}: is a binary file, not a transcript",)


def test_a_file_brings_the_agents_of_its_folder(tmp_path: Path) -> None:
    session = reread.load(delegating().write(tmp_path))
    assert session.id == ID
    assert [(agent.id, agent.call and agent.call.id) for agent in session.subagents] == [("abc", "toolu_task")]
    assert {Path(file).name for file in session.files} == {
        f"{ID}.jsonl",
        "agent-abc.jsonl",
        "agent-abc.meta.json",
        "toolu_9.txt",
    }
    assert session.size == sum(Path(file).stat().st_size for file in session.files)


def test_a_session_folder_is_the_session_beside_it(tmp_path: Path) -> None:
    path = delegating().write(tmp_path)
    session = reread.load(path.with_suffix(""))
    assert [prompt.text for prompt in session.prompts] == ["delegate"]
    assert [agent.id for agent in session.subagents] == ["abc"]


def test_a_folder_whose_transcript_is_gone_still_holds_its_agents(tmp_path: Path) -> None:
    path = delegating().write(tmp_path)
    path.unlink()
    session = reread.load(path.with_suffix(""))
    assert session.id == ID
    assert [agent.id for agent in session.subagents] == ["abc"]


def test_an_agents_file_is_read_for_itself(tmp_path: Path) -> None:
    path = delegating().write(tmp_path)
    agent = reread.load(path.with_suffix("") / "subagents" / "agent-abc.jsonl")
    assert [thought.text for thought in agent.thinking()] == ["the agent's own thought"]
    assert agent.subagents == ()


def test_agents_of_the_old_layout_lie_beside_the_trunk(tmp_path: Path) -> None:
    path = delegating("beside").write(tmp_path)
    stranger = a_session(
        a_prompt("q"), a_subagent(a_prompt("t"), a_reply("a"), id="strange", where="beside"), id=OTHER
    ).write(tmp_path)
    assert [agent.id for agent in reread.load(path).subagents] == ["abc"]
    assert [agent.id for agent in reread.load(stranger).subagents] == ["strange"]
    tree = SourceTree([tmp_path])
    assert [agent.id for agent in tree.session(ID).subagents] == ["abc"]


def test_a_renamed_trunk_keeps_its_agents_of_the_old_layout(tmp_path: Path) -> None:
    path = delegating("beside").write(tmp_path)
    session = reread.load(path.rename(path.with_name("backup.jsonl")))
    assert session.id == ID
    assert [agent.id for agent in session.subagents] == ["abc"]


def test_an_array_is_a_session_too(tmp_path: Path) -> None:
    lines = a_session(a_prompt("from an array"), a_reply("read")).lines
    path = tmp_path / "chat.json"
    path.write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")
    session = reread.load(path)
    assert [prompt.text for prompt in session.prompts] == ["from an array"]
    assert [record.line for record in session.records] == [2, 3]


def test_a_stream_capture_is_a_session_with_its_recorded_id() -> None:
    session = reread.load(ERAS / "e09-stream-plain" / "source" / "stream.jsonl")
    assert session.id not in ("", "stream")
    assert session.assistant_messages


def test_a_uuid_in_the_files_name_wins_over_what_its_lines_say(tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(a_session(a_prompt("q"), id=OTHER).bytes)
    assert reread.load(path).id == ID


def test_a_file_with_another_name_has_the_id_its_lines_give_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(a_session(a_prompt("q"), id=OTHER).bytes)
    assert reread.load(path).id == OTHER


def test_a_file_whose_lines_give_no_id_is_called_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "note.jsonl"
    path.write_bytes(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
    assert reread.load(path).id == "note"


def test_the_project_is_where_the_lines_were_written_not_the_folders_name(tmp_path: Path) -> None:
    folder = tmp_path / "-home-ann-my-app"
    folder.mkdir()
    path = folder / f"{ID}.jsonl"
    path.write_bytes(a_session(a_prompt("q"), cwd="/home/ann/my-app").bytes)
    assert reread.load(path).project == "/home/ann/my-app"


def spilled(saved_to: str) -> Transcript:
    text = f"<persisted-output>\nOutput too large (9KB). Full output saved to: {saved_to}\n\nPreview: begin"
    return a_session(
        a_prompt("q"),
        a_reply(a_tool_call("Bash")),
        a_tool_result(text),
        id=ID,
        outputs={"toolu_1.txt": "the whole output"},
    )


@pytest.mark.parametrize("saved_to", ["/elsewhere/tool-results/toolu_1.txt", "C:\\Users\\x\\tool-results\\toolu_1.txt"])
def test_a_spilled_output_is_found_in_the_sessions_own_folder_wherever_it_was_written(
    tmp_path: Path, saved_to: str
) -> None:
    session = reread.load(spilled(saved_to).write(tmp_path))
    assert session.full_output(session.tool_calls[0]) == "the whole output"


@pytest.mark.parametrize(
    "saved_to", ["SECRET", "../../secret.txt", "tool-results/../../secret.txt", "..", "missing.txt"]
)
def test_a_path_that_leaves_the_sessions_folder_is_not_read(tmp_path: Path, saved_to: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("a secret")
    session = reread.load(spilled(saved_to.replace("SECRET", str(secret))).write(tmp_path))
    output = session.full_output(session.tool_calls[0])
    assert output.startswith("<persisted-output>")
    assert "a secret" not in output


def test_an_unfinished_last_line_is_kept_and_called_so(tmp_path: Path) -> None:
    path = a_session(a_prompt("q"), a_reply("a")).write(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    *whole, last = reread.read(path)
    assert [record.line for record in whole] == [1]
    assert isinstance(last, reread.Unknown)
    assert last.malformed
    assert last.reason.startswith("unfinished last line")
    assert [prompt.text for prompt in reread.load(path).prompts] == ["q"]


def test_a_whole_last_line_without_a_newline_is_a_record(tmp_path: Path) -> None:
    path = a_session(a_prompt("q"), last_newline=False).write(tmp_path)
    (record,) = reread.read(path)
    assert isinstance(record, User)


def test_read_is_lazy_and_gives_every_record_its_place(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"user"}\n\nbroken\n{"type":"assistant"}\n')
    records = reread.read(path)
    first = next(records)
    assert (first.line, first.offset) == (1, 0)
    assert [(record.line, record.offset) for record in records] == [(3, 17), (4, 24)]


def test_a_folder_of_many_sessions_is_not_one(tmp_path: Path) -> None:
    for name in (ID, OTHER):
        a_session(a_prompt("q"), id=name).write(tmp_path)
    with pytest.raises(reread.SourceError, match="holds 2 sessions"):
        reread.load(tmp_path)


def test_a_folder_of_one_session_is_that_session(tmp_path: Path) -> None:
    delegating().write(tmp_path)
    assert reread.load(tmp_path).id == ID


def test_a_missing_file_is_a_source_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(reread.SourceError) as caught:
        reread.load(tmp_path / "missing.jsonl")
    assert caught.value.path == tmp_path / "missing.jsonl"


@pytest.fixture
def tree(tmp_path: Path) -> SourceTree:
    """Two sessions, the second one older."""
    for age, name in enumerate((ID, OTHER)):
        path = a_session(a_prompt(f"of {name[:8]}"), id=name).write(tmp_path)
        os.utime(path, (1_790_000_000 - age, 1_790_000_000 - age))
    return SourceTree([tmp_path])


def test_a_tree_holds_the_newest_session_first(tree: SourceTree) -> None:
    assert [session.id for session in tree] == [ID, OTHER]
    assert (tree.session("@last").id, tree.session("@1").id, tree.session("@2").id) == (ID, ID, OTHER)


@pytest.mark.parametrize("name", ["@0", "@3", "@", "@-1", "@" + "9" * 5_000])
def test_a_number_without_a_session_is_unknown(tree: SourceTree, name: str) -> None:
    with pytest.raises(reread.UnknownSession):
        tree.session(name)


def test_a_session_counts_as_new_as_its_newest_agent(tmp_path: Path) -> None:
    old = delegating().write(tmp_path)
    os.utime(old, (1_000, 1_000))
    newer = a_session(a_prompt("q"), id=OTHER).write(tmp_path)
    os.utime(newer, (2_000, 2_000))
    os.utime(old.with_suffix("") / "subagents" / "agent-abc.jsonl", (3_000, 3_000))
    assert SourceTree([tmp_path]).session("@last").id == ID


def test_a_session_is_found_by_its_id_or_a_unique_beginning(tree: SourceTree) -> None:
    assert tree.session(ID).id == ID
    assert tree.session("0a1b2").id == ID
    assert tree.trunk("0a1b9").stem == OTHER


def test_a_beginning_of_several_ids_is_ambiguous(tree: SourceTree) -> None:
    with pytest.raises(reread.AmbiguousSession) as caught:
        tree.session("0a1b")
    assert caught.value.candidates == (ID, OTHER)


@pytest.mark.parametrize("name", ["zzz", "@", "@0", "@3", "@-1", "@x"])
def test_a_name_nobody_has_is_unknown(tree: SourceTree, name: str) -> None:
    with pytest.raises(reread.UnknownSession):
        tree.session(name)


def test_a_renamed_session_is_found_by_the_id_it_is_shown_with(tmp_path: Path) -> None:
    (tmp_path / "backup.jsonl").write_bytes(a_session(a_prompt("q"), id=OTHER).bytes)
    tree = SourceTree([tmp_path])
    (session,) = tree
    assert tree.session(session.id).id == session.id


def test_a_session_that_vanished_is_a_problem_and_the_others_are_read(tree: SourceTree) -> None:
    tree.trunk(ID).unlink()
    assert [session.id for session in tree] == [OTHER]
    assert [problem.path.stem for problem in tree.problems] == [ID]


def test_a_session_known_by_its_agents_only_cannot_be_followed(tmp_path: Path) -> None:
    delegating().write(tmp_path).unlink()
    with pytest.raises(reread.SourceError, match="no transcript left"):
        SourceTree([tmp_path]).trunk(ID)


def test_a_multi_megabyte_line_is_read(tmp_path: Path) -> None:
    path = a_session(a_prompt("q"), a_reply(a_tool_call("Bash")), a_tool_result("x" * 3_000_000)).write(tmp_path)
    output = reread.load(path).tool_calls[0].output
    assert output is not None
    assert len(output.text) == 3_000_000


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A session in the archive that the environment names, and nowhere else."""
    source = tmp_path / "source"
    path = spilled("/home/ann/.claude/projects/p/tool-results/toolu_1.txt").write(source)
    with reread.open(sources=[source]) as archive:
        archive.sync()
    shutil.rmtree(source)
    return path


@pytest.mark.parametrize("name", [ID, ID[:6], "@last"])
def test_a_name_is_a_session_of_the_archive_whole_though_its_source_is_gone(kept: Path, name: str) -> None:
    session = reread.load(name)
    assert session.id == ID
    assert session.files[0] == str(kept)
    assert session.full_output(session.tool_calls[0]) == "the whole output"


@pytest.mark.usefixtures("kept")
def test_a_name_that_no_session_has_is_unknown() -> None:
    with pytest.raises(reread.UnknownSession, match="no session 'ffff'"):
        reread.load("ffff")


def test_looking_for_a_session_makes_no_archive() -> None:
    with pytest.raises(reread.UnknownSession):
        reread.load(ID)
    assert not Path(os.environ["REREAD_HOME"]).exists()


def test_a_file_goes_before_a_session_of_the_archive(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.parent.mkdir(parents=True)
    monkeypatch.chdir(kept.parent)
    a_session(a_prompt("q"), id=OTHER).write(kept.parent).rename(ID[:8])
    assert reread.load(ID[:8]).id == OTHER


def test_a_growing_file_is_followed_record_by_record(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    stop = threading.Event()
    first, second = a_session(a_prompt("one"), id=ID), a_session(a_prompt("two"), id=ID)
    path.write_bytes(first.bytes)
    followed = reread.follow(str(path), interval=0.01, stop=stop)
    one = next(followed)
    assert isinstance(one, User)
    assert (one.line, one.text) == (1, "one")
    path.write_bytes(b"")
    assert next(followed) == Reset("truncated")
    path.write_bytes(second.bytes)
    two = next(followed)
    assert isinstance(two, User)
    assert (two.line, two.text) == (1, "two")
    stop.set()
    assert list(followed) == []


@pytest.mark.parametrize("name", ["x" * 5000, "x" * 5000 + ".jsonl", "a\0b", "a\0b.jsonl", '{"type": "user"}' * 500])
def test_a_name_that_no_file_can_have_is_an_error_of_ours(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REREAD_HOME", str(tmp_path))
    for look in (reread.load, lambda name: next(reread.follow(name)), lambda name: next(reread.read(name))):
        with pytest.raises(reread.RereadError):
            look(name)
    with pytest.raises(reread.SourceError):
        reread.load(Path(name))


def test_a_session_can_be_handed_to_another_process(tmp_path: Path) -> None:
    session = reread.load(delegating().write(tmp_path))
    for is_used in (False, True):
        other = pickle.loads(pickle.dumps(session))  # noqa: S301  our own
        assert other.records == session.records, is_used
        assert [turn.steps for turn in other.turns] == [turn.steps for turn in session.turns]
        assert [other.usage_of(turn) for turn in other.turns] == [session.usage_of(turn) for turn in session.turns]
        assert (other.total_usage, other.coverage) == (session.total_usage, session.coverage)
        assert [(each.id, each.call) for each in other.subagents] == [(a.id, a.call) for a in session.subagents]
        assert other.summary() == session.summary()


def test_a_copy_finds_its_own_lines_that_are_said_twice() -> None:
    again = a_prompt("a", uuid="a", timestamp="2026-01-05T09:00:01.000Z")
    session = a_session(a_prompt("a", uuid="a"), a_reply("b", uuid="b"), again).build()
    assert len(session.repeats) == 1
    copied = copy.deepcopy(session)
    assert copied.coverage == session.coverage
