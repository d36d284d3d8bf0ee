"""The wheel, installed by what people install with, each into a place of its own; what is not here is skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from client.install import PROJECT
from reread import __version__

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="the scripts have other names")]
WAYS = {
    "uvx": [["uvx", "--from", "{wheel}", "reread", "--version"]],
    "uv": [["uv", "tool", "install", "{wheel}"], ["{home}/.local/bin/reread", "--version"]],
    "pipx": [["pipx", "install", "{wheel}"], ["{home}/.local/bin/reread", "--version"]],
    "plugin": [["sh", f"{PROJECT}/plugin/bin/reread", "--version"]],
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    source = folder / "source"
    shutil.copytree(PROJECT / "src" / "reread", source / "src" / "reread", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_runs_however_it_is_installed(wheel: Path, tmp_path: Path) -> None:
    def printed(way: str) -> str:
        home = tmp_path / way
        home.mkdir()
        asked = "uvx" if way == "plugin" else way
        if (
            shutil.which(asked) is None
            or subprocess.run([asked, "--version"], capture_output=True, check=False).returncode
        ):
            return f"no {asked} here"
        path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not (Path(p) / "reread").exists())
        own = {
            "HOME": str(home),
            "PATH": path,
            "REREAD_FROM": str(wheel),
            "UV_CACHE_DIR": str(tmp_path / "uv"),
            "XDG_DATA_HOME": "",
        }
        python = {"UV_PYTHON": sys.executable, "PIPX_DEFAULT_PYTHON": sys.executable}
        for command in WAYS[way]:
            words = [word.format(wheel=wheel, home=home) for word in command]
            done = subprocess.run(
                words, env={**os.environ, **own, **python}, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{way}: {done.stderr[-1000:]}"
        return done.stdout.strip()

    with ThreadPoolExecutor(len(WAYS)) as pool:
        found = dict(zip(WAYS, pool.map(printed, WAYS), strict=True))
    here = {way: said for way, said in found.items() if not said.startswith("no ")}
    assert set(here.values()) <= {f"reread {__version__}"}, found
    if not here:
        pytest.skip(str(found))
