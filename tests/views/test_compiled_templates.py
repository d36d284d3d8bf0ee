"""Templates are compiled once, and what was kept of them is never trusted beyond its version."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import Environment

from reread import __version__
from reread.views.html import page
from reread.views.html.content import cut

LONG = cut("a < b\n" * 100)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is compiled, and none of it yet."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    return tmp_path


def shown() -> str:
    made: Environment = page.environment.__wrapped__()
    return made.get_template("rest.html").render(text=LONG)


def files(kept: Path) -> list[Path]:
    return [path for path in kept.rglob("*") if path.is_file()]


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    compile_really = Environment.compile

    def counted(self: Environment, source: str, name: str | None = None, filename: str | None = None) -> object:
        made.append(name or "")
        return compile_really(self, source, name, filename)

    monkeypatch.setattr(Environment, "compile", counted)
    return made


def test_a_template_is_compiled_once(kept: Path, compilations: list[str]) -> None:
    first = shown()
    assert (compilations, len(files(kept))) == (["rest.html"], 1)
    assert shown() == first
    assert compilations == ["rest.html"]


@pytest.mark.parametrize("damage", [lambda _: b"", lambda raw: raw[: len(raw) // 2], lambda raw: b"0.0.1 " + raw])
def test_what_is_damaged_or_of_another_version_is_compiled_again(
    kept: Path, compilations: list[str], damage: Callable[[bytes], bytes]
) -> None:
    first = shown()
    [path] = files(kept)
    path.write_bytes(damage(path.read_bytes()))
    assert shown() == first
    assert shown() == first
    assert compilations == ["rest.html"] * 2


def test_where_python_keeps_nothing_neither_do_we(
    kept: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert shown() == shown()
    assert (compilations, files(kept)) == (["rest.html"] * 2, [])


def test_a_folder_that_cannot_be_written_costs_a_compilation_and_nothing_else(
    kept: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (kept / "file").write_bytes(b"")
    monkeypatch.setattr(sys, "pycache_prefix", str(kept / "file"))
    assert shown() == shown()
    assert compilations == ["rest.html"] * 2


def test_code_is_kept_for_one_version_and_one_kind_of_interpreter(kept: Path) -> None:
    shown()
    [path] = files(kept)
    assert path.name.endswith(f"-{__version__}.{sys.implementation.cache_tag}.code")
