"""Whatever is pointed at, the files of each session are found once and told by their place."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from reread.config import roots
from reread.errors import SourceError
from reread.sources import FileKind, SourceFile, find, group, project_folder_name

SESSION = "a43bea35-c19f-4f24-8ead-1d2843290b28"
OTHER = "787e2ad0-df24-4843-b302-2c52b6d87e35"

PROJECT = "projects/-home-ann-app"
FOLDER = f"{PROJECT}/{SESSION}"
RUN = f"{FOLDER}/subagents/workflows/w-1"

CONFIG: dict[str, tuple[FileKind, str | None, str | None, str | None]] = {
    f"{PROJECT}/{SESSION}.jsonl": (FileKind.TRANSCRIPT, SESSION, None, None),
    f"{FOLDER}/subagents/agent-a1.jsonl": (FileKind.SUBAGENT, SESSION, "a1", None),
    f"{FOLDER}/subagents/agent-a1.meta.json": (FileKind.META, SESSION, "a1", None),
    f"{RUN}/agent-a2.jsonl": (FileKind.SUBAGENT, SESSION, "a2", "w-1"),
    f"{RUN}/agent-a2.meta.json": (FileKind.META, SESSION, "a2", "w-1"),
    f"{RUN}/journal.jsonl": (FileKind.JOURNAL, SESSION, None, "w-1"),
    f"{FOLDER}/workflows/w-1.json": (FileKind.WORKFLOW, SESSION, None, "w-1"),
    f"{FOLDER}/workflows/scripts/tidy-w-1.js": (FileKind.WORKFLOW, SESSION, None, None),
    f"{FOLDER}/tool-results/toolu_1.txt": (FileKind.TOOL_RESULT, SESSION, None, None),
    f"{FOLDER}/tool-results/rows.jsonl": (FileKind.TOOL_RESULT, SESSION, None, None),
    f"{FOLDER}/custom-title.json": (FileKind.TITLE, SESSION, None, None),
    f"{PROJECT}/agent-0a1b2c3d.jsonl": (FileKind.SUBAGENT, None, "0a1b2c3d", None),
    f"{PROJECT}/sessions-index.json": (FileKind.INDEX, None, None, None),
    f"{PROJECT}/copy.json": (FileKind.TRANSCRIPT, "copy", None, None),
    f"profiles/work/projects/-x/{OTHER}.jsonl": (FileKind.TRANSCRIPT, OTHER, None, None),
    f"transcripts/{OTHER}.jsonl": (FileKind.TRANSCRIPT, OTHER, None, None),
    "history.jsonl": (FileKind.HISTORY, None, None, None),
    "settings.json": (FileKind.SETTINGS, None, None, None),
    "settings.local.json": (FileKind.SETTINGS, None, None, None),
}
NOT_OURS = [
    f"{PROJECT}/memory/MEMORY.md",
    f"{PROJECT}/notes.json",
    f"todos/{SESSION}-agent-a1.json",
    "plugins/some/fixture.jsonl",
    f"file-history/{SESSION}/0123456789abcdef@v1.jsonl",
]
ARRAYS = {"copy.json", f"{SESSION}-agent-a1.json"}


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    top = tmp_path / ".claude"
    for name in (*CONFIG, *NOT_OURS):
        write(top / name, "[{}]" if Path(name).name in ARRAYS else "{}\n")
    return top


def told(files: Iterable[SourceFile], top: Path) -> dict[str, tuple[FileKind, str | None, str | None, str | None]]:
    return {
        file.path.relative_to(top).as_posix(): (file.kind, file.session, file.agent, file.workflow) for file in files
    }


def names(source: Path, problems: list[SourceError] | None = None) -> list[str]:
    return [file.path.name for file in find(source, problems=problems)]


def test_a_config_directory_gives_its_transcripts_and_their_side_files(config: Path) -> None:
    assert told(find(config), config) == CONFIG


@pytest.mark.parametrize("part", ["projects", PROJECT, f"{FOLDER}/subagents"])
def test_a_part_of_it_gives_its_part(config: Path, part: str) -> None:
    assert told(find(config / part), config) == {
        name: place for name, place in CONFIG.items() if name.startswith(part + "/")
    }


def test_a_session_folder_brings_the_transcript_beside_it(config: Path) -> None:
    files = list(find(config / FOLDER))
    assert files[0].path.name == f"{SESSION}.jsonl"
    assert {file.session for file in files} == {SESSION}
    assert len(group(files)) == 1


def test_a_home_directory_gives_the_config_directory_in_it(config: Path) -> None:
    assert told(find(config.parent), config) == CONFIG


def test_a_relative_source_gives_absolute_paths(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config / FOLDER / "subagents")
    assert [file.session for file in find(Path()) if file.kind is FileKind.META] == [SESSION, SESSION]
    assert all(file.path.is_absolute() for file in find(Path()))


def test_a_source_above_the_current_folder_keeps_its_names(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(config / FOLDER / "subagents")
    assert {file.session for file in find(Path(".."))} == {SESSION}


def test_any_other_folder_is_walked_whole(tmp_path: Path) -> None:
    for name in ("projects/a.jsonl", "logs/chat.json", "deep/er/b.jsonl", ".git/c.jsonl"):
        write(tmp_path / name, "[{}]")
    write(tmp_path / "node_modules/x/d.jsonl")
    write(tmp_path / ".github/workflows/ci.json")
    assert names(tmp_path) == ["b.jsonl", "chat.json", "a.jsonl"]


def test_transcripts_kept_in_a_repository_are_found(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / f"{SESSION}.jsonl")
    write(tmp_path / ".claude" / "settings.json")
    assert names(tmp_path) == [f"{SESSION}.jsonl"]


def test_the_order_is_the_same_whatever_the_disk_says(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(find(config))
    scandir = os.scandir

    class Backwards:
        def __init__(self, folder: Path) -> None:
            with scandir(folder) as entries:
                self.entries = list(entries)[::-1]

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *error: object) -> None: ...

        def close(self) -> None: ...

    monkeypatch.setattr(os, "scandir", Backwards)
    assert list(find(config)) == before


def test_size_and_time_come_along(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "12345")
    os.utime(path, ns=(5, 7_000_000_000))
    [file] = find(tmp_path)
    assert (file.size, file.mtime_ns) == (5, 7_000_000_000)


@pytest.mark.parametrize("name", ["stdout.txt", "one.json", "noname"])
def test_a_file_pointed_at_is_a_transcript_whatever_its_name(tmp_path: Path, name: str) -> None:
    [file] = find(write(tmp_path / name))
    assert (file.kind, file.session) == (FileKind.TRANSCRIPT, Path(name).stem)


def test_a_file_pointed_at_is_told_by_its_place(config: Path) -> None:
    [file] = find(config / f"{FOLDER}/subagents/agent-a1.jsonl")
    assert (file.kind, file.session, file.agent) == (FileKind.SUBAGENT, SESSION, "a1")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")
    with pytest.raises(SourceError, match="binary"):
        find(tmp_path / "photo.png")


def test_a_missing_source_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        find(tmp_path / "gone")


def deny(monkeypatch: pytest.MonkeyPatch, denied: Path) -> None:
    """Permissions do not stop root, under which containers run tests."""
    scandir, access = os.scandir, os.access

    def refusing(folder: Path) -> object:
        if folder == denied:
            raise PermissionError(13, "Permission denied")
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != denied and access(path, mode))


@pytest.mark.parametrize("denied", ["closed", "closed/a.jsonl"])
def test_what_may_not_be_read_is_a_problem_and_the_walk_goes_on(
    tmp_path: Path, denied: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "closed/a.jsonl")
    write(tmp_path / "open/b.jsonl")
    deny(monkeypatch, tmp_path / denied)
    problems: list[SourceError] = []
    assert names(tmp_path, problems) == ["b.jsonl"]
    assert [(problem.path, problem.reason) for problem in problems] == [(tmp_path / denied, "permission denied")]


def test_a_source_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deny(monkeypatch, tmp_path)
    with pytest.raises(SourceError, match="permission denied"):
        find(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="no FIFOs or socket files here")
def test_fifos_and_sockets_are_passed_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may not be long
    os.mkfifo("a.jsonl")
    os.mkfifo("b.json")
    write(tmp_path / "c.jsonl")
    problems: list[SourceError] = []
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("d.jsonl")
        assert names(tmp_path, problems) == ["c.jsonl"]
    assert problems == []


needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege here")


@needs_links
def test_links_are_followed_but_nothing_comes_twice(tmp_path: Path) -> None:
    real = write(tmp_path / "real" / "a.jsonl")
    write(tmp_path / "elsewhere" / "b.jsonl")
    top = tmp_path / "real"
    (top / "0-up").symlink_to(tmp_path / "real", target_is_directory=True)
    (top / "1-same.jsonl").symlink_to(real)
    (top / "2-hard.jsonl").hardlink_to(real)
    (top / "3-out").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    (top / "4-nowhere.jsonl").symlink_to(tmp_path / "nowhere")
    (top / "5-itself.jsonl").symlink_to(top / "5-itself.jsonl")
    problems: list[SourceError] = []
    assert [file.path for file in find(top, problems=problems)] == [top / "2-hard.jsonl", top / "3-out" / "b.jsonl"]
    assert [problem.path for problem in problems] == [top / "5-itself.jsonl"]


def linked(link: Path, target: Path) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target, target_is_directory=True)
    return link


@needs_links
@pytest.mark.parametrize("depth", [1, 2])
def test_a_link_above_the_source_is_told_and_not_followed(tmp_path: Path, depth: int) -> None:
    write(tmp_path / "private.jsonl")
    source = tmp_path / "home" / ".claude"
    inside = write(source / "projects" / "-home" / "a.jsonl")
    link = linked(source / "projects" / "-link", source.parents[depth - 1])
    problems: list[SourceError] = []
    assert [file.path for file in find(source, problems=problems)] == [inside]
    assert [problem.path for problem in problems] == [link]
    assert "leads above the source" in str(problems[0])


@needs_links
def test_a_source_that_is_a_link_has_the_folders_of_both_its_names_above_it(tmp_path: Path) -> None:
    inside = write(tmp_path / "disk" / "claude" / "a.jsonl")
    source = linked(tmp_path / "home" / ".claude", inside.parent)
    links = [linked(inside.parent / name, tmp_path / name) for name in ("disk", "home")]
    problems: list[SourceError] = []
    assert [file.path for file in find(source, problems=problems)] == [source / "a.jsonl"]
    assert [problem.path.name for problem in problems] == [link.name for link in links]


@needs_links
def test_a_link_to_the_root_ends_at_once(tmp_path: Path) -> None:
    linked(tmp_path / "projects" / "-root", Path("/"))
    folders: dict[Path, int] = {}
    assert list(find(tmp_path, problems=[], folders=folders)) == []
    assert set(folders) == {tmp_path, tmp_path / "projects"}


@needs_links
def test_a_link_to_a_tree_that_is_not_the_clients_is_followed_only_so_far(tmp_path: Path) -> None:
    for number in range(700):
        (tmp_path / "disk" / f"{number:03}" / "lib").mkdir(parents=True)
    write(tmp_path / "disk" / "999" / "a.jsonl")
    link = linked(tmp_path / "source" / "-disk", tmp_path / "disk")
    linked(link / "000" / "again", tmp_path / "disk" / "999" / "..")
    problems: list[SourceError] = []
    folders: dict[Path, int] = {}
    assert list(find(tmp_path / "source", problems=problems, folders=folders)) == []
    assert [problem.path for problem in problems] == [link]
    assert "not followed further" in str(problems[0])
    assert 500 < len(folders) < 510


@needs_links
def test_projects_on_another_disk_are_followed_however_many_they_are(tmp_path: Path) -> None:
    elsewhere = tmp_path / "disk" / "claude-projects"
    for number in range(300):
        session = f"{number:08}-1111-4222-8333-000000000000"
        write(elsewhere / "-home" / f"{session}.jsonl")
        write(elsewhere / "-home" / session / "subagents" / "agent-a.jsonl")
        (elsewhere / "-home" / session / "tool-results").mkdir()
        (elsewhere / "-home" / session / "memory").mkdir()
    linked(tmp_path / ".claude" / "projects", elsewhere)
    problems: list[SourceError] = []
    assert len(list(find(tmp_path / ".claude", problems=problems))) == 600
    assert problems == []


@pytest.mark.skipif(sys.platform != "linux", reason="only here may a name be any bytes")
@pytest.mark.parametrize("name", [b"line\nbreak.jsonl", b"bad\xff.jsonl", b"\xe2\x80\xa8.jsonl"])
def test_odd_names_are_names(tmp_path: Path, name: bytes) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path / "subagents") + b"/agent-" + name))
    write(path)
    [file] = find(tmp_path)
    assert (file.path, file.kind) == (path, FileKind.SUBAGENT)
    assert file.agent == name.removesuffix(b".jsonl").decode("utf-8", "backslashreplace")


def test_the_files_of_a_session_are_put_together(config: Path) -> None:
    sessions = {session.id: session for session in group(find(config))}
    session = sessions[SESSION]
    assert session.trunk is not None
    assert [file.agent for file in session.subagents] == ["a1", "a2"]
    assert [file.agent for file in session.metas] == ["a1", "a2"]
    assert len(session.tool_results) == 2
    assert {file.kind for file in session.others} == {FileKind.TITLE, FileKind.WORKFLOW, FileKind.JOURNAL}
    assert len(session.all) == 11


def test_copies_of_a_session_in_two_projects_stay_apart(tmp_path: Path) -> None:
    for project in ("-a", "-b"):
        write(tmp_path / project / f"{SESSION}.jsonl")
        write(tmp_path / project / SESSION / "subagents" / f"agent{project}.jsonl")
    sessions = group(find(tmp_path))
    assert [(session.id, len(session.all)) for session in sessions] == [(SESSION, 2), (SESSION, 2)]


def test_a_second_trunk_of_the_same_name_is_a_session_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / f"{SESSION}.jsonl")
    write(tmp_path / f"{SESSION}.json", "[{}]")
    write(tmp_path / SESSION / "custom-title.json")
    assert [len(session.all) for session in group(find(tmp_path))] == [2, 1]


def test_a_session_without_its_trunk_is_still_one(tmp_path: Path) -> None:
    write(tmp_path / SESSION / "subagents" / "agent-a1.jsonl")
    [session] = group(find(tmp_path))
    assert (session.id, session.trunk) == (SESSION, None)


def test_a_session_is_as_new_as_its_newest_conversation(tmp_path: Path) -> None:
    times = {f"{SESSION}.jsonl": 10, f"{SESSION}/subagents/agent-a.jsonl": 20, f"{SESSION}/custom-title.json": 30}
    for name, seconds in times.items():
        os.utime(write(tmp_path / name), (seconds, seconds))
    [session] = group(find(tmp_path))
    assert session.mtime_ns == 20_000_000_000


def test_the_usual_config_directories_count_where_they_exist(tmp_path: Path) -> None:
    assert roots({}, tmp_path) == []
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".config" / "claude").mkdir(parents=True)
    assert roots({}, tmp_path) == [tmp_path / ".claude", tmp_path / ".config" / "claude"]
    assert roots({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, tmp_path) == [tmp_path / ".claude"]


@pytest.mark.parametrize("separator", [",", ", ", os.pathsep])
def test_the_environment_may_name_several(tmp_path: Path, separator: str) -> None:
    (tmp_path / ".claude").mkdir()
    named = separator.join(["one", "~/two", "one", ""])
    assert roots({"CLAUDE_CONFIG_DIR": named}, tmp_path) == [Path("one"), tmp_path / "two"]
    assert roots({"CLAUDE_CONFIG_DIR": " "}, tmp_path) == [tmp_path / ".claude"]


def test_an_existing_folder_with_a_comma_is_one(tmp_path: Path) -> None:
    (tmp_path / "a,b").mkdir()
    assert roots({"CLAUDE_CONFIG_DIR": str(tmp_path / "a,b")}, tmp_path) == [tmp_path / "a,b"]


def test_drive_letters_are_not_taken_for_separators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pathsep", ";")
    assert roots({"CLAUDE_CONFIG_DIR": r"C:\one;D:\two"}, tmp_path) == [Path(r"C:\one"), Path(r"D:\two")]


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/ann/app", "-home-ann-app"),
        ("/home/ann/my_app v1.0.83", "-home-ann-my-app-v1-0-83"),
        (r"C:\Users\ann\app", "C--Users-ann-app"),
        ("/caf\u0065\u0301", "-caf-"),
        ("/\N{ROCKET}", "---"),
        ("/" + "a" * 199, "-" + "a" * 199),
        ("/" + "a" * 200, "-" + "a" * 199 + "-"),
    ],
)
def test_a_project_folder_is_named_after_its_directory(cwd: str, name: str) -> None:
    assert project_folder_name(cwd) == name
