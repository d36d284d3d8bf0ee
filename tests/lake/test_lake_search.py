"""Search in a lake: a scan whose cost is told first, by month."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import reread
from lake.lakes import built
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions of different months and projects, and a fork that repeats one of them."""
    folder = tmp_path_factory.mktemp("search")
    for name, month in (("ann", "2026-03"), ("bob", "2026-09"), ("fork", "2026-09")):
        at = f"{'2026-09' if name == 'fork' else month}-05T10:00:0"
        told = "bob" if name == "fork" else name
        lines = [
            a_prompt(f"why Connection Refused, said {told}", uuid=f"{told}-1", timestamp=f"{at}0.000Z"),
            a_reply(a_tool_call("Bash", {"command": "curl"}, id="t1"), uuid=f"{told}-2", timestamp=f"{at}1.000Z"),
            a_tool_result(
                f"curl: connection refused 100% {told}_x", of="t1", uuid=f"{told}-3", timestamp=f"{at}2.000Z"
            ),
        ]
        if name == "fork":
            lines.append(a_prompt("go on", uuid="fork-1", timestamp=f"{at}9.000Z"))
        a_session(*lines, id=name, cwd=f"/home/{told}").write(folder / "source")
    built(folder / "lake", folder / "source")
    built(folder / "ledger", folder / "source", what="ledger")
    built(folder / "words", folder / "source", what="text")
    return folder / "lake"


def searched(lake: Path, *arguments: str) -> tuple[dict[str, object], str]:
    ran = reread("lake", "query", "--lake", lake, "search", *arguments, "--timezone", "UTC", "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out), ran.err


def places(document: dict[str, object]) -> list[tuple[str, str]]:
    hits = document["hits"]
    assert isinstance(hits, list)
    return [(hit["session"], hit["field"]) for hit in hits]


def test_every_text_with_all_words_is_found_once_the_newest_first(lake: Path) -> None:
    document, _ = searched(lake, "connection refused")
    assert places(document) == [("bob", "result"), ("bob", "prompt"), ("ann", "result"), ("ann", "prompt")]
    assert document["total"] == 4
    assert places(searched(lake, "connection refused", "CURL:")[0]) == [("bob", "result"), ("ann", "result")]
    assert places(searched(lake, "%", "ann_x")[0]) == [("ann", "result")]
    assert places(searched(lake, "nnection", "--in", "prompt", "--limit", "1")[0]) == [("bob", "prompt")]
    assert searched(lake, "marmalade")[0]["hits"] == []
    [hit] = [hit for hit in document["hits"] if hit["session"] == "ann" and hit["field"] == "prompt"]  # type: ignore[attr-defined]
    assert hit["snippet"] == "why [Connection Refused], said ann"


def test_the_cost_is_told_first_and_only_months_that_matter_are_read(lake: Path) -> None:
    document, told = searched(lake, "refused")
    assert [each["month"] for each in document["cost"]] == ["2026-03", "2026-09"]  # type: ignore[attr-defined]
    on_disk = sum(path.stat().st_size for path in (lake / "text").rglob("*.parquet"))
    assert sum(each["bytes"] for each in document["cost"]) == on_disk  # type: ignore[attr-defined]
    assert "2026-03" in told and "2026-09" in told and "files" in told
    for narrower in (["--since", "2026-04-01"], ["--project", "bob"]):
        document, told = searched(lake, "refused", *narrower)
        assert [each["month"] for each in document["cost"]] == ["2026-09"]  # type: ignore[attr-defined]
        assert places(document) == [("bob", "result"), ("bob", "prompt")] and "2026-03" not in told
    assert places(searched(lake, "refused", "--until", "2026-03-31")[0]) == [("ann", "result"), ("ann", "prompt")]


def test_it_is_shown_for_people_and_wrong_questions_are_answered_in_a_sentence(lake: Path) -> None:
    ran = reread("lake", "query", "--lake", lake, "search", "refused", "--timezone", "UTC")
    assert ran.code == 0 and "connection [refused] 100%" in ran.out and "4 hits" in ran.out
    for place, wrong in (
        (lake, ["search"]),
        (lake, ["search", "x", "--in", "nose"]),
        (lake, ["search", "x", "--tool", "Bash"]),
        (lake.parent / "ledger", ["search", "x"]),
        (lake.parent / "words", ["usage", "day"]),
        (lake.parent / "words", ["friction"]),
        (lake, ["usage", "day", "week"]),
    ):
        ran = reread("lake", "query", "--lake", place, *wrong)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), wrong
