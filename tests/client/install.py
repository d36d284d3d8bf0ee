"""Finds or installs the real client in the project's `.cache`, so that a machine downloads it once."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[2]
CACHE = PROJECT / ".cache" / "claude"
VERSIONS = ["2.1.197", "2.1.327"]
"""The last of the era before the request records, and the newest that the fixtures know."""
NPM_PACKAGE = "@anthropic-ai/claude-code"
PYPI_PACKAGE = "claude-agent-sdk"


def claude_binary(version: str) -> Path:
    """The client of that version; without npm, the one inside PyPI's agent SDK, whatever its version."""
    folder = CACHE / version
    if found := _npm_client(folder):
        return found
    if npm := shutil.which("npm"):
        package = f"{NPM_PACKAGE}@{version}"
        _install([npm, "install", "--no-audit", "--no-fund", package, "--prefix"], folder)
        return _required(_npm_client(folder), folder)
    return _sdk_client()


def _npm_client(folder: Path) -> Path | None:
    """The native binary where the package has one (2.1.x), else the script that node runs."""
    native = sorted(folder.glob(f"node_modules/{NPM_PACKAGE}-*/claude"))
    scripts = [folder / "node_modules" / ".bin" / "claude"]
    return next((path for path in [*native, *scripts] if path.is_file()), None)


def sdk_folder() -> Path:
    """PyPI's agent SDK, installed if it is not there yet."""
    folder = CACHE / "sdk"
    if not (folder / "claude_agent_sdk").is_dir():
        _install([sys.executable, "-m", "pip", "install", PYPI_PACKAGE, "--target"], folder)
    return folder


def _sdk_client() -> Path:
    """The client inside the agent SDK."""
    folder = sdk_folder()
    binary = folder / "claude_agent_sdk" / "_bundled" / "claude"
    return _required(binary if binary.is_file() else None, folder)


def _install(command: list[str], folder: Path) -> None:
    """Run an installer into a folder that appears only when it is complete."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="partial-") as partial:
        target = Path(partial) / folder.name
        done = subprocess.run([*command, str(target)], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        if not folder.exists():
            target.rename(folder)


def _required(found: Path | None, folder: Path) -> Path:
    if found is None:
        raise RuntimeError(f"the client was installed in {folder}, but its program is not there")
    return found
