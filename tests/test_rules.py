"""Rules worth keeping, each with a message that says what to do."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import make_samples
import reread
from house import House
from reread.cli.main import COMMANDS, main, module_of
from reread.testing import a_prompt, a_session

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "reread"
MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_FUNCTION = 60


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module_and_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(getattr(module_of(name), f"run_{name}", None)), f"give `reread {name}` a run_{name}(arguments)"
    try:
        main([name, "--help"])
    except SystemExit as end:
        assert not end.code
    said = capsys.readouterr().out
    assert said.startswith(f"usage: reread {name}"), f"`reread {name} --help` does not say how to use it"
    examples = said.partition("examples:")[2]
    assert f"reread {name}" in examples, f"add an example to the help of `reread {name}`"


def test_every_command_is_in_the_general_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # each on one line
    main(["--help"])
    said = capsys.readouterr().out
    for name, about in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(about)}$", said, re.MULTILINE), f"`reread --help` lacks {name}"


def test_a_source_distribution_has_every_file_of_the_source() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    manifest = map(str.split, (ROOT / "MANIFEST.in").read_text("utf-8").splitlines())
    listed = [f"{words[1]}/{words[2]}" for words in manifest if words[0] == "recursive-include"]
    packaged = [f"src/reread/{pattern}" for pattern in project["tool"]["setuptools"]["package-data"]["reread"]]
    sent = {path for pattern in ("src/reread/**/*.py", *packaged, *listed) for path in ROOT.glob(pattern)}
    absent = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts} - sent
    assert not absent, f"name them in pyproject.toml, or in MANIFEST.in if a wheel does not need them: {absent}"


def test_the_public_names_are_complete_and_sorted() -> None:
    declared = {
        alias.asname or alias.name
        for node in ast.walk(tree(SOURCE / "__init__.py"))
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert set(reread.__all__) == declared | {"__version__"}, "list it in __all__ and import it under TYPE_CHECKING"
    assert dir(reread) == sorted(reread.__all__)
    with pytest.raises(AttributeError):
        getattr(reread, "no_such_name")  # noqa: B009


@pytest.mark.parametrize("name", sorted(set(reread.__all__) - {"__version__"}))
def test_every_public_name_can_be_imported_and_is_documented(name: str) -> None:
    value = getattr(reread, name)
    documented = inspect.getdoc(value) if not inspect.isclass(value) else vars(value).get("__doc__")
    assert documented, f"say in one line what reread.{name} is"


def loaded_by(script: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{script}\nprint('loaded:', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.rpartition("loaded:")[2].split())


HEAVY = {"msgspec", "sqlite3", "asyncio", "rich", "argparse", "json", "decimal", "zoneinfo", "subprocess"}


def test_importing_reread_loads_nothing_heavy() -> None:
    heavy = HEAVY & (loaded_by("import reread") - loaded_by(""))
    assert not heavy, f"import {', '.join(sorted(heavy))} where it is needed: `import reread` should cost nothing"


def test_the_general_help_loads_nothing_heavy() -> None:
    script = "from reread.cli.main import main\nmain(['--help'])"
    heavy = HEAVY & (loaded_by(script) - loaded_by(""))
    assert not heavy, f"import {', '.join(sorted(heavy))} inside the command that needs it: start-up is a feature"


def loaded_by_warm(command: str, folder: Path) -> set[str]:
    """What a command imports on an archive that is up to date."""
    a_session(a_prompt("a lantern")).write(folder / "projects")
    options = ["--source", str(folder / "projects"), "--home", str(folder / "home")]
    main(["sync", *options])
    script = f"from reread.cli.main import main\nmain({[*command.split(), *options]})"
    return loaded_by(script) - loaded_by("")


@pytest.mark.parametrize(
    ("command", "heavy"),
    [
        ("sync", {"msgspec", "json", "decimal", "hashlib", "shutil", "threading", "reread.sources"}),
        ("list", {"msgspec", "hashlib", "shutil", "threading", "reread.sources", "reread.records", "reread.live"}),
        ("list", {"reread.views.mark_list"}),
        ("show @last", {"reread.live", "asyncio", "jinja2", "markdown_it", "pygments", "reread.features.secrets"}),
        ("export @last --format markdown", {"reread.live", "asyncio", "jinja2", "markdown_it", "pygments"}),
        ("search lantern", {"hashlib", "shutil", "reread.sources", "reread.loading", "reread.sessions.session"}),
        ("search lantern", {"reread.live"}),
    ],
)
def test_what_runs_all_the_time_loads_nothing_heavy(command: str, heavy: set[str], tmp_path: Path) -> None:
    heavy &= loaded_by_warm(command, tmp_path)
    assert not heavy, f"`reread {command}` with nothing new should not import {', '.join(sorted(heavy))}"


def test_a_session_that_grew_is_taken_in_without_what_other_commands_need(tmp_path: Path) -> None:
    written = a_session(a_prompt("a lantern")).write(tmp_path / "projects")
    options = ["--source", str(tmp_path / "projects"), "--home", str(tmp_path / "home")]
    main(["sync", *options])
    with written.open("ab") as file:
        file.write(b'{"type":"user","uuid":"u-2","message":{"role":"user","content":"another lantern"}}\n')
    script = f"from reread.cli.main import main\nsys.argv[1:] = {['sync', *options]}\nmain()"
    needless = {"reread.exchange", "reread.index.carry_over", "random", "importlib.resources"}
    needless |= {"reread.features.friction.detectors", "reread.features.friction.detection", "queue"}
    needless |= {"reread.sources.tail", "reread.archive.filters", "reread.archive.listing", "signal"}
    needless &= loaded_by(script) - loaded_by("")
    assert not needless, f"a sync of a few lines should not import {', '.join(sorted(needless))}"


WRITERS = {
    "fix_hook": "one line of JSON in ASCII",
    "options": "prints lines, text and JSON, and lets nothing of them through that a terminal obeys",
    "streams": "the same for standard error",
    "event_printer": "events and questions through the screen, which makes every text of theirs harmless",
    "main": "the general help and the version, which are ours",
    "statusline": "its values are printable by themselves, and the rest is the person's own --format",
    "session_source": "figures of ours, drawn over themselves",
    "archive": "the same",
}
"""The only modules that write to a stream, and why that is harmless."""


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_nothing_is_printed_but_by_those_who_make_it_harmless(path: Path) -> None:
    is_writer = path.parent.name == "cli" and path.stem in WRITERS
    printing = re.search(r"\b(?:sys\.std(?:out|err)|stream)\.(?:write|buffer)\b|\bprint\(", path.read_text("utf-8"))
    assert printing is None or is_writer, f"{place(path)}: use options.print_lines or streams.tell"


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_every_module_says_what_it_is_for_and_its_functions_fit_in_the_head(path: Path) -> None:
    module = tree(path)
    assert ast.get_docstring(module), f"open {place(path)} with one sentence saying what it is for"
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{place(path)}: {node.name} has {length} lines: take it apart"


HOUSE = House()
SAME_IN_LIVE_AND_SAVED = {"Notice", "Prompt", "Text", "Thinking", "ToolCall", "ToolResult"}
"""Events of a stream carry the names of what they become in a session."""


VAGUE = {"asked", "given", "said", "taken", "told", "wanted"}
"""As the whole name of a function they say neither what it does nor what it returns."""


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_a_function_is_named_after_what_it_returns_or_does(path: Path) -> None:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.name.strip("_") not in VAGUE, (
                f"{place(path)}:{node.lineno}: {node.name} of what? name the thing"
            )


def test_no_public_class_name_is_used_twice() -> None:
    repeated = HOUSE.repeated_classes()
    found = {name: modules for name, modules in repeated.items() if name not in SAME_IN_LIVE_AND_SAVED}
    assert not found, f"give each thing a name of its own: {found}"


def test_no_file_name_stands_in_more_than_two_rooms() -> None:
    assert not HOUSE.spread_names(), "name the file after what only it holds"


def test_files_are_named_after_things() -> None:
    assert len(HOUSE.gerunds()) <= 15, f"name the thing, not the doing: {HOUSE.gerunds()}"


def test_no_modules_import_each_other() -> None:
    """Also for types or inside functions: at the top of a file a circle cannot be imported at all."""
    assert not HOUSE.circles(), f"move what both need down a room: {HOUSE.circles()}"


def test_imports_stand_at_the_top() -> None:
    assert HOUSE.inner_imports() <= 125, "import at the top, or below `if TYPE_CHECKING:` with `lazy.bind`"


@pytest.mark.parametrize("path", sorted(SOURCE.glob("*/__init__.py")), ids=place)
def test_every_room_says_what_it_is_for(path: Path) -> None:
    said = ast.get_docstring(tree(path)) or ""
    assert len(re.findall(r"[.!](?:\s|$)", said)) >= 2, (
        f"say in {place(path)} what the room is for and what it leaves alone"
    )


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_nothing_is_left_to_be_done(path: Path) -> None:
    found = re.search("TODO|FIXME|XXX", path.read_text("utf-8"))
    assert found is None, f"{place(path)}: do it, or write it down where others will find it"


@pytest.mark.parametrize("path", MODULES, ids=place)
def test_no_placeholder_of_a_statement_is_numbered(path: Path) -> None:
    """From Python 3.12 on a numbered one is a named one, and 3.14 refuses a row of values for it; 3.11 says nothing."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.search(r"[ (,]\?\d", node.value)
            assert found is None, f"{place(path)}:{node.lineno}: give the values in the order of the question marks"


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".py" and "__pycache__" not in path.parts
    }


