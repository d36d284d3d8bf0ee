"""The Claude Code plugin: what it runs, and that it says the same version as the package."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reread import __version__

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a script of sh")
ECHO = '#!/bin/sh\necho "$0" "$@"\n'


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ECHO)
    path.chmod(0o755)
    return path


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """As the client installs it: alone, far from the repository."""
    return Path(shutil.copytree(ROOT / "plugin", tmp_path / "installed"))


def run(plugin: Path, *folders: Path, **environment: str) -> tuple[int, str]:
    path = os.pathsep.join([str(plugin / "bin"), *map(str, folders), "/usr/bin", "/bin"])
    command = ["/bin/sh", str(plugin / "bin" / "reread"), "retro", "a b"]
    env = {"HOME": str(plugin.parent), "PATH": path, **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, (done.stdout + done.stderr).strip()


def test_what_is_on_the_path_is_preferred(plugin: Path, tmp_path: Path) -> None:
    ours, uvx = program(tmp_path / "has it" / "reread"), program(tmp_path / "uv" / "uvx")
    assert run(plugin, uvx.parent, ours.parent) == (0, f"{ours} retro a b")


def test_without_one_uvx_runs_the_repository_it_was_installed_from(plugin: Path, tmp_path: Path) -> None:
    uvx = program(tmp_path / "uv" / "uvx")
    known = tmp_path / ".claude" / "plugins" / "known_marketplaces.json"
    known.parent.mkdir(parents=True)
    others = {"other": {"source": {"source": "git"}, "installLocation": "/nowhere"}}
    own = {"reread": {"source": {"source": "directory", "path": str(ROOT)}, "installLocation": str(ROOT)}}
    known.write_text(json.dumps(others | own | {"later": others["other"]}, indent=2))
    assert run(plugin, uvx.parent) == (0, f"{uvx} --quiet --from {ROOT} reread retro a b")
    assert run(plugin, uvx.parent, REREAD_FROM="reread==9")[1] == f"{uvx} --quiet --from reread==9 reread retro a b"
    known.unlink()
    done = run(plugin, uvx.parent, REREAD_FROM="reread==9")
    assert done == (0, f"{uvx} --quiet --from reread==9 reread retro a b"), "no word of what is not there"
    code, said = run(plugin, uvx.parent)
    assert code == 127 and "install it, or uv" in said, "a name in an index is nobody's"


def test_it_has_the_version_of_the_package() -> None:
    manifest = json.loads((ROOT / "plugin" / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["version"] == __version__
