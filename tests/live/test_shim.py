"""Shims as package managers write them, and files that only look like one."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from reread.errors import ClientError
from reread.live.shim import behind_shim, refuse_batch_file
from reread.live.transport import Transport, program

PACKAGE = r"node_modules\@anthropic-ai\claude-code"
HEAD = "@ECHO off\r\nGOTO start\r\n:find_dp0\r\nSET dp0=%~dp0\r\nEXIT /b\r\n:start\r\nSETLOCAL\r\nCALL :find_dp0\r\n"
NODE = 'IF EXIST "%dp0%\\node.exe" (\r\n  SET "_prog=%dp0%\\node.exe"\r\n) ELSE (\r\n  SET "_prog=node"\r\n)\r\n'
SHIMS = {
    "npm": (rf'{HEAD}{NODE}endLocal & goto #_undefined_# 2>NUL || "%_prog%"  "%dp0%\{PACKAGE}\cli.js" %*', "cli.js"),
    "npm-exe": (f'{HEAD}"%dp0%\\{PACKAGE}\\bin\\claude.exe"   %*', "bin/claude.exe"),
    "pnpm": (
        '@IF EXIST "%~dp0\\node.exe" (\r\n'
        f'  "%~dp0\\node.exe"  "%~dp0\\{PACKAGE}\\cli.mjs" %*\r\n) ELSE (\r\n'
        f'  node  "%~dp0\\{PACKAGE}\\cli.mjs" %*\r\n)',
        "cli.mjs",
    ),
}
JSON = '--settings={"a": "%PATH%&calc"}'


def a_shim(folder: Path, text: str, started: str = "cli.js") -> Path:
    target = folder.joinpath(*PACKAGE.split("\\"), started)
    target.parent.mkdir(parents=True)
    target.write_text("")
    shim = folder / "claude.cmd"
    shim.write_text(text)
    shim.chmod(0o755)
    return shim


def a_node(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    node = folder / name
    node.write_text("")
    node.chmod(0o755)
    return node


@pytest.mark.parametrize("kind", SHIMS)
def test_the_program_behind_a_shim_is_started(tmp_path: Path, kind: str) -> None:
    text, started = SHIMS[kind]
    shim = a_shim(tmp_path / "npm", text, started)
    node = a_node(tmp_path / "bin", "node.exe" if os.name == "nt" else "node")
    found = program(shim, {"PATH": str(node.parent)})
    target = str(shim.parent.joinpath(*PACKAGE.split("\\"), started))
    assert found == ([target] if kind == "npm-exe" else [str(node), target])


def test_the_node_beside_a_shim_comes_first(tmp_path: Path) -> None:
    shim = a_shim(tmp_path, SHIMS["npm"][0])
    beside = a_node(tmp_path, "node.exe")
    assert behind_shim(str(shim), {"PATH": ""})[0] == str(beside)


@pytest.mark.parametrize(
    "text", ["", "@echo off\r\nset HTTPS_PROXY=x\r\nC:\\claude.exe %*", '"%dp0%\\gone.exe" %*', "\0\udcff"]
)
def test_other_batch_files_stay_what_they_are(tmp_path: Path, text: str) -> None:
    shim = tmp_path / "claude.CMD"
    shim.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert behind_shim(str(shim), {}) == [str(shim)]


def test_a_batch_file_gets_no_argument_that_cmd_would_change() -> None:
    refuse_batch_file([r"C:\npm\claude.cmd", "-p", "--model", "claude-opus-5[1m]", r"--add-dir=C:\my work"])
    refuse_batch_file(["claude.exe", JSON])
    for argument in (JSON, "a&b", "%PATH%", "a|b", "x > y", "it ^ is", "(one)", "wow!", "two\nlines"):
        with pytest.raises(ClientError, match="batch file"):
            refuse_batch_file(["claude.Cmd", argument])


def test_nothing_is_started_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    shim = tmp_path / "claude.cmd"
    shim.write_text(f"#!/bin/sh\ntouch {started}\n")
    shim.chmod(0o755)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ClientError, match="batch file"):
        asyncio.run(Transport.start([str(shim), JSON]))
    assert not started.exists()
