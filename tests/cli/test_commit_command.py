"""`reread commit` and `reread pr`: who wrote the lines of a commit, in real repositories of git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.cli import commit
from reread.testing import Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

ANN = "aaaa0000-1111-4222-8333-444455556666"
BOB = "bbbb0000-1111-4222-8333-444455556666"
LAMP = "def light(lamp):\n    return lamp.switch(on=True)\n"


class Repository:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, date: str = "2026-03-02T10:00:00Z") -> None:
        who = {
            f"GIT_{role}_{what}": "ann@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        subprocess.run(["git", *arguments], cwd=self.folder, env={**os.environ, **who, **dates}, check=True)

    def commit(self, subject: str, date: str = "2026-03-02T10:00:00Z", **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject, date=date)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path / "orchard")
    monkeypatch.chdir(made.folder)
    return made


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Kept:
    return Kept(run, tmp_path / ".claude", tmp_path / "archive")


def a_write(path: Path, text: str, time: str) -> tuple[Entry, Entry]:
    call = a_tool_call("Write", {"file_path": str(path), "content": text})
    return a_reply(call, timestamp=time), a_tool_result("ok", timestamp=time)


def test_lines_belong_to_the_session_that_wrote_them_and_the_rest_to_nobody(kept: Kept, repository: Repository) -> None:
    file = repository.folder / "lamp.py"
    secret = "ghp_" + "k3Jd92mfLq81zXcVbNm45tYuIoPa7sDfGh6R"
    a_session(
        a_prompt(f"light it, the token is {secret}"), *a_write(file, LAMP, "2026-03-01T10:00:00.000Z"), id=ANN
    ).write(kept.claude / "projects")
    later = a_write(file, LAMP + "# of another day\n", "2026-03-05T10:00:00.000Z")
    a_session(a_prompt("again"), *later, id=BOB).write(kept.claude / "projects")
    repository.commit("Light the lamp", lamp=LAMP + "typed_by_hand = 1\n}\n")
    document = kept.json("commit")
    assert document["schema"] == "reread.commit/1"
    assert (document["lines"], document["attributed_lines"]) == (3, 2)
    [work] = document["work"]
    assert (work["session"], work["turn"], work["lines"]) == (ANN, 1, 2)
    assert float(work["cost_usd"]) > 0
    assert [line["session"] for line in document["blame"]] == [ANN, ANN, None]
    assert "2 of 3 lines written by 1 session, 1 prompt" in kept("commit").out
    assert f"{ANN[:8]}     1  lamp.py:1  def light(lamp):" in kept("blame", "HEAD").out
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit("Say so", lamp=LAMP + "typed_by_hand = 1\n}\nprint('lit')\n")
    summary = kept("pr", "main").out
    assert "0 of 1 line written by 0 sessions" in summary
    repository.git("branch", "-q", "-f", "root", "HEAD~1")
    assert secret not in kept("commit", "HEAD~1", "--lines").out


def test_a_summary_of_a_branch_has_its_prompts_without_secrets(kept: Kept, repository: Repository) -> None:
    secret = "ghp_" + "k3Jd92mfLq81zXcVbNm45tYuIoPa7sDfGh6R"
    written = a_write(repository.folder / "lamp.py", LAMP, "2026-03-01T10:00:00.000Z")
    a_session(a_prompt(f"light it with {secret} | now"), *written, id=ANN).write(kept.claude / "projects")
    repository.commit("Begin", other="x = 'nothing'\n")
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit("Light the lamp", lamp=LAMP)
    summary = kept("pr", "main").out
    assert "2 of 2 lines written by 1 session, 1 prompt" in summary
    assert f"| `{ANN[:8]}` | light it with" in summary
    assert secret not in summary
    assert "\\| now" in summary


def test_a_commit_that_git_does_not_know_is_one_sentence(kept: Kept, repository: Repository) -> None:
    repository.commit("Begin", lamp=LAMP)
    for given in ("no-such-branch", "--output=x"):
        ran = kept("commit", "--", given)
        assert (ran.code, ran.out) == (2, "")
        assert "Traceback" not in ran.err


def test_the_action_asks_for_what_the_command_has() -> None:
    action = (Path(__file__).parents[2] / "contrib" / "reread-pr" / "action.yml").read_text("utf-8")
    assert 'reread" pr "origin/$BASE" --source "$SOURCE" --home' in action
    given = commit.pr_parser().parse_args(["origin/main", "--source", "x", "--home", "y"])
    assert (given.base, given.source, given.home) == ("origin/main", ["x"], "y")
