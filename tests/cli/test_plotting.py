"""Where a chart goes: `-`, an SVG, a PNG; and one sentence where it cannot."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from charting import a_chart, parsed
from reread.cli.usage import save_chart
from reread.config import Config, make_config
from reread.errors import BadInput


@pytest.fixture
def config(tmp_path: Path) -> Config:
    source = tmp_path / ".claude"
    (source / "projects").mkdir(parents=True)
    return make_config([str(source)], "UTC", str(tmp_path / "home"), environ={})


def test_a_dash_prints_it(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    save_chart(a_chart([1, 2]), "-", config)
    said = capsys.readouterr().out
    assert said.startswith("Requests")
    assert "█" in said


def test_what_was_written_is_named(config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_chart(a_chart([1, 2]), str(tmp_path / "weeks.svg"), config)
    assert capsys.readouterr().out == f"{tmp_path / 'weeks.svg'}\n"


def test_an_svg_and_a_png_are_written_whole(config: Config, tmp_path: Path) -> None:
    save_chart(a_chart([1, 2]), str(tmp_path / "a.svg"), config)
    save_chart(a_chart([1, 2]), str(tmp_path / "b.PNG"), config)
    assert parsed((tmp_path / "a.svg").read_text("utf-8")).attrib["role"] == "img"
    assert (tmp_path / "b.PNG").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".claude", "a.svg", "b.PNG"]


@pytest.mark.parametrize("target", ["chart.pdf", "chart", ""])
def test_another_ending_is_refused(target: str, config: Config) -> None:
    with pytest.raises(BadInput, match=r"\.svg or \.png"):
        save_chart(a_chart([1]), target, config)


def test_a_place_that_cannot_be_written_is_told(config: Config, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written: No such file"):
        save_chart(a_chart([1]), str(tmp_path / "none" / "a.svg"), config)
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(BadInput, match="cannot be written"):
        save_chart(a_chart([1]), str(tmp_path / "folder.svg"), config)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".claude", "folder.svg"], "nothing half done is left"


def test_nothing_is_written_below_a_source(config: Config, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="writes nothing"):
        save_chart(a_chart([1]), str(tmp_path / ".claude" / "a.svg"), config)
    assert not (tmp_path / ".claude" / "a.svg").exists()


def test_a_file_that_was_there_stays_when_drawing_fails(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "a.png"
    kept.write_bytes(b"old")
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(BadInput, match="pip install resvg-py"):
        save_chart(a_chart([1]), str(kept), config)
    assert kept.read_bytes() == b"old"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_link_is_followed(config: Config, tmp_path: Path) -> None:
    (tmp_path / "real.svg").write_text("old")
    (tmp_path / "link.svg").symlink_to(tmp_path / "real.svg")
    save_chart(a_chart([1]), str(tmp_path / "link.svg"), config)
    assert (tmp_path / "link.svg").is_symlink()
    assert (tmp_path / "real.svg").read_text("utf-8").startswith("<svg")
