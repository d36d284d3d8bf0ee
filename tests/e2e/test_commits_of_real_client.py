"""A commit of what the real client wrote names its session, and what was typed beside it nobody."""

from __future__ import annotations

import json
import subprocess

import pytest

from cli.running import reread_here
from client.run import Scratch

pytestmark = pytest.mark.e2e


def test_a_commit_names_the_session_that_wrote_its_lines(scratch: Scratch, monkeypatch: pytest.MonkeyPatch) -> None:
    run = scratch.run("mock:edit(written.txt)")
    assert run.status == 0
    written = (scratch.work / "written.txt").read_text("utf-8")
    (scratch.work / "written.txt").write_text(f"{written.rstrip()}\ntyped by hand\n", "utf-8")
    for words in (("add", "written.txt"), ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "on")):
        subprocess.run(["git", *words], cwd=scratch.work, check=True)
    environment = {**scratch.environment, "REREAD_HOME": str(scratch.home / "archive")}
    monkeypatch.chdir(scratch.work)
    ran = reread_here("commit", "--json", env=environment)
    assert ran.code == 0, ran.err
    by_text = {line["text"]: line["session"] for line in json.loads(ran.out)["blame"]}
    assert by_text.pop("typed by hand") is None
    assert set(by_text.values()) == {run.session}
