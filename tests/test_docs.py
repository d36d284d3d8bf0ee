"""Commands, queries and links of the documentation work; the site builds without a warning and asks nobody."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.running import reread_here
from reread.cli.main import COMMANDS, module_of, word_first
from reread.errors import BadInput

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
GENERATED = {"commands.md", *(f"format/{path.name}" for path in (DOCS / "format").glob("*.md"))}
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in DOCS.rglob("*.md") if str(path.relative_to(DOCS)) not in GENERATED),
]
NEW_PAGES = [
    "README.md",
    "index.md",
    "sql.md",
    "troubleshooting.md",
    "configuration.md",
    *(f"guides/{name}.md" for name in ("find", "cost", "share", "browser", "live", "memory", "friday")),
]
"""Pages whose every command is run."""
NOT_RUN = {
    **dict.fromkeys(
        ("run", "live", "serve", "approvals", "open", "mcp", "hook", "statusline"),
        "needs a client, a browser or a terminal",
    ),
    **dict.fromkeys(("push", "pull", "team", "lake", "machine"), "needs a folder or a store"),
    **dict.fromkeys(("demo", "completion", "sync"), "is not part of the demonstration"),
}
_ENDS = {"|", ">", "<", ";", "&&", "&", "2>"}


def blocks_of(page: Path, *languages: str) -> Iterator[str]:
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        if language in languages:
            yield text


def commands_of(page: Path) -> Iterator[list[str]]:
    """Every `reread ...` of its blocks as words, without what follows a pipe."""
    for text in blocks_of(page, "sh", "console", ""):
        for line in text.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\w*\$ )?(reread .*)", line)
            if found is None or "usage: " in line:
                continue
            words = shlex.split(re.sub(r"\s{2,}.*", "", found[1]) if "#" not in found[1] else found[1], comments=True)
            end = next((place for place, word in enumerate(words) if word in _ENDS), len(words))
            yield words[1:end]


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    for words in commands_of(page):
        words = word_first(words)
        name = words[0] if words else ""
        assert not name or name in COMMANDS or name.startswith("-"), f"there is no `reread {name}`"
        has_parser = name in COMMANDS and name not in ("archive", "lake")  # whose actions have parsers of their own
        parser = getattr(module_of(name), f"{name}_parser", None) if has_parser else None
        if parser is None:
            continue
        try:
            parser().parse_args(words[1:])
        except BadInput as error:
            pytest.fail(f"`reread {' '.join(words)}`: {error}")


RUN = [
    (page, " ".join(map(shlex.quote, words)))
    for page in PAGES
    if page.name == "README.md" or str(page.relative_to(DOCS)) in NEW_PAGES
    for words in commands_of(page)
    if words and words[0] not in NOT_RUN and "apply" not in words and "install" not in words
]


@pytest.mark.parametrize(("page", "command"), RUN, ids=[f"{page.stem}: {command}" for page, command in RUN])
def test_every_command_of_a_guide_answers_on_the_demonstration(
    page: Path, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = reread_here("demo", *shlex.split(command))
    assert ran.code == 0, f"{page.name}: {ran.err}"


@pytest.mark.parametrize("query", list(blocks_of(DOCS / "sql.md", "sql")))
def test_every_query_of_the_cookbook_has_an_answer(query: str) -> None:
    ran = reread_here("demo", "sql", query, "--csv")
    assert ran.code == 0, ran.err
    is_of_repeats = "HAVING" in query
    assert len(ran.out.splitlines()) > (0 if is_of_repeats else 1), (
        "a query of the cookbook finds something in the demo"
    )


@pytest.mark.parametrize("page", [*PAGES, ROOT / "contrib" / "reread-pr" / "action.yml"], ids=named)
def test_no_page_installs_reread_by_its_name_alone(page: Path) -> None:
    """Whoever registers the name in an index would be run by everybody who follows the page."""
    assert not re.search(r"(install|--from|default:) '?reread\b(?!@)", page.read_text("utf-8")), (
        "install it from a clone"
    )


def test_every_page_is_in_the_navigation() -> None:
    nav = (ROOT / "zensical.toml").read_text("utf-8")
    absent = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    absent = [name for name in absent if f'"{name}"' not in nav]
    assert not absent, f"add to zensical.toml: {absent}"


def test_pages_are_short_enough_to_be_read_to_the_end() -> None:
    long = {
        path.relative_to(DOCS).as_posix(): lines
        for path in PAGES[1:]
        if "internals" not in path.parts and (lines := len(path.read_text("utf-8").splitlines())) > 260
    }
    assert not long, f"split them: {long}"


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", [*PAGES, *(DOCS / name for name in sorted(GENERATED))], ids=named)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{target} leads nowhere"
        if anchor and there.suffix == ".md":
            assert anchor in anchors_of(there), f"{target}: there is no such heading"


@pytest.mark.skipif(
    not (shutil.which("zensical", path=str(Path(sys.executable).parent)) and shutil.which("make")),
    reason="needs zensical and make",
)
def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    for name in ("zensical.toml", "Makefile"):
        shutil.copy(ROOT / name, tmp_path)
    kept = tmp_path / ".cache" / "claude"
    kept.mkdir(parents=True)
    environment = Path(sys.executable).parents[1]
    command = ["make", "site", f"VENV={environment}", "-o", f"{environment}/developing"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert kept.exists(), "what is downloaded once is kept"
    assert "No issues found" in built.stdout + built.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = re.findall(
            r"<(?:script|img|iframe)[^>]+src=\"?(https?:)?//|<link[^>]+stylesheet[^>]+href=\"?(https?:)?//",
            page.read_text("utf-8"),
        )
        assert not loaded, f"{page.name} loads from elsewhere"
