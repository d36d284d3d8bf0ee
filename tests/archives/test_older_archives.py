"""Archives that earlier versions made: opened, brought up to date and compared with what those said of them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from reread.archive import Archive

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))
OKAPI = "2c3d4e5f-3333-4444-8555-666677778888"


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.partition(".")[0])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # there from 3.11.4 on
        tar.extractall(tmp_path)  # noqa: S202  our own archives
    return tmp_path


def assert_as_before(archive: Archive, told: dict[str, object]) -> None:
    total = archive.usage("day").totals
    assert (total.requests, total.output_tokens, total.nanodollars) == (
        told["requests"],
        told["output_tokens"],
        told["nanodollars"],
    )
    assert sorted({each.stored.row.uuid for each in archive.sessions()}) == told["sessions"]
    texts = told["texts"]
    assert isinstance(texts, dict)
    assert {uuid: archive.transcript(uuid).decode() for uuid in texts} == texts
    assert archive.safe.verify().damaged == []


def test_an_older_archive_is_brought_up_to_date_in_place(older: Path) -> None:
    told = json.loads((older / "answers.json").read_text())
    with Archive(older / "home") as archive:
        assert archive.outdated() > 0
        assert_as_before(archive, told)
        archive.sync()
        assert archive.outdated() == 0
        assert archive.sql("SELECT DISTINCT extractor FROM file")[1] == [(2,)]
        assert_as_before(archive, told)
        names = [each.stored.row.uuid for each in archive.sessions()]
        assert len(names) == len(told["sessions"]) + 1  # of one session a copy went its own way
        assert names.count(OKAPI) == 2
        assert archive.sql("SELECT DISTINCT machine FROM session")[1] == [(archive.machine,)]
        assert len(archive.friction.retro().events) == 2
        archive.safe.rebuild()
        assert_as_before(archive, told)
        assert len(archive.sessions()) == len(names)
