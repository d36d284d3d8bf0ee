"""The program in this process, far from the home of whoever runs the tests."""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.kept import Kept, fill
from cli.running import Ran, Run
from reread.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Run]:
    """Most tests need no process of their own: one costs a fifth of a second."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("COLUMNS", "80")
    threshold = gc.get_threshold()

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:  # argparse's own --help
            code = int(end.code or 0)
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    yield run
    gc.set_threshold(*threshold)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder whose parents anyone may enter: pytest's own are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="reread-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Kept:
    """Two sessions in a Claude folder, and an archive that nothing was taken into yet."""
    claude = tmp_path / ".claude"
    fill(claude)
    return Kept(run, claude, tmp_path / "archive")
