"""Pages go by what a person said about folders: groups, filters, facets and usage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reread.archive import Archive
from reread.testing import a_prompt, a_reply, a_session
from web.asking import Asking, asking

OLD, NEW, OTHER = "/home/ann/old-name", "/home/ann/new-name", "/Users/ann/new-name"
TREE = OLD + "/.claude/worktrees/deep"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Asking]:
    for day, (name, cwd) in enumerate({"one": OLD, "two": TREE, "three": NEW, "four": OTHER}.items(), 1):
        time = f"2026-10-{day:02}T10:00:00.000Z"
        entries = (a_prompt(f"about {name}", timestamp=time), a_reply("a pebble", timestamp=time))
        a_session(*entries, id=name, cwd=cwd).write(tmp_path / "claude" / "projects")
    with asking(tmp_path / "home", tmp_path / "claude") as made:
        yield made


def move(site: Asking) -> None:
    with Archive(site.home) as archive:
        archive.marks.move_project(OLD, NEW)
        archive.marks.move_project("/Users", "/home")


def words(site: Asking, path: str) -> str:
    return " ".join(site.page(path).text.split())


def listed(site: Asking, query: str) -> list[str]:
    return [link for link in site.page(f"/sessions?{query}").links() if link.startswith("/s/")]


def test_a_group_follows_moves_and_tells_of_its_earlier_folders(site: Asking) -> None:
    assert f"{OLD} 2 sessions · what they cost {OTHER}" not in words(site, "/sessions?group=1")
    assert "earlier" not in words(site, "/sessions?group=1")
    move(site)
    page = site.page("/sessions?group=1")
    assert f"{NEW} 4 sessions · what they cost · earlier {OLD} and 1 more" in " ".join(page.text.split())
    assert next(tag["title"] for tag in page.of("span") if OTHER in (tag.get("title") or "")) == f"{OLD}\n{OTHER}"


def test_below_its_heading_only_another_folder_is_named(site: Asking) -> None:
    move(site)
    page = site.page("/sessions?group=1")
    assert [tag.get("title") for tag in page.of("span") if tag.get("class") == "project"] == [OTHER, NEW, TREE, OLD]
    for name, number in (("deep", 1), ("old-name", 1)):
        assert page.text.split().count(name) == number
    assert site.page("/sessions").text.split().count("new-name") == 4


def test_the_filter_finds_either_name(site: Asking) -> None:
    assert listed(site, "project=/home/ann/new-name") == ["/s/three"]
    move(site)
    assert listed(site, "project=/home/ann/new-name") == ["/s/four", "/s/three", "/s/two", "/s/one"]
    assert listed(site, "project=old-name") == ["/s/two", "/s/one"]
    assert listed(site, "project=new-name&tool=Bash") == []


def test_usage_and_facets_put_them_together(site: Asking) -> None:
    def usage() -> list[str]:
        return [row.split(",")[0] for row in site.get("/usage/projects.csv?since=all").text.splitlines()[1:]]

    assert sorted(usage()) == sorted([OLD, NEW, OTHER])
    assert "new-name 4" not in words(site, "/search?q=pebble")
    move(site)
    assert usage() == [NEW]
    page = site.page("/search?q=pebble")
    assert "new-name 4" in " ".join(page.text.split())
    facet = next(link for link in page.links() if "project=" in link)
    assert "4 hits in 4 sessions" in words(site, facet)
    narrowed = next(link for link in site.page("/usage?by=project&since=all").links() if "&project=" in link)
    days = site.get(narrowed.replace("/usage?", "/usage/usage.csv?")).text.splitlines()[1:]
    assert [row.split(",")[:2] for row in days] == [[f"2026-10-0{day}", "1"] for day in (1, 2, 3, 4)]


def test_a_row_shows_its_project_and_the_folder_on_hover(site: Asking) -> None:
    move(site)
    shown = [tag["title"] for tag in site.page("/sessions").of("span") if tag.get("class") == "project"]
    assert shown == [OTHER, NEW, TREE, OLD]
    assert "old-name" not in site.page("/sessions").text
    assert "deep" not in words(site, "/sessions")
    assert " deep 2026-10-02" in words(site, "/sessions?group=1"), (
        "the heading has the project, so the row has the worktree"
    )