def test_the_samples_are_what_their_maker_makes(tmp_path: Path) -> None:
    make_samples.write_samples(tmp_path)
    assert files_of(make_samples.SAMPLES) == files_of(tmp_path), "run `python tests/make_samples.py`"


def tracked_files() -> Iterator[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git repository")
    yield from (ROOT / name.decode() for name in listed.stdout.split(b"\0") if name)


MACHINE_PATH = re.compile(rb"(?<![\w.~*/-])/(?:work|root)/[\w.-]")


def test_no_path_of_a_developers_machine_is_in_the_repository() -> None:
    found = [
        f"{place(path)}: {match[0].decode()}"
        for path in tracked_files()
        if path.is_file() and path != Path(__file__)
        for match in MACHINE_PATH.finditer(path.read_bytes())
    ]
    assert not found, f"make these paths relative, or take them from the environment: {found[:5]}"


REQUIREMENTS = ROOT / "docs" / "requirements.md"
COUNTS = {"S0": 27, "S1": 45, "S2": 32, "S3": 31, "S4": 19}
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(?:Test\w+::)?(\w+)`")


def test_every_requirement_is_listed_once() -> None:
    listed = re.findall(r"^\| (S\d-\d+) \|", REQUIREMENTS.read_text("utf-8"), re.MULTILINE)
    wanted = [f"{seed}-{number}" for seed, count in COUNTS.items() for number in range(1, count + 1)]
    assert listed == wanted, "docs/requirements.md has one row for each number, in order"


def test_every_requirement_names_a_test_a_command_or_the_work_it_waits_for() -> None:
    rows = [line for line in REQUIREMENTS.read_text("utf-8").splitlines() if re.match(r"\| S\d-\d+ \|", line)]
    shown = re.compile(rf"{NAMED_TEST.pattern}|`reread [^`]+`|not yet: \w+")
    silent = [row for row in rows if not shown.search(row.split(" | ")[-1])]
    assert not silent, "name what shows these, or what they wait for"


def test_every_test_named_by_the_requirements_exists() -> None:
    named = set(NAMED_TEST.findall(REQUIREMENTS.read_text("utf-8")))
    assert named
    missing = [f"{path}::{name}" for path, name in sorted(named) if name not in _tests_in(ROOT / path)]
    assert not missing, "docs/requirements.md names tests that are gone: name those that took their place"


NAMED_FILE = re.compile(r"`(?:[\w/]+/)?(\w+\.(?:py|js|html))`")


def test_every_file_named_by_the_documents_exists() -> None:
    known = {path.name for room in ("src", "tests", "bench", "evals") for path in (ROOT / room).rglob("*.*")}
    pages = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
    gone = [
        f"{page.name}: {name}"
        for page in pages
        for name in NAMED_FILE.findall(page.read_text("utf-8"))
        if name not in known
    ]
    assert not gone, f"name the files that took their place: {gone}"


def test_every_function_of_the_walks_to_a_row_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    walks = page.partition("## From a line to a row")[2].partition("\n## ")[0]
    named = re.findall(r"`((?:[a-z_]+\.)+\w+(?:\.\w+)?)`", walks)
    assert len(named) > 30
    for name in named:
        pkgutil.resolve_name(f"reread.{name}")  # raises if it is gone: name what took its place


def _tests_in(path: Path) -> set[str]:
    if not path.is_file():
        return set()
    return {node.name for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef)}


def test_every_dependency_is_in_the_architecture_with_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in project["optional-dependencies"].values() for each in extra),
    ]
    table = (ROOT / "docs" / "architecture.md").read_text("utf-8").partition("## Dependencies")[2].partition("\n## ")[0]
    names = {re.split(r"[^\w-]", each, maxsplit=1)[0] for each in wanted} - {"reread"}
    missing = sorted(name for name in names if f"`{name}`" not in table)
    assert not missing, f"say in docs/architecture.md, Dependencies, why there is {', '.join(missing)}"
