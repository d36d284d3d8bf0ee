"""`push install` and `remove`: the file is shown, asked for, and the only thing that comes and goes."""

from __future__ import annotations

import plistlib
import sys
from pathlib import Path

import pytest

from cli.running import Run
from reread.cli.exchange import service
from reread.errors import BadInput

STORE = "postgresql://ann@db.example/team"
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes a unit of systemd")


@pytest.fixture
def unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PATH", str(tmp_path))  # no systemctl: nothing of this host is started
    return tmp_path / "config" / "systemd" / "user" / "reread-push.service"


@linux_only
def test_a_unit_is_shown_written_and_taken_out(run: Run, unit: Path, tmp_path: Path) -> None:
    asked = run("push", "install", STORE, "--home", tmp_path / "a")
    assert (asked.code, unit.exists()) == (2, False)
    assert "pass --yes" in asked.err
    done = run("push", "install", STORE, "--projects", "hashed", "--yes", "--home", tmp_path / "a%b")
    assert done.code == 0
    written = unit.read_text()
    assert f'"push" "{STORE}" "--watch" "--home"' in written
    assert '"--projects" "hashed"' in written
    assert "a%%b" in written
    assert written.strip().splitlines()[1] in done.err
    assert "systemctl --user enable --now reread-push.service" in done.err
    assert run("push", "remove", "--yes", "--home", tmp_path / "a").code == 0
    assert not unit.exists()
    assert "nothing to take out" in run("push", "remove", "--yes", "--home", tmp_path / "a").out


@linux_only
def test_a_service_sends_no_more_than_was_asked_for(run: Run, unit: Path, tmp_path: Path) -> None:
    chosen = ("--project", "my shop", "--since", "7d", "--starred", "--tag", "a", "--tag", "b", "--limit", "5")
    assert run("push", "install", STORE, *chosen, "--yes", "--home", tmp_path / "a").code == 0
    for word in ("--project=my shop", "--since=7d", "--starred", "--tag=a", "--tag=b", "--limit=5"):
        assert f'"{word}"' in unit.read_text()


@linux_only
def test_a_service_reads_what_the_shell_that_installed_it_reads(
    run: Run, unit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, prices = tmp_path / "50% $off", tmp_path / "prices.json"
    (source / "projects").mkdir(parents=True)
    prices.write_text("{}")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(source))
    monkeypatch.setenv("REREAD_PRICES", str(prices))
    assert run("push", "install", STORE, "--yes", "--home", tmp_path / "a").code == 0
    named = str(source).replace("%", "%%")
    assert f'Environment="CLAUDE_CONFIG_DIR={named}"\nEnvironment="REREAD_PRICES={prices}"\n' in unit.read_text()


@linux_only
def test_a_file_of_somebody_else_stays(run: Run, unit: Path, tmp_path: Path) -> None:
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\n")
    for action in (("install", STORE), ("remove",)):
        ran = run("push", *action, "--yes", "--home", tmp_path / "a")
        assert (ran.code, unit.read_text()) == (2, "[Service]\n")


@linux_only
def test_no_password_is_written(run: Run, unit: Path, tmp_path: Path) -> None:
    ran = run("push", "install", STORE.replace("ann@", "ann:hunter2@"), "--yes", "--home", tmp_path / "a")
    assert (ran.code, unit.exists()) == (2, False)
    assert "hunter2" not in ran.out + ran.err


def test_an_agent_of_launchd_runs_the_same_words() -> None:
    command = ["/usr/bin/python3", "-m", "reread", "push", "/Volumes/a & b/<x>", "--watch"]
    made = service(command, Path("/Users/ann"), None, "darwin", {"CLAUDE_CONFIG_DIR": "/a & b"})
    assert made.path == Path("/Users/ann/Library/LaunchAgents/dev.reread.push.plist")
    written = plistlib.loads(made.content.encode())
    assert (written["ProgramArguments"], written["EnvironmentVariables"]) == (command, {"CLAUDE_CONFIG_DIR": "/a & b"})
    with pytest.raises(BadInput):
        service(command, Path("/"), None, "win32")
