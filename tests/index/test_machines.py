"""The machine is not its host name: an id that is made once stays, whatever is renamed, moved or lost."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import pytest

from reread.archive import Archive
from reread.archive.filters import Filter
from reread.errors import BadInput
from reread.testing import a_prompt, a_reply, a_session, a_usage

ID = "0a1b2c3d-1111-4222-8333-444455556666"
OTHER = "1b2c3d4e-2222-4333-8444-555566667777"


def call_host(patch: pytest.MonkeyPatch, name: str) -> None:
    patch.setattr(os, "uname", lambda: SimpleNamespace(nodename=name), raising=False)
    patch.setattr("platform.node", lambda: name)


def opened(folder: Path) -> Archive:
    return Archive(folder / "home", [folder / "projects"])


def write_sessions(folder: Path) -> None:
    for uuid, word in ((ID, "alpaca"), (OTHER, "iguana")):
        a_session(a_prompt(word), a_reply("yes", usage=a_usage(output=7)), id=uuid).write(folder / "projects")


def names(archive: Archive) -> list[str]:
    return sorted(each.id for each in archive.sessions())


def test_a_renamed_host_makes_nothing_new_and_nothing_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_host(monkeypatch, "desk")
    write_sessions(tmp_path)
    with opened(tmp_path) as archive:
        archive.sync()
        archive.safe.forget(OTHER)
        machine = archive.machine
    call_host(monkeypatch, "desk.local")
    with opened(tmp_path) as archive:
        result = archive.sync()
        assert (result.sessions, result.bytes, names(archive)) == (0, 0, [ID])
        assert archive.machine == machine
        assert archive.inner.own_machine().label == "desk"
        archive.safe.rebuild()
        assert archive.sync().bytes == 0
        assert names(archive) == [ID]


def test_the_id_is_random_kept_for_oneself_and_the_same_in_another_folder(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with opened(tmp_path) as archive:
        archive.sync()
        machine = archive.inner.own_machine()
    with Archive(tmp_path / "another") as archive:
        assert archive.machine != machine.id
    assert UUID(machine.id).version == 4
    kept = tmp_path / "home" / "machine.json"
    assert json.loads(kept.read_text())["id"] == machine.id
    if os.name == "posix":
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    shutil.move(tmp_path / "home", tmp_path / "elsewhere")
    with Archive(tmp_path / "elsewhere", [tmp_path / "projects"]) as archive:
        assert archive.inner.own_machine() == machine
        assert archive.sync().bytes == 0
        assert names(archive) == [ID, OTHER]


@pytest.mark.parametrize("lost", ["machine.json", "reread.db", "both"])
def test_what_is_lost_of_the_id_is_given_back(lost: str, tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with opened(tmp_path) as archive:
        archive.sync()
        machine = archive.machine
    for path in (tmp_path / "home").glob("machine.json" if lost == "machine.json" else "reread.db*"):
        path.unlink()
    if lost == "both":
        (tmp_path / "home" / "machine.json").unlink()
    with opened(tmp_path) as archive:
        result = archive.sync()
        assert (archive.machine, result.bytes, names(archive)) == (machine, 0, [ID, OTHER])
    assert json.loads((tmp_path / "home" / "machine.json").read_text())["id"] == machine


def test_a_rebuild_without_the_file_keeps_the_id_of_the_database(tmp_path: Path) -> None:
    write_sessions(tmp_path)
    with opened(tmp_path) as archive:
        archive.sync()
        machine = archive.inner.label_machine("the laptop")
    (tmp_path / "home" / "machine.json").unlink()
    with opened(tmp_path) as archive:
        archive.safe.rebuild()
        assert archive.inner.own_machine() == machine


@contextmanager
def opened_by_server(tmp_path: Path, *, beside: str) -> Iterator[Archive]:
    """An archive that has sessions of this machine, which is called so, and one of its own."""
    write_sessions(tmp_path)
    with opened(tmp_path) as archive:
        archive.sync()
        archive.inner.label_machine(beside)
    a_session(a_prompt("okapi"), a_reply("no", usage=a_usage(output=5)), id=ID.replace("0a", "9a")).write(
        tmp_path / "b"
    )
    with Archive(tmp_path / "home", [tmp_path / "b"], machine="server") as archive:
        archive.sync()
        yield archive


def test_sessions_and_usage_by_machine(tmp_path: Path) -> None:
    with opened_by_server(tmp_path, beside="Laptop") as archive:
        rows = {row.key: row.tokens.output_tokens for row in archive.usage("machine").rows}
        assert rows == {"Laptop": 14, "server": 5}
        listed = {each.id for each in archive.sessions(Filter(machine="laptop"))}
        assert listed == {ID, OTHER}
        assert archive.usage("day", Filter(machine="server")).totals.output_tokens == 5
        with pytest.raises(BadInput, match="no machine is called 'desk'; there is Laptop, server"):
            archive.sessions(Filter(machine="desk"))


def test_two_machines_of_one_label_are_told_apart_by_the_names_that_reports_give_them(tmp_path: Path) -> None:
    with opened_by_server(tmp_path, beside="server") as archive:
        rows = {str(row.key): row.tokens.output_tokens for row in archive.usage("machine").rows}
        assert sorted(rows.values()) == [5, 14]
        for name, output in rows.items():
            assert archive.usage("day", Filter(machine=name)).totals.output_tokens == output
        assert archive.usage("day", Filter(machine="server")).totals.output_tokens == 19
        with pytest.raises(BadInput) as refused:
            archive.sessions(Filter(machine="desk"))
        assert all(name in str(refused.value) for name in rows)


def test_a_label_is_one_short_line(tmp_path: Path) -> None:
    with Archive(tmp_path / "home") as archive:
        for label in ("", " ", "x" * 61, "a\x1b[2J"):
            with pytest.raises(BadInput, match="one line of 1 to 60 letters"):
                archive.inner.label_machine(label)
